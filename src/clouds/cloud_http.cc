#include "clouds/cloud_http.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/prng.h"
#include "base/text.h"
#include "host/clock.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr Duration kClockTolerance = Duration::seconds(30);
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kWeekdays = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

double random_draw() {
  static std::mutex mutex;
  static Prng numbers(std::strtoull(random_hex(8).c_str(), nullptr, 16));
  const std::scoped_lock lock(mutex);
  return numbers.uniform();
}

std::string fault_text(const CloudRequest& request, const CloudFault& fault, int tries) {
  std::string text = fmt::format("{}: {}", request.what, name_of(fault.failure));
  if (!fault.code.empty() || !fault.message.empty())
    text += fmt::format(" ({}{}{})", excerpt(fault.code), fault.code.empty() || fault.message.empty() ? "" : ": ",
                        excerpt(fault.message, 300));
  if (tries > 1) text += fmt::format(", after {} tries", tries);
  const std::string remedy = request.remedy ? request.remedy(fault.failure) : std::string();
  if (!remedy.empty()) text += ": " + remedy;
  return text;
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
}

CloudHttp::CloudHttp(CloudHttpOptions options) : options_(std::move(options)) {
  if (!options_.sleep) options_.sleep = [](Duration d) { std::this_thread::sleep_for(std::chrono::nanoseconds(d.count_ns())); };
  if (!options_.clock) options_.clock = stint::now;
  if (!options_.draw) options_.draw = random_draw;
}
CloudHttp::~CloudHttp() = default;

Instant CloudHttp::now() const { return options_.clock() + Duration::nanoseconds(clock_offset_ns_); }

Result<HttpResponse> CloudHttp::send_once(const HttpCall& call) {
  std::unique_ptr<HttpClient> client;
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      client = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!client) client = std::make_unique<HttpClient>(options_.http);
  auto response = client->send(call);
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(client));
  return response;
}

bool CloudHttp::correct_clock(const HttpResponse& response) {
  const std::string* date = response.header("date");
  const auto theirs = date == nullptr ? std::nullopt : parse_http_date(*date);
  if (!theirs) return false;
  const Duration off = *theirs - now();
  if (off < kClockTolerance && Duration() - off < kClockTolerance) return false;
  clock_offset_ns_ += off.count_ns();
  return true;
}

Result<HttpResponse> CloudHttp::send(const CloudRequest& request) {
  bool renewed = false, moved = false, clock_corrected = false;
  for (int tries = 1;; ++tries) {
    TRY_ASSIGN(const HttpCall call, request.prepare({.now = now(), .renew = renewed}));
    auto response = send_once(call);
    CloudFault fault{.failure = CloudFailure::kNetwork};
    std::optional<Duration> asked_for;
    if (response.ok()) {
      const auto judged = request.judge(*response);
      if (!judged) return response;
      fault = *judged;
      if (const std::string* header = response->header("retry-after")) asked_for = parse_retry_after(*header);
      // Each of these helps once, at once.
      if (fault.failure == CloudFailure::kCredential && !std::exchange(renewed, true)) continue;
      if (fault.failure == CloudFailure::kClock && !std::exchange(clock_corrected, true) && correct_clock(*response)) continue;
      if (fault.failure == CloudFailure::kPlace && request.move && !std::exchange(moved, true) && request.move(*response))
        continue;
    } else {
      fault.message = response.error().message;
    }
    if (!worth_repeating(fault.failure) || tries >= options_.tries)
      return make_error(error_code_of(fault.failure), "{}", fault_text(request, fault, tries));
    options_.sleep(pause_after(tries, options_.draw(), asked_for));
  }
}

HttpOptions metadata_http_options() {
  HttpOptions options;
  options.connect_timeout = Duration::seconds(1);
  options.timeout = Duration::seconds(5);
  options.max_body_bytes = size_t{1} << 20;
  options.proxy = HttpProxy::kNever;
  return options;
}

HttpOptions storage_http_options() {
  HttpOptions options;
  options.timeout = Duration();
  options.stall_timeout = Duration::seconds(30);
  options.bytes = HttpBytes::kVerbatim;
  return options;
}

std::optional<Instant> parse_http_date(std::string_view text) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(trim(text), ' '))
    if (!word.empty()) words.push_back(word);
  if (words.size() != 6 || words[5] != "GMT") return std::nullopt;
  size_t month = 0;
  while (month < kMonths.size() && kMonths[month] != words[2])
    ++month;
  if (month == kMonths.size()) return std::nullopt;
  const auto parsed = parse_instant(fmt::format("{}-{:02}-{:0>2}T{}Z", words[3], month + 1, words[1], words[4]));
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

std::string format_http_date(Instant at) {
  const CivilTime c = to_civil(at);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kWeekdays[static_cast<size_t>(weekday(at))], c.day,
                     kMonths[static_cast<size_t>(c.month - 1)], c.year, c.hour, c.minute, c.second);
}

}  // namespace stint
