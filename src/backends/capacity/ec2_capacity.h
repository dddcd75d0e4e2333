// Amazon EC2 as a Capacity: machines made by RunInstances, found by their tags, and ended.
//
// Each machine bears `stint:fleet`, its owner's mark, and `stint:machine`, its name. An order to make one has a token of both, so that
// EC2 makes it once however often it is told. Nothing is kept here that a restart would miss: who is where is asked of EC2 by the tags.
// Source: Amazon EC2 API Reference, "Ensuring idempotency"; a tag is there with the machine, a machine is in lists some time later.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/capacity/capacity_workers.h"
#include "backends/capacity/cloud_capacity_options.h"
#include "backends/capacity/ec2_settings.h"
#include "backends/capacity/order_outcome.h"
#include "base/result.h"
#include "capacity/capacity.h"
#include "clouds/ec2_client.h"

namespace stint {

inline constexpr std::string_view kEc2FleetTag = "stint:fleet";
inline constexpr std::string_view kEc2MachineTag = "stint:machine";

class Ec2Capacity final : public Capacity {
 public:
  /// @param heard  called from another thread when hear() has something to tell; may be none.
  Ec2Capacity(Ec2Settings settings, std::vector<CapacityPool> pools, std::string owner, std::function<void()> heard = {},
              const CloudCapacityOptions& options = {});
  /// Waits for requests under way, half a minute at most; those that wait are not sent.
  ~Ec2Capacity() override = default;
  Ec2Capacity(const Ec2Capacity&) = delete;
  Ec2Capacity& operator=(const Ec2Capacity&) = delete;

  [[nodiscard]] std::string_view name() const override { return "AWS"; }
  void offer(Instant now) override;
  void create(const CreateOrder& order, Instant now) override;
  void destroy(const DestroyOrder& order, Instant now) override;
  /// Also tells which spot machines are about to be taken back, and ends machines of its owner that somebody stopped.
  void list(int64_t call, Instant now) override;
  CapacityHeard hear(Instant) override { return workers_.hear(); }
  [[nodiscard]] std::optional<Instant> next_at() const override { return {}; }
  /// Waits until there is something to hear, or nothing is under way. For who has nothing else to do.
  void wait() { workers_.wait(); }

 private:
  struct Made {
    Ec2Client* client = nullptr;
    std::string id;
    Instant at;
  };
  [[nodiscard]] Ec2Client* client_of(std::string_view region) const;
  [[nodiscard]] CapacityAnswer make(const CreateOrder& order, const std::string& machine_name);
  [[nodiscard]] CapacityHeard end(const DestroyOrder& order);
  [[nodiscard]] CapacityHeard list_all(int64_t call);
  [[nodiscard]] CapacityHeard offers();
  [[nodiscard]] Result<std::vector<Ec2Instance>> ours(Ec2Client& client, const std::vector<std::string>& names);

  const Ec2Settings settings_;
  const std::vector<CapacityPool> pools_;
  const std::string owner_;
  const UserDataMaker user_data_;
  AwsCredentialChain credentials_;
  std::map<std::string, std::unique_ptr<Ec2Client>, std::less<>> clients_;  ///< by region
  std::mutex lock_;
  std::map<std::string, Made> made_;  // guarded: by name, of this process; lists may not show them yet
  CapacityWorkers workers_;
};

}  // namespace stint
