// Slurm accounting: `sacct -P` with its header, one run per job record. Source: Slurm manual, sacct(1), "Job
// accounting fields" and "JOB STATE CODES".
//
// Steps (`123.batch`, `123.0`) repeat their job's allocation and are passed over. A job id that comes again
// (`sacct --duplicates`) is a requeue: Run::restart counts them in file order. Which GPUs a job held is not
// recorded, only how many.
#include <array>
#include <unordered_map>

#include "base/text.h"
#include "codec/csv_importer.h"
#include "codec/slurm/slurm_job.h"
#include "codec/slurm/tres.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 4> kSacctRequired = {"JobID", "State", "Start", "End"};

/// Clocks are put forward and back by an hour; all of these times are whole seconds.
bool is_clock_change(Duration d) { return d >= kHour - Duration::seconds(2) && d <= kHour + Duration::seconds(2); }

struct SacctColumns {
  int id, raw_id, name, user, account, partition, comment, qos, state, submit, eligible, start, end, elapsed, limit, reason;
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
    TRY_ASSIGN(const CsvHeader h, CsvHeader::create(record, kSacctRequired));
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
                .eligible = h.find("Eligible"),
                .start = h.find("Start"),
                .end = h.find("End"),
                .elapsed = h.find("Elapsed"),
                .limit = h.find("Timelimit"),
                .reason = h.find("Reason"),
                .allocated = h.find("AllocTRES"),
                .requested = h.find("ReqTRES"),
                .nodes = h.find("NodeList"),
                .memory = h.find("ReqMem")};
    return {};
  }

  void read_row(const CsvRecord& record) override {
    const std::string_view id = trim(record.at(columns_.id));
    if (id.find('.') != std::string_view::npos) return;  // a step
    const auto job = read_job(record, id);
    if (!job.ok()) return reject(record, job.error().message);
    auto run = run_of(*job, options().at);
    if (!run.ok()) return reject(record, run.error().message);
    if (run->memory == Bytes()) run->memory = requested_memory(trim(record.at(columns_.memory)), *run);
    run->restart = seen_[std::string(id)]++;
    sink().run(*run);
    sink().queue_record(queue_record_of(*job, *run));
  }

  Result<SlurmJob> read_job(const CsvRecord& r, std::string_view id) {
    const auto text = [&](int column) { return std::string(trim(r.at(column))); };
    SlurmJob job{.id = std::string(id),
                 .raw_id = text(columns_.raw_id),
                 .name = text(columns_.name),
                 .user = text(columns_.user),
                 .account = text(columns_.account),
                 .partition = text(columns_.partition),
                 .qos = text(columns_.qos),
                 .comment = text(columns_.comment),
                 .state = text(columns_.state),
                 .reason = text(columns_.reason),
                 .time_limit = parse_slurm_duration(text(columns_.limit)),
                 .requested = text(columns_.requested),
                 .allocated = text(columns_.allocated),
                 .nodes = text(columns_.nodes)};
    TRY(read_times(r, job));
    return job;
  }

  Status read_time(std::string_view column, std::string_view text, std::optional<Instant>& out) {
    if (is_absent_in_slurm(text)) return {};
    const auto parsed = parse_instant(text, options().zoneless);
    if (!parsed.ok()) return invalid("{}: '{}' is no time such as 2026-10-01T08:00:00", column, excerpt(text));
    out = parsed.value();
    return {};
  }

  Status read_times(const CsvRecord& r, SlurmJob& job) {
    TRY(read_time("Submit", trim(r.at(columns_.submit)), job.submitted));
    TRY(read_time("Eligible", trim(r.at(columns_.eligible)), job.eligible));
    TRY(read_time("Start", trim(r.at(columns_.start)), job.started));
    TRY(read_time("End", trim(r.at(columns_.end)), job.ended));
    TRY_ASSIGN(const RunState state, parse_slurm_state(job.state));
    const auto elapsed = parse_slurm_duration(trim(r.at(columns_.elapsed)));
    if (!job.started || !elapsed) return {};
    // Slurm counts Elapsed itself: local times jump when clocks change. One that was suspended ran shorter than from start to end.
    const Duration off = job.ended ? *job.started + *elapsed - *job.ended : Duration();
    const bool clock_changed = is_clock_change(off) || is_clock_change(Duration() - off);
    const bool runs = state == RunState::kRunning && !options().at;  // until then is when it is known to have run
    // A start that local clocks show twice may be the second.
    if (const auto again = options().zoneless.shown_again(*job.started); again && job.ended && *again + *elapsed == *job.ended) {
      job.started = again;
      return {};
    }
    if (has_ended(state) ? !job.ended || clock_changed : runs && !job.ended) job.ended = *job.started + *elapsed;
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

  SacctColumns columns_{};
  std::unordered_map<std::string, int> seen_;  // records of a job id so far; looked up, never walked
};

}  // namespace

std::unique_ptr<Importer> make_sacct_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<SacctImporter>(options, sink);
}

}  // namespace stint
