// GPU time that processes took which no job had it for, as runs of whoever they belong to: bills charge it to them, beside the jobs
// that hold the same GPU at the time, if any.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/live/live_telemetry.h"

namespace stint {

class ForeignUse {
 public:
  /// Takes in who computes where now. A process counts from the look that first tells of it to the one that last does: what lies
  /// before and after is not known, and not charged.
  void look(const LiveSnapshot& snapshot);

  /// The runs that went on since the last call, each up to where it was last seen: a later call tells of one again, under the same
  /// id and further. One for each account on each GPU or MIG device, however many processes it has there.
  std::vector<Run> take();
  /// They could not be written: the next call of take() tells them again, unless it tells more of the same.
  void put_back(std::vector<Run> runs);

  /// After so long without a sight of it a use is over, and the next one is another run.
  static constexpr Duration kGap = Duration::minutes(2);

 private:
  using Key = std::tuple<std::string, int, int, std::string>;  // node, GPU, MIG instance, account
  struct Use {
    Instant began, seen;
    std::string command;
    DeviceKey device;
    bool told = false;  // up to `seen`
  };
  static Run run_of(const Key& key, const Use& use);

  std::map<Key, Use> uses_;
  std::vector<Run> over_;  // ended, not told yet
};

}  // namespace stint
