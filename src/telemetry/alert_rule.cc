#include "telemetry/alert_rule.h"

#include <algorithm>

namespace stint {

std::string_view name_of(Severity s) { return s == Severity::kCritical ? "critical" : "warning"; }

std::string_view name_of(AlertScope s) {
  switch (s) {
    case AlertScope::kGpu: return "gpu";
    case AlertScope::kNode: return "node";
    case AlertScope::kService: return "service";
    case AlertScope::kJob: return "job";
    case AlertScope::kQueue: return "queue";
    case AlertScope::kSpend: return "spend";
    case AlertScope::kFleet: return "fleet";
  }
  return "";
}

std::string_view name_of(AlertEvent e) {
  switch (e) {
    case AlertEvent::kOutOfMemory: return "out-of-memory";
    case AlertEvent::kSpotInterruption: return "spot-interruption";
    case AlertEvent::kCheckpoint: return "checkpoint";
    case AlertEvent::kJobFailed: return "job-failed";
  }
  return "";
}

std::string_view name_of(AlertFact f) {
  switch (f) {
    case AlertFact::kBudgetUsed: return "budget-used";
    case AlertFact::kJobsWaiting: return "jobs-waiting";
    case AlertFact::kNodeDown: return "node-down";
    case AlertFact::kReadOnly: return "read-only";
    case AlertFact::kSpendOff: return "spend-off";
    case AlertFact::kPriceAge: return "price-age";
    case AlertFact::kForeignProcesses: return "foreign-processes";
    case AlertFact::kHeldBack: return "held-back";
  }
  return "";
}

std::string_view unit_of(AlertFact f) {
  switch (f) {
    case AlertFact::kBudgetUsed: return "%";
    case AlertFact::kJobsWaiting: return "jobs";
    case AlertFact::kNodeDown:
    case AlertFact::kHeldBack:
    case AlertFact::kReadOnly: return "(1 = yes)";
    case AlertFact::kSpendOff: return "deviations";
    case AlertFact::kPriceAge: return "days";
    case AlertFact::kForeignProcesses: return "processes";
  }
  return "";
}

AlertScope scope_of(AlertFact f) {
  switch (f) {
    case AlertFact::kBudgetUsed:
    case AlertFact::kJobsWaiting: return AlertScope::kQueue;
    case AlertFact::kNodeDown: return AlertScope::kNode;
    case AlertFact::kSpendOff: return AlertScope::kSpend;
    case AlertFact::kForeignProcesses:
    case AlertFact::kHeldBack: return AlertScope::kGpu;
    case AlertFact::kReadOnly:
    case AlertFact::kPriceAge: return AlertScope::kFleet;
  }
  return AlertScope::kFleet;
}

std::string_view name_of(Measure m) {
  switch (m) {
    case Measure::kMean: return "mean";
    case Measure::kShare: return "share";
    case Measure::kTimesBaseline: return "times-baseline";
    case Measure::kRise: return "rise";
    case Measure::kEvents: return "events";
    case Measure::kEventShare: return "event-share";
    case Measure::kSilence: return "silence";
    case Measure::kFact: return "fact";
  }
  return "";
}

std::string_view symbol_of(Comparison c) {
  switch (c) {
    case Comparison::kAbove: return ">";
    case Comparison::kBelow: return "<";
    case Comparison::kAtMost: return "<=";
    case Comparison::kAtLeast: return ">=";
  }
  return "";
}

namespace {

/// The value of an enumeration from 0 to `last` whose name is `text`.
template <typename Enum, typename Name>
std::optional<Enum> find_by_name(std::string_view text, Enum last, Name name) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (name(static_cast<Enum>(i)) == text) return static_cast<Enum>(i);
  return std::nullopt;
}
template <typename Enum>
std::optional<Enum> find_by_name(std::string_view text, Enum last) {
  return find_by_name(text, last, [](Enum e) { return name_of(e); });
}

}  // namespace

std::optional<Severity> parse_severity(std::string_view text) { return find_by_name(text, Severity::kCritical); }
std::optional<AlertScope> parse_alert_scope(std::string_view text) { return find_by_name(text, AlertScope::kFleet); }
std::optional<AlertEvent> parse_alert_event(std::string_view text) { return find_by_name(text, AlertEvent::kJobFailed); }
std::optional<AlertFact> parse_alert_fact(std::string_view text) { return find_by_name(text, AlertFact::kHeldBack); }
std::optional<Measure> parse_measure(std::string_view text) { return find_by_name(text, Measure::kFact); }
std::optional<Comparison> parse_comparison(std::string_view symbol) {
  return find_by_name(symbol, Comparison::kAtLeast, symbol_of);
}

std::string_view unit_for(const AlertRule& rule) {
  switch (rule.measure) {
    case Measure::kMean: return rule.metric ? info_of(*rule.metric).unit : "";
    case Measure::kShare:
    case Measure::kRise:
    case Measure::kEventShare: return "%";
    case Measure::kTimesBaseline: return "times";
    case Measure::kEvents: return "events";
    case Measure::kSilence: return "hours";
    case Measure::kFact: return rule.fact ? unit_of(*rule.fact) : "";
  }
  return "";
}

namespace {

constexpr Duration minutes(int64_t n) { return Duration::minutes(n); }

AlertRule mean_rule(std::string name, Metric metric, Comparison comparison, double threshold, Duration window, Duration hold) {
  AlertRule rule;
  rule.name = std::move(name);
  rule.metric = metric;
  rule.comparison = comparison;
  rule.threshold = threshold;
  rule.unit = info_of(metric).unit;
  rule.window = window;
  rule.hold = hold;
  return rule;
}

AlertRule share_rule(std::string name, Metric metric, Metric of, double threshold_pct, Duration window, Duration hold) {
  AlertRule rule = mean_rule(std::move(name), metric, Comparison::kAbove, threshold_pct, window, hold);
  rule.measure = Measure::kShare;
  rule.of = of;
  rule.unit = "%";
  return rule;
}

AlertRule event_rule(std::string name, AlertScope scope, Measure measure, AlertEvent event, double threshold,
                     std::string_view unit, Duration window) {
  AlertRule rule;
  rule.name = std::move(name);
  rule.scope = scope;
  rule.measure = measure;
  rule.event = event;
  rule.threshold = threshold;
  rule.unit = unit;
  rule.window = window;
  return rule;
}

AlertRule fact_rule(std::string name, AlertFact fact, Comparison comparison, double threshold) {
  AlertRule rule;
  rule.name = std::move(name);
  rule.scope = scope_of(fact);
  rule.measure = Measure::kFact;
  rule.fact = fact;
  rule.comparison = comparison;
  rule.threshold = threshold;
  rule.unit = unit_of(fact);
  rule.window = minutes(10);
  return rule;
}

AlertRule said(AlertRule rule, Severity severity, std::string summary, std::string remedy) {
  rule.severity = severity;
  rule.summary = std::move(summary);
  rule.remedy = std::move(remedy);
  return rule;
}

AlertRule about(AlertRule rule, std::vector<WorkloadKind> only) {
  rule.only = std::move(only);
  return rule;
}

std::vector<AlertRule> critical_rules() {
  const std::vector<WorkloadKind> inference = {WorkloadKind::kBatchInference, WorkloadKind::kRealtimeInference};
  std::vector<AlertRule> rules;
  rules.push_back(said(about(mean_rule("InferenceGpuIdle", Metric::kUtilization, Comparison::kAtMost, 0, minutes(5), {}),
                             {WorkloadKind::kRealtimeInference}),
                       Severity::kCritical, "A GPU that serves a model has done nothing for five minutes.",
                       "See whether requests reach the server; restart it, or take the replica out of the load balancer."));
  rules.push_back(said(mean_rule("GpuTemperatureCritical", Metric::kTemperature, Comparison::kAbove, 90, minutes(1), minutes(1)),
                       Severity::kCritical, "A GPU is above 90 °C.",
                       "Drain the node; look at fans, airflow and the power limit before it is used again."));
  AlertRule oom =
      event_rule("InferenceOutOfMemory", AlertScope::kNode, Measure::kEvents, AlertEvent::kOutOfMemory, 0, "events", minutes(10));
  rules.push_back(said(about(std::move(oom), inference), Severity::kCritical,
                       "A process of serving or batch inference ran out of GPU memory.",
                       "Lower the batch size or the number of models on the GPU, or move one away."));
  AlertRule latency = mean_rule("LatencyAboveBaseline", Metric::kLatencyP99, Comparison::kAbove, 5, minutes(5), minutes(2));
  latency.scope = AlertScope::kService;
  latency.measure = Measure::kTimesBaseline;
  latency.unit = "times";
  rules.push_back(said(std::move(latency), Severity::kCritical,
                       "Latency is more than five times the 95th percentile of the week before.",
                       "Compare load and batch size with the week before; add a replica, or roll the model version back."));
  return rules;
}

std::vector<AlertRule> use_rules() {
  std::vector<AlertRule> rules;
  rules.push_back(said(mean_rule("GpuUnderUtilized", Metric::kUtilization, Comparison::kBelow, 20, minutes(60), {}),
                       Severity::kWarning, "A GPU was busy less than 20 % of the last hour.",
                       "stint audit names what would fit on a smaller GPU, could share one, or can stop."));
  rules.push_back(said(mean_rule("GpuOverProvisioned", Metric::kUtilization, Comparison::kBelow, 40, minutes(30), {}),
                       Severity::kWarning, "A GPU was busy less than 40 % of the last half hour: over-provisioned or idle.",
                       "Raise the batch size, or look for the bottleneck with stint profile."));
  rules.push_back(said(mean_rule("GpuAtCapacity", Metric::kUtilization, Comparison::kAbove, 95, minutes(30), {}),
                       Severity::kWarning, "A GPU was busy more than 95 % of the last half hour.",
                       "Expect waiting: see stint queue, and stint plan capacity for what to add."));
  rules.push_back(said(mean_rule("GpuAtCapacityForAnHour", Metric::kUtilization, Comparison::kAbove, 95, minutes(60), {}),
                       Severity::kWarning, "A GPU was busy more than 95 % of the last hour.",
                       "Add capacity or move work: stint plan capacity says how much."));
  rules.push_back(
      said(about(mean_rule("TrainingOccupancyLow", Metric::kSmOccupancy, Comparison::kBelow, 50, minutes(30), {}),
                 {WorkloadKind::kTraining, WorkloadKind::kFineTuning}),
           Severity::kWarning, "Less than half of the warps are resident while a model trains.",
           "Try larger batches, fused kernels or mixed precision; look at registers and shared memory of the main kernels."));
  return rules;
}

std::vector<AlertRule> health_rules() {
  std::vector<AlertRule> rules;
  rules.push_back(said(share_rule("GpuMemoryNearlyFull", Metric::kMemoryUsed, Metric::kMemoryTotal, 85, minutes(10), minutes(5)),
                       Severity::kWarning, "More than 85 % of a GPU's memory has been in use for ten minutes.",
                       "One larger batch may run out of memory: lower it, or choose a GPU with more."));
  rules.push_back(said(mean_rule("GpuHot", Metric::kTemperature, Comparison::kAbove, 83, minutes(5), minutes(5)),
                       Severity::kWarning, "A GPU is above 83 °C and will slow down.",
                       "Look at airflow, fans and the power limit."));
  rules.push_back(said(share_rule("PowerNearLimit", Metric::kPower, Metric::kPowerLimit, 90, minutes(10), minutes(5)),
                       Severity::kWarning, "A GPU draws more than 90 % of its power limit.",
                       "Clocks will be lowered; raise the limit where cooling allows, or accept it."));
  AlertRule leak = share_rule("GpuMemoryLeak", Metric::kMemoryUsed, Metric::kMemoryTotal, 5, minutes(120), minutes(10));
  leak.measure = Measure::kRise;
  rules.push_back(said(std::move(leak), Severity::kWarning,
                       "A GPU's used memory has grown by more than 5 % of its size in two hours at a steady load.",
                       "Something is kept that is not needed: restart the process before it runs out, and look at its caches."));
  rules.push_back(said(event_rule("SpotInterruptionsHigh", AlertScope::kFleet, Measure::kEventShare,
                                  AlertEvent::kSpotInterruption, 20, "%", minutes(24 * 60)),
                       Severity::kWarning, "More than a fifth of the spot nodes were taken away within 24 hours.",
                       "Spread over more types and zones, or move work with deadlines to on-demand: stint plan spot."));
  rules.push_back(
      said(event_rule("NoCheckpoint", AlertScope::kJob, Measure::kSilence, AlertEvent::kCheckpoint, 2, "hours", minutes(1)),
           Severity::kWarning, "A job has not saved a checkpoint for two hours.",
           "An interruption now costs all of it: see whether its checkpoint directory is writable and has room."));
  return rules;
}

std::vector<AlertRule> daemon_rules() {
  std::vector<AlertRule> rules;
  rules.push_back(said(fact_rule("NodeDown", AlertFact::kNodeDown, Comparison::kAbove, 0), Severity::kCritical,
                       "A machine is gone; what ran on it is lost.",
                       "Look at the machine; `stint nodes up` takes it back. Its jobs start again from their checkpoints."));
  rules.push_back(said(fact_rule("DaemonReadOnly", AlertFact::kReadOnly, Comparison::kAbove, 0), Severity::kCritical,
                       "The daemon can make nothing durable: it takes no command and starts nothing.",
                       "Look at the disk of its state folder: room, permissions, errors of the device."));
  // A task that has just ended may take a moment to leave, and one that begins may be seen before it is known to.
  AlertRule foreign = fact_rule("ForeignProcess", AlertFact::kForeignProcesses, Comparison::kAbove, 0);
  foreign.hold = minutes(2);
  rules.push_back(said(
      std::move(foreign), Severity::kWarning, "A process computes on a GPU that no job gave it.",
      "GET /v1/gpus names it: its number, program and account. Have it ended, or submitted as a job: bills charge its account."));
  rules.push_back(
      said(fact_rule("GpuHeldBack", AlertFact::kHeldBack, Comparison::kAbove, 0), Severity::kWarning,
           "A GPU gets no job: what another left there is not gone.",
           "GET /v1/gpus says why: end the process that is on it, or see why the scrub fails (stint daemon --gpu-scrub)."));
  rules.push_back(said(fact_rule("BudgetSpent", AlertFact::kBudgetUsed, Comparison::kAtLeast, 100), Severity::kCritical,
                       "A queue's budget for this period is spent.",
                       "Its jobs wait for the next period: raise the budget, or move what is urgent to another queue."));
  rules.push_back(said(fact_rule("BudgetNearlySpent", AlertFact::kBudgetUsed, Comparison::kAbove, 80), Severity::kWarning,
                       "More than 80 % of a queue's budget for this period is spent.",
                       "See what spends it with `stint queue`, and when it runs out with `stint budget`."));
  rules.push_back(
      said(event_rule("JobsFailed", AlertScope::kQueue, Measure::kEvents, AlertEvent::kJobFailed, 0, "events", minutes(10)),
           Severity::kWarning, "Jobs of a queue have failed within ten minutes, their retries used up.",
           "See which with `stint queue --state failed`, and what they printed with `stint logs`."));
  return rules;
}

/// About what the last audit found. An audit lists days from 3.5 deviations on, so a lower threshold finds no more.
std::vector<AlertRule> audit_rules() {
  std::vector<AlertRule> rules;
  rules.push_back(said(fact_rule("SpendUnusual", AlertFact::kSpendOff, Comparison::kAbove, 3.5), Severity::kWarning,
                       "A client's service cost far more on one of the last days than that weekday usually costs.",
                       "stint trend shows the days and amounts, stint bill --by workload what they went to."));
  rules.push_back(said(fact_rule("PricesOld", AlertFact::kPriceAge, Comparison::kAbove, 180), Severity::kWarning,
                       "A catalogue price that the last audit rests on is older than 180 days.",
                       "stint audit names it; take current prices with stint catalog refresh."));
  return rules;
}

}  // namespace

const std::vector<AlertRule>& default_alert_rules() {
  static const std::vector<AlertRule> rules = [] {
    std::vector<AlertRule> all = critical_rules();
    for (auto more : {use_rules(), health_rules(), daemon_rules(), audit_rules()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return rules;
}

Status check_alert_rule(const AlertRule& rule) {
  const auto wrong = [&](std::string_view what) { return invalid("alert rule '{}': {}", rule.name, what); };
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (rule.name.empty() || !std::ranges::all_of(rule.name, is_word)) return wrong("a name is letters, digits and underscores");
  if (rule.window < Duration::minutes(1) || rule.window > kBaseline ||
      rule.window.count_ns() % Duration::minutes(1).count_ns() != 0)
    return wrong("a window is whole minutes, one to a week's");
  if (rule.hold < Duration()) return wrong("the time it must hold is not negative");
  const bool measured = rule.measure <= Measure::kRise;
  if (measured != rule.metric.has_value()) return wrong(measured ? "name its metric" : "it measures no metric");
  const bool counted = !measured && rule.measure != Measure::kFact;
  if (counted != rule.event.has_value()) return wrong(counted ? "name its event" : "it counts no events");
  if ((rule.measure == Measure::kFact) != rule.fact.has_value())
    return wrong(rule.fact ? "only the measure 'fact' looks at one" : "name its fact");
  if (rule.fact && rule.scope != scope_of(*rule.fact))
    return wrong(fmt::format("{} is known for each {}", name_of(*rule.fact), name_of(scope_of(*rule.fact))));
  const bool relative = rule.measure == Measure::kShare || rule.measure == Measure::kRise;
  if (relative != rule.of.has_value()) return wrong(relative ? "name what it is a share of" : "it is no share of anything");
  return {};
}

}  // namespace stint
