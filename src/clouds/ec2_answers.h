// What EC2 answers, as values. Pure. Source: Amazon EC2 API Reference.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"

namespace stint {

enum class Ec2State : uint8_t { kPending, kRunning, kShuttingDown, kTerminated, kStopping, kStopped };

struct Ec2Instance {
  std::string id;  ///< `i-…`
  Ec2State state = Ec2State::kPending;
  std::string instance_type, zone;
  bool spot = false;
  std::map<std::string, std::string> tags;
  std::string why;  ///< it is in that state: `Server.SpotInstanceTermination`; "" = not told

  /// @return "" when it has no such tag.
  [[nodiscard]] std::string tag(const std::string& name) const;
};

/// The machines that RunInstances made.
Result<std::vector<Ec2Instance>> parse_ec2_launched(std::string_view xml);

struct Ec2Instances {
  std::vector<Ec2Instance> instances;
  std::string next;  ///< what asks for the next page; "" = this was the last
};
/// DescribeInstances.
Result<Ec2Instances> parse_ec2_instances(std::string_view xml);

struct Ec2SpotPrice {
  std::string instance_type, zone;
  Instant since;
  Rate rate;  ///< dollars
};
struct Ec2SpotPrices {
  std::vector<Ec2SpotPrice> prices;
  std::string next;
};
/// DescribeSpotPriceHistory; of Linux alone.
Result<Ec2SpotPrices> parse_ec2_spot_prices(std::string_view xml);

/// Where a type of machine is sold at all, whether there is capacity or not.
struct Ec2Offering {
  std::string instance_type, zone;
};
struct Ec2Offerings {
  std::vector<Ec2Offering> offerings;
  std::string next;
};
/// DescribeInstanceTypeOfferings by availability zone.
Result<Ec2Offerings> parse_ec2_offerings(std::string_view xml);

/// A spot machine that EC2 is about to take back.
struct Ec2SpotEnd {
  std::string instance;  ///< `i-…`
  Instant told;          ///< two minutes later it is gone
};
struct Ec2SpotEnds {
  std::vector<Ec2SpotEnd> ends;
  std::string next;
};
/// DescribeSpotInstanceRequests; requests that are not marked for termination are passed over.
Result<Ec2SpotEnds> parse_ec2_spot_ends(std::string_view xml);

}  // namespace stint
