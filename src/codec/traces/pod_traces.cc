// Alibaba's pod traces as traces of jobs: openb (cluster-trace-gpu-v2023) and the disaggregated DLRM trace (v2025).
//
// Times are seconds since the trace began. A pod that has not been scheduled has not run: how long it would have is not known. One
// without a deletion ran to the end of the trace, one without a creation was there when it began.
// Source: the READMEs of github.com/alibaba/clusterdata, cluster-trace-gpu-v2023 and -v2025.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/decimal.h"
#include "codec/traces/job_trace_reader.h"

namespace stint {
namespace {

constexpr int64_t kMostGpusOfPod = 16;
constexpr int64_t kMostMilli = int64_t{1} << 40;

/// What both have in common: when a pod came, ran and went.
class PodTraceReader : public CsvTraceReader {
 public:
  using CsvTraceReader::CsvTraceReader;

 protected:
  struct Times {
    std::optional<int64_t> created_ns, scheduled_ns, deleted_ns;
  };
  void find_times(const CsvHeader& header) {
    created_ = header.find("creation_time");
    scheduled_ = header.find("scheduled_time");
    deleted_ = header.find("deletion_time");
  }
  /// @return error naming a time that is none.
  Result<Times> read_times(const CsvRecord& r) {
    Times times;
    TRY_ASSIGN(times.created_ns, read_time(r, created_, "creation_time"));
    TRY_ASSIGN(times.scheduled_ns, read_time(r, scheduled_, "scheduled_time"));
    TRY_ASSIGN(times.deleted_ns, read_time(r, deleted_, "deletion_time"));
    for (const auto& time : {times.created_ns, times.scheduled_ns, times.deleted_ns})
      last_ns_ = std::max(last_ns_, time.value_or(0));
    return times;
  }
  void take(TraceJob job, int64_t created_ns, int64_t began_ns, std::optional<int64_t> ended_ns) {
    job.submitted = Instant::from_ns(std::min(created_ns, began_ns));
    if (ended_ns && *ended_ns <= began_ns) {
      ++counts_.never_ran;
      return;
    }
    if (!ended_ns) open_ended_.push_back({trace_.jobs.size(), began_ns});
    job.duration = Duration::nanoseconds(ended_ns.value_or(began_ns) - began_ns);
    accept(job);
  }
  void end_rows() override {
    for (const OpenEnded& open : open_ended_)
      trace_.jobs[open.job].duration = Duration::nanoseconds(last_ns_ - open.began_ns);
    const size_t all = trace_.jobs.size();
    std::erase_if(trace_.jobs, [](const TraceJob& job) { return job.duration <= Duration(); });
    counts_.never_ran += all - trace_.jobs.size();
    counts_.accepted = trace_.jobs.size();
  }

 private:
  struct OpenEnded {
    size_t job;
    int64_t began_ns;
  };
  static Result<std::optional<int64_t>> read_time(const CsvRecord& r, int column, std::string_view name) {
    const std::string_view cell = trim(r.at(column));
    if (cell.empty()) return std::optional<int64_t>();
    const auto ns = parse_seconds_as_ns(cell);
    if (!ns) return invalid("{} '{}' is no number of seconds from 0 on", name, excerpt(cell));
    return ns;
  }

  int created_ = -1;
  int scheduled_ = -1;
  int deleted_ = -1;
  int64_t last_ns_ = 0;
  std::vector<OpenEnded> open_ended_;
};

class OpenbTraceReader final : public PodTraceReader {
 public:
  using PodTraceReader::PodTraceReader;

 private:
  Status header(const CsvRecord& r) override {
    constexpr std::array<std::string_view, 5> kRequired = {"name", "num_gpu", "gpu_milli", "creation_time", "deletion_time"};
    TRY_ASSIGN(const CsvHeader found, CsvHeader::create(r, kRequired));
    find_times(found);
    cpu_ = found.find("cpu_milli");
    memory_ = found.find("memory_mib");
    gpus_ = found.find("num_gpu");
    milli_ = found.find("gpu_milli");
    models_ = found.find("gpu_spec");
    qos_ = found.find("qos");
    return {};
  }

  void row(const CsvRecord& r) override {
    const auto number = [&](int column, int64_t most) -> std::optional<int64_t> {
      const std::string_view cell = trim(r.at(column));
      if (cell.empty()) return 0;
      const auto value = parse_int(cell);
      return value && *value >= 0 && *value <= most ? value : std::nullopt;
    };
    const auto gpus = number(gpus_, kMostGpusOfPod);
    if (!gpus) return reject(r, fmt::format("num_gpu '{}' is no integer from 0 to {}", excerpt(r.at(gpus_)), kMostGpusOfPod));
    if (*gpus == 0) {
      ++counts_.cpu_only;
      return;
    }
    const auto milli = number(milli_, 1000);
    const auto cpu = number(cpu_, kMostMilli);
    const auto memory = number(memory_, kMostMilli >> 10);
    if (!milli || *milli == 0)
      return reject(r, fmt::format("gpu_milli '{}' is no integer from 1 to 1000", excerpt(r.at(milli_))));
    if (*gpus > 1 && *milli != 1000) return reject(r, "a part of each of several GPUs: gpu_milli must be 1000 there");
    if (!cpu || !memory) return reject(r, "cpu_milli or memory_mib is no integer from 0 on");
    const auto times = read_times(r);
    if (!times.ok()) return reject(r, times.error().message);
    if (!times->scheduled_ns) {
      ++counts_.never_ran;
      return;
    }
    const std::string_view qos = trim(r.at(qos_));
    TraceShape shape{.milli = *milli < 1000 ? static_cast<int32_t>(*milli) : 0,
                     .cpu_milli = *cpu,
                     .memory = Bytes::of(*memory << 20),
                     .gpu_models = {},
                     .is_service = qos == "LS" || qos == "Guaranteed"};
    if (const std::string_view models = trim(r.at(models_)); !models.empty())
      for (const std::string_view model : split(models, '|'))
        shape.gpu_models.emplace_back(trim(model));
    TraceJob job;
    job.gpus = static_cast<int32_t>(*gpus);
    job.cluster = cluster_of("openb");
    job.user = user_of(qos);
    job.shape = shape_of(shape);
    take(job, times->created_ns.value_or(0), *times->scheduled_ns, times->deleted_ns);
  }

  int cpu_ = -1, memory_ = -1, gpus_ = -1, milli_ = -1, models_ = -1, qos_ = -1;
};

class DlrmTraceReader final : public PodTraceReader {
 public:
  using PodTraceReader::PodTraceReader;

 private:
  Status header(const CsvRecord& r) override {
    constexpr std::array<std::string_view, 4> kRequired = {"instance_sn", "gpu_request", "creation_time", "deletion_time"};
    TRY_ASSIGN(const CsvHeader found, CsvHeader::create(r, kRequired));
    find_times(found);
    app_ = found.find("app_name");
    gpus_ = found.find("gpu_request");
    cpus_ = found.find("cpu_request");
    memory_ = found.find("memory_request");
    return {};
  }

  void row(const CsvRecord& r) override {
    const auto gpus = parse_int(trim(r.at(gpus_)));
    if (!gpus || *gpus < 0 || *gpus > kMostGpusOfPod)
      return reject(r, fmt::format("gpu_request '{}' is no integer from 0 to {}", excerpt(r.at(gpus_)), kMostGpusOfPod));
    // Also without GPUs: the trace ends with the last of all its rows.
    const auto times = read_times(r);
    if (!times.ok()) return reject(r, times.error().message);
    if (*gpus == 0) {
      ++counts_.cpu_only;
      return;
    }
    const auto cpus = amount(r.at(cpus_));
    const auto memory_gib = amount(r.at(memory_));
    if (!cpus || !memory_gib) return reject(r, "cpu_request or memory_request is no number from 0 on");
    TraceShape shape;
    shape.cpu_milli = static_cast<int64_t>(*cpus * 1000);
    shape.memory = Bytes::of(static_cast<int64_t>(*memory_gib * (1 << 30)));
    shape.is_service = true;
    TraceJob job;
    job.gpus = static_cast<int32_t>(*gpus);
    job.cluster = cluster_of("dlrm");
    job.user = user_of(trim(r.at(app_)));
    job.shape = shape_of(shape);
    const int64_t created = times->created_ns.value_or(0);
    take(job, created, times->scheduled_ns.value_or(created), times->deleted_ns);
  }

  static std::optional<double> amount(std::string_view cell) {
    if (trim(cell).empty()) return 0;
    const auto value = parse_number(trim(cell));
    return value && *value >= 0 && *value <= 1e6 ? value : std::nullopt;
  }

  int app_ = -1, gpus_ = -1, cpus_ = -1, memory_ = -1;
};

}  // namespace

std::unique_ptr<JobTraceReader> make_openb_trace_reader(const std::string& source) {
  return std::make_unique<OpenbTraceReader>(CsvOptions{.source = source});
}

std::unique_ptr<JobTraceReader> make_dlrm_trace_reader(const std::string& source) {
  return std::make_unique<DlrmTraceReader>(CsvOptions{.source = source});
}

}  // namespace stint
