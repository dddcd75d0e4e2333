#include "report/figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "advise/report_views.h"
#include "base/counted.h"

namespace stint {

AmountText::AmountText(const AuditReport& report) : decimals_(report.totals.bill_per_month.to_double() < 1000 ? 2 : 0) {}

std::string AmountText::operator()(Money m) const {
  const std::string text = m.to_text(decimals_);
  return text.substr(0, text.rfind(' '));
}

std::string amount_text(Money m, int decimals) {
  const std::string text = m.to_text(decimals);
  return text.substr(0, text.rfind(' '));
}

std::string shown_percent(double value, int decimals) { return fmt::format("{:.{}f} %", value, decimals); }
std::string percent_or_dash(const std::optional<double>& value, int decimals) {
  return value ? shown_percent(*value, decimals) : "–";
}

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (size_t i = digits.size(); i > 3; i -= 3)
    digits.insert(i - 3, 1, ',');
  return (value < 0 && digits != "0" ? "−" : "") + digits;
}

std::string grouped_count(int64_t n, std::string_view noun) {
  return fmt::format("{} {}", grouped(static_cast<double>(n)), n == 1 ? std::string(noun) : plural_of(noun));
}

std::string gigabytes(const std::optional<Bytes>& bytes) {
  return bytes ? fmt::format("{:.1f}", static_cast<double>(bytes->count()) / 1e9) : "–";
}

double share_pct(Money part, Money whole) { return whole.is_zero() ? 0 : 100 * part.to_double() / whole.to_double(); }

std::string shown_client(std::string_view client) { return client.empty() ? "Idle or not attributed" : std::string(client); }

std::string shown_cause(std::string_view cause) {
  if (cause == kPartlyUsed) return "active, but not filled";
  constexpr std::array<std::pair<IdleCause, std::string_view>, 7> kWords = {{
      {IdleCause::kUnallocated, "not allocated"},
      {IdleCause::kInactive, "allocated, but idle"},
      {IdleCause::kStrandedMig, "stranded by the MIG layout"},
      {IdleCause::kStrandedHost, "stranded: CPUs or memory taken"},
      {IdleCause::kUnhealthy, "unhealthy GPU"},
      {IdleCause::kTelemetryMissing, "not known: no telemetry"},
      {IdleCause::kUnusedCommitment, "unused commitment"},
  }};
  const auto it = std::find_if(kWords.begin(), kWords.end(), [&](const auto& word) { return name_of(word.first) == cause; });
  return std::string(it == kWords.end() ? cause : it->second);
}

std::vector<SpendPart> spend_parts(const AuditReport& report) {
  constexpr std::array<SpendPart, 7> kParts = {{
      {"training", "s1", "c1", &ClientSpend::training},
      {"inference", "s2", "c2", &ClientSpend::inference},
      {"evaluation", "s3", "c3", &ClientSpend::evaluation},
      {"other compute", "s5", "c5", &ClientSpend::other_compute},
      {"storage", "s4", "c4", &ClientSpend::storage},
      {"transfer", "s7", "c7", &ClientSpend::transfer},
      {"common cost", "s6", "c6", &ClientSpend::shared},
  }};
  std::vector<SpendPart> out;
  for (const SpendPart& part : kParts)
    if (std::any_of(report.clients.begin(), report.clients.end(),
                    [&](const ClientSpend& c) { return !(c.*part.amount).is_zero(); }))
      out.push_back(part);
  return out;
}

bool is_low(const NodeAudit& node) { return node.mean_utilization_pct && *node.mean_utilization_pct < kListedBelowPct; }

}  // namespace stint
