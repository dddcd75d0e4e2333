// What is thought of how long a job runs: a distribution over the bins of duration_bins.h, and what a scheduler asks of it.
#pragma once

#include <cstdint>
#include <string_view>

#include "sched/durations/duration_bins.h"

namespace stint::sched {

/// What the closest of those have in common that a forecast rests on.
enum class Likeness : uint8_t {
  kAny,       ///< nothing
  kSize,      ///< GPUs
  kUser,      ///< user
  kUserSize,  ///< user and GPUs
  kName,      ///< user and name
  kNameSize,  ///< user, name and GPUs
  kScript,    ///< user and script
};
/// As in "from 31 jobs with this …": "", "size", "user", "user and size", "name", "name and size", "script".
std::string_view name_of(Likeness l);

class RunForecast {
 public:
  RunForecast(const DurationMass& mass, Likeness likeness, int64_t like)  // rests on so many jobs, see like()
      : mass_(mass), like_(like), likeness_(likeness) {}

  /// So many in a thousand of those that run for longer than `served` end by the result. In a bin, all durations are as likely.
  /// Where nothing is known to have run for so long: twice `served`.
  [[nodiscard]] Duration quantile(int per_mille, Duration served = {}) const;

  /// What giving it the machine now costs per job that ends by it: the least, over all times t, of the time it will use within t
  /// divided by its chance to end within t. For a known duration that is what is left of it; where short jobs and long ones look
  /// alike it is small at first, and grows once the short ones would have ended.
  /// The order by it has the least mean completion time on one machine (Gittins 1979; Aalto, Ayesta and Righter 2009).
  [[nodiscard]] Duration cost_of_an_end(Duration served) const;

  /// How many ended jobs the closest knowledge rests on, and what they have in common with this one.
  [[nodiscard]] int64_t like() const { return like_; }
  [[nodiscard]] Likeness likeness() const { return likeness_; }
  [[nodiscard]] const DurationMass& mass() const { return mass_; }

 private:
  DurationMass mass_;
  int64_t like_ = 0;
  Likeness likeness_ = Likeness::kAny;
};

}  // namespace stint::sched
