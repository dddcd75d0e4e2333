#include "clouds/cloud_api.h"

#include <chrono>
#include <thread>

#include "base/text.h"
#include "clouds/digests.h"
#include "host/secret.h"

namespace stint {
namespace {

HttpOptions api_http_options() {
  HttpOptions http;
  http.timeout = Duration::seconds(30);
  return http;
}

/// Anything else is a proxy's page, or half an answer.
bool is_json_object(std::string_view body) {
  const std::string_view text = trim(body);
  return text.empty() || (text.front() == '{' && text.back() == '}');
}

}  // namespace

CloudApi::CloudApi(std::unique_ptr<TokenKeeper> tokens, CloudApiOptions options)
    : tokens_(std::move(tokens)),
      options_(std::move(options)),
      http_({.http = api_http_options(), .tries = options_.tries, .sleep = options_.sleep}) {}

Result<HttpResponse> CloudApi::send(const CloudCall& call, OrderFailure& failure) {
  failure = {};
  std::string source = "no credentials";
  bool is_sent = false;  // and not answered so far
  const CloudRequest request{
      .what = call.what,
      .prepare = [&](const CloudAttempt& attempt) -> Result<HttpCall> {
        failure.may_be_done |= is_sent;
        is_sent = false;
        failure.failure = CloudFailure::kNetwork;
        if (options_.stopping && options_.stopping()) return make_error(ErrorCode::kUnavailable, "{}: given up", call.what);
        failure.failure = CloudFailure::kCredential;
        TRY(options_.address);
        TRY_ASSIGN(const BearerToken token,
                   tokens_->get(attempt.renew ? TokenKeeper::Renew::kNow : TokenKeeper::Renew::kWhenOld));
        failure.failure = CloudFailure::kNetwork;
        source = token.source;
        is_sent = true;
        return HttpCall{
            .method = call.method, .url = call.url, .headers = {{"Authorization", "Bearer " + token.token}}, .body = call.body};
      },
      .judge = [&](const HttpResponse& r) -> std::optional<CloudFault> {
        is_sent = false;
        CloudFault fault;
        if (r.status / 100 != 2)
          fault = options_.read_fault(r.status, r.body);
        else if (is_json_object(r.body))
          return std::nullopt;
        else
          fault.message = "its answer is no JSON object";
        failure.failure = fault.failure;
        failure.may_be_done |= fault.failure == CloudFailure::kServer || fault.failure == CloudFailure::kNetwork;
        return fault;
      },
      .remedy = [&](CloudFailure of) { return options_.remedy(of, source); }};
  auto response = http_.send(request);
  failure.may_be_done |= is_sent;
  if (!response.ok()) failure.text = response.error().message;
  return response;
}

bool CloudApi::pause(Duration time) const {
  if (options_.sleep)
    options_.sleep(time);
  else
    std::this_thread::sleep_for(std::chrono::nanoseconds(time.count_ns()));
  return !options_.stopping || !options_.stopping();
}

Result<std::string> api_address(const std::string& variable, const std::string& value, const std::string& own) {
  std::string address = value.empty() ? own : value;
  while (address.ends_with('/'))
    address.pop_back();
  if (!is_safe_for_secrets(address)) return invalid("{} '{}': give an https address such as {}", variable, excerpt(address), own);
  return address;
}

std::string cloud_machine_name(std::string_view owner, std::string_view machine) {
  constexpr size_t kShown = 36, kDigits = 16;
  std::string name;
  for (const char c : to_lower(machine)) {
    const bool may_stand = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (name.size() == kShown) break;
    if (may_stand)
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  if (name.empty() || name.front() < 'a') name.insert(0, "m");
  if (!name.ends_with('-')) name += '-';
  return name + sha256_hex(fmt::format("{}\n{}", owner, machine)).substr(0, kDigits);
}

}  // namespace stint
