#include "clouds/ec2_client.h"

#include <map>

#include "base/text.h"
#include "clouds/aws_sign.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr const char* kForm = "application/x-www-form-urlencoded; charset=utf-8";
constexpr size_t kMostPages = 10'000;

HttpOptions ec2_http_options(const Environment& environment) {
  HttpOptions http;
  http.timeout = Duration::seconds(30);
  http.ca_file = environment("AWS_CA_BUNDLE");
  return http;
}

/// Blanks as `+`: some services that stand in for EC2 hash the form as they would write it.
std::string form_text(const std::vector<HttpField>& fields) {
  std::string text;
  for (const auto& [name, value] : fields) {
    if (!text.empty()) text += '&';
    text += escape_url(name) + '=' + escape_url(value);
  }
  for (size_t at = text.find("%20"); at != std::string::npos; at = text.find("%20", at))
    text.replace(at, 3, "+");
  return text;
}

std::vector<HttpField> form_of(std::string_view action) {
  return {{"Action", std::string(action)}, {"Version", std::string(kEc2Version)}};
}

void add_filters(std::vector<HttpField>& form, const std::vector<Ec2Filter>& filters) {
  int number = 0;
  for (const Ec2Filter& filter : filters) {
    const std::string prefix = fmt::format("Filter.{}", ++number);
    form.emplace_back(prefix + ".Name", filter.name);
    int value = 0;
    for (const std::string& each : filter.values)
      form.emplace_back(fmt::format("{}.Value.{}", prefix, ++value), each);
  }
}

std::string remedy_of(CloudFailure failure, std::string_view action, const std::string& source) {
  switch (failure) {
    case CloudFailure::kCredential: return fmt::format("the keys come from {}: check them, and the clock", source);
    case CloudFailure::kForbidden: return fmt::format("the keys come from {}: allow them ec2:{}", source, action);
    case CloudFailure::kNetwork: return "check the network, and AWS_ENDPOINT_URL_EC2 where it is set";
    case CloudFailure::kQuota: return "ask AWS for a higher one (Service Quotas), or name other types";
    default: return "";
  }
}

}  // namespace

Result<std::string> Ec2Client::endpoint() {
  std::string endpoint;
  for (const char* name : {"AWS_ENDPOINT_URL_EC2", "AWS_ENDPOINT_URL"})
    if (endpoint.empty()) endpoint = options_.environment(name);
  if (endpoint.empty()) {
    TRY_ASSIGN(endpoint, credentials_.setting("endpoint_url"));
  }
  if (endpoint.empty())
    endpoint = fmt::format("https://ec2.{}.{}", options_.region,
                           options_.region.starts_with("cn-") ? "amazonaws.com.cn" : "amazonaws.com");
  while (endpoint.ends_with('/'))
    endpoint.pop_back();
  if (!endpoint.starts_with("http://") && !endpoint.starts_with("https://"))
    return invalid("AWS_ENDPOINT_URL_EC2 '{}': give an address such as https://ec2.us-east-1.amazonaws.com", excerpt(endpoint));
  return endpoint;
}

Ec2Client::Ec2Client(AwsCredentialChain& credentials, Ec2ClientOptions options)
    : credentials_(credentials),
      options_(std::move(options)),
      http_({.http = ec2_http_options(options_.environment), .tries = options_.tries, .sleep = options_.sleep}) {}

Result<std::string> Ec2Client::send(std::vector<HttpField> form, OrderFailure& failure) {
  const std::string action = form.front().second;
  const std::string body = form_text(form);
  const std::string body_sha256 = sha256_hex(body);
  std::string source;
  failure = {};
  bool is_sent = false;  // and not answered so far
  const CloudRequest request{
      .what = fmt::format("EC2 {} in {}", action, options_.region),
      .prepare = [&](const CloudAttempt& attempt) -> Result<HttpCall> {
        failure.may_be_done |= is_sent;
        is_sent = false;
        failure.failure = CloudFailure::kNetwork;
        if (options_.stopping && options_.stopping()) return make_error(ErrorCode::kUnavailable, "EC2 {}: given up", action);
        failure.failure = CloudFailure::kCredential;
        TRY_ASSIGN(const AwsCredentials key,
                   credentials_.get(attempt.renew ? AwsCredentialChain::Renew::kNow : AwsCredentialChain::Renew::kWhenOld));
        TRY_ASSIGN(const std::string base, endpoint());
        failure.failure = CloudFailure::kNetwork;
        source = key.source;
        HttpCall call{.method = "POST", .url = base + "/", .body = body, .content_type = kForm};
        call.headers = sign_aws_request({.method = "POST",
                                         .host = base.substr(base.find("//") + 2),
                                         .headers = {{"Content-Type", kForm}},
                                         .body_sha256 = body_sha256},
                                        {.region = options_.region, .service = "ec2"}, key, attempt.now);
        is_sent = true;
        return call;
      },
      .judge = [&](const HttpResponse& r) -> std::optional<CloudFault> {
        is_sent = false;
        CloudFault fault;
        if (r.status != 200) {
          fault = parse_aws_error(r.status, r.body);
        } else if (r.body.find(fmt::format("<{}Response", action)) != std::string::npos) {
          return std::nullopt;
        } else {
          fault.message = "its answer is none of EC2's";
        }
        failure.failure = fault.failure;
        failure.may_be_done |= fault.failure == CloudFailure::kServer || fault.failure == CloudFailure::kNetwork;
        return fault;
      },
      .remedy = [&](CloudFailure of) { return remedy_of(of, action, source); }};
  auto response = http_.send(request);
  failure.may_be_done |= is_sent;
  if (response.ok()) return std::move(response->body);
  failure.text = response.error().message;
  return response.error();
}

Ec2Made Ec2Client::launch(const Ec2Launch& launch) {
  Ec2Made made;
  OrderFailure failure;
  const auto xml = send(ec2_launch_form(launch), failure);
  if (!xml.ok()) {
    made.failure = std::move(failure);
    return made;
  }
  auto instances = parse_ec2_launched(*xml);
  if (instances.ok())
    made.instances = std::move(*instances);
  else
    made.failure = {.failure = CloudFailure::kServer, .may_be_done = true, .text = instances.error().message};
  return made;
}

Status Ec2Client::each_page(const std::vector<HttpField>& form,
                            const std::function<Result<std::string>(const std::string& xml)>& take) {
  std::string next;
  for (size_t page = 0; page < kMostPages; ++page) {
    std::vector<HttpField> fields = form;
    if (!next.empty()) fields.emplace_back("NextToken", next);
    OrderFailure failure;
    TRY_ASSIGN(const std::string xml, send(std::move(fields), failure));
    TRY_ASSIGN(std::string following, take(xml));
    if (following.empty()) return {};
    if (following == next) break;
    next = std::move(following);
  }
  return make_error(ErrorCode::kUnavailable, "EC2 in {}: its pages have no end", options_.region);
}

Result<std::vector<Ec2Instance>> Ec2Client::find(const std::vector<Ec2Filter>& filters) {
  std::vector<HttpField> form = form_of("DescribeInstances");
  form.emplace_back("MaxResults", fmt::format("{}", options_.page));
  add_filters(form, filters);
  std::vector<Ec2Instance> all;
  TRY(each_page(form, [&](const std::string& xml) -> Result<std::string> {
    TRY_ASSIGN(Ec2Instances page, parse_ec2_instances(xml));
    std::move(page.instances.begin(), page.instances.end(), std::back_inserter(all));
    return std::move(page.next);
  }));
  return all;
}

std::optional<OrderFailure> Ec2Client::terminate(const std::vector<std::string>& ids) {
  std::vector<HttpField> form = form_of("TerminateInstances");
  int number = 0;
  for (const std::string& id : ids)
    form.emplace_back(fmt::format("InstanceId.{}", ++number), id);
  OrderFailure failure;
  if (!send(std::move(form), failure).ok()) return failure;
  return std::nullopt;
}

Result<std::vector<Ec2SpotPrice>> Ec2Client::spot_prices(const std::vector<std::string>& types) {
  std::vector<HttpField> form = form_of("DescribeSpotPriceHistory");
  form.emplace_back("StartTime", format_utc(http_.now()));  // the price that holds then is told, too
  form.emplace_back("ProductDescription.1", "Linux/UNIX");
  add_filters(form, {{.name = "instance-type", .values = types}});
  std::map<std::pair<std::string, std::string>, Ec2SpotPrice> latest;
  TRY(each_page(form, [&](const std::string& xml) -> Result<std::string> {
    TRY_ASSIGN(Ec2SpotPrices page, parse_ec2_spot_prices(xml));
    for (Ec2SpotPrice& price : page.prices) {
      Ec2SpotPrice& known = latest.try_emplace({price.instance_type, price.zone}, price).first->second;
      if (known.since < price.since) known = std::move(price);
    }
    return std::move(page.next);
  }));
  std::vector<Ec2SpotPrice> prices;
  for (auto& [key, price] : latest)
    prices.push_back(std::move(price));
  return prices;
}

Result<std::vector<Ec2Offering>> Ec2Client::offerings(const std::vector<std::string>& types) {
  std::vector<HttpField> form = form_of("DescribeInstanceTypeOfferings");
  form.emplace_back("LocationType", "availability-zone");
  add_filters(form, {{.name = "instance-type", .values = types}});
  std::vector<Ec2Offering> all;
  TRY(each_page(form, [&](const std::string& xml) -> Result<std::string> {
    TRY_ASSIGN(Ec2Offerings page, parse_ec2_offerings(xml));
    std::move(page.offerings.begin(), page.offerings.end(), std::back_inserter(all));
    return std::move(page.next);
  }));
  return all;
}

Result<std::vector<Ec2SpotEnd>> Ec2Client::spot_ends() {
  std::vector<HttpField> form = form_of("DescribeSpotInstanceRequests");
  add_filters(form, {{.name = "status-code", .values = {"marked-for-termination"}}});
  std::vector<Ec2SpotEnd> all;
  TRY(each_page(form, [&](const std::string& xml) -> Result<std::string> {
    TRY_ASSIGN(Ec2SpotEnds page, parse_ec2_spot_ends(xml));
    std::move(page.ends.begin(), page.ends.end(), std::back_inserter(all));
    return std::move(page.next);
  }));
  return all;
}

}  // namespace stint
