#include "collect/gpu_sampler.h"

#include <array>

#include "base/text.h"
#include "host/process.h"

namespace stint {
namespace {

std::optional<double> bytes_of(std::optional<Bytes> b) {
  return b ? std::optional(static_cast<double>(b->count())) : std::nullopt;
}

std::optional<double> count_of(std::optional<uint64_t> n) { return n ? std::optional(static_cast<double>(*n)) : std::nullopt; }

constexpr std::array kFields = {
    ReadingField{Metric::kUtilization, [](const GpuReading& r) { return r.utilization_pct; }},
    ReadingField{Metric::kMemoryBandwidth, [](const GpuReading& r) { return r.memory_bandwidth_pct; }},
    ReadingField{Metric::kMemoryUsed, [](const GpuReading& r) { return bytes_of(r.memory_used); }},
    ReadingField{Metric::kMemoryTotal, [](const GpuReading& r) { return bytes_of(r.memory_total); }},
    ReadingField{Metric::kPower, [](const GpuReading& r) { return r.power_w; }},
    ReadingField{Metric::kPowerLimit, [](const GpuReading& r) { return r.power_limit_w; }},
    ReadingField{Metric::kTemperature, [](const GpuReading& r) { return r.temperature_c; }},
    ReadingField{Metric::kSmClock, [](const GpuReading& r) { return r.sm_clock_mhz; }},
    ReadingField{Metric::kMemoryClock, [](const GpuReading& r) { return r.memory_clock_mhz; }},
    ReadingField{Metric::kEncoder, [](const GpuReading& r) { return r.encoder_pct; }},
    ReadingField{Metric::kDecoder, [](const GpuReading& r) { return r.decoder_pct; }},
    ReadingField{Metric::kThrottleReasons, [](const GpuReading& r) { return count_of(r.throttle_reasons); }},
    ReadingField{Metric::kEccDoubleBit, [](const GpuReading& r) { return count_of(r.ecc_double_bit); }},
    ReadingField{Metric::kXid, [](const GpuReading& r) { return count_of(r.xid); }},
};

class NvmlSampler final : public GpuSampler {
 public:
  explicit NvmlSampler(Nvml nvml) : nvml_(std::move(nvml)) {}
  [[nodiscard]] std::string_view source() const override { return "NVML"; }
  [[nodiscard]] const std::vector<GpuIdentity>& gpus() const override { return nvml_.gpus(); }
  Result<std::vector<GpuReading>> read() override {
    std::vector<GpuReading> readings;
    for (size_t i = 0; i < nvml_.gpus().size(); ++i) {
      TRY_ASSIGN(const GpuReading reading, nvml_.read(i));
      readings.push_back(reading);
    }
    return readings;
  }
  Result<std::vector<GpuLook>> look() override {
    nvml_.take_errors();
    std::vector<GpuLook> looks;
    for (size_t i = 0; i < nvml_.gpus().size(); ++i)
      looks.push_back({nvml_.read(i), nvml_.processes(i)});
    return looks;
  }
  std::vector<MigDevice> mig_devices() override { return nvml_.mig_devices(); }

 private:
  Nvml nvml_;
};

/// Its lines, each through `parse`.
template <typename Line>
Result<std::vector<Line>> ask_nvidia_smi(const GpuSampler::Options& options, const std::string& query,
                                         Result<Line> (*parse)(std::string_view)) {
  TRY_ASSIGN(const CommandOutput output,
             run_command({options.nvidia_smi, query, "--format=csv,noheader,nounits"}, options.patience));
  if (output.status.shell_code() != 0)
    return make_error(ErrorCode::kUnavailable, "{}: exit code {}: {}", options.nvidia_smi, output.status.shell_code(),
                      excerpt(output.standard_output, 120));
  std::vector<Line> lines;
  for (const std::string_view line : split(output.standard_output, '\n')) {
    if (trim(line).empty()) continue;
    TRY_ASSIGN(Line parsed, parse(line));
    lines.push_back(std::move(parsed));
  }
  return lines;
}

Result<std::vector<SmiLine>> ask_for_gpus(const GpuSampler::Options& options) {
  return ask_nvidia_smi(options, fmt::format("--query-gpu={}", kSmiQuery), parse_smi_line);
}

class SmiSampler final : public GpuSampler {
 public:
  SmiSampler(Options options, std::vector<GpuIdentity> gpus) : options_(std::move(options)), gpus_(std::move(gpus)) {}
  [[nodiscard]] std::string_view source() const override { return "nvidia-smi"; }
  [[nodiscard]] const std::vector<GpuIdentity>& gpus() const override { return gpus_; }
  Result<std::vector<GpuReading>> read() override {
    TRY_ASSIGN(const std::vector<SmiLine> lines, ask_for_gpus(options_));
    std::vector<GpuReading> readings(gpus_.size());
    for (const SmiLine& line : lines)
      for (size_t i = 0; i < gpus_.size(); ++i)
        if (gpus_[i].uuid == line.gpu.uuid) readings[i] = line.reading;
    return readings;
  }
  Result<std::vector<GpuLook>> look() override {
    TRY_ASSIGN(std::vector<GpuReading> readings, read());
    const auto lines = ask_nvidia_smi(options_, fmt::format("--query-compute-apps={}", kSmiProcessQuery), parse_smi_process);
    std::vector<GpuLook> looks;
    for (size_t i = 0; i < gpus_.size(); ++i) {
      GpuLook& look = looks.emplace_back(std::move(readings[i]), std::vector<GpuProcess>());
      if (!lines.ok()) {
        look.processes = lines.error();
        continue;
      }
      for (const SmiProcess& line : *lines)
        if (line.gpu_uuid == gpus_[i].uuid) look.processes->push_back(line.process);
    }
    return looks;
  }

 private:
  Options options_;
  std::vector<GpuIdentity> gpus_;
};

}  // namespace

std::span<const ReadingField> reading_fields() { return kFields; }

Result<SmiLine> parse_smi_line(std::string_view line) {
  const std::vector<std::string_view> cells = split(line, ',');
  constexpr size_t kColumns = 12;
  const auto index = cells.empty() ? std::nullopt : parse_int(trim(cells[0]));
  if (cells.size() != kColumns || !index || *index < 0 || *index > INT32_MAX)
    return make_error(ErrorCode::kUnavailable, "nvidia-smi prints '{}' where {} columns are expected: update the NVIDIA driver",
                      excerpt(line), kColumns);
  // `[N/A]`, `[Not Supported]`, `[Unknown Error]`: not told.
  const auto number = [&](size_t column) { return parse_number(trim(cells[column])); };
  const auto mebibytes = [&](size_t column) {
    const auto value = number(column);
    return value ? std::optional(Bytes::of(static_cast<int64_t>(*value * 1048576.0))) : std::nullopt;
  };
  SmiLine parsed;
  parsed.gpu = {static_cast<int>(*index), std::string(trim(cells[1])), std::string(trim(cells[2]))};
  parsed.reading = {.utilization_pct = number(3),
                    .memory_bandwidth_pct = number(4),
                    .memory_used = mebibytes(5),
                    .memory_total = mebibytes(6),
                    .power_w = number(7),
                    .power_limit_w = number(8),
                    .temperature_c = number(9),
                    .sm_clock_mhz = number(10),
                    .memory_clock_mhz = number(11)};
  return parsed;
}

Result<SmiProcess> parse_smi_process(std::string_view line) {
  const std::vector<std::string_view> cells = split(line, ',');
  const auto pid = cells.size() == 3 ? parse_int(trim(cells[1])) : std::nullopt;
  if (!pid || *pid <= 0)
    return make_error(ErrorCode::kUnavailable, "nvidia-smi prints '{}' where GPU, process and memory are expected",
                      excerpt(line));
  SmiProcess parsed{.gpu_uuid = std::string(trim(cells[0])), .process = {.pid = *pid, .memory_used = {}, .mig_instance = {}}};
  if (const auto mebibytes = parse_int(trim(cells[2]))) parsed.process.memory_used = Bytes::mebi(*mebibytes);
  return parsed;
}

Result<std::unique_ptr<GpuSampler>> GpuSampler::open(const Options& options) {
  auto nvml = Nvml::load(options.nvml_library);
  if (nvml.ok() && !nvml->gpus().empty())
    return std::unique_ptr<GpuSampler>(std::make_unique<NvmlSampler>(std::move(nvml).value()));
  const std::string why = nvml.ok() ? "NVML: no GPU on this machine" : nvml.error().message;
  const auto lines = ask_for_gpus(options);
  if (!lines) return make_error(ErrorCode::kUnavailable, "{}; {}", why, lines.error().message);
  if (lines->empty()) return make_error(ErrorCode::kUnavailable, "{}; nvidia-smi: no GPU on this machine", why);
  std::vector<GpuIdentity> gpus;
  for (const SmiLine& line : *lines)
    gpus.push_back(line.gpu);
  return std::unique_ptr<GpuSampler>(std::make_unique<SmiSampler>(options, std::move(gpus)));
}

}  // namespace stint
