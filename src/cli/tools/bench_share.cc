// Each job is measured alone, then while each job (itself included) runs beside it all the while, begun anew whenever it ends. The jobs are the user's
// own commands; what is taken is the time they need, or a rate that they print, which leaves out what they do before and after.
#include "cli/tools/bench_share.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/counted.h"
#include "base/text.h"
#include "cli/decide/catalog_source.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "host/beside.h"
#include "host/clock.h"
#include "host/cuda.h"
#include "host/file.h"
#include "host/process.h"
#include "report/table.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostOutput = size_t{64} << 20;
constexpr const char* kMpsFolder = "/tmp/nvidia-mps";  // where its control daemon listens unless told otherwise

struct ShareArguments {
  std::vector<std::string> jobs;
  std::string rate_after, mode, gpu_model, cuda_library = Cuda::kLibrary, save;
  int gpu = 0;
  int repeats = 3;
  int timeout_s = 600;
  bool json = false;
};

struct SharedJob {
  std::string name, command;
};

/// Median and bounds of repeats.
struct Spread {
  double median = 0, lowest = 0, highest = 0;
};

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {values[values.size() / 2], values.front(), values.back()};
}

struct SharedPair {
  const SharedJob* job = nullptr;
  const SharedJob* neighbour = nullptr;
  Spread slowed;
  std::string failed;  ///< why there is no figure; empty = there is one
};

Result<std::vector<SharedJob>> jobs_of(const ShareArguments& a) {
  std::vector<SharedJob> jobs;
  for (const std::string& text : a.jobs) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
      return invalid("--job {}: expected NAME=COMMAND, such as 'search=python serve.py --steps 100'", excerpt(text));
    SharedJob job{text.substr(0, equals), text.substr(equals + 1)};
    if (std::ranges::find(jobs, job.name, &SharedJob::name) != jobs.end())
      return invalid("--job {}: named twice", excerpt(job.name));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

/// The number behind the last `mark` in what a job printed.
std::optional<double> rate_in(std::string_view output, std::string_view mark) {
  const size_t at = output.rfind(mark);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = output.substr(at + mark.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t:="), rest.size()));
  return parse_number(rest.substr(0, rest.find_first_not_of("0123456789.eE+-")));
}

class PairBench {
 public:
  explicit PairBench(const ShareArguments& arguments) : a_(arguments), progress_("runs of jobs") {}

  Result<std::vector<SharedPair>> measure(const std::vector<SharedJob>& jobs) {
    runs_ = static_cast<int64_t>(jobs.size() * (1 + jobs.size())) * (a_.repeats + 1);
    std::vector<double> alone;
    for (const SharedJob& job : jobs) {
      TRY_ASSIGN(const Spread times, times_of(job, nullptr));
      alone.push_back(times.median);
    }
    std::vector<SharedPair> pairs;
    for (size_t i = 0; i < jobs.size(); ++i)
      for (const SharedJob& neighbour : jobs) {
        SharedPair pair{.job = &jobs[i], .neighbour = &neighbour, .slowed = {}, .failed = {}};
        if (const auto times = times_of(jobs[i], &neighbour); times.ok())
          pair.slowed = {times->median / alone[i], times->lowest / alone[i], times->highest / alone[i]};
        else
          pair.failed = times.error().message;
        pairs.push_back(std::move(pair));
      }
    progress_.clear();
    return pairs;
  }

 private:
  /// @param beside  "" = alone.
  [[nodiscard]] std::vector<std::string> shell(const SharedJob& job, const std::string& beside) const {
    return {"env",
            fmt::format("CUDA_VISIBLE_DEVICES={}", a_.gpu),
            "STINT_JOB=" + job.name,
            "STINT_BESIDE=" + beside,
            "/bin/sh",
            "-c",
            job.command};
  }

  /// What one unit of work took, over the repeats; the first run, in which things are loaded, counts for nothing.
  Result<Spread> times_of(const SharedJob& job, const SharedJob* neighbour) {
    std::atomic<bool> stop = false;
    std::string neighbour_failed;
    std::thread beside;
    if (neighbour != nullptr)
      beside = std::thread([&] {
        while (!stop && neighbour_failed.empty()) {
          const auto done = run_beside(shell(*neighbour, job.name), timeout(), kMostOutput, stop);
          if (!stop && (!done.ok() || done->status.shell_code() != 0))
            neighbour_failed = fmt::format("{} failed beside {}: {}", neighbour->name, job.name, why(done));
        }
      });
    const auto times = repeats_of(job, neighbour, stop);
    stop = true;
    if (beside.joinable()) beside.join();
    if (!neighbour_failed.empty()) return invalid("{}", neighbour_failed);
    return times;
  }

  Result<Spread> repeats_of(const SharedJob& job, const SharedJob* neighbour, const std::atomic<bool>& stop) {
    std::vector<double> times;
    for (int i = 0; i <= a_.repeats; ++i) {
      const Duration begun = since_boot();
      const auto done = run_beside(shell(job, neighbour == nullptr ? "" : neighbour->name), timeout(), kMostOutput, stop);
      const double seconds = (since_boot() - begun).to_seconds();
      progress_.show(++run_, runs_);
      if (!done.ok() || done->status.shell_code() != 0)
        return invalid("{}{}: {}", job.name, neighbour == nullptr ? "" : " beside " + neighbour->name, why(done));
      if (i == 0) continue;
      if (a_.rate_after.empty()) {
        times.push_back(seconds);
        continue;
      }
      const auto rate = rate_in(done->standard_output, a_.rate_after);
      if (!rate || *rate <= 0) return invalid("{} printed no number above zero behind '{}'", job.name, excerpt(a_.rate_after));
      times.push_back(1 / *rate);
    }
    return spread_of(std::move(times));
  }

  [[nodiscard]] Duration timeout() const { return Duration::seconds(a_.timeout_s); }

  static std::string why(const Result<CommandOutput>& done) {
    if (!done.ok()) return done.error().message;
    const std::string_view errors = trim(done->standard_error);
    const size_t line = errors.rfind('\n');
    return fmt::format("exit code {}{}", done->status.shell_code(),
                       errors.empty() ? "" : ": " + excerpt(errors.substr(line == std::string_view::npos ? 0 : line + 1)));
  }

  const ShareArguments& a_;
  ProgressLine progress_;
  int64_t run_ = 0, runs_ = 0;
};

/// As the catalogue calls it, or the driver where it is not in there.
Result<std::string> shared_gpu_model(const ShareArguments& a) {
  if (!a.gpu_model.empty()) {
    const GpuFacts* known = Catalog::built_in().find_gpu(a.gpu_model);
    return known == nullptr ? a.gpu_model : known->model;
  }
  const auto cuda = Cuda::load(a.cuda_library);
  if (!cuda.ok()) return invalid("{}: name the GPU with --gpu-model where no driver does", cuda.error().message);
  if (static_cast<size_t>(a.gpu) >= cuda->gpus().size())
    return invalid("--gpu {}: this machine has {}", a.gpu, counted(cuda->gpus().size(), "GPU"));
  const CudaGpu& gpu = cuda->gpus()[static_cast<size_t>(a.gpu)];
  const GpuFacts* known = Catalog::built_in().find_gpu(gpu.name, gpu.memory);
  return known == nullptr ? gpu.name : known->model;
}

SharingMode mode_of(const ShareArguments& a) {
  if (!a.mode.empty()) return a.mode == name_of(SharingMode::kMps) ? SharingMode::kMps : SharingMode::kTimeSlice;
  const char* pipe = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  std::error_code none;
  return std::filesystem::exists(pipe == nullptr ? kMpsFolder : pipe, none) ? SharingMode::kMps : SharingMode::kTimeSlice;
}

std::vector<PairMeasurement> rows_of(const std::vector<SharedPair>& pairs, const std::string& model, SharingMode mode,
                                     const ShareArguments& a) {
  std::array<char, 256> host = {};
  const bool named = gethostname(host.data(), host.size() - 1) == 0;
  const std::string source = fmt::format("stint bench share {} on {}", STINT_VERSION, named ? host.data() : "this machine");
  std::vector<PairMeasurement> rows;
  for (const SharedPair& p : pairs)
    if (p.failed.empty())
      rows.push_back({model, mode, p.job->name, p.neighbour->name, p.slowed.median, p.slowed.lowest, p.slowed.highest, a.repeats,
                      source, now()});
  return rows;
}

/// Adds to what the file holds.
Status save_pairs(const std::string& path, const std::vector<PairMeasurement>& measured) {
  std::vector<PairMeasurement> rows;
  if (std::filesystem::exists(path)) {
    TRY_ASSIGN(rows, read_pairs(path));
  }
  rows.insert(rows.end(), measured.begin(), measured.end());
  return write_file_atomically(path, write_pairs(rows));
}

std::string pairs_json(const std::vector<SharedPair>& pairs, const std::string& model, SharingMode mode, int repeats) {
  Json out = {{"gpu_model", model}, {"mode", name_of(mode)}, {"repeats", repeats}, {"pairs", Json::array()}};
  for (const SharedPair& p : pairs) {
    Json pair = {{"workload", p.job->name}, {"neighbour", p.neighbour->name}};
    if (p.failed.empty())
      pair["slowed"] = {{"median", p.slowed.median}, {"lowest", p.slowed.lowest}, {"highest", p.slowed.highest}};
    else
      pair["failed"] = p.failed;
    out["pairs"].push_back(std::move(pair));
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string pairs_text(const std::vector<SharedPair>& pairs, const std::string& model, SharingMode mode) {
  Table table(
      {{"job"}, {"beside"}, {"× as long as alone", Align::kRight}, {"lowest", Align::kRight}, {"highest", Align::kRight}});
  for (const SharedPair& p : pairs) {
    const auto figure = [&](double value) { return p.failed.empty() ? fmt::format("{:.2f}", value) : "failed"; };
    table.add_row({p.job->name, p.neighbour->name, figure(p.slowed.median), figure(p.slowed.lowest), figure(p.slowed.highest)});
  }
  return fmt::format("{} by {}\n", model, mode == SharingMode::kMps ? "MPS" : "time slices") + table.render(screen_of_stdout());
}

Status run_share(const ShareArguments& a) {
  TRY_ASSIGN(const std::vector<SharedJob> jobs, jobs_of(a));
  TRY_ASSIGN(const std::string model, shared_gpu_model(a));
  const SharingMode mode = mode_of(a);
  TRY_ASSIGN(const std::vector<SharedPair> pairs, PairBench(a).measure(jobs));
  for (const SharedPair& p : pairs)
    if (!p.failed.empty()) tell("stint: no figure: {}\n", p.failed);
  if (!a.save.empty()) TRY(save_pairs(a.save, rows_of(pairs, model, mode, a)));
  return write_output("", a.json ? pairs_json(pairs, model, mode, a.repeats) : pairs_text(pairs, model, mode));
}

}  // namespace

void add_bench_share_command(Command& bench, Action& action) {
  auto a = std::make_shared<ShareArguments>();
  Command* command = bench.add_subcommand("share", "Measures how much your jobs slow each other on one of this machine's GPUs");
  command->footer(
      "Example: stint bench share --job 'search=./search --requests 5000' --job 'rank=./rank --steps 200' --save pairs.csv\n"
      "         stint plan all --history fleet.db --pairs pairs.csv\n\n"
      "A job is a command that does the same amount of work each time and ends. It runs alone, then beside each job, which is "
      "begun "
      "anew whenever it ends; name it as the workload is called in the History. It finds the name of its neighbour in "
      "STINT_BESIDE, "
      "which is empty when it runs alone. Other work on the GPU makes the figures wrong. A pair that does not fit is told, not "
      "saved.");
  command->add_option("--job", a->jobs, "NAME=COMMAND, twice or more; run by /bin/sh")->required()->allow_extra_args(false);
  command->add_option(
      "--rate-after", a->rate_after,
      "take the number that stands behind the last such text in a job's output (work a second) in place of its time");
  command->add_option("--repeats", a->repeats, "of each measurement, after one to warm up")
      ->capture_default_str()
      ->check(in_range(1, 1000));
  command->add_option("--timeout", a->timeout_s, "of one run, seconds")->capture_default_str()->check(in_range(1, 1'000'000));
  command->add_option("--gpu", a->gpu, "which GPU, as CUDA counts them")->capture_default_str()->check(in_range(0, 1023));
  command->add_option("--gpu-model", a->gpu_model, "what it is (default: what the driver says)");
  command->add_option("--mode", a->mode, "how it is shared (default: mps where its control daemon runs, else time-slice)")
      ->check(one_of({"mps", "time-slice"}));
  command->add_option("--save", a->save, "add the figures to this file, for audit and plan all --pairs");
  command->add_option("--cuda-library", a->cuda_library, "NVIDIA's driver library")->capture_default_str();
  command->add_flag("--json", a->json, "print JSON");
  command->callback([a, &action] {
    action = [a] {
      const Status done = run_share(*a);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
