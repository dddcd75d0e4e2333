// Slurm accounting as a trace of jobs: the importer of `stint import sacct` reads it, here its runs become jobs.
#include <algorithm>

#include "codec/importer.h"
#include "codec/traces/job_trace_reader.h"

namespace stint {
namespace {

constexpr int64_t kMostGpusOfSlurmJob = 100'000;

class SacctTraceReader final : public JobTraceReader, private Sink {
 public:
  explicit SacctTraceReader(const std::string& source)
      : source_(source), importer_(make_sacct_importer({.source = source, .node = "", .zoneless = {}, .at = {}}, *this)) {}

  Status feed(std::string_view bytes) override { return importer_->feed(bytes); }

  Result<JobTrace> finish() override {
    TRY(importer_->finish());
    trace_.clusters.emplace_back("slurm");
    return std::move(trace_);
  }

 private:
  // One queue per account; without accounts, per user.
  void run(const Run& run) override {
    const int64_t gpus = run.gpus_requested;
    if (gpus <= 0 && !run.share) {
      ++counts_.cpu_only;
      return;
    }
    if (!run.started || !run.ended || run.state == RunState::kRunning || *run.ended <= *run.started) {
      ++counts_.never_ran;
      return;
    }
    if (gpus > kMostGpusOfSlurmJob) return JobTraceReader::reject(source_, 0, fmt::format("job {}: {} GPUs", run.id, gpus));
    TraceShape shape;
    if (run.share)
      shape.milli = static_cast<int32_t>(
          std::clamp<int64_t>((run.share->parts() * 1000 + run.share->total() - 1) / run.share->total(), 1, 999));
    TraceJob job;
    job.submitted = run.submitted ? std::min(*run.submitted, *run.started) : *run.started;
    job.duration = *run.ended - *run.started;
    job.gpus = static_cast<int32_t>(run.share ? 1 : gpus);
    const std::string& owner = run.holder.account.empty() ? run.holder.user : run.holder.account;
    const auto known = users_.emplace(owner, static_cast<uint32_t>(trace_.users.size()));
    if (known.second) trace_.users.push_back(owner);
    job.user = known.first->second;
    const auto same = std::ranges::find(trace_.shapes, shape);
    job.shape = static_cast<uint32_t>(same - trace_.shapes.begin());
    if (same == trace_.shapes.end()) trace_.shapes.push_back(shape);
    trace_.jobs.push_back(job);
    ++counts_.accepted;
  }
  void reject(uint64_t line, std::string_view reason) override { JobTraceReader::reject(source_, line, reason); }

  // Accounting has nothing else.
  SeriesId series(const SeriesKey&) override { return {}; }
  void samples(SeriesId, std::span<const Sample>) override {}
  void stale(SeriesId, Instant) override {}
  void node(const Node&) override {}
  void bill_line(const BillLine&) override {}
  void price(const PriceRow&) override {}
  void tenant_rule(const TenantRule&) override {}

  std::string source_;
  std::map<std::string, uint32_t> users_;
  JobTrace trace_;
  std::unique_ptr<Importer> importer_;
};

}  // namespace

std::unique_ptr<JobTraceReader> make_sacct_trace_reader(const std::string& source) {
  return std::make_unique<SacctTraceReader>(source);
}

}  // namespace stint
