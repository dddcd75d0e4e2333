// Where AWS's keys come from, in the order of AWS's own tools (botocore): environment, role of a profile, web identity, credentials file,
// `credential_process`, configuration file, container, instance metadata (IMDSv2).
//
// Kept until 15 minutes before they expire, then renewed without a restart. `aws sso login` is used by way of
// `credential_process = aws configure export-credentials --format process`.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "clouds/aws_profile.h"
#include "clouds/aws_sign.h"
#include "clouds/cloud_http.h"

namespace stint {

struct AwsCredentialOptions {
  Environment environment = process_environment();
  std::function<Instant()> clock;  ///< empty = the wall clock
};

/// For any number of threads.
class AwsCredentialChain {
 public:
  explicit AwsCredentialChain(AwsCredentialOptions options = {});

  enum class Renew : uint8_t { kWhenOld, kNow };
  /// @return kNotFound when none of the places has any, naming them; another error of a place that has some which cannot be used.
  Result<AwsCredentials> get(Renew renew = Renew::kWhenOld);
  /// AWS_REGION, AWS_DEFAULT_REGION, the profile's; "" = none.
  Result<std::string> region();
  /// AWS_PROFILE, AWS_DEFAULT_PROFILE or `default`.
  [[nodiscard]] std::string profile_name() const;
  /// A setting of that profile, such as `endpoint_url`; "" = none.
  Result<std::string> setting(const std::string& name);

 private:
  using Found = Result<std::optional<AwsCredentials>>;  ///< none = this place has none

  Status read_files();
  [[nodiscard]] std::string variable(const std::string& name) const { return options_.environment(name); }
  [[nodiscard]] const AwsProfile* config_profile(const std::string& name) const;
  [[nodiscard]] const AwsProfile* credentials_profile(const std::string& name) const;
  Found find();
  [[nodiscard]] Found from_environment() const;
  Found from_role_of(const std::string& profile, int depth);
  Found from_source_profile(const std::string& profile, int depth);
  Found from_web_identity(const std::string& token_file, const std::string& role, const std::string& session);
  [[nodiscard]] Found from_keys_of(const AwsProfile* profile, const std::string& source) const;
  Found from_process_of(const std::string& profile) const;
  Found from_container();
  Found from_instance();
  Result<AwsCredentials> assume_role(const AwsProfile& role, const AwsCredentials& with, const std::string& source);
  Result<AwsCredentials> ask_sts(const std::vector<HttpField>& fields, const AwsCredentials* signed_with,
                                 const std::string& element, const std::string& source);

  AwsCredentialOptions options_;
  std::mutex mutex_;
  CloudHttp metadata_, sts_;
  AwsProfiles config_, credentials_;
  std::optional<AwsCredentials> held_;
};

/// What containers, instances and programs answer: `AccessKeyId`, `SecretAccessKey`, `Token` or `SessionToken`, `Expiration`.
/// @return kInvalidInput, never repeating what was there.
Result<AwsCredentials> parse_aws_credentials_json(std::string_view json, const std::string& source);
/// The `Credentials` of an answer of STS. @param element  `AssumeRoleResult`, …
Result<AwsCredentials> parse_sts_credentials(std::string_view xml, const std::string& element, const std::string& source);
/// Code and message of an error as S3, STS and EC2 write it, under any root; empty when it is none.
CloudFault parse_aws_error(int status, std::string_view xml);

/// May keys be asked for there over plain HTTP? Loopback, and the addresses of ECS and EKS.
bool is_container_address(std::string_view url);

}  // namespace stint
