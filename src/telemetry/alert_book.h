// Which alerts fire, who is told about them and when: each once, again after a while, and once more when it has ended.
// A silence keeps what it matches from being told, not from being listed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "telemetry/alert_evaluator.h"

namespace stint {

struct Silence {
  std::string rule;  ///< empty = every rule
  std::string node;  ///< empty = every node
  std::string name;  ///< service or job; empty = every one
  Instant from;
  Instant until;  ///< exclusive
  std::string by;
  std::string why;
};

struct ActiveAlert {
  AlertChange alert;  ///< firing
  std::optional<Instant> told;
};

class AlertBook {
 public:
  explicit AlertBook(Duration tell_again = Duration::hours(4)) : tell_again_(tell_again) {}

  void apply(const std::vector<AlertChange>& changes);
  void silence(Silence silence) { silences_.push_back(std::move(silence)); }
  [[nodiscard]] const std::vector<ActiveAlert>& active() const { return active_; }
  [[nodiscard]] const std::vector<Silence>& silences() const { return silences_; }
  /// @param evaluator  the one the changes came from; names are looked up in it.
  [[nodiscard]] bool is_silenced(const AlertEvaluator& evaluator, const AlertChange& alert, Instant now) const;

  /// What has to be told now; counts as told. An end is told where the beginning was.
  std::vector<AlertChange> take_due(const AlertEvaluator& evaluator, Instant now);

 private:
  Duration tell_again_;
  std::vector<ActiveAlert> active_;  // by rule, then subject
  std::vector<AlertChange> ended_;   // told as firing, not yet as ended
  std::vector<Silence> silences_;
};

}  // namespace stint
