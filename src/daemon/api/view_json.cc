#include "daemon/api/view_json.h"

#include <nlohmann/json.hpp>

#include "daemon/background_work.h"
#include "daemon/json_values.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json task_json(const TaskView& task) {
  return {{"task", task.task},
          {"attempt", task.attempt},
          {"node", task.node},
          {"gpus", task.gpus},
          {"gpu_milli", task.gpu_milli},
          {"mig_profile", task.mig_profile},
          {"started", format_utc(task.started)},
          {"leaving", task.leaving}};
}

Json end_json(const EndView& end) {
  return {{"task", end.task},
          {"attempt", end.attempt},
          {"node", end.node},
          {"started", format_utc(end.started)},
          {"ended", format_utc(end.ended)},
          {"exit_code", end.exit_code},
          {"signal", end.signal},
          {"detail", end.detail},
          {"gpus", gpu_indexes(end.gpus)},
          {"gpu_milli", end.gpu_milli}};
}

Json trial_json(const TrialView& trial) {
  Json reports = Json::array();
  for (const TrialReport& report : trial.reports)
    reports.push_back({{"rung", report.rung},
                       {"reached", trial.rungs[static_cast<size_t>(report.rung)]},
                       {"loss", static_cast<double>(report.loss_micro) / 1e6},
                       {"at", format_utc(report.at)}});
  return {{"study", trial.study}, {"rungs", trial.rungs}, {"reports", std::move(reports)}};
}

}  // namespace

Json money_json(const std::optional<Money>& amount) {
  return amount ? Json{{"amount", amount->to_decimal()}, {"currency", amount->currency().code()}} : Json();
}

Json array_json(const JobView& job) {
  Json json = {{"id", public_id(job.client, job.number - job.array_index)}, {"size", job.array_size}};
  if (!job.whole_array) json["index"] = job.array_index;
  if (job.array_jobs.empty()) return json;
  for (const auto& [state, jobs] : job.array_jobs)
    json["jobs"][std::string(name_of(state))] = jobs;
  return json;
}

Json group_json(const GroupView& group) {
  Json json = {{"name", group.name}};
  for (const auto& [name, text] : {std::pair("within", &group.within), std::pair("required_topology", &group.required_topology),
                                   std::pair("preferred_topology", &group.preferred_topology)})
    if (!text->empty()) json[name] = *text;
  if (group.tasks == 0) return json;
  json["tasks"] = group.tasks;
  json["min_tasks"] = group.least_tasks;
  json["gpu_milli"] = group.gpu_milli;
  json["gpu_part"] = group.gpu_part;
  json["gpu_models"] = group.gpu_models;
  return json;
}

Json to_json(const JobView& job) {
  Json json = {{"id", public_id(job)},
               {"name", job.name},
               {"queue", job.queue},
               {"client", job.client},
               {"user", job.user},
               {"tags", text_object(job.tags)},
               {"state", name_of(job.state)},
               {"reason", job.reason},
               {"command", job.command},
               {"tasks", job.tasks},
               {"gpus_per_task", job.gpus_per_task},
               {"gpu_milli", job.gpu_milli},
               {"gpu_part", job.gpu_part},
               {"priority", job.priority},
               {"after", job.after},
               {"submitted", format_utc(job.submitted)},
               {"first_started", time_or_null(job.first_started)},
               {"started", time_or_null(job.started)},
               {"ended", time_or_null(job.ended)},
               {"deadline", time_or_null(job.deadline)},
               {"time_limit_s", job.time_limit ? Json(job.time_limit->to_seconds()) : Json()},
               {"starts", job.starts},
               {"failures", job.failures},
               {"placed", Json::array()},
               {"ends", Json::array()},
               {"gpu_hours", static_cast<double>(job.micro_gpu_hours) / 1e6},
               {"cost", money_json(job.cost)},
               {"per_hour", money_json(job.burn.per_hour())}};
  if (job.array > 0) json["array"] = array_json(job);
  if (job.deferrable) json["deferrable"] = true;
  for (const GroupView& group : job.groups)
    json["groups"].push_back(group_json(group));
  for (const auto& [name, text] :
       {std::pair("makes", &job.makes), std::pair("shares_with", &job.shares_with), std::pair("work_kind", &job.work_kind),
        std::pair("required_topology", &job.required_topology), std::pair("preferred_topology", &job.preferred_topology)})
    if (!text->empty()) json[name] = *text;
  if (job.max_slowdown_percent) json["max_slowdown_percent"] = *job.max_slowdown_percent;
  for (const Label& label : job.labels)
    json["labels"][label.key] = label.value;
  if (!job.affinity.empty()) json["affinity"] = job.affinity;
  if (!job.anti_affinity.empty()) json["anti_affinity"] = job.anti_affinity;
  for (const TaskView& task : job.placed)
    json["placed"].push_back(task_json(task));
  for (const EndView& end : job.ends)
    json["ends"].push_back(end_json(end));
  if (job.approval)
    json["approval"] = {{"why", job.approval->why},
                        {"asked_by", job.approval->asked_by},
                        {"most_cost", money_json(job.approval->most_cost)},
                        {"by", job.approval->by},
                        {"decided", time_or_null(job.approval->decided)},
                        {"approved", job.approval->approved},
                        {"reason", job.approval->reason}};
  if (job.trial) json["trial"] = trial_json(*job.trial);
  return json;
}

Json to_json(const NodeView& node) {
  return {{"name", node.name},
          {"state", name_of(node.state)},
          {"gpu_model", node.gpu_model},
          {"gpus", node.gpus},
          {"gpu_memory_bytes", node.gpu_memory.count()},
          {"cpu_milli", node.cpu_milli},
          {"memory_bytes", node.memory.count()},
          {"market", name_of(node.market)},
          {"provider", node.provider},
          {"region", node.region},
          {"instance_type", node.instance_type},
          {"labels", text_object(node.labels)},
          {"per_hour", money_json(node.rate.per_hour())},
          {"until", time_or_null(node.until)},
          {"detail", node.detail},
          {"gpu_milli_held", node.gpu_milli_held},
          {"jobs", node.job_names}};
}

Json to_json(const QueueView& queue) {
  return {{"path", queue.path},
          {"parent", queue.parent},
          {"deserved_gpu_milli", or_null(queue.deserved_gpu_milli)},
          {"limit_gpu_milli", or_null(queue.limit_gpu_milli)},
          {"weight", queue.weight},
          {"held_gpu_milli", queue.held_gpu_milli},
          {"month_gpu_hours", static_cast<double>(queue.month_micro_gpu_hours) / 1e6},
          {"waiting", queue.waiting},
          {"running", queue.running},
          {"budget", money_json(queue.budget)},
          {"budget_spent", money_json(queue.budget_spent)},
          {"budget_runs_out", time_or_null(queue.budget_runs_out)},
          {"budget_renewed", time_or_null(queue.budget_renewed)},
          {"cost", money_json(queue.cost)}};
}

Json to_json(const BudgetView& budget) {
  return {{"name", budget.name},
          {"queue", budget.queue},
          {"project", budget.project},
          {"per_month", money_json(budget.per_month)},
          {"thresholds", budget.thresholds_percent},
          {"at_limit", budget.at_limit},
          {"configured", budget.configured},
          {"month", format_date(budget.month.begin).substr(0, 7)},
          {"spent", money_json(budget.spent)},
          {"promised", money_json(budget.promised)},
          {"reached_percent", budget.reached_percent},
          {"burn_per_hour", money_json(budget.burn_per_hour)},
          {"month_end", money_json(budget.month_end)},
          {"forecast_over", budget.forecast_over},
          {"runs_out", time_or_null(budget.runs_out)}};
}

Json to_json(const EventView& event) {
  Json json = {{"id", public_id(event)}, {"at", format_utc(event.at)}, {"kind", event.kind}};
  if (event.job > 0) json["job"] = public_id_of_job(event);
  if (!event.queue.empty()) json["queue"] = event.queue;
  if (!event.node.empty()) json["node"] = event.node;
  if (!event.detail.empty()) json["detail"] = event.detail;
  return json;
}

Json to_json(const EngineView& engine) {
  return {{"now", format_utc(engine.now)},
          {"jobs", engine.jobs},
          {"waiting", engine.waiting},
          {"running", engine.running},
          {"gpus", engine.gpus},
          {"held_gpu_milli", engine.held_gpu_milli},
          {"last_sequence", engine.last_sequence},
          {"fingerprint", fmt::format("{:016x}", engine.fingerprint)},
          {"burn_per_hour", money_json(engine.burn.per_hour())},
          {"read_only", or_null(engine.read_only)},
          {"backend", engine.backend},
          {"notes", engine.notes}};
}

Json to_json(const BackgroundState& state) {
  return {{"running_since", time_or_null(state.running_since)},
          {"ended", time_or_null(state.ended)},
          {"by", state.by},
          {"error", state.error},
          {"next", time_or_null(state.next)}};
}

}  // namespace stint
