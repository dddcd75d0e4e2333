// Amazon EC2 of one region: machines made, found by their tags, and ended; spot prices; spot machines about to be taken back.
//
// The Query API: forms out, XML back. Source: Amazon EC2 API Reference, version 2016-11-15.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "clouds/aws_credentials.h"
#include "clouds/cloud_http.h"
#include "clouds/ec2_answers.h"
#include "clouds/ec2_launch.h"
#include "clouds/order_failure.h"

namespace stint {

inline constexpr std::string_view kEc2Version = "2016-11-15";

struct Ec2Made {
  std::vector<Ec2Instance> instances;  ///< one, where nothing failed
  std::optional<OrderFailure> failure;
};

/// Values of one tag, of which any will do; tags of a list must all fit.
struct Ec2Filter {
  std::string name;  ///< `tag:NAME`, `instance-state-name`, …
  std::vector<std::string> values;
};

struct Ec2ClientOptions {
  std::string region;
  Environment environment = process_environment();
  int tries = 3;                        ///< of one request
  int page = 1'000;                     ///< machines of one answer, at most; 5 to 1,000
  std::function<void(Duration)> sleep;  ///< empty = this thread's
  std::function<bool()> stopping;       ///< true: no further try is made
};

/// For any number of threads.
class Ec2Client {
 public:
  /// At AWS_ENDPOINT_URL_EC2, AWS_ENDPOINT_URL, the profile's endpoint_url or Amazon's of the region.
  /// @param credentials  outlives it.
  Ec2Client(AwsCredentialChain& credentials, Ec2ClientOptions options);

  /// One machine; told twice with its token, the same.
  Ec2Made launch(const Ec2Launch& launch);
  /// All pages. @return error when one of them cannot be had: half a list would say that machines are gone.
  Result<std::vector<Ec2Instance>> find(const std::vector<Ec2Filter>& filters);
  /// At most 1,000. EC2 ends all or, where one is not there, none: kNotFound.
  std::optional<OrderFailure> terminate(const std::vector<std::string>& ids);
  /// Each type's in each zone, as of now; the latest where several are told.
  Result<std::vector<Ec2SpotPrice>> spot_prices(const std::vector<std::string>& types);
  /// In which zones of the region each of these types is sold. One that is sold nowhere is not told.
  Result<std::vector<Ec2Offering>> offerings(const std::vector<std::string>& types);
  /// Of all spot machines of the account in the region.
  Result<std::vector<Ec2SpotEnd>> spot_ends();
  [[nodiscard]] const std::string& region() const { return options_.region; }
  /// By EC2's clock, as far as it is known.
  [[nodiscard]] Instant now() const { return http_.now(); }

 private:
  Result<std::string> endpoint();
  /// @param failure  set with an error.
  Result<std::string> send(std::vector<HttpField> form, OrderFailure& failure);
  /// One action in pages. @param take  reads one, and returns what asks for the next.
  Status each_page(const std::vector<HttpField>& form, const std::function<Result<std::string>(const std::string& xml)>& take);

  AwsCredentialChain& credentials_;
  Ec2ClientOptions options_;
  CloudHttp http_;
};

}  // namespace stint
