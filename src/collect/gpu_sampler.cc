#include "collect/gpu_sampler.h"

#include "base/text.h"
#include "host/process.h"

namespace stint {
namespace {

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

 private:
  Nvml nvml_;
};

Result<std::vector<SmiLine>> ask_nvidia_smi(const std::string& program) {
  TRY_ASSIGN(
      const CommandOutput output,
      run_command({program, fmt::format("--query-gpu={}", kSmiQuery), "--format=csv,noheader,nounits"}, Duration::seconds(30)));
  if (output.status.shell_code() != 0)
    return make_error(ErrorCode::kUnavailable, "{}: exit code {}: {}", program, output.status.shell_code(),
                      excerpt(output.standard_output, 120));
  std::vector<SmiLine> lines;
  for (const std::string_view line : split(output.standard_output, '\n')) {
    if (trim(line).empty()) continue;
    TRY_ASSIGN(SmiLine parsed, parse_smi_line(line));
    lines.push_back(std::move(parsed));
  }
  return lines;
}

class SmiSampler final : public GpuSampler {
 public:
  SmiSampler(std::string program, std::vector<GpuIdentity> gpus) : program_(std::move(program)), gpus_(std::move(gpus)) {}
  [[nodiscard]] std::string_view source() const override { return "nvidia-smi"; }
  [[nodiscard]] const std::vector<GpuIdentity>& gpus() const override { return gpus_; }
  Result<std::vector<GpuReading>> read() override {
    TRY_ASSIGN(const std::vector<SmiLine> lines, ask_nvidia_smi(program_));
    std::vector<GpuReading> readings(gpus_.size());
    for (const SmiLine& line : lines)
      for (size_t i = 0; i < gpus_.size(); ++i)
        if (gpus_[i].uuid == line.gpu.uuid) readings[i] = line.reading;
    return readings;
  }

 private:
  std::string program_;
  std::vector<GpuIdentity> gpus_;
};

}  // namespace

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

Result<std::unique_ptr<GpuSampler>> GpuSampler::open(const Options& options) {
  auto nvml = Nvml::load(options.nvml_library);
  if (nvml.ok() && !nvml->gpus().empty())
    return std::unique_ptr<GpuSampler>(std::make_unique<NvmlSampler>(std::move(nvml).value()));
  const std::string why = nvml.ok() ? "NVML: no GPU on this machine" : nvml.error().message;
  const auto lines = ask_nvidia_smi(options.nvidia_smi);
  if (!lines) return make_error(ErrorCode::kUnavailable, "{}; {}", why, lines.error().message);
  if (lines->empty()) return make_error(ErrorCode::kUnavailable, "{}; nvidia-smi: no GPU on this machine", why);
  std::vector<GpuIdentity> gpus;
  for (const SmiLine& line : *lines)
    gpus.push_back(line.gpu);
  return std::unique_ptr<GpuSampler>(std::make_unique<SmiSampler>(options.nvidia_smi, std::move(gpus)));
}

}  // namespace stint
