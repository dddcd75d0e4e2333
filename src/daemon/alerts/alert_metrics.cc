#include "daemon/alerts/alert_metrics.h"

#include <algorithm>

#include "codec/metrics/metrics_text.h"
#include "codec/metrics/prometheus_rules.h"
#include "daemon/engine/event_hub.h"

namespace stint {
namespace {

void add_desk(std::string& out, const AlertDesk& desk) {
  const std::vector<AlertView> firing = desk.alerts(AlertDesk::Which::kFiring);
  MetricText alerts(out, "stint_alerts_firing", "gauge", "Alerts that fire, silenced ones included.");
  for (const Severity severity : {Severity::kWarning, Severity::kCritical}) {
    const auto is = [&](const AlertView& v) { return v.alert.message.labels.at("severity") == name_of(severity); };
    alerts.add(labels_text({{"severity", name_of(severity)}}), std::ranges::count_if(firing, is));
  }
  const std::vector<AlertReceiverState> receivers = desk.receivers();
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help, int64_t AlertReceiverState::* of) {
    MetricText metric(out, name, type, help);
    for (const AlertReceiverState& receiver : receivers)
      metric.add(labels_text({{"receiver", receiver.name}}), receiver.*of);
  };
  each("stint_alert_deliveries_total", "counter", "Requests the receiver took.", &AlertReceiverState::delivered);
  each("stint_alert_failures_total", "counter", "Requests the receiver did not take.", &AlertReceiverState::failed);
  each("stint_alert_refused_total", "counter", "Alerts the receiver would not have.", &AlertReceiverState::refused);
  each("stint_alerts_waiting", "gauge", "Alerts due to the receiver now.", &AlertReceiverState::waiting);
}

}  // namespace

std::string alert_metrics(const AlertDesk& desk, const std::vector<QueueView>& queues, const std::vector<NodeView>& nodes,
                          const Principal& who) {
  std::string out;
  const AlertCounters counters = desk.counters();
  MetricText failed(out, prometheus_name(AlertEvent::kJobFailed), "counter", "Jobs that failed, their retries used up.");
  for (const QueueView& queue : queues)
    if (const auto at = counters.failed_jobs.find(queue.path); at != counters.failed_jobs.end())
      failed.add(labels_text({{"queue", queue.path}}), at->second);
  MetricText used(out, prometheus_name(AlertFact::kBudgetUsed), "gauge", "Spent of this period's budget, %.");
  for (const QueueView& queue : queues)
    if (const auto percent = budget_used_percent(queue)) used.add(labels_text({{"queue", queue.path}}), *percent);
  MetricText saved(out, prometheus_name(AlertEvent::kCheckpoint), "gauge", "When a running job last saved its work, or began.");
  for (const auto& [job, last] : counters.last_checkpoint)
    if (who.may(Permission::kSeeJobs, client_of_queue(last.first)))
      saved.add(labels_text({{"job", job}, {"queue", last.first}}), last.second.seconds());
  MetricText spend(out, prometheus_name(AlertFact::kSpendOff), "gauge",
                   "Robust standard deviations that a recent day of a client's service cost more or less than usual.");
  for (const UnusualSpend& one : counters.unusual_spend)
    if (one.client.empty() ? who.may_everywhere(Permission::kSeeJobs) : who.may(Permission::kSeeJobs, one.client))
      spend.add(labels_text({{"spend", one.name}, {"client", one.client}}), one.deviations);
  if (!who.may_everywhere(Permission::kSeeJobs)) return out;
  MetricText age(out, prometheus_name(AlertFact::kPriceAge), "gauge",
                 "Days since the oldest catalogue price that the last audit rests on.");
  if (counters.price_age_days) age.add("", *counters.price_age_days);
  MetricText down(out, prometheus_name(AlertFact::kNodeDown), "gauge", "1 when the machine is gone.");
  for (const NodeView& node : nodes)
    down.add(labels_text({{"node", node.name}}), node.state == NodeState::kDown ? 1 : 0);
  MetricText memory(out, prometheus_name(AlertEvent::kOutOfMemory), "counter", "Processes of jobs that ran out of memory.");
  for (const auto& [where, count] : counters.out_of_memory)
    memory.add(labels_text({{"node", where.first}, {"kind", name_of(where.second)}}), count);
  add_desk(out, desk);
  return out;
}

}  // namespace stint
