#include <array>

#include "advise/audit_report.h"

namespace stint {

std::string_view name_of(Level l) {
  constexpr std::array<std::string_view, 3> kNames = {"low", "medium", "high"};
  return kNames[static_cast<size_t>(l)];
}

std::string_view name_of(UtilizationVerdict v) {
  constexpr std::array<std::string_view, 4> kNames = {"unknown", "over-provisioned", "under-utilised", "well used"};
  return kNames[static_cast<size_t>(v)];
}

UtilizationVerdict utilization_verdict(double mean_pct) {
  if (mean_pct < 25) return UtilizationVerdict::kOverProvisioned;
  if (mean_pct < 60) return UtilizationVerdict::kUnderUtilised;
  return UtilizationVerdict::kWellUsed;
}

std::string_view name_of(TelemetryQuality q) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "poor", "fair", "good"};
  return kNames[static_cast<size_t>(q)];
}

}  // namespace stint
