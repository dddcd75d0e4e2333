#include "clouds/aws_credentials.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "clouds/json_member.h"
#include "clouds/xml.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/process.h"
#include "host/secret.h"

namespace stint {
namespace {

using Json = nlohmann::json;

constexpr Duration kRenewBefore = Duration::minutes(15);
constexpr Duration kLeastLeft = Duration::minutes(1);
constexpr std::string_view kContainerHost = "http://169.254.170.2";
constexpr std::string_view kInstanceHost = "http://169.254.169.254";
constexpr std::string_view kStsVersion = "2011-06-15";
constexpr int kDeepestRole = 5;

/// The words of a command line: quotes hold blanks together, as in a shell; nothing else is special.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  char quote = 0;
  bool in_word = false;
  for (const char c : line) {
    if (quote != 0 && c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
      if (!std::exchange(in_word, true)) words.emplace_back();
    } else if (quote == 0 && (c == ' ' || c == '\t')) {
      in_word = false;
    } else {
      if (!std::exchange(in_word, true)) words.emplace_back();
      words.back() += c;
    }
  }
  return words;
}

HttpOptions sts_options(const Environment& environment) {
  HttpOptions options;
  options.timeout = Duration::seconds(30);
  options.max_body_bytes = size_t{1} << 20;
  options.ca_file = environment("AWS_CA_BUNDLE");
  return options;
}

std::string home_file(const Environment& environment, const char* variable, const char* name) {
  const std::string named = environment(variable);
  const std::string home = environment("HOME");
  if (named.starts_with("~/")) return home + named.substr(1);
  return named.empty() ? home + "/.aws/" + name : named;
}

Result<AwsProfiles> read_profiles(const std::string& path, AwsFileKind kind) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return AwsProfiles{};
  TRY_ASSIGN(const std::string text, read_all(path));
  return parse_aws_profiles(text, kind, path);
}

/// A file that Kubernetes keeps anew all the time, with the mode it chooses.
Result<std::string> read_token(const std::string& path) {
  TRY_ASSIGN(const std::string text, read_all(path));
  std::string token(trim(text));
  if (token.empty()) return invalid("{}: is to hold a token, and is empty", path);
  return token;
}

/// Answers of metadata services: 404 = there is none.
std::optional<CloudFault> judge_metadata(const HttpResponse& response) {
  if (response.status == 200) return std::nullopt;
  return CloudFault{.failure = classify_failure(response.status, ""), .message = fmt::format("HTTP {}", response.status)};
}

}  // namespace

Result<AwsCredentials> parse_aws_credentials_json(std::string_view text, const std::string& source) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return invalid("{}: the answer is no JSON object", source);
  AwsCredentials found{.access_key = text_member(json, "AccessKeyId"),
                       .secret_key = text_member(json, "SecretAccessKey"),
                       .session_token = text_member(json, "Token"),
                       .source = source};
  if (found.session_token.empty()) found.session_token = text_member(json, "SessionToken");
  if (found.access_key.empty() || found.secret_key.empty()) {
    const std::string code = text_member(json, "Code"), message = text_member(json, "Message");
    return invalid("{}: the answer has no AccessKeyId and SecretAccessKey{}{}{}", source,
                   code.empty() ? "" : ": " + excerpt(code), message.empty() ? "" : ": ", excerpt(message, 200));
  }
  if (const std::string expires = text_member(json, "Expiration"); !expires.empty()) {
    TRY_ASSIGN(found.expires, parse_instant(expires));
  }
  return found;
}

CloudFault parse_aws_error(int status, std::string_view text) {
  CloudFault fault;
  if (const auto xml = parse_xml(text); xml.ok())
    if (const XmlElement* error = xml->find_below("Error")) {
      fault.code = error->text_of("Code");
      fault.message = error->text_of("Message");
    }
  if (fault.code.empty() && fault.message.empty()) fault.message = fmt::format("HTTP {}", status);
  fault.failure = classify_failure(status, fault.code);
  return fault;
}

Result<AwsCredentials> parse_sts_credentials(std::string_view text, const std::string& element, const std::string& source) {
  const auto xml = parse_xml(text);
  if (!xml.ok()) return invalid("{}: the answer of STS is no XML: {}", source, xml.error().message);
  const XmlElement* result = xml->find_below(element);
  const XmlElement* keys = result == nullptr ? nullptr : result->find("Credentials");
  if (keys == nullptr) return invalid("{}: the answer of STS has no credentials", source);
  AwsCredentials found{.access_key = keys->text_of("AccessKeyId"),
                       .secret_key = keys->text_of("SecretAccessKey"),
                       .session_token = keys->text_of("SessionToken"),
                       .source = source};
  if (found.access_key.empty() || found.secret_key.empty()) return invalid("{}: the answer of STS has no keys", source);
  TRY_ASSIGN(found.expires, parse_instant(keys->text_of("Expiration")));
  return found;
}

bool is_container_address(std::string_view url) {
  if (url.starts_with("https://")) return true;
  constexpr std::string_view kHttp = "http://";
  if (!url.starts_with(kHttp)) return false;
  const std::string_view rest = url.substr(kHttp.size(), url.find_first_of("/?#", kHttp.size()) - kHttp.size());
  if (rest.find('@') != std::string_view::npos) return false;
  const size_t end = rest.starts_with('[') ? rest.find(']') + 1 : rest.find(':');
  const std::string host = to_lower(rest.substr(0, end));
  return host == "localhost" || host == "127.0.0.1" || host == "[::1]" || host == "169.254.170.2" || host == "169.254.170.23" ||
         host == "[fd00:ec2::23]";
}

AwsCredentialChain::AwsCredentialChain(AwsCredentialOptions options)
    : options_(std::move(options)),
      metadata_({.http = metadata_http_options(), .tries = 2, .clock = options_.clock}),
      sts_({.http = sts_options(options_.environment), .tries = 5, .clock = options_.clock}) {
  if (!options_.clock) options_.clock = now;
}

std::string AwsCredentialChain::profile_name() const {
  for (const char* name : {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"})
    if (const std::string value = variable(name); !value.empty()) return value;
  return "default";
}

Status AwsCredentialChain::read_files() {
  TRY_ASSIGN(config_, read_profiles(home_file(options_.environment, "AWS_CONFIG_FILE", "config"), AwsFileKind::kConfig));
  TRY_ASSIGN(credentials_, read_profiles(home_file(options_.environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials"),
                                         AwsFileKind::kCredentials));
  return {};
}

const AwsProfile* AwsCredentialChain::config_profile(const std::string& name) const {
  const auto found = config_.find(name);
  return found == config_.end() ? nullptr : &found->second;
}

const AwsProfile* AwsCredentialChain::credentials_profile(const std::string& name) const {
  const auto found = credentials_.find(name);
  return found == credentials_.end() ? nullptr : &found->second;
}

Result<std::string> AwsCredentialChain::setting(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  TRY(read_files());
  const std::string profile = profile_name();
  for (const AwsProfile* p : {config_profile(profile), credentials_profile(profile)})
    if (p != nullptr)
      if (const std::string value = value_of(*p, name); !value.empty()) return value;
  return std::string();
}

Result<std::string> AwsCredentialChain::region() {
  for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"})
    if (const std::string value = variable(name); !value.empty()) return value;
  return setting("region");
}

Result<AwsCredentials> AwsCredentialChain::get(Renew renew) {
  const std::scoped_lock lock(mutex_);
  const Instant time = options_.clock();
  if (held_ && renew == Renew::kWhenOld && (!held_->expires || time < *held_->expires - kRenewBefore)) return *held_;
  auto found = find();
  if (!found.ok()) {
    // While the old ones hold, trouble at their source is no trouble yet.
    if (held_ && renew == Renew::kWhenOld && time < *held_->expires - kLeastLeft) return *held_;
    return found.error();
  }
  if (!*found)
    return make_error(
        ErrorCode::kNotFound,
        "no AWS credentials: looked at AWS_ACCESS_KEY_ID, the profile '{}' in ~/.aws, a web identity, container and instance "
        "metadata: set the variables, or run aws configure",
        profile_name());
  if ((**found).expires && *(**found).expires <= time)
    return make_error(ErrorCode::kUnavailable, "the AWS credentials of {} expired at {}: renew them", (**found).source,
                      format_utc(*(**found).expires));
  held_ = **found;
  return *held_;
}

AwsCredentialChain::Found AwsCredentialChain::find() {
  TRY_ASSIGN(auto found, from_environment());
  if (found) return found;
  TRY(read_files());
  const std::string profile = profile_name();
  if (profile != "default" && config_profile(profile) == nullptr && credentials_profile(profile) == nullptr)
    return make_error(ErrorCode::kNotFound,
                      "there is no AWS profile '{}' in ~/.aws/config or ~/.aws/credentials: check AWS_PROFILE", excerpt(profile));
  TRY_ASSIGN(found, from_role_of(profile, 0));
  if (found) return found;
  if (const std::string file = variable("AWS_WEB_IDENTITY_TOKEN_FILE"); !file.empty())
    return from_web_identity(file, variable("AWS_ROLE_ARN"), variable("AWS_ROLE_SESSION_NAME"));
  if (const AwsProfile* p = config_profile(profile); p != nullptr && !value_of(*p, "web_identity_token_file").empty())
    return from_web_identity(value_of(*p, "web_identity_token_file"), value_of(*p, "role_arn"),
                             value_of(*p, "role_session_name"));
  TRY_ASSIGN(found, from_keys_of(credentials_profile(profile), fmt::format("profile '{}' of the credentials file", profile)));
  if (found) return found;
  TRY_ASSIGN(found, from_process_of(profile));
  if (found) return found;
  TRY_ASSIGN(found, from_keys_of(config_profile(profile), fmt::format("profile '{}' of the configuration file", profile)));
  if (found) return found;
  TRY_ASSIGN(found, from_container());
  if (found) return found;
  return from_instance();
}

AwsCredentialChain::Found AwsCredentialChain::from_environment() const {
  AwsCredentials found{.access_key = variable("AWS_ACCESS_KEY_ID"),
                       .secret_key = variable("AWS_SECRET_ACCESS_KEY"),
                       .session_token = variable("AWS_SESSION_TOKEN"),
                       .source = "the environment"};
  if (found.access_key.empty()) return std::optional<AwsCredentials>();
  if (found.secret_key.empty()) return invalid("AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not: set both");
  return std::optional(std::move(found));
}

AwsCredentialChain::Found AwsCredentialChain::from_keys_of(const AwsProfile* profile, const std::string& source) const {
  if (profile == nullptr || value_of(*profile, "aws_access_key_id").empty()) return std::optional<AwsCredentials>();
  AwsCredentials found{.access_key = value_of(*profile, "aws_access_key_id"),
                       .secret_key = value_of(*profile, "aws_secret_access_key"),
                       .session_token = value_of(*profile, "aws_session_token"),
                       .source = source};
  if (found.secret_key.empty()) return invalid("{}: aws_access_key_id without aws_secret_access_key", source);
  return std::optional(std::move(found));
}

/// The role that a profile names, assumed with another profile's keys or with those of the machine.
AwsCredentialChain::Found AwsCredentialChain::from_role_of(const std::string& profile, int depth) {
  const AwsProfile* role = config_profile(profile);
  if (role == nullptr || value_of(*role, "role_arn").empty()) role = credentials_profile(profile);
  if (role == nullptr || value_of(*role, "role_arn").empty() || !value_of(*role, "web_identity_token_file").empty())
    return std::optional<AwsCredentials>();
  if (depth >= kDeepestRole) return invalid("profile '{}': its source_profile leads in a circle", profile);
  const std::string source_profile = value_of(*role, "source_profile"), credential_source = value_of(*role, "credential_source");
  std::optional<AwsCredentials> with;
  if (!source_profile.empty()) {
    TRY_ASSIGN(with, from_source_profile(source_profile, depth + 1));
  } else if (credential_source == "Environment") {
    TRY_ASSIGN(with, from_environment());
  } else if (credential_source == "EcsContainer") {
    TRY_ASSIGN(with, from_container());
  } else if (credential_source == "Ec2InstanceMetadata") {
    TRY_ASSIGN(with, from_instance());
  } else {
    return invalid(
        "profile '{}' has a role_arn: add source_profile, or credential_source (Environment, EcsContainer, Ec2InstanceMetadata)",
        profile);
  }
  if (!with)
    return make_error(ErrorCode::kNotFound, "profile '{}': no credentials in {} to assume its role with", profile,
                      source_profile.empty() ? credential_source : "profile '" + source_profile + "'");
  TRY_ASSIGN(AwsCredentials assumed, assume_role(*role, *with, fmt::format("role of profile '{}'", profile)));
  return std::optional(std::move(assumed));
}

AwsCredentialChain::Found AwsCredentialChain::from_source_profile(const std::string& profile, int depth) {
  // A profile that names itself holds the keys beside the role.
  const AwsProfile* p = config_profile(profile);
  if (p != nullptr && !value_of(*p, "role_arn").empty() && value_of(*p, "source_profile") != profile)
    return from_role_of(profile, depth);
  const std::string source = fmt::format("profile '{}'", profile);
  TRY_ASSIGN(auto found, from_keys_of(credentials_profile(profile), source));
  if (found) return found;
  TRY_ASSIGN(found, from_process_of(profile));
  if (found) return found;
  return from_keys_of(p, source);
}

AwsCredentialChain::Found AwsCredentialChain::from_process_of(const std::string& profile) const {
  std::string line;
  for (const AwsProfile* p : {config_profile(profile), credentials_profile(profile)})
    if (p != nullptr && line.empty()) line = value_of(*p, "credential_process");
  const std::vector<std::string> command = words_of(line);
  if (command.empty()) return std::optional<AwsCredentials>();
  const std::string source = fmt::format("credential_process of profile '{}'", profile);
  TRY_ASSIGN(const CommandOutput output, run_command(command, Duration::minutes(1), size_t{1} << 20));
  if (output.status.shell_code() != 0)
    return make_error(ErrorCode::kUnavailable, "{}: {} ended with exit code {}: {}", source, excerpt(command[0]),
                      output.status.shell_code(), excerpt(output.standard_error, 300));
  TRY_ASSIGN(AwsCredentials found, parse_aws_credentials_json(output.standard_output, source));
  return std::optional(std::move(found));
}

Result<AwsCredentials> AwsCredentialChain::ask_sts(const std::vector<HttpField>& fields, const AwsCredentials* signed_with,
                                                   const std::string& element, const std::string& source) {
  std::string region = variable("AWS_REGION");
  if (region.empty()) region = variable("AWS_DEFAULT_REGION");
  if (const AwsProfile* p = config_profile(profile_name()); region.empty() && p != nullptr) region = value_of(*p, "region");
  if (region.empty()) region = "us-east-1";
  std::string endpoint = variable("AWS_ENDPOINT_URL_STS");
  if (endpoint.empty()) endpoint = variable("AWS_ENDPOINT_URL");
  if (endpoint.empty()) endpoint = fmt::format("https://sts.{}.amazonaws.com", region);
  while (endpoint.ends_with('/'))
    endpoint.pop_back();
  const std::string body = canonical_query(fields);
  const std::string host = endpoint.substr(endpoint.find("//") == std::string::npos ? 0 : endpoint.find("//") + 2);
  constexpr const char* kForm = "application/x-www-form-urlencoded";
  const CloudRequest request{
      .what = fmt::format("{} ({})", source, endpoint),
      .prepare = [&](const CloudAttempt& attempt) -> Result<HttpCall> {
        HttpCall call{.method = "POST", .url = endpoint + "/", .body = body, .content_type = kForm};
        if (signed_with != nullptr)
          call.headers = sign_aws_request(
              {.method = "POST", .host = host, .headers = {{"Content-Type", kForm}}, .body_sha256 = sha256_hex(body)},
              {.region = region, .service = "sts"}, *signed_with, attempt.now);
        return call;
      },
      .judge = [](const HttpResponse& r) -> std::optional<CloudFault> {
        if (r.status == 200) return std::nullopt;
        return parse_aws_error(r.status, r.body);
      },
      .remedy = [](CloudFailure failure) -> std::string {
        return failure == CloudFailure::kForbidden ? "let the role's trust policy name these credentials" : "";
      }};
  TRY_ASSIGN(const HttpResponse response, sts_.send(request));
  return parse_sts_credentials(response.body, element, source);
}

Result<AwsCredentials> AwsCredentialChain::assume_role(const AwsProfile& role, const AwsCredentials& with,
                                                       const std::string& source) {
  const std::string session = value_of(role, "role_session_name");
  std::vector<HttpField> fields = {{"Action", "AssumeRole"},
                                   {"Version", std::string(kStsVersion)},
                                   {"RoleArn", value_of(role, "role_arn")},
                                   {"RoleSessionName", session.empty() ? "stint" : session}};
  if (const std::string id = value_of(role, "external_id"); !id.empty()) fields.emplace_back("ExternalId", id);
  if (const std::string s = value_of(role, "duration_seconds"); !s.empty()) fields.emplace_back("DurationSeconds", s);
  if (!value_of(role, "mfa_serial").empty())
    return invalid("{}: it asks for a one-time code (mfa_serial), which a program cannot give: use credential_process", source);
  return ask_sts(fields, &with, "AssumeRoleResult", source);
}

AwsCredentialChain::Found AwsCredentialChain::from_web_identity(const std::string& token_file, const std::string& role,
                                                                const std::string& session) {
  if (role.empty()) return invalid("a web identity token is there, but no role: set AWS_ROLE_ARN");
  TRY_ASSIGN(const std::string token, read_token(token_file));
  TRY_ASSIGN(AwsCredentials found, ask_sts({{"Action", "AssumeRoleWithWebIdentity"},
                                            {"Version", std::string(kStsVersion)},
                                            {"RoleArn", role},
                                            {"RoleSessionName", session.empty() ? "stint" : session},
                                            {"WebIdentityToken", token}},
                                           nullptr, "AssumeRoleWithWebIdentityResult", "the web identity"));
  return std::optional(std::move(found));
}

AwsCredentialChain::Found AwsCredentialChain::from_container() {
  const std::string relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string url =
      relative.empty() ? variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") : std::string(kContainerHost) + relative;
  if (url.empty()) return std::optional<AwsCredentials>();
  if (!is_container_address(url))
    return invalid("AWS_CONTAINER_CREDENTIALS_FULL_URI: keys are asked for over https, or of this machine alone: '{}' is neither",
                   excerpt(url));
  std::string token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !file.empty()) {
    TRY_ASSIGN(token, read_token(file));
  }
  if (token.find_first_of("\r\n") != std::string::npos)
    return invalid("AWS_CONTAINER_AUTHORIZATION_TOKEN: has more than one line");
  HttpCall call{.url = url};
  if (!token.empty()) call.headers.emplace_back("Authorization", token);
  const CloudRequest request{.what = fmt::format("the container's credentials ({})", url),
                             .prepare = [&](const CloudAttempt&) -> Result<HttpCall> { return call; },
                             .judge = judge_metadata};
  TRY_ASSIGN(const HttpResponse response, metadata_.send(request));
  TRY_ASSIGN(AwsCredentials found, parse_aws_credentials_json(response.body, "the container's credentials"));
  return std::optional(std::move(found));
}

AwsCredentialChain::Found AwsCredentialChain::from_instance() {
  if (equals_ignoring_case(variable("AWS_EC2_METADATA_DISABLED"), "true")) return std::optional<AwsCredentials>();
  std::string host = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (host.empty()) host = kInstanceHost;
  while (host.ends_with('/'))
    host.pop_back();
  HttpClient client(metadata_http_options());
  const auto token = client.send({.method = "PUT",
                                  .url = host + "/latest/api/token",
                                  .headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}},
                                  .content_type = ""});
  // Elsewhere than on AWS nothing answers there. In a container on an instance the answer may not come through (hop limit 1).
  if (!token.ok() || token->status != 200) return std::optional<AwsCredentials>();
  const auto ask = [&](const std::string& path) -> Result<std::string> {
    const CloudRequest request{.what = host + path,
                               .prepare = [&](const CloudAttempt&) -> Result<HttpCall> {
                                 return HttpCall{.url = host + path,
                                                 .headers = {{"X-aws-ec2-metadata-token", std::string(trim(token->body))}}};
                               },
                               .judge = judge_metadata};
    TRY_ASSIGN(const HttpResponse response, metadata_.send(request));
    return response.body;
  };
  const std::string folder = "/latest/meta-data/iam/security-credentials/";
  const auto roles = ask(folder);
  if (!roles.ok() && roles.error().code == ErrorCode::kNotFound)
    return std::optional<AwsCredentials>();  // an instance without a role
  if (!roles.ok()) return roles.error();
  const std::string role(trim(std::string_view(*roles).substr(0, roles->find('\n'))));
  if (role.empty()) return std::optional<AwsCredentials>();
  TRY_ASSIGN(const std::string json, ask(folder + escape_url(role)));
  TRY_ASSIGN(AwsCredentials found, parse_aws_credentials_json(json, fmt::format("the instance's role '{}'", excerpt(role))));
  return std::optional(std::move(found));
}

}  // namespace stint
