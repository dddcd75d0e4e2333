// Alert rules as data: what is looked at, over how long, against what, and what to do about it. The same rules are evaluated
// live (alert_evaluator.h) and exported to Prometheus (codec/metrics/prometheus_rules.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/metric.h"
#include "model/workload.h"

namespace stint {

enum class Severity : uint8_t { kWarning, kCritical };
std::string_view name_of(Severity s);
std::optional<Severity> parse_severity(std::string_view text);

/// What a rule speaks about: one alert for each of these.
enum class AlertScope : uint8_t { kGpu, kNode, kService, kJob, kQueue, kSpend, kFleet };
std::string_view name_of(AlertScope s);
std::optional<AlertScope> parse_alert_scope(std::string_view text);

/// What happens rather than being measured.
enum class AlertEvent : uint8_t { kOutOfMemory, kSpotInterruption, kCheckpoint, kJobFailed };
std::string_view name_of(AlertEvent e);
std::optional<AlertEvent> parse_alert_event(std::string_view text);

/// What is so until it is otherwise: known at every moment, no window needed.
enum class AlertFact : uint8_t {
  kBudgetUsed,   ///< of a queue: % of this period's
  kJobsWaiting,  ///< of a queue and those below it
  kNodeDown,     ///< 1 or 0
  kReadOnly,     ///< of the fleet: 1 while the daemon can make nothing durable
  kSpendOff,     ///< of what a client pays for a service: robust standard deviations a recent day cost more or less than usual
  kPriceAge,     ///< of the fleet: days since the oldest catalogue price that the last audit rests on
  kForeignProcesses,  ///< of a GPU: processes that compute on it and that no job started which holds it
  kHeldBack,          ///< of a GPU: 1 while no job begins on it, as it is not clean of what another left
};
inline constexpr size_t kAlertFacts = 8;
std::string_view name_of(AlertFact f);
std::optional<AlertFact> parse_alert_fact(std::string_view text);
std::string_view unit_of(AlertFact f);
AlertScope scope_of(AlertFact f);

enum class Measure : uint8_t {
  kMean,           ///< of `metric` over `window`, in its unit
  kShare,          ///< mean of `metric` over `window` in % of the mean of `of`
  kTimesBaseline,  ///< mean of `metric` over `window`, over the 95th percentile of its minutes in kBaseline before
  kRise,           ///< least-squares growth of `metric` over `window` in % of `of`, while utilisation is steady (kSteadyPoints)
  kEvents,         ///< how many `event`s in `window`
  kEventShare,     ///< % of the fleet's spot nodes that had an `event` in `window`
  kSilence,        ///< hours since the last `event`, or since the job began
  kFact,           ///< `fact`, as it is known now
};
std::string_view name_of(Measure m);
std::optional<Measure> parse_measure(std::string_view text);

enum class Comparison : uint8_t { kAbove, kBelow, kAtMost, kAtLeast };
std::string_view symbol_of(Comparison c);  ///< ">", "<", "<=", ">="
std::optional<Comparison> parse_comparison(std::string_view symbol);

struct AlertRule {
  std::string name;  ///< a Prometheus alert name: letters, digits, underscores
  Severity severity = Severity::kWarning;
  AlertScope scope = AlertScope::kGpu;
  std::vector<WorkloadKind> only;  ///< speaks about these kinds of work; empty = about all
  Measure measure = Measure::kMean;
  std::optional<Metric> metric;
  std::optional<Metric> of;
  std::optional<AlertEvent> event;
  std::optional<AlertFact> fact;
  Comparison comparison = Comparison::kAbove;
  double threshold = 0;
  std::string_view unit = "";  ///< of the threshold
  Duration window;             ///< whole minutes; > 0. Of kFact: how long one that fired is kept while it is not known
  Duration hold;               ///< the condition must have held for so long; 0 = fires at once
  std::string summary;         ///< one sentence, says what is the matter
  std::string remedy;          ///< and what to do
};

inline constexpr Duration kBaseline = Duration::hours(7 * 24);
inline constexpr double kSteadyPoints = 10;  ///< utilisation of the two halves of a window differs by less: a steady load
/// Of the minutes of a window so many must have samples: what was not seen raises no alarm.
inline constexpr double kLeastCoverage = 0.8;

/// The unit that follows from what a rule measures.
std::string_view unit_for(const AlertRule& rule);

/// The rules that hold where the configuration has no others. 83 °C is the slowdown target of data-centre boards.
const std::vector<AlertRule>& default_alert_rules();

/// @return error that names the rule and what about it makes no sense.
Status check_alert_rule(const AlertRule& rule);

}  // namespace stint
