// Google Compute Engine as a Capacity: machines made by instances.insert, found by their labels, and ended.
//
// A machine's name in the project follows from its owner's mark and its own name, so that it is made once however often it is told; the
// request's id says the same to Google. Labels `stint-fleet` and `stint-machine` find it again. Google deletes a spot machine that it takes
// back, and any machine whose lifetime is over.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "backends/capacity/capacity_workers.h"
#include "backends/capacity/cloud_capacity_options.h"
#include "backends/capacity/gce_settings.h"
#include "capacity/capacity.h"
#include "clouds/gce_client.h"

namespace stint {

inline constexpr std::string_view kGceFleetLabel = "stint-fleet";
inline constexpr std::string_view kGceMachineLabel = "stint-machine";

class GceCapacity final : public Capacity {
 public:
  /// @param heard  called from another thread when hear() has something to tell; may be none.
  GceCapacity(GceSettings settings, std::vector<CapacityPool> pools, std::string owner, std::function<void()> heard = {},
              const CloudCapacityOptions& options = {});
  ~GceCapacity() override = default;

  [[nodiscard]] std::string_view name() const override { return "Google Cloud"; }
  /// What the quotas of the regions leave; Google tells no prices of spot machines.
  void offer(Instant now) override;
  void create(const CreateOrder& order, Instant now) override;
  void destroy(const DestroyOrder& order, Instant now) override;
  /// Also ends machines of its owner that stand still.
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
  [[nodiscard]] Result<GceClient::Found> ours();

  const GceSettings settings_;
  const std::vector<CapacityPool> pools_;
  const std::string owner_;
  const UserDataMaker user_data_;
  std::unique_ptr<GceClient> client_;
  std::mutex lock_;
  std::map<std::string, std::string> zones_;  // guarded: by name, of what this process made; lists may not show it yet
  CapacityWorkers workers_;
};

}  // namespace stint
