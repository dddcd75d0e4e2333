// stint bench: measures the rates of this machine's GPUs and keeps them as a baseline that sizing goes by.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/decide/catalog_source.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "cli/tools/bench_share.h"
#include "host/clock.h"
#include "host/cuda.h"
#include "host/file.h"
#include "report/table.h"

namespace stint {
namespace {

struct BenchArguments {
  std::string save, cuda_library = Cuda::kLibrary, cublas_library;
  int repeats = 9;
  bool json = false;
};

/// One GPU of the machine.
struct MeasuredGpu {
  CudaGpu gpu;
  std::string model;  ///< the catalogue's; "" = it has no such GPU
  BenchResult result;
};

std::string this_source() {
  std::array<char, 256> host = {};
  const bool named = gethostname(host.data(), host.size() - 1) == 0;
  return fmt::format("stint bench {} on {}", STINT_VERSION, named ? host.data() : "this machine");
}

/// The first GPU of every model: further ones of the same would say the same.
Result<std::vector<MeasuredGpu>> measure_all(const BenchArguments& a) {
  TRY_ASSIGN(Cuda cuda, Cuda::load(a.cuda_library));
  std::vector<MeasuredGpu> all;
  ProgressLine progress("measuring GPUs");
  for (size_t i = 0; i < cuda.gpus().size(); ++i) {
    const CudaGpu& gpu = cuda.gpus()[i];
    if (std::any_of(all.begin(), all.end(), [&](const MeasuredGpu& m) { return m.gpu.name == gpu.name; })) continue;
    BenchOptions options;
    options.repeats = a.repeats;
    options.cublas = a.cublas_library;
    TRY_ASSIGN(BenchResult result, cuda.measure(i, options));
    const GpuFacts* known = Catalog::built_in().find_gpu(gpu.name, gpu.memory);
    all.push_back({gpu, known == nullptr ? "" : known->model, std::move(result)});
    progress.show(static_cast<int64_t>(i) + 1, static_cast<int64_t>(cuda.gpus().size()));
  }
  return all;
}

/// Adds to what the file holds.
Status save(const std::string& path, const std::vector<MeasuredGpu>& all, const BenchArguments& a, Instant when) {
  std::vector<GpuMeasurement> rows;
  if (std::filesystem::exists(path)) {
    TRY_ASSIGN(rows, read_measurements(path));
  }
  for (const MeasuredGpu& m : all) {
    if (m.model.empty()) {
      tell("stint: {} is not in the catalogue: its rates are not saved\n", m.gpu.name);
      continue;
    }
    for (const BenchFigure& f : m.result.figures) {
      TRY_ASSIGN(const GpuRate rate, parse_gpu_rate(f.rate));
      rows.push_back({m.model, rate, f.median, f.lowest, f.highest, a.repeats, this_source(), when});
    }
  }
  return write_file_atomically(path, write_measurements(rows));
}

void print_rates(const std::vector<MeasuredGpu>& all) {
  Table table({{"GPU"}, {"rate"}, {"median", Align::kRight}, {"lowest", Align::kRight}, {"highest", Align::kRight}});
  for (const MeasuredGpu& m : all)
    for (const BenchFigure& f : m.result.figures)
      table.add_row({m.model.empty() ? m.gpu.name : m.model, f.rate, fmt::format("{:.4g}", f.median),
                     fmt::format("{:.4g}", f.lowest), fmt::format("{:.4g}", f.highest)});
  fmt::print("{}", table.render(screen_of_stdout()));
}

void print_rates_json(const std::vector<MeasuredGpu>& all, int repeats) {
  auto gpus = nlohmann::json::array();
  for (const MeasuredGpu& m : all) {
    auto figures = nlohmann::json::array();
    for (const BenchFigure& f : m.result.figures)
      figures.push_back({{"rate", f.rate}, {"median", f.median}, {"lowest", f.lowest}, {"highest", f.highest}});
    gpus.push_back({{"name", m.gpu.name},
                    {"model", m.model.empty() ? nlohmann::json(nullptr) : nlohmann::json(m.model)},
                    {"memory_bytes", m.gpu.memory.count()},
                    {"repeats", repeats},
                    {"figures", std::move(figures)},
                    {"absent", m.result.absent}});
  }
  fmt::print("{}\n", gpus.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

ExitCode run_bench(const BenchArguments& a) {
  const auto all = measure_all(a);
  if (!all.ok()) return fail(all.error().message);
  if (a.json)
    print_rates_json(*all, a.repeats);
  else
    print_rates(*all);
  for (const MeasuredGpu& m : *all)
    for (const std::string& why : m.result.absent)
      tell("stint: {}: not measured: {}\n", m.gpu.name, why);
  if (a.save.empty()) return ExitCode::kOk;
  if (const Status saved = save(a.save, *all, a, now()); !saved.ok()) return fail(saved.error().message);
  return ExitCode::kOk;
}

}  // namespace

void add_bench_command(Command& app, Action& action) {
  auto a = std::make_shared<BenchArguments>();
  Command* command = app.add_subcommand("bench", "Measures what this machine's GPUs do: arithmetic, matrix products, memory");
  command->footer(
      "Example: stint bench --save rates.csv && stint pick --train 7e9 --measured rates.csv\n\n"
      "Measures one GPU of each model, for some seconds each; other work on it makes the figures lower.\n"
      "Rates are in 10^12 operations or 10^9 bytes a second. Without an NVIDIA driver or GPU: exit code 1.");
  command->add_option("--save", a->save, "add the figures to this file, for pick and catalog gpus --measured");
  command->add_option("--repeats", a->repeats, "of each measurement, after three to warm up")
      ->capture_default_str()
      ->check(in_range(1, 1000));
  command->add_option("--cuda-library", a->cuda_library, "NVIDIA's driver library")->capture_default_str();
  command->add_option("--cublas-library", a->cublas_library, "cuBLAS; by default libcublas.so.13, .12 or .11");
  command->add_flag("--json", a->json, "print JSON");
  add_bench_share_command(*command, action);
  command->callback([a, command, &action] {
    if (command->chosen_subcommand().empty()) action = [a] { return run_bench(*a); };
  });
}

}  // namespace stint
