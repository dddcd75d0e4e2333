#include "sched/place/interference.h"

#include <algorithm>

#include "model/interference.h"

namespace stint::sched {

int64_t InterferenceFacts::percent_beside(int32_t kind) const {
  const auto at = std::ranges::lower_bound(measured, kind, {}, &std::pair<int32_t, int32_t>::first);
  if (at != measured.end() && at->first == kind) return at->second;
  return kMostSlowedPercent;
}

int32_t InterferenceBook::number_of(const std::string& kind) {
  const auto at = std::ranges::find(kinds_, kind);
  const auto number = static_cast<int32_t>(at - kinds_.begin());
  if (at == kinds_.end()) kinds_.push_back(kind);
  return number;
}

InterferenceFacts InterferenceBook::facts_of(const Request& request) {
  InterferenceFacts facts;
  if (!request.work_kind.empty()) facts.work = number_of(request.work_kind);
  facts.most = request.max_slowdown_percent;
  any_bounds_ |= facts.most >= 0;
  for (const Slowdown& slowdown : request.slowdowns)
    facts.measured.emplace_back(number_of(slowdown.beside), slowdown.percent);
  std::ranges::sort(facts.measured);
  return facts;
}

}  // namespace stint::sched
