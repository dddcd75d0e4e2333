// Several clouds as one Capacity: an order goes to the cloud of its pool, a list is all of theirs, and what is ended is ended in each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/capacity/azure_settings.h"
#include "backends/capacity/cloud_capacity_options.h"
#include "backends/capacity/ec2_settings.h"
#include "backends/capacity/gce_settings.h"
#include "base/result.h"
#include "capacity/capacity.h"

namespace stint {

/// What machines are made of, by cloud; none of those that are not used.
struct CloudSettings {
  std::optional<Ec2Settings> aws;
  std::optional<GceSettings> gcp;
  std::optional<AzureSettings> azure;
  bool operator==(const CloudSettings&) const = default;

  [[nodiscard]] bool is_on() const { return aws || gcp || azure; }
  [[nodiscard]] int count() const { return (aws ? 1 : 0) + (gcp ? 1 : 0) + (azure ? 1 : 0); }
  /// "AWS and Azure"
  [[nodiscard]] std::string names() const;
  /// The longest of theirs: what one of them has not shown by then is not there.
  [[nodiscard]] Duration list_lag() const;
  /// The shortest: a machine ends by itself then.
  [[nodiscard]] std::optional<Duration> lifetime() const;
};

/// Whose machine is it? "aws", "gcp", "azure"; where it does not say, the only one that is used, else "".
std::string cloud_of(const CloudSettings& settings, const Machine& machine);
/// What follows from the rest (provider, region) is filled in.
void complete_machine(const CloudSettings& settings, Machine& machine);
/// @return kInvalidInput for a machine that cannot be made, naming the cloud and what it lacks.
Status check_cloud_machine(const CloudSettings& settings, const Machine& machine);

class CloudsCapacity final : public Capacity {
 public:
  struct Part {
    std::string provider;  ///< of machines that it makes
    std::unique_ptr<Capacity> capacity;
  };
  explicit CloudsCapacity(std::vector<Part> parts) : parts_(std::move(parts)) {}

  /// "AWS and Azure"
  [[nodiscard]] std::string_view name() const override;
  void offer(Instant now) override;
  void create(const CreateOrder& order, Instant now) override;
  /// Answered when each cloud has: it is gone where it is gone everywhere.
  void destroy(const DestroyOrder& order, Instant now) override;
  /// Heard when each cloud's is; those that could not be read are named.
  void list(int64_t call, Instant now) override;
  CapacityHeard hear(Instant now) override;
  [[nodiscard]] std::optional<Instant> next_at() const override;

 private:
  struct Ending {
    size_t missing = 0;  ///< answers
    CapacityAnswer worst;
  };
  struct Listing {
    size_t missing = 0;  ///< lists
    CapacityList all;
  };
  void take(CapacityAnswer answer, CapacityHeard& out);
  void take(CapacityList list, CapacityHeard& out);

  std::vector<Part> parts_;
  mutable std::string name_;
  std::map<std::pair<int64_t, std::string>, Ending> endings_;
  std::map<int64_t, Listing> listings_;
  std::vector<CapacityAnswer> refused_;  ///< of pools of no cloud here
};

/// @param heard  called from other threads when hear() has something to tell; may be none.
std::unique_ptr<Capacity> open_clouds(const CloudSettings& settings, const std::vector<CapacityPool>& pools,
                                      const std::string& owner, const std::function<void()>& heard = {},
                                      const CloudCapacityOptions& options = {});

}  // namespace stint
