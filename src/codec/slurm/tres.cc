#include "codec/slurm/tres.h"

#include <cmath>

#include "base/text.h"

namespace stint {

// Compute slices of the device a MIG profile belongs to: A30 profiles have 6 GB a slice, all others seven slices.
std::optional<GpuShare> mig_share(std::string_view type) {
  if (type.starts_with("mig-")) type.remove_prefix(4);
  if (type.size() < 4 || type[0] < '1' || type[0] > '7' || type[1] != 'g') return std::nullopt;
  if ((type[2] != '.' && type[2] != '_') || !type.ends_with("gb")) return std::nullopt;
  const auto gigabytes = parse_int(type.substr(3, type.size() - 5));
  if (!gigabytes || *gigabytes <= 0) return std::nullopt;
  const int64_t slices = type[0] - '0';
  const bool a30 = slices <= 4 && slices != 3 && *gigabytes == 6 * slices;
  return GpuShare::of(slices, a30 ? 4 : 7);
}

std::optional<Bytes> parse_slurm_memory(std::string_view text) {
  if (text.empty()) return std::nullopt;
  int shift = 20;
  switch (text.back()) {
    case 'K':
    case 'k': shift = 10; break;
    case 'M':
    case 'm': shift = 20; break;
    case 'G':
    case 'g': shift = 30; break;
    case 'T':
    case 't': shift = 40; break;
    case 'P':
    case 'p': shift = 50; break;
    default: shift = 0; break;
  }
  if (shift != 0) text.remove_suffix(1);
  const auto number = parse_number(text);
  const double bytes = number ? std::ldexp(*number, shift == 0 ? 20 : shift) : -1;
  if (bytes < 0 || bytes > 1e18) return std::nullopt;
  return Bytes::of(std::llround(bytes));
}

std::optional<Duration> parse_slurm_duration(std::string_view text) {
  int64_t days = 0;
  const size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto parsed = parse_int(text.substr(0, dash));
    if (!parsed || *parsed < 0 || *parsed > 36500) return std::nullopt;
    days = *parsed;
    text.remove_prefix(dash + 1);
  }
  text = text.substr(0, text.find('.'));
  const auto parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  int64_t seconds = 0;
  for (const std::string_view part : parts) {
    const auto value = parse_int(part);
    if (!value || *value < 0 || *value > 100'000) return std::nullopt;
    seconds = seconds * 60 + *value;
  }
  return Duration::seconds(days * 86400 + seconds);
}

Result<Tres> parse_tres(std::string_view text) {
  constexpr int64_t kMax = 1'000'000'000;
  Tres out;
  int64_t typed_gpus = 0;
  int64_t mig_gpus = 0;
  if (trim(text).empty()) return out;
  for (const std::string_view entry : split(trim(text), ',')) {
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) return invalid("'{}' is no KEY=VALUE", excerpt(entry));
    const std::string_view key = entry.substr(0, equals);
    const std::string_view value = entry.substr(equals + 1);
    if (key == "mem") {
      const auto memory = parse_slurm_memory(value);
      if (!memory) return invalid("'{}' is no memory size", excerpt(entry));
      out.memory = *memory;
      continue;
    }
    const bool gpu = key == "gres/gpu" || key.starts_with("gres/gpu:");
    if (!gpu && key != "cpu") continue;
    const auto count = parse_int(value);
    if (!count || *count < 0 || *count > kMax) return invalid("'{}' is no count", excerpt(entry));
    if (key == "cpu")
      out.cpus = *count;
    else if (key == "gres/gpu")
      out.gpus = *count;
    else {
      typed_gpus += *count;
      if (const auto share = mig_share(key.substr(9))) {
        out.mig = mig_gpus == 0 || out.mig == share ? share : std::nullopt;
        mig_gpus += *count;
      }
    }
  }
  if (out.gpus == 0) out.gpus = typed_gpus;
  if (mig_gpus != out.gpus) out.mig.reset();
  return out;
}

}  // namespace stint
