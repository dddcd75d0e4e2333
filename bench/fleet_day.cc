// Writes a Prometheus query_range answer for a whole fleet to standard output: the input of the import
// benchmark in docs/benchmarks.md. Deterministic; values look like telemetry (utilisation by hour, memory in steps).
//   fleet_day GPUS METRICS HOURS STEP_SECONDS
#include <cstdio>
#include <string>

#include "base/prng.h"
#include "base/text.h"
#include "base/time.h"

namespace {

constexpr const char* kMetrics[] = {"DCGM_FI_DEV_GPU_UTIL",      "DCGM_FI_DEV_FB_USED",     "DCGM_FI_PROF_SM_ACTIVE",
                                    "DCGM_FI_DEV_POWER_USAGE",   "DCGM_FI_DEV_GPU_TEMP",    "DCGM_FI_DEV_SM_CLOCK",
                                    "DCGM_FI_PROF_SM_OCCUPANCY", "DCGM_FI_PROF_DRAM_ACTIVE"};
constexpr int64_t kMetricCount = 8;

std::string value_of(int64_t metric, stint::Prng& prng) {
  switch (metric) {
    case 0: return std::to_string(prng.below(101));
    case 1: return std::to_string(2000 + prng.below(40) * 1000);
    case 3: return fmt::format("{:.3f}", 60 + prng.uniform() * 340);
    case 4: return std::to_string(30 + prng.below(50));
    case 5: return std::to_string(210 + prng.below(80) * 15);
    default: return fmt::format("{:.6f}", prng.uniform());
  }
}

}  // namespace

int main(int argc, char** argv) {
  int64_t arguments[4] = {8000, 8, 24, 60};
  for (int i = 1; i < argc && i <= 4; ++i)
    arguments[i - 1] = stint::parse_int(argv[i]).value_or(0);
  const auto [gpus, metrics, hours, step] = arguments;
  if (gpus < 1 || metrics < 1 || metrics > kMetricCount || hours < 1 || step < 1) {
    fmt::print(stderr, "usage: fleet_day GPUS METRICS(1-{}) HOURS STEP_SECONDS\n", kMetricCount);
    return 2;
  }
  const int64_t begin = stint::parse_instant("2026-10-01").value().seconds();
  stint::Prng prng(1);
  std::string out = R"({"status":"success","data":{"resultType":"matrix","result":[)";
  for (int64_t gpu = 0; gpu < gpus; ++gpu) {
    for (int64_t metric = 0; metric < metrics; ++metric) {
      out += fmt::format(
          R"({}{{"metric":{{"__name__":"{}","gpu":"{}","UUID":"GPU-{:08x}","modelName":"NVIDIA A100-SXM4-80GB","Hostname":"node-{:04}"}},"values":[)",
          gpu + metric > 0 ? "," : "", kMetrics[metric], gpu % 8, gpu, gpu / 8);
      for (int64_t t = 0; t < hours * 3600; t += step)
        out += fmt::format(R"({}[{},"{}"])", t > 0 ? "," : "", begin + t, value_of(metric, prng));
      out += "]}";
      std::fwrite(out.data(), 1, out.size(), stdout);
      out.clear();
    }
  }
  std::fputs("]}}\n", stdout);
  return std::ferror(stdout) != 0 ? 1 : 0;
}
