#include "sim/replay_result.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sim {

std::string_view name_of(SizeClass c) {
  static constexpr std::array<std::string_view, kSizeClasses> kNames = {"no GPU", "up to 1", "2-4", "5-8", "9-32", "over 32"};
  return kNames[static_cast<size_t>(c)];
}

SizeClass size_class_of(int64_t gpu_milli) {
  CHECK(gpu_milli >= 0, "{} milli-GPU", gpu_milli);
  if (gpu_milli == 0) return SizeClass::kNoGpu;
  if (gpu_milli <= 1'000) return SizeClass::kUpTo1;
  if (gpu_milli <= 4'000) return SizeClass::k2To4;
  if (gpu_milli <= 8'000) return SizeClass::k5To8;
  if (gpu_milli <= 32'000) return SizeClass::k9To32;
  return SizeClass::kOver32;
}

std::string_view name_of(JobEnding e) {
  static constexpr std::array<std::string_view, kJobEndings> kNames = {
      "succeeded",         "failed",  "time-limit", "stopped",      "made-already", "cancelled", "never-fits",
      "dependency-failed", "waiting", "running",    "not-submitted"};
  return kNames[static_cast<size_t>(e)];
}

Spread spread_of(std::vector<Duration>& durations) {
  Spread spread;
  if (durations.empty()) return spread;
  std::ranges::sort(durations);
  const size_t n = durations.size();
  // Nearest rank: the smallest value that at least that share of all values does not exceed.
  const auto rank = [&](size_t pct) { return durations[(pct * n + 99) / 100 - 1].to_seconds(); };
  double sum_s = 0;
  for (const Duration d : durations)
    sum_s += d.to_seconds();
  spread.count = static_cast<int64_t>(n);
  spread.mean_s = sum_s / static_cast<double>(n);
  spread.p50_s = rank(50);
  spread.p95_s = rank(95);
  spread.p99_s = rank(99);
  spread.max_s = durations.back().to_seconds();
  return spread;
}

}  // namespace stint::sim
