#include "sched/trials.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sched {

Asha::Asha(const TrialRules& rules) : rules_(rules) {
  CHECK(rules.first_rung > 0 && rules.most >= rules.first_rung && rules.reduction >= 2, "rungs from {} to {}, reduction {}",
        rules.first_rung, rules.most, rules.reduction);
  for (int64_t r = rules.first_rung; r < rules.most; r *= rules.reduction) {
    resource_.push_back(r);
    if (r > rules.most / rules.reduction) break;  // the next would pass the top, or the range of the type
  }
  resource_.push_back(rules.most);
  resource_.erase(std::unique(resource_.begin(), resource_.end()), resource_.end());
  rungs_.resize(resource_.size());
}

void Asha::report(int rung, TrialScore score) {
  CHECK(rung >= 0 && rung < rungs(), "rung {} of {}", rung, rungs());
  auto& entries = rungs_[static_cast<size_t>(rung)];
  CHECK(std::none_of(entries.begin(), entries.end(), [&](const Entry& e) { return e.score.trial == score.trial; }),
        "trial {} reports twice at rung {}", score.trial, rung);
  const auto after = [](const TrialScore& a, const Entry& b) {
    return a.loss_micro != b.score.loss_micro ? a.loss_micro < b.score.loss_micro : a.trial < b.score.trial;
  };
  entries.insert(std::upper_bound(entries.begin(), entries.end(), score, after), {.score = score, .promoted = false});
}

size_t Asha::best_count(size_t rung) const { return rungs_[rung].size() / static_cast<size_t>(rules_.reduction); }

std::optional<Asha::Promotion> Asha::promote() {
  for (size_t rung = rungs_.size() - 1; rung-- > 0;)
    for (size_t i = 0; i < best_count(rung); ++i) {
      Entry& entry = rungs_[rung][i];
      if (entry.promoted) continue;
      entry.promoted = true;
      return Promotion{.trial = entry.score.trial, .to_rung = static_cast<int>(rung) + 1};
    }
  return std::nullopt;
}

bool Asha::is_hopeful(int rung, uint32_t trial) const {
  const auto& entries = rungs_[static_cast<size_t>(rung)];
  for (size_t i = 0; i < best_count(static_cast<size_t>(rung)); ++i)
    if (entries[i].score.trial == trial) return true;
  return false;
}

bool Asha::is_hopeless(int rung, uint32_t trial) const {
  return rung + 1 < rungs() && best_count(static_cast<size_t>(rung)) > 0 && !is_hopeful(rung, trial);
}

}  // namespace stint::sched
