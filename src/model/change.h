// Change: a modification of fleet, workload, market or policy. The one thing all advice is made of:
// it can be priced, replayed, applied, undone and held to account. A Change is a value; it does nothing.
#pragma once

#include <bitset>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"
#include "model/fleet.h"
#include "model/occupancy.h"
#include "model/price.h"
#include "model/workload.h"

namespace stint {

/// Hours of a week, UTC; bit 0 = Monday 00:00–01:00.
using WeekHours = std::bitset<168>;

/// The nodes are given back.
struct StopNodes {
  std::vector<std::string> nodes;
  bool operator==(const StopNodes&) const = default;
};

/// The nodes run only outside `off`.
struct ScheduleOff {
  std::vector<std::string> nodes;
  WeekHours off;
  bool operator==(const ScheduleOff&) const = default;
};

/// The work of `nodes` moves onto `to_count` nodes of another type in the same market.
struct ResizeNodes {
  std::vector<std::string> nodes;
  std::string to_instance_type;
  std::string to_region;  ///< empty = where they are
  int64_t to_count = 1;
  bool operator==(const ResizeNodes&) const = default;
};

enum class SharingMode { kMig, kMps, kTimeSlice };
std::string_view name_of(SharingMode m);  // "mig", "mps", "time-slice"

/// The work of `nodes` is packed onto the GPUs of `keep`; the others are given back.
struct ShareGpus {
  struct Placement {
    std::string workload;  ///< whose work goes there, as shown to people
    std::string from_node;
    int from_gpu = 0;
    std::string to_node;  ///< one of `keep`
    int to_gpu = 0;
    std::string mig_profile;  ///< kMig only
    int memory_start = -1;    ///< kMig only: first memory slice of the placement
    DeviceParts parts = 0;    ///< share of the target GPU, kWholeDevice = all
    bool operator==(const Placement&) const = default;
  };
  SharingMode mode = SharingMode::kMig;
  std::vector<std::string> nodes;  ///< all nodes involved, those kept included
  std::vector<std::string> keep;
  std::vector<Placement> placements;
  bool operator==(const ShareGpus&) const = default;
};

/// The nodes are bought on another market.
struct SwitchMarket {
  std::vector<std::string> nodes;
  Market to = Market::kSpot;
  bool operator==(const SwitchMarket&) const = default;
};

/// A commitment to `count` instances around the clock.
struct Commit {
  std::string provider;
  std::string region;
  std::string instance_type;
  int64_t count = 0;
  CommitmentTerm term = CommitmentTerm::kOneYear;
  PaymentOption payment = PaymentOption::kNoUpfront;
  std::vector<std::string> nodes;  ///< those it covers now
  bool operator==(const Commit&) const = default;
};

/// So much money every hour, paid whether used or not, for any use of these types at these rates: a savings plan.
struct SavingsPlan {
  struct TypeRate {
    std::string region;  ///< empty = everywhere
    std::string instance_type;
    Money per_hour;  ///< of an instance, out of the commitment
    bool operator==(const TypeRate&) const = default;
  };
  std::string provider;
  Money per_hour;  ///< committed
  CommitmentTerm term = CommitmentTerm::kOneYear;
  PaymentOption payment = PaymentOption::kNoUpfront;
  std::vector<TypeRate> rates;     ///< the first that fits counts
  std::vector<std::string> nodes;  ///< those it covers now
  bool operator==(const SavingsPlan&) const = default;
};
/// nullptr when the plan does not pay for that type there.
const Money* rate_of(const SavingsPlan& plan, std::string_view region, std::string_view instance_type);

/// Reservations of a recurring job are cut to what it uses.
struct LimitReservation {
  std::string workload;
  std::vector<std::string> nodes;
  Duration from;
  Duration to;
  bool operator==(const LimitReservation&) const = default;
};

/// Work that needs no GPU leaves the GPU nodes, which are given back for a CPU type.
struct MoveOffGpu {
  std::vector<std::string> nodes;
  std::string to_instance_type;  ///< a CPU type; empty = not in the catalogue
  bool operator==(const MoveOffGpu&) const = default;
};

/// The nodes are replaced by the same type in a cheaper region.
struct MoveRegion {
  std::vector<std::string> nodes;
  std::string to_region;
  bool operator==(const MoveRegion&) const = default;
};

using Change = std::variant<StopNodes, ScheduleOff, ResizeNodes, ShareGpus, SwitchMarket, Commit, LimitReservation, MoveOffGpu,
                            MoveRegion, SavingsPlan>;

/// Stable name of the kind: "stop", "schedule-off", "resize", "share", "switch-market", "commit",
/// "limit-reservation", "move-off-gpu", "move-region", "savings-plan".
std::string_view kind_of(const Change& c);
/// The nodes a Change touches.
const std::vector<std::string>& nodes_of(const Change& c);
/// One sentence: "12 × p4d.24xlarge: on-demand → spot".
std::string describe(const Change& c);

}  // namespace stint
