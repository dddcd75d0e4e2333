// Slurm's JSON. Its shape changes with the version: numbers come as 7, as null and as {"set":true,"infinite":false,"number":7};
// states as "IDLE" and as ["IDLE","DRAIN"]; a job's state as a text, as a list, or as {"current":…}. All are read alike,
// whatever `meta` says: what differs between versions is the form of a value, not its name.
// Sources: Slurm's OpenAPI documents v0.0.38 (22.05) to v0.0.43 (25.05); squeue(1), sinfo(1), sacct(1), "--json".
#include <simdjson.h>

#include "base/text.h"
#include "codec/json_mistake.h"
#include "codec/slurm/hostlist.h"
#include "codec/slurm/slurm_answer.h"
#include "codec/slurm/slurm_json_fields.h"

namespace stint::slurm_json {
namespace {

using simdjson::SUCCESS;
/// [{"type":"gres","name":"gpu","count":2}, …] as sacct --json has it → `gres/gpu=2,…`
std::string tres_text(const Object& tres, std::string_view key) {
  dom::array list;
  if (!tres || (*tres)[key].get(list) != SUCCESS) return {};
  std::string out;
  for (const dom::element element : list) {
    dom::object entry;
    if (element.get(entry) != SUCCESS) continue;
    std::string name = text_of(entry, "type");
    if (const std::string sub = text_of(entry, "name"); !sub.empty()) name += "/" + sub;
    const auto count = number_of(entry, "count");
    if (!count || *count < 0) continue;
    out += fmt::format("{}{}={}{}", out.empty() ? "" : ",", name, *count, name == "mem" ? "M" : "");
  }
  return out;
}

/// What squeue and sacct have alike.
SlurmJob read_common(const Object& object) {
  SlurmJob job;
  job.raw_id = fmt::to_string(number_of(object, "job_id").value_or(0));
  job.id = job.raw_id;
  job.name = text_of(object, "name");
  job.account = text_of(object, "account");
  job.partition = text_of(object, "partition");
  job.qos = text_of(object, "qos");
  job.nodes = nodes_of(object);
  job.restarts = static_cast<int>(std::clamp<int64_t>(number_of(object, "restart_cnt").value_or(0), 0, INT32_MAX));
  return job;
}

void name_member(SlurmJob& job, std::optional<int64_t> array, std::optional<int64_t> task, std::optional<int64_t> het,
                 std::optional<int64_t> offset) {
  if (array.value_or(0) > 0 && task)
    job.id = fmt::format("{}_{}", *array, *task);
  else if (het.value_or(0) > 0)
    job.id = fmt::format("{}+{}", *het, offset.value_or(0));
}

SlurmJob read_accounted(const Object& object) {
  SlurmJob job = read_common(object);
  const Object array = object_of(object, "array");
  const Object het = object_of(object, "het");
  name_member(job, number_of(array, "job_id"), number_of(array, "task_id"), number_of(het, "job_id"),
              number_of(het, "job_offset"));
  job.user = text_of(object, "user");
  job.comment = text_of(object_of(object, "comment"), "job");
  job.state = text_of(object_of(object, "state"), "current");
  const Object time = object_of(object, "time");
  job.reason = text_of(object_of(object, "state"), "reason");
  job.submitted = time_of(time, "submission");
  job.eligible = time_of(time, "eligible");
  job.started = time_of(time, "start");
  job.ended = time_of(time, "end");
  job.time_limit = minutes_of(time, "limit");
  const Object tres = object_of(object, "tres");
  job.requested = tres_text(tres, "requested");
  job.allocated = tres_text(tres, "allocated");
  return job;
}

/// One entry a node, in the order of the nodes.
Status read_gres(const Object& object, SlurmJob& job) {
  dom::array detail;
  if ((*object)["gres_detail"].get(detail) != SUCCESS) return {};
  TRY_ASSIGN(const auto names, expand_hostlist(job.nodes));
  size_t i = 0;
  for (const dom::element entry : detail) {
    std::string_view text;
    if (entry.get(text) != SUCCESS) continue;
    if (i >= names.size()) return invalid("gres_detail: more entries than nodes");
    job.gres.emplace_back(names[i++], text);
  }
  return {};
}

Result<SlurmJob> read_queued(const Object& object) {
  SlurmJob job = read_common(object);
  name_member(job, number_of(object, "array_job_id"), number_of(object, "array_task_id"), number_of(object, "het_job_id"),
              number_of(object, "het_job_offset"));
  job.user = text_of(object, "user_name");
  job.comment = text_of(object, "comment");
  job.state = text_of(object, "job_state");
  job.reason = text_of(object, "state_reason");
  job.submitted = time_of(object, "submit_time");
  job.eligible = time_of(object, "eligible_time");
  TRY_ASSIGN(const RunState state, parse_slurm_state(job.state));
  // Of a job that waits it is when it may start; of one that runs, when its limit is reached.
  if (state != RunState::kPending) job.started = time_of(object, "start_time");
  if (has_ended(state)) job.ended = time_of(object, "end_time");
  job.time_limit = minutes_of(object, "time_limit");
  job.requested = text_of(object, "tres_req_str");
  job.allocated = text_of(object, "tres_alloc_str");
  if (job.started) TRY(read_gres(object, job));
  return job;
}

/// The tasks of an array that have not begun are one record, and no run yet.
bool is_rest_of_array(const Object& object) {
  return number_of(object, "array_job_id").value_or(0) > 0 && !number_of(object, "array_task_id");
}

void take_job(const dom::element& element, const ImportOptions& options, Sink& sink) {
  dom::object object;
  if (element.get(object) != SUCCESS) return sink.reject(0, "an entry of `jobs` is no object");
  dom::object time;
  const bool accounted = object["time"].get(time) == SUCCESS;
  if (!accounted && is_rest_of_array(object)) return;
  const Result<SlurmJob> job = accounted ? Result<SlurmJob>(read_accounted(object)) : read_queued(object);
  const Result<Run> run = job.ok() ? run_of(*job, options.at) : Result<Run>(job.error());
  if (!run.ok()) return sink.reject(0, fmt::format("job {}: {}", number_of(object, "job_id").value_or(0), run.error().message));
  sink.run(*run);
  sink.queue_record(queue_record_of(*job, *run));
}

void give(const SlurmNode& said, Sink& sink) {
  const auto node = node_of(said);
  if (!node.ok()) return sink.reject(0, fmt::format("node '{}': {}", excerpt(said.name), node.error().message));
  sink.node(*node);
  for (const std::string& partition : said.partitions)
    sink.partition({partition, node->name});
}

void take_node(const dom::element& element, Sink& sink) {
  dom::object object;
  if (element.get(object) != SUCCESS) return sink.reject(0, "an entry of `nodes` is no object");
  give({.name = text_of(object, "name"),
        .gres = text_of(object, "gres"),
        .cpus = number_of(object, "cpus").value_or(0),
        .memory_mib = number_of(object, "real_memory").value_or(0),
        .instance_type = text_of(object, "instance_type"),
        .partitions = texts_of(object, "partitions")},
       sink);
}

/// Since 23.11 sinfo tells of groups of alike nodes.
void take_group(const dom::element& element, Sink& sink) {
  dom::object object;
  if (element.get(object) != SUCCESS) return sink.reject(0, "an entry of `sinfo` is no object");
  dom::array names;
  const Object nodes = object_of(object, "nodes");
  if (!nodes || (*nodes)["nodes"].get(names) != SUCCESS) return sink.reject(0, "an entry of `sinfo` names no nodes");
  const std::string partition = text_of(object_of(object, "partition"), "name");
  for (const dom::element entry : names) {
    std::string_view name;
    if (entry.get(name) != SUCCESS) continue;
    give({.name = std::string(name),
          .gres = text_of(object_of(object, "gres"), "total"),
          .cpus = number_of(object_of(object, "cpus"), "maximum").value_or(0),
          .memory_mib = number_of(object_of(object, "memory"), "maximum").value_or(0),
          .instance_type = {},
          .partitions = partition.empty() ? std::vector<std::string>{} : std::vector{partition}},
         sink);
  }
}

}  // namespace
}  // namespace stint::slurm_json

namespace stint {

Status read_slurm_json(std::string_view document, const ImportOptions& options, Sink& sink) {
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  if (const auto error = parser.parse(document.data(), document.size()).get(root); error != simdjson::SUCCESS)
    return invalid("{}: not JSON ({}): save the answer of squeue --json, sinfo --json or sacct --json as it came", options.source,
                   json_mistake_or(document, simdjson::error_message(error)));
  if (const std::string said = slurm_json::error_of(root); !said.empty())
    return invalid("{}: Slurm answered with an error: {}", options.source, excerpt(said, 200));
  simdjson::dom::array jobs;
  simdjson::dom::array nodes;
  simdjson::dom::array groups;
  const bool has_jobs = root["jobs"].get(jobs) == simdjson::SUCCESS;
  const bool has_nodes = root["nodes"].get(nodes) == simdjson::SUCCESS;
  const bool has_groups = root["sinfo"].get(groups) == simdjson::SUCCESS;
  if (!has_jobs && !has_nodes && !has_groups)
    return invalid("{}: neither `jobs` nor `nodes`: give the answer of squeue, sinfo, scontrol show or sacct with --json",
                   options.source);
  if (has_nodes)
    for (const simdjson::dom::element node : nodes)
      slurm_json::take_node(node, sink);
  if (has_groups)
    for (const simdjson::dom::element group : groups)
      slurm_json::take_group(group, sink);
  if (has_jobs)
    for (const simdjson::dom::element job : jobs)
      slurm_json::take_job(job, options, sink);
  return {};
}

}  // namespace stint
