// Random changes and fleets for property tests: few nodes, so that changes meet.
#pragma once

#include <string>
#include <vector>

#include "base/prng.h"
#include "model/change.h"
#include "model/fleet_plan.h"

namespace stint::testing {

inline constexpr size_t kChangeKinds = std::variant_size_v<Change>;

inline FleetPlan random_fleet(Prng& prng, size_t nodes) {
  FleetPlan fleet;
  for (size_t i = 0; i < nodes; ++i)
    fleet.nodes.push_back({.name = "n" + std::to_string(i),
                           .resource_id = "i-" + std::to_string(i),
                           .provider = "aws",
                           .region = prng.below(2) == 0 ? "us-east-1" : "eu-west-1",
                           .zone = "a",
                           .instance_type = "p4d.24xlarge",
                           .market = prng.below(2) == 0 ? Market::kOnDemand : Market::kSpot,
                           .gpu_model = "A100-40GB",
                           .gpu_count = 8,
                           .off = {},
                           .sharing = {}});
  return fleet;
}

/// One or two of them, never the same twice.
inline std::vector<std::string> random_nodes(Prng& prng, const std::vector<std::string>& names) {
  std::vector<std::string> out = {names[prng.below(names.size())]};
  const std::string& second = names[prng.below(names.size())];
  if (prng.below(2) == 0 && second != out[0]) out.push_back(second);
  return out;
}

/// A change of that kind (0 … kChangeKinds − 1) to some of `names`.
inline Change random_change(Prng& prng, size_t kind, const std::vector<std::string>& names) {
  const auto one_of = [&](std::vector<std::string> texts) { return texts[prng.below(texts.size())]; };
  std::vector<std::string> nodes = random_nodes(prng, names);
  switch (kind) {
    case 0: return StopNodes{nodes};
    case 1: {
      ScheduleOff c{nodes, {}};
      for (int i = 0; i < 5; ++i)
        c.off.set(prng.below(168));
      return c;
    }
    case 2:
      return ResizeNodes{nodes, one_of({"g5.xlarge", "p3.2xlarge"}), one_of({"", "us-west-2"}),
                         1 + static_cast<int64_t>(prng.below(3))};
    case 3: {
      ShareGpus c{static_cast<SharingMode>(prng.below(3)), nodes, {nodes.front()}, {}};
      for (const std::string& from : nodes)
        c.placements.push_back({.workload = one_of({"rank", "tag", "a \"b\" 'c'"}),
                                .from_node = from,
                                .from_gpu = static_cast<int>(prng.below(8)),
                                .to_node = nodes.front(),
                                .to_gpu = static_cast<int>(prng.below(8)),
                                .mig_profile = c.mode == SharingMode::kMig ? "1g.5gb" : "",
                                .memory_start = c.mode == SharingMode::kMig ? static_cast<int>(prng.below(7)) : -1,
                                .parts = static_cast<DeviceParts>(prng.below(kWholeDevice + 1))});
      return c;
    }
    case 4: return SwitchMarket{nodes, prng.below(2) == 0 ? Market::kSpot : Market::kOnDemand};
    case 5:
      return Commit{one_of({"aws", "aws", ""}),
                    "us-east-1",
                    "p4d.24xlarge",
                    1 + static_cast<int64_t>(prng.below(3)),
                    prng.below(2) == 0 ? CommitmentTerm::kOneYear : CommitmentTerm::kThreeYears,
                    static_cast<PaymentOption>(prng.below(4)),
                    prng.below(3) == 0 ? std::vector<std::string>() : nodes};
    case 6:
      return LimitReservation{one_of({"nightly", "eval"}), nodes, Duration::hours(24),
                              Duration::milliseconds(1 + static_cast<int64_t>(prng.below(100'000'000)))};
    case 7: return MoveOffGpu{nodes, one_of({"m6i.large", "c6i.large"})};
    case 8: return MoveRegion{nodes, one_of({"us-east-1", "eu-north-1"})};
    default:
      return SavingsPlan{"aws",
                         Money::nanos(1'000'000 * (1 + static_cast<int64_t>(prng.below(9'000)))),
                         prng.below(2) == 0 ? CommitmentTerm::kOneYear : CommitmentTerm::kThreeYears,
                         PaymentOption::kNoUpfront,
                         {{one_of({"", "us-east-1"}), "p4d.24xlarge", Money::units(1 + static_cast<int64_t>(prng.below(2)))}},
                         prng.below(3) == 0 ? std::vector<std::string>() : nodes};
  }
}

}  // namespace stint::testing
