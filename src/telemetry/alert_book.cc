#include "telemetry/alert_book.h"

#include <algorithm>
#include <utility>

namespace stint {

void AlertBook::apply(const std::vector<AlertChange>& changes) {
  const auto key = [](const ActiveAlert& a) { return std::pair(a.alert.rule, a.alert.subject); };
  for (const AlertChange& change : changes) {
    const auto at = std::ranges::lower_bound(active_, std::pair(change.rule, change.subject), {}, key);
    const bool known = at != active_.end() && key(*at) == std::pair(change.rule, change.subject);
    if (change.firing) {
      if (known)
        at->alert = change;
      else
        active_.insert(at, {.alert = change, .told = {}});
    } else if (known) {
      if (at->told) ended_.push_back(change);
      active_.erase(at);
    }
  }
}

bool AlertBook::is_silenced(const AlertEvaluator& evaluator, const AlertChange& alert, Instant now) const {
  const AlertSubject& who = evaluator.subject(alert.subject);
  const auto matches = [](const std::string& pattern, const std::string& text) { return pattern.empty() || pattern == text; };
  return std::ranges::any_of(silences_, [&](const Silence& s) {
    return s.from <= now && now < s.until && matches(s.rule, evaluator.rules()[alert.rule].name) && matches(s.node, who.node) &&
           matches(s.name, who.name);
  });
}

std::vector<AlertChange> AlertBook::take_due(const AlertEvaluator& evaluator, Instant now) {
  std::vector<AlertChange> due = std::exchange(ended_, {});
  for (ActiveAlert& active : active_) {
    if (active.told && now - *active.told < tell_again_) continue;
    if (is_silenced(evaluator, active.alert, now)) continue;
    active.told = now;
    due.push_back(active.alert);
  }
  std::erase_if(silences_, [&](const Silence& s) { return s.until <= now; });
  return due;
}

}  // namespace stint
