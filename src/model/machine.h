// Machine: what one machine offers, where it stands and what it costs. A replay, the daemon and what drives a Slurm all mean this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/money.h"
#include "base/units.h"
#include "model/fleet.h"

namespace stint {

/// A label and its value, on a machine or on a task.
struct Label {
  std::string key;
  std::string value;
  auto operator<=>(const Label&) const = default;
};

/// So many MIG instances of a profile.
struct MigAsk {
  std::string profile;  ///< "1g.10gb"
  int32_t count = 1;
  bool operator==(const MigAsk&) const = default;
};

/// What the scheduler goes by.
struct NodeSpec {
  std::string name;
  std::string gpu_model;
  int32_t gpus = 0;
  Bytes gpu_memory;  ///< of one GPU; 0 = not known: requests by GPU memory do not fit
  int64_t cpu_milli = 0;
  Bytes memory;
  int32_t max_tasks = 1 << 20;
  Rate gpu_rate;              ///< of one of its GPUs for an hour; 0 = costs nothing or not known
  std::vector<Label> labels;  ///< label "node" is the node's name unless given
  bool whole_gpus = true;     ///< false: GPUs are given out as MIG instances only
  /// false: no fractions and no shares of GPU memory, as where what looks like a GPU is itself a MIG instance.
  bool shared_gpus = true;
  /// GPUs are given out in so many equal parts each, whatever is asked for rounded up to them; 0 = in thousandths. Of a thousandth that is
  /// left over nothing is given out.
  int32_t gpu_parts = 0;
  /// Instances that exist and stay as they are (profile, how many).
  std::vector<MigAsk> static_mig;
  /// Unused GPUs are cut into instances as needed; takes effect where the model's MIG geometry is known.
  bool repartition = false;
  bool operator==(const NodeSpec&) const = default;
};
/// What one GPU of the node costs, at a rate of the whole node; to the nano-unit. 0 for a node without GPUs.
Rate gpu_rate_of(const NodeSpec& node, Rate whole);

struct Machine {
  NodeSpec node;
  std::string provider;  ///< "aws", "gcp", …; empty = one's own
  std::string region;
  std::string zone;
  std::string instance_type;
  Market market = Market::kOwned;
  Rate rate;  ///< of the whole machine
  bool operator==(const Machine&) const = default;
};
bool is_same_but_price(const Machine& a, Machine b);

}  // namespace stint
