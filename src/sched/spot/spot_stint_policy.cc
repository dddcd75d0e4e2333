#include "sched/spot/spot_stint_policy.h"

#include <algorithm>

namespace stint::sched {

StintSpot::StintSpot(const SpotTask& task, double spot_price)
    : task_(task),
      end_s_(task.deadline_s / task.tick_s * task.tick_s),
      tables_(std::make_shared<const Tables>(Tables{SpellLikelihood(), SpotValue(task, spot_price)})) {
  begin();
}

void StintSpot::begin() {
  up_.fill(1);
  down_.fill(1);
  available_ = false;
  age_ = 0;
  unseen_ = 0;
}

SpotTake StintSpot::choose(const SpotMoment& now) {
  see(now.spot_available);
  const int64_t slack_s = end_s_ - now.elapsed_s - now.work_left_s;
  if (now.spot_available) {
    if (!spot_is_safe(now, slack_s)) return SpotTake::kOnDemand;
    if (now.held != SpotTake::kOnDemand) return SpotTake::kSpot;
    return pays(SpotValue::Margin::kChange, now.elapsed_s, slack_s - now.changeover_left_s) ? SpotTake::kSpot
                                                                                            : SpotTake::kOnDemand;
  }
  if (now.held == SpotTake::kOnDemand || slack_s < task_.tick_s + task_.changeover_s) return SpotTake::kOnDemand;
  return pays(SpotValue::Margin::kWait, now.elapsed_s, slack_s) ? SpotTake::kIdle : SpotTake::kOnDemand;
}

void StintSpot::see(bool available) {
  if (age_ == 0) {
    age_ = unseen_ = kUnseenTicks;
  } else if (available != available_) {
    SpellWeights& weights = available_ ? up_ : down_;
    weights = tables_->likelihood.ended(weights, age_, unseen_);
    age_ = unseen_ = 0;
  }
  available_ = available;
  age_ = std::min(age_ + 1, SpellLikelihood::kMostAge);
}

/// Should spot be lost at the worst instant, on-demand still meets the deadline; or this tick is the last.
bool StintSpot::spot_is_safe(const SpotMoment& now, int64_t slack_s) const {
  const int64_t changeover_s = now.held == SpotTake::kSpot ? now.changeover_left_s : task_.changeover_s;
  return slack_s >= changeover_s + task_.changeover_s || now.work_left_s + changeover_s <= task_.tick_s;
}

bool StintSpot::pays(SpotValue::Margin margin, int64_t elapsed_s, int64_t slack_s) const {
  const SpellLikelihood& likelihood = tables_->likelihood;
  const SpellWeights up = available_ ? likelihood.lasted(up_, age_ - 1, unseen_) : up_;
  const SpellWeights down = available_ ? down_ : likelihood.lasted(down_, age_ - 1, unseen_);
  return tables_->value.margin(margin, elapsed_s, slack_s, age_class(age_), up, down) > 0;
}

}  // namespace stint::sched
