// Slurm accounting: `sacct -P` with its header, one run per job record. Source: Slurm manual, sacct(1), "Job
// accounting fields" and "JOB STATE CODES".
//
// Steps (`123.batch`, `123.0`) repeat their job's allocation and are passed over. A job id that comes again
// (`sacct --duplicates`) is a requeue: Run::restart counts them in file order. Which GPUs a job held is not
// recorded, only how many: the count is split evenly over its nodes, the first ones take the remainder.
#include <array>
#include <unordered_map>

#include "base/text.h"
#include "codec/csv_importer.h"
#include "codec/hostlist.h"
#include "codec/tres.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 4> kRequired = {"JobID", "State", "Start", "End"};

struct StateName {
  std::string_view name;
  RunState state;
};
constexpr std::array<StateName, 17> kStates = {{
    {"PENDING", RunState::kPending},
    {"CONFIGURING", RunState::kPending},
    {"RUNNING", RunState::kRunning},
    {"COMPLETING", RunState::kRunning},
    {"SUSPENDED", RunState::kRunning},
    {"RESIZING", RunState::kRunning},
    {"COMPLETED", RunState::kCompleted},
    {"FAILED", RunState::kFailed},
    {"OUT_OF_MEMORY", RunState::kFailed},
    {"CANCELLED", RunState::kCancelled},
    {"REVOKED", RunState::kCancelled},
    {"TIMEOUT", RunState::kTimeout},
    {"DEADLINE", RunState::kTimeout},
    {"PREEMPTED", RunState::kPreempted},
    {"REQUEUED", RunState::kPreempted},
    {"NODE_FAIL", RunState::kNodeFail},
    {"BOOT_FAIL", RunState::kNodeFail},
}};

/// `CANCELLED by 1001` and sacct's shortened `CANCELLED+` are CANCELLED.
Result<RunState> parse_state(std::string_view text) {
  std::string_view word = text.substr(0, text.find(' '));
  if (word.ends_with('+')) word.remove_suffix(1);
  for (const StateName& known : kStates)
    if (known.name == word) return known.state;
  return invalid("State: '{}' is no job state of sacct", excerpt(text));
}

bool is_absent(std::string_view text) {
  for (const std::string_view word : {"", "Unknown", "None", "N/A", "None assigned"})
    if (equals_ignoring_case(text, word)) return true;
  return false;
}

struct Columns {
  int id, raw_id, name, user, account, partition, comment, qos, state, submit, start, end, elapsed, limit;
  int allocated, requested, nodes, memory;
};

class SacctImporter final : public CsvImporter {
 public:
  SacctImporter(const ImportOptions& options, Sink& sink)
      : CsvImporter({.separator = '|', .quotes = CsvQuotes::kNone}, options, sink) {}

 private:
  Status read_header(const CsvRecord& record) override {
    if (record.fields.size() < 2)
      return invalid("line {}: '{}' is no header of sacct: write the file with `sacct -P` (and without -n)", record.line,
                     excerpt(record.fields[0]));
    TRY_ASSIGN(const CsvHeader h, CsvHeader::create(record, kRequired));
    columns_ = {.id = h.find("JobID"),
                .raw_id = h.find("JobIDRaw"),
                .name = h.find("JobName"),
                .user = h.find("User"),
                .account = h.find("Account"),
                .partition = h.find("Partition"),
                .comment = h.find("Comment"),
                .qos = h.find("QOS"),
                .state = h.find("State"),
                .submit = h.find("Submit"),
                .start = h.find("Start"),
                .end = h.find("End"),
                .elapsed = h.find("Elapsed"),
                .limit = h.find("Timelimit"),
                .allocated = h.find("AllocTRES"),
                .requested = h.find("ReqTRES"),
                .nodes = h.find("NodeList"),
                .memory = h.find("ReqMem")};
    return {};
  }

  void read_row(const CsvRecord& record) override {
    const std::string_view id = trim(record.at(columns_.id));
    if (id.find('.') != std::string_view::npos) return;  // a step
    auto run = read_run(record, id);
    if (!run.ok()) return reject(record, run.error().message);
    run->restart = seen_[std::string(id)]++;
    sink().run(run.value());
  }

  Result<Run> read_run(const CsvRecord& r, std::string_view id) {
    const auto text = [&](int column) { return trim(r.at(column)); };
    if (id.empty() || id.front() < '0' || id.front() > '9') return invalid("JobID: '{}' is no job id", excerpt(id));
    Run run;
    run.id = id;
    run.name = text(columns_.name);
    run.holder.job = text(columns_.raw_id).empty() ? id : text(columns_.raw_id);
    run.holder.user = text(columns_.user);
    run.holder.account = text(columns_.account);
    for (const int column : {columns_.name, columns_.comment, columns_.partition, columns_.qos})
      if (run.kind == WorkloadKind::kUnknown) run.kind = guess_workload_kind(text(column));
    TRY_ASSIGN(run.state, parse_state(text(columns_.state)));
    TRY(read_times(r, run));
    TRY(read_resources(r, run));
    return run;
  }

  Status read_time(std::string_view column, std::string_view text, std::optional<Instant>& out) {
    if (is_absent(text)) return {};
    const auto parsed = parse_instant(text, options().zoneless);
    if (!parsed.ok()) return invalid("{}: '{}' is no time such as 2026-10-01T08:00:00", column, excerpt(text));
    out = parsed.value();
    return {};
  }

  Status read_times(const CsvRecord& r, Run& run) {
    TRY(read_time("Submit", trim(r.at(columns_.submit)), run.submitted));
    TRY(read_time("Start", trim(r.at(columns_.start)), run.started));
    TRY(read_time("End", trim(r.at(columns_.end)), run.ended));
    const auto elapsed = parse_slurm_duration(trim(r.at(columns_.elapsed)));
    const bool over = run.state != RunState::kRunning && run.state != RunState::kPending;
    if (run.started && !run.ended && over && elapsed) run.ended = *run.started + *elapsed;
    if (run.started && run.ended && *run.ended < *run.started)
      return invalid("End: {} is before Start {}", format_utc(*run.ended), format_utc(*run.started));
    run.time_limit = parse_slurm_duration(trim(r.at(columns_.limit)));
    return {};
  }

  Status read_resources(const CsvRecord& r, Run& run) {
    const auto allocated = parse_tres(trim(r.at(columns_.allocated)));
    if (!allocated.ok()) return invalid("AllocTRES: {}", allocated.error().message);
    const auto requested = parse_tres(trim(r.at(columns_.requested)));
    if (!requested.ok()) return invalid("ReqTRES: {}", requested.error().message);
    const Tres& held = trim(r.at(columns_.allocated)).empty() ? requested.value() : allocated.value();
    run.gpus_requested = requested->gpus > 0 ? requested->gpus : allocated->gpus;
    run.cpus = held.cpus;
    run.memory = held.memory;
    run.share = held.mig;
    const std::string_view nodes = trim(r.at(columns_.nodes));
    if (!is_absent(nodes) && run.started) {
      const auto names = expand_hostlist(nodes);
      if (!names.ok()) return invalid("NodeList: {}", names.error().message);
      const auto count = static_cast<int64_t>(names->size());
      for (int64_t i = 0; i < count; ++i)
        run.allocations.push_back({.node = names.value()[static_cast<size_t>(i)],
                                   .gpu_indexes = {},
                                   .gpu_count = held.gpus / count + (i < held.gpus % count ? 1 : 0)});
    }
    if (run.memory == Bytes()) run.memory = requested_memory(trim(r.at(columns_.memory)), run);
    return {};
  }

  /// ReqMem before Slurm 21.08 ends in n (a node) or c (a CPU).
  static Bytes requested_memory(std::string_view text, const Run& run) {
    int64_t times = 1;
    if (text.ends_with('n')) times = std::max<int64_t>(1, static_cast<int64_t>(run.allocations.size()));
    if (text.ends_with('c')) times = std::max<int64_t>(1, run.cpus);
    if (text.ends_with('n') || text.ends_with('c')) text.remove_suffix(1);
    const auto memory = parse_slurm_memory(text);
    if (!memory || memory->count() > INT64_MAX / times) return {};
    return *memory * times;
  }

  Columns columns_{};
  std::unordered_map<std::string, int> seen_;  // records of a job id so far; looked up, never walked
};

}  // namespace

std::unique_ptr<Importer> make_sacct_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<SacctImporter>(options, sink);
}

}  // namespace stint
