// Evaluates alert rules: samples and events in, alerts that begin and end out. No clock: time comes with what is fed.
//
// An alert is the pair of a rule and a subject. It is pending from when its condition is first seen true, and fires once that
// has lasted for the rule's `hold`. It ends when the condition is seen false, or when it can no longer be seen at all.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/alert_rule.h"
#include "telemetry/minute_window.h"

namespace stint {

/// Who an alert is about. What does not apply is empty.
struct AlertSubject {
  AlertScope scope = AlertScope::kGpu;
  std::string node;
  std::string gpu;   ///< UUID, or the index where there is none
  std::string name;  ///< of the service, job or queue
  auto operator<=>(const AlertSubject&) const = default;
};
using SubjectId = Id<struct AlertSubjectTag>;

struct AlertChange {
  size_t rule = 0;  ///< index
  SubjectId subject;
  bool firing = false;  ///< false = it has ended
  Instant since;        ///< when its condition became true
  Instant at;           ///< when it fired or ended
  double value = 0;     ///< what was measured, in the rule's unit; at its end the last that was
  auto operator<=>(const AlertChange&) const = default;
};

class AlertEvaluator {
 public:
  /// @param rules  each passed check_alert_rule().
  explicit AlertEvaluator(std::vector<AlertRule> rules);

  SubjectId subject(const AlertSubject& subject);
  /// It is no longer there: its alerts end with the next evaluate(), and its id is given to another after that.
  void drop(SubjectId id) { subjects_[id.index()].dropped = true; }
  [[nodiscard]] const AlertSubject& subject(SubjectId id) const { return subjects_[id.index()].who; }
  [[nodiscard]] const std::vector<AlertRule>& rules() const { return rules_; }

  /// What kind of work it does from now on: rules for certain kinds speak about it only then.
  void set_kind(SubjectId id, WorkloadKind kind) { subjects_[id.index()].kind = kind; }
  /// A node that can be taken away counts among the fleet's spot nodes.
  void set_spot(SubjectId node, bool spot) { subjects_[node.index()].spot = spot; }
  /// A job begins at that instant (silence counts from there), or has ended.
  void job_began(SubjectId job, Instant at) { subjects_[job.index()].began = at; }

  void sample(SubjectId id, Metric metric, Instant at, double value);
  /// @param kind  of the work it happened to: rules for certain kinds count theirs alone.
  void event(SubjectId id, AlertEvent event, Instant at, WorkloadKind kind = WorkloadKind::kUnknown);
  /// It is so from now on. none = not known.
  void set_fact(SubjectId id, AlertFact fact, std::optional<double> value);

  /// The alert fires, from an earlier run or under earlier rules. It ends when its condition is seen false, not because too
  /// little has been seen yet: that counts once the rule's window from `at` on is over. A rule that is not there is passed over.
  void restore(std::string_view rule, const AlertSubject& who, Instant since, double value, Instant at);
  /// The earliest instant at which a condition that holds now will have held for long enough. none = none is pending.
  [[nodiscard]] std::optional<Instant> next_due() const;

  /// Looks at all rules and subjects as of `now`, which is never before the last call's.
  /// @return what began to fire and what ended, by rule, then subject.
  std::vector<AlertChange> evaluate(Instant now);

 private:
  struct Happened {
    AlertEvent event;
    Instant at;
    WorkloadKind kind;
  };
  struct State {
    std::optional<Instant> since;  // the condition has been true from then on
    bool fires = false;
    double value = 0;
    std::optional<Instant> trusted_until;  // restored: believed for so long while nothing is seen
  };
  struct Subject {
    AlertSubject who;
    WorkloadKind kind = WorkloadKind::kUnknown;
    bool spot = false;
    bool there = false;  // else the place is free
    bool dropped = false;
    std::optional<Instant> began;
    std::array<std::optional<double>, kAlertFacts> facts;
    std::vector<std::optional<MinuteWindow>> windows;  // by metric; only those a rule looks at
    std::vector<Happened> happened;                    // ascending by arrival, none older than a rule looks
    std::vector<State> states;                         // by rule
  };

  [[nodiscard]] std::optional<double> measure(const AlertRule& rule, const Subject& s, Instant now) const;
  [[nodiscard]] std::optional<double> mean(const Subject& s, Metric metric, Instant until, Duration window) const;
  [[nodiscard]] std::optional<double> rise(const AlertRule& rule, const Subject& s, Instant now) const;
  [[nodiscard]] std::optional<double> share_of_spot_nodes(const AlertRule& rule, Instant now) const;
  void look(size_t rule, SubjectId id, Instant now, std::vector<AlertChange>& changes);
  void forget(Instant now);
  void free_dropped();

  std::vector<AlertRule> rules_;
  std::vector<size_t> minutes_;  // by metric: how far back a rule looks; 0 = none does
  Duration events_kept_;
  std::vector<Subject> subjects_;
  std::map<AlertSubject, SubjectId> ids_;
  std::vector<SubjectId> ended_;  // dropped, and their alerts ended: free from the next evaluate() on
  std::vector<SubjectId> free_;
};

}  // namespace stint
