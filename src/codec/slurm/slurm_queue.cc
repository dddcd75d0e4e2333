#include "codec/slurm/slurm_queue.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/json_mistake.h"
#include "codec/slurm/slurm_json_fields.h"
#include "codec/slurm/slurm_record.h"

namespace stint::slurm_json {
namespace {

using simdjson::SUCCESS;
/// Words of a node's state that leave it usable.
constexpr std::array<std::string_view, 12> kUsable = {"IDLE",       "MIXED",        "ALLOCATED",    "COMPLETING",
                                                      "CLOUD",      "POWERED_DOWN", "POWERING_UP",  "POWER_DOWN",
                                                      "POWERED_UP", "PLANNED",      "DYNAMIC_NORM", "POWER_UP"};

bool takes_work(std::string_view state) {
  for (const std::string_view word : split(state, '+'))
    if (std::ranges::find(kUsable, word) == kUsable.end()) return false;
  return true;
}

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> out;
  if (is_absent_in_slurm(text)) return out;
  for (const std::string_view part : split(text, ','))
    if (!part.empty()) out.emplace_back(part);
  return out;
}

Result<SlurmMachine> machine_of(const SlurmRecord& record) {
  SlurmMachine machine;
  machine.name = record.text("NodeName");
  TRY_ASSIGN(machine.gres, parse_slurm_gres(record.text("Gres")));
  if (const auto used = parse_slurm_gres(record.text("GresUsed")); used.ok())
    for (const SlurmGres& gres : *used)
      if (gres.name == "gpu") machine.gpus_used += gres.count;
  machine.cpus = std::max<int64_t>(0, parse_int(record.text("CPUTot")).value_or(0));
  machine.memory = Bytes::mebi(std::clamp<int64_t>(parse_int(record.text("RealMemory")).value_or(0), 0, int64_t{1} << 40));
  machine.partitions = list_of(record.text("Partitions"));
  machine.features = list_of(record.text("ActiveFeatures"));
  machine.state = record.text("State");
  machine.reason = record.text("Reason");
  machine.takes_work = takes_work(machine.state);
  return machine;
}

bool has_text(const Object& object, std::string_view key, std::string_view wanted) {
  dom::element value;
  dom::array list;
  std::string_view text;
  if ((*object)[key].get(value) != SUCCESS) return false;
  if (value.get(text) == SUCCESS) return text == wanted;
  if (value.get(list) != SUCCESS) return false;
  for (const dom::element entry : list)
    if (entry.get(text) == SUCCESS && text == wanted) return true;
  return false;
}

Bytes mebi_of(const Object& object, std::string_view key) {
  return Bytes::mebi(std::clamp<int64_t>(number_of(object, key).value_or(0), 0, int64_t{1} << 40));
}

Result<SlurmEntry> entry_of(const Object& object) {
  SlurmEntry entry;
  entry.id = fmt::to_string(number_of(object, "job_id").value_or(0));
  const int64_t array = number_of(object, "array_job_id").value_or(0);
  const auto task = number_of(object, "array_task_id");
  entry.array_tasks = text_of(object, "array_task_string");
  if (array > 0) {
    entry.array = fmt::to_string(array);
    entry.id = entry.array;
    // A task that has begun is one job; its array_task_string is then empty.
    if (task && entry.array_tasks.empty()) entry.id += fmt::format("_{}", *task);
  }
  entry.array_limit = std::max<int64_t>(0, number_of(object, "array_max_tasks").value_or(0));
  entry.heterogeneous = number_of(object, "het_job_id").value_or(0) > 0;
  TRY_ASSIGN(entry.state, parse_slurm_state(text_of(object, "job_state")));
  entry.reason = text_of(object, "state_reason");
  entry.priority = std::max<int64_t>(0, number_of(object, "priority").value_or(1));
  entry.held = entry.priority == 0;
  entry.nice = number_of(object, "nice").value_or(0);
  const std::pair<std::string_view, std::string*> texts[] = {
      {"name", &entry.name},
      {"user_name", &entry.user},
      {"account", &entry.account},
      {"partition", &entry.partition},
      {"qos", &entry.qos},
      {"comment", &entry.comment},
      {"admin_comment", &entry.admin_comment},
      {"dependency", &entry.dependency},
      {"features", &entry.features},
      {"tres_per_node", &entry.per_node},
      {"tres_per_job", &entry.per_job},
      {"tres_per_task", &entry.per_task},
      {"required_nodes", &entry.required_nodes},
      {"excluded_nodes", &entry.excluded_nodes},
      {"tres_alloc_str", &entry.allocated},
  };
  for (const auto& [key, text] : texts)
    *text = text_of(object, key);
  entry.on_nodes = nodes_of(object);
  entry.nodes = std::max<int64_t>(1, number_of(object, "node_count").value_or(1));
  entry.tasks = std::max<int64_t>(1, number_of(object, "tasks").value_or(1));
  entry.cpus = std::max<int64_t>(1, number_of(object, "cpus").value_or(1));
  entry.memory_per_node = mebi_of(object, "memory_per_node");
  entry.memory_per_cpu = mebi_of(object, "memory_per_cpu");
  entry.exclusive = has_text(object, "shared", "none") || has_text(object, "exclusive", "true");
  bool requeue = false;
  if ((*object)["requeue"].get(requeue) == SUCCESS) entry.requeue = requeue;
  entry.restarts = static_cast<int>(std::clamp<int64_t>(number_of(object, "restart_cnt").value_or(0), 0, INT32_MAX));
  entry.submitted = time_of(object, "submit_time");
  // The start of one that waits is what Slurm's backfill makes of it.
  if (entry.state == RunState::kPending && entry.on_nodes.empty())
    entry.begins = time_of(object, "eligible_time");
  else
    entry.started = time_of(object, "start_time");
  if (has_ended(entry.state)) {
    entry.ended = time_of(object, "end_time");
    entry.exit_status = number_of(object, "exit_code").value_or(0);
  }
  entry.deadline = time_of(object, "deadline");
  entry.time_limit = minutes_of(object, "time_limit");
  return entry;
}

}  // namespace
}  // namespace stint::slurm_json

namespace stint {

Result<std::vector<SlurmMachine>> read_slurm_machines(std::string_view text) {
  std::vector<SlurmMachine> machines;
  for (const std::string_view line : split(text, '\n')) {
    if (!trim(line).starts_with("NodeName=")) continue;
    SlurmRecord record;
    for (const std::string_view word : split(trim(line), ' '))
      if (!word.empty()) record.take(word);
    const Result<SlurmMachine> machine = slurm_json::machine_of(record);
    if (!machine.ok()) return invalid("node '{}': {}", excerpt(record.text("NodeName")), machine.error().message);
    machines.push_back(*machine);
  }
  return machines;
}

Result<SlurmQueue> read_slurm_queue(std::string_view document) {
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  if (const auto error = parser.parse(document.data(), document.size()).get(root); error != simdjson::SUCCESS)
    return invalid("squeue --json: not JSON ({}): was Slurm built with its JSON serializer?",
                   json_mistake_or(document, simdjson::error_message(error)));
  if (const std::string said = slurm_json::error_of(root); !said.empty()) return invalid("squeue --json: {}", excerpt(said, 200));
  simdjson::dom::array jobs;
  if (root["jobs"].get(jobs) != simdjson::SUCCESS) return invalid("squeue --json: no `jobs` in the answer");
  SlurmQueue queue;
  for (const simdjson::dom::element element : jobs) {
    simdjson::dom::object object;
    if (element.get(object) != simdjson::SUCCESS) {
      queue.rejected.emplace_back("an entry of `jobs` is no object");
      continue;
    }
    Result<SlurmEntry> entry = slurm_json::entry_of(object);
    if (entry.ok())
      queue.entries.push_back(std::move(*entry));
    else
      queue.rejected.push_back(
          fmt::format("job {}: {}", slurm_json::number_of(object, "job_id").value_or(0), entry.error().message));
  }
  return queue;
}

int64_t job_number(std::string_view id) { return parse_int(id.substr(0, id.find('_'))).value_or(0); }

Result<std::vector<int64_t>> parse_slurm_tasks(std::string_view text, size_t most) {
  const auto wrong = [&] { return invalid("'{}' are no tasks of an array such as 0-5,7%2", excerpt(text)); };
  std::vector<int64_t> out;
  for (std::string_view part : split(text.substr(0, text.find('%')), ',')) {
    int64_t step = 1;
    if (const size_t colon = part.find(':'); colon != std::string_view::npos) {
      step = parse_int(part.substr(colon + 1)).value_or(0);
      part = part.substr(0, colon);
    }
    const size_t dash = part.find('-');
    const auto first = parse_int(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_int(part.substr(dash + 1));
    constexpr int64_t kLast = 4'000'001;  // Slurm's own
    if (!first || !last || *first < 0 || *last < *first || *last > kLast || step < 1) return wrong();
    for (int64_t i = *first; i <= *last; i += step) {
      if (out.size() == most) return out;
      out.push_back(i);
    }
  }
  return out;
}

}  // namespace stint
