// How fast telemetry is read, one core, into known series: bytes → importer → a sink that only counts.
// Beside each: what the bytes cost without understanding them (finding newlines) and read the plain way
// (getline and strtod). Input: made here, in memory, fed in pieces of 1 MiB; series are known after the first pass.
// Run: build/release/bench/codec_telemetry_bench --benchmark_repetitions=5 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>

#include "base/prng.h"
#include "codec/importer.h"
#include "telemetry/rollup_builder.h"

namespace {

using namespace stint;

class CountingSink : public Sink {
 public:
  SeriesId series(const SeriesKey& key) override { return ids.try_emplace(key, static_cast<uint32_t>(ids.size())).first->second; }
  void samples(SeriesId, std::span<const Sample> batch) override {
    count += batch.size();
    for (const Sample& s : batch)
      sum += s.value;
  }
  void stale(SeriesId, Instant) override {}
  void node(const Node&) override {}
  void run(const Run&) override {}
  void bill_line(const BillLine&) override {}
  void price(const PriceRow&) override {}
  void tenant_rule(const TenantRule&) override {}
  void reject(uint64_t, std::string_view) override { ++rejected; }

  std::map<SeriesKey, SeriesId> ids;
  uint64_t count = 0;
  uint64_t rejected = 0;
  double sum = 0;
};

/// As the store does: samples become rollups.
class RollupSink final : public CountingSink {
 public:
  SeriesId series(const SeriesKey& key) override {
    const size_t before = ids.size();
    const SeriesId id = CountingSink::series(key);
    if (ids.size() > before) builder.declare(id, key.metric);
    return id;
  }
  void samples(SeriesId id, std::span<const Sample> batch) override {
    count += batch.size();
    builder.add(id, batch);
  }
  RollupBuilder builder{[this](SeriesId, int64_t, const Rollup& r) { sum += r.sum; }};
};

constexpr const char* kMetrics[] = {
    "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED",    "DCGM_FI_DEV_POWER_USAGE",  "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_SM_CLOCK", "DCGM_FI_PROF_SM_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"};
constexpr int64_t kBegin = 1'760'000'400;

std::string value_of(size_t metric, Prng& prng) {
  if (metric == 2) return fmt::format("{:.3f}", 60 + prng.uniform() * 340);
  if (metric >= 5) return fmt::format("{:.6f}", prng.uniform());
  if (metric == 1) return std::to_string(2000 + prng.below(40) * 1000);
  return std::to_string(prng.below(101));
}

/// Scrapes of 250 GPUs × 8 metrics, a minute apart; lines of about 300 bytes as an exporter in Kubernetes writes them.
const std::string& scrapes() {
  static const std::string text = [] {
    Prng prng(1);
    std::string out;
    for (int64_t minute = 0; minute < 60; ++minute)
      for (size_t m = 0; m < std::size(kMetrics); ++m) {
        out += fmt::format("# HELP {0} as the exporter says (in its unit).\n# TYPE {0} gauge\n", kMetrics[m]);
        for (int gpu = 0; gpu < 250; ++gpu)
          out += fmt::format(
              "{}{{gpu=\"{}\",UUID=\"GPU-4f1c{:04}-aaaa-bbbb-cccc-1234567890ab\",pci_bus_id=\"00000000:07:00.0\",device=\"nvidia{"
              "}\","
              "modelName=\"NVIDIA A100-SXM4-80GB\",Hostname=\"gpu-node-{:03}\",container=\"main\",namespace=\"team-vision\","
              "pod=\"train-resnet-{:05}-x7k2p\",pod_uid=\"\"}} {} {}\n",
              kMetrics[m], gpu % 8, gpu, gpu % 8, gpu / 8, gpu, value_of(m, prng), (kBegin + minute * 60) * 1000);
      }
    return out;
  }();
  return text;
}

/// One query_range answer: 50 GPUs × 8 metrics × one day at 60 s.
const std::string& range() {
  static const std::string text = [] {
    Prng prng(2);
    std::string out = R"({"status":"success","data":{"resultType":"matrix","result":[)";
    for (int gpu = 0; gpu < 50; ++gpu)
      for (size_t m = 0; m < std::size(kMetrics); ++m) {
        out += fmt::format(R"({}{{"metric":{{"__name__":"{}","gpu":"{}","UUID":"GPU-{:08x}","Hostname":"node-{}"}},"values":[)",
                           gpu > 0 || m > 0 ? "," : "", kMetrics[m], gpu % 8, gpu, gpu / 8);
        for (int64_t minute = 0; minute < 1440; ++minute)
          out += fmt::format(R"({}[{},"{}"])", minute > 0 ? "," : "", kBegin + minute * 60, value_of(m, prng));
        out += "]}";
      }
    return out + "]}}\n";
  }();
  return text;
}

/// 8 GPUs, one row a second for an hour.
const std::string& smi() {
  static const std::string text = [] {
    Prng prng(3);
    std::string out =
        "timestamp, index, uuid, name, utilization.gpu [%], utilization.memory [%], memory.total [MiB], memory.used [MiB], "
        "power.draw [W], "
        "temperature.gpu, clocks.sm [MHz]\n";
    for (int second = 0; second < 3600; ++second)
      for (int gpu = 0; gpu < 8; ++gpu)
        out += fmt::format(
            "2026/10/01 10:{:02}:{:02}.{:03}, {}, GPU-4f1c000{}-aaaa-bbbb-cccc-1234567890ab, NVIDIA A100-SXM4-80GB, {} %, {} %, "
            "81920 MiB, {} MiB, "
            "{:.2f} W, {}, {} MHz\n",
            second / 60, second % 60, 100 + 3 * gpu, gpu, gpu, prng.below(101), prng.below(101), prng.below(81920),
            60 + prng.uniform() * 340, 30 + prng.below(50), 210 + prng.below(80) * 15);
    return out;
  }();
  return text;
}

Status feed_all(Importer& importer, std::string_view text) {
  constexpr size_t kPiece = 1 << 20;
  for (size_t at = 0; at < text.size(); at += kPiece)
    TRY(importer.feed(text.substr(at, kPiece)));
  return {};
}

using Make = std::unique_ptr<Importer> (*)(const ImportOptions&, Sink&);

template <typename SinkType>
void import(benchmark::State& state, Make make, const std::string& text) {
  SinkType sink;
  const ImportOptions options{.source = "bench", .node = "node", .zoneless = {}, .at = {}};
  const auto importer = make(options, sink);
  CHECK(feed_all(*importer, text).ok(), "the input is sound");  // the series become known
  const uint64_t per_pass = sink.count;
  for (auto _ : state)
    CHECK(feed_all(*importer, text).ok(), "the input is sound");
  CHECK(importer->finish().ok() && sink.rejected == 0, "{} rejected", sink.rejected);
  benchmark::DoNotOptimize(sink.sum);
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * static_cast<int64_t>(state.iterations()));
  state.SetItemsProcessed(static_cast<int64_t>(per_pass) * static_cast<int64_t>(state.iterations()));
}

void only_newlines(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    size_t lines = 0;
    const char* const end = text.data() + text.size();
    for (const char* p = text.data(); p < end; ++lines) {
      const void* const newline = std::memchr(p, '\n', static_cast<size_t>(end - p));
      if (newline == nullptr) break;
      p = static_cast<const char*>(newline) + 1;
    }
    benchmark::DoNotOptimize(lines);
  }
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * static_cast<int64_t>(state.iterations()));
}

/// The plain way: a line, its text up to the brace as a map key, strtod.
void getline_and_strtod(benchmark::State& state) {
  std::map<std::string, double> last;
  for (auto _ : state) {
    std::istringstream in(scrapes());
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      const size_t brace = line.rfind('}');
      last[line.substr(0, brace + 1)] += std::strtod(line.c_str() + brace + 1, nullptr);
    }
    benchmark::DoNotOptimize(last);
  }
  state.SetBytesProcessed(static_cast<int64_t>(scrapes().size()) * static_cast<int64_t>(state.iterations()));
}

void PrometheusText(benchmark::State& s) { import <CountingSink>(s, make_prometheus_text_importer, scrapes()); }
void PrometheusTextNewlinesOnly(benchmark::State& s) { only_newlines(s, scrapes()); }
void PrometheusTextGetlineStrtod(benchmark::State& s) { getline_and_strtod(s); }
void PrometheusRange(benchmark::State& s) { import <CountingSink>(s, make_prometheus_range_importer, range()); }
void PrometheusRangeToRollups(benchmark::State& state) {
  uint64_t samples = 0;
  for (auto _ : state) {
    RollupSink sink;  // new each time: the same samples twice would be duplicates
    const auto importer = make_prometheus_range_importer({.source = "bench", .node = {}, .zoneless = {}, .at = {}}, sink);
    CHECK(feed_all(*importer, range()).ok() && importer->finish().ok(), "the input is sound");
    sink.builder.flush();
    samples += sink.count;
    benchmark::DoNotOptimize(sink.sum);
  }
  state.SetBytesProcessed(static_cast<int64_t>(range().size()) * static_cast<int64_t>(state.iterations()));
  state.SetItemsProcessed(static_cast<int64_t>(samples));
}
void NvidiaSmi(benchmark::State& s) { import <CountingSink>(s, make_nvidia_smi_importer, smi()); }
void NvidiaSmiNewlinesOnly(benchmark::State& s) { only_newlines(s, smi()); }

BENCHMARK(PrometheusText);
BENCHMARK(PrometheusTextNewlinesOnly);
BENCHMARK(PrometheusTextGetlineStrtod);
BENCHMARK(PrometheusRange);
BENCHMARK(PrometheusRangeToRollups);
BENCHMARK(NvidiaSmi);
BENCHMARK(NvidiaSmiNewlinesOnly);

}  // namespace
