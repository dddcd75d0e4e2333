// scontrol's text: records of KEY=VALUE words, one record after an empty line, or one a line with -o. A value may hold spaces:
// what is no KEY= goes on with the value before it. Source: Slurm manual, scontrol(1), "show job", "show node".
#include "base/text.h"
#include "codec/slurm/slurm_answer.h"
#include "codec/slurm/slurm_record.h"
#include "codec/slurm/tres.h"

namespace stint {
namespace {

class TextReader {
 public:
  TextReader(const ImportOptions& options, Sink& sink) : options_(options), sink_(sink) {}

  Status read(std::string_view text) {
    uint64_t line = 0;
    SlurmRecord record;
    for (const std::string_view row : split(text, '\n')) {
      ++line;
      const std::string_view words = trim(row);
      const bool begins = words.starts_with("JobId=") || words.starts_with("NodeName=");
      if (begins || words.empty()) hand_over(record);
      if (begins) record.line = line;
      if (record.line == 0 && !words.empty())
        return invalid("{}:{}: '{}': no answer of Slurm: give squeue --json, sinfo --json, sacct --json or scontrol show job -d",
                       options_.source, line, excerpt(words));
      for (const std::string_view word : split(words, ' '))
        if (!word.empty()) record.take(word);
    }
    hand_over(record);
    if (!seen_) return invalid("{}: neither a job nor a node in it", options_.source);
    return {};
  }

 private:
  void hand_over(SlurmRecord& record) {
    if (record.line == 0) return;
    seen_ = true;
    const Status taken = record.fields.contains("JobId") ? take_job(record) : take_node(record);
    if (!taken.ok()) sink_.reject(record.line, taken.error().message);
    record = {};
  }

  Result<std::optional<Instant>> time_of(const SlurmRecord& record, std::string_view name) const {
    const std::string text = record.text(name);
    if (text.empty()) return std::optional<Instant>();
    const auto parsed = parse_instant(text, options_.zoneless);
    if (!parsed.ok()) return invalid("{}: '{}' is no time such as 2026-10-01T08:00:00", name, excerpt(text));
    return std::optional(*parsed);
  }

  Status take_job(const SlurmRecord& record) {
    SlurmJob job;
    job.raw_id = record.text("JobId");
    job.id = job.raw_id;
    const std::string task = record.text("ArrayTaskId");
    const std::string het = record.text("HetJobId");
    if (!task.empty() && !parse_int(task)) return {};  // the rest of an array, no run yet
    if (!task.empty()) job.id = record.text("ArrayJobId") + "_" + task;
    if (!het.empty()) job.id = het + "+" + record.text("HetJobOffset");
    job.name = record.text("JobName");
    const std::string user = record.text("UserId");
    job.user = user.substr(0, user.find('('));
    job.account = record.text("Account");
    job.partition = record.text("Partition");
    job.qos = record.text("QOS");
    job.comment = record.text("Comment");
    job.state = record.text("JobState");
    job.restarts = static_cast<int>(parse_int(record.text("Restarts")).value_or(0));
    job.time_limit = parse_slurm_duration(record.text("TimeLimit"));
    job.nodes = record.text("NodeList");
    job.requested = record.text("ReqTRES").empty() ? record.text("TRES") : record.text("ReqTRES");
    job.allocated = record.text("AllocTRES");
    TRY_ASSIGN(const RunState state, parse_slurm_state(job.state));
    job.reason = record.text("Reason");
    TRY_ASSIGN(job.submitted, time_of(record, "SubmitTime"));
    TRY_ASSIGN(job.eligible, time_of(record, "EligibleTime"));
    if (state != RunState::kPending) {
      TRY_ASSIGN(job.started, time_of(record, "StartTime"));
    }
    if (has_ended(state)) {
      TRY_ASSIGN(job.ended, time_of(record, "EndTime"));
    }
    job.gres = record.node_gres;
    TRY_ASSIGN(const Run run, run_of(job, options_.at));
    sink_.run(run);
    sink_.queue_record(queue_record_of(job, run));
    return {};
  }

  Status take_node(const SlurmRecord& record) {
    TRY_ASSIGN(const Node node, node_of({.name = record.text("NodeName"),
                                         .gres = record.text("Gres"),
                                         .cpus = parse_int(record.text("CPUTot")).value_or(0),
                                         .memory_mib = parse_int(record.text("RealMemory")).value_or(0),
                                         .instance_type = record.text("InstanceType")}));
    sink_.node(node);
    const std::string partitions = record.text("Partitions");
    for (const std::string_view partition : split(partitions, ','))
      if (!partition.empty()) sink_.partition({std::string(partition), node.name});
    return {};
  }

  const ImportOptions& options_;
  Sink& sink_;
  bool seen_ = false;
};

}  // namespace

Status read_slurm_text(std::string_view text, const ImportOptions& options, Sink& sink) {
  return TextReader(options, sink).read(text);
}

}  // namespace stint
