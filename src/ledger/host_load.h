// Host load: hours in which runs had taken all CPUs or all memory of a node, so that its free GPUs could not be
// given to anybody.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "model/history.h"

namespace stint {

/// Less than this much left counts as taken.
inline constexpr int64_t kFreeCpusNeeded = 1;
inline constexpr Bytes kFreeMemoryNeeded = Bytes::gibi(int64_t{1});

class HostLoad {
 public:
  /// Nodes whose CPUs and memory are not known are never full. What a run holds over several nodes is taken to
  /// be spread evenly over them.
  explicit HostLoad(const History& history);
  /// True when, on the average of the hour, too little is left for one more run.
  [[nodiscard]] bool full(NodeId node, int64_t hour_index) const;

 private:
  struct Taken {
    int64_t cpu_seconds = 0;
    int64_t mebibyte_seconds = 0;
  };
  const History& history_;
  std::map<NodeId, std::map<int64_t, Taken>> taken_;  // by node, then hour
};

}  // namespace stint
