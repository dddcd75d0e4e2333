// Azure's virtual machines as a Capacity: made by a PUT of their names, found by their tags, and ended with interface and disk.
//
// A machine's name in the resource group follows from its owner's mark and its own name, so that it is made once however often it is told.
// Tags `stint-fleet` and `stint-machine` find it again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/capacity/azure_settings.h"
#include "backends/capacity/capacity_workers.h"
#include "backends/capacity/cloud_capacity_options.h"
#include "capacity/capacity.h"
#include "clouds/azure_client.h"

namespace stint {

inline constexpr std::string_view kAzureFleetTag = "stint-fleet";
inline constexpr std::string_view kAzureMachineTag = "stint-machine";

class AzureCapacity final : public Capacity {
 public:
  /// @param heard  called from another thread when hear() has something to tell; may be none.
  AzureCapacity(AzureSettings settings, std::vector<CapacityPool> pools, std::string owner, std::function<void()> heard = {},
                const CloudCapacityOptions& options = {});
  ~AzureCapacity() override = default;

  [[nodiscard]] std::string_view name() const override { return "Azure"; }
  /// What the locations' cores leave, of kinds whose cores are known.
  void offer(Instant now) override;
  void create(const CreateOrder& order, Instant now) override;
  void destroy(const DestroyOrder& order, Instant now) override;
  /// Also ends machines of its owner that stand still, and what orders that failed have left.
  void list(int64_t call, Instant now) override;
  CapacityHeard hear(Instant) override { return workers_.hear(); }
  [[nodiscard]] std::optional<Instant> next_at() const override { return {}; }
  /// Waits until there is something to hear, or nothing is under way. For who has nothing else to do.
  void wait() { workers_.wait(); }

 private:
  [[nodiscard]] CapacityAnswer make(const CreateOrder& order, const std::string& machine_name);
  [[nodiscard]] CapacityHeard end(const DestroyOrder& order);
  [[nodiscard]] CapacityHeard list_all(int64_t call);
  [[nodiscard]] CapacityHeard quotas();

  const AzureSettings settings_;
  const std::vector<CapacityPool> pools_;
  const std::string owner_;
  const UserDataMaker user_data_;
  std::unique_ptr<AzureClient> client_;
  CapacityWorkers workers_;
};

}  // namespace stint
