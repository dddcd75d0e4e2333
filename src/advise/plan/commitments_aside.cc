#include "advise/plan/commitments_aside.h"

#include "advise/headline.h"
#include "advise/prove/prove.h"
#include "advise/thresholds.h"
#include "base/counted.h"

namespace stint {
namespace {

/// Empty when it would save and survives.
std::string why_not_aside(Finding& finding, const Books& plan, Prover* prover) {
  const auto saving = plan.saving_of(finding.change);
  if (!saving.ok()) return saving.error().message;
  if (saving->count_nanos() <= 0) return fmt::format("saves nothing on what the plan leaves ({}/month)", saving->to_text());
  if (prover == nullptr) return {};
  finding.proof = prover->try_change(finding.change, plan);
  return finding.proof->verdict == ProofVerdict::kRejected ? finding.proof->reason : std::string();
}

}  // namespace

std::optional<CommitmentsAside> set_aside(std::vector<Finding> findings, Books plan, Instant now, Prover* prover,
                                          std::vector<Finding>& rejected) {
  CommitmentsAside aside;
  aside.days = static_cast<int64_t>(plan.facts().period.length().to_hours() / 24);
  aside.saving_per_month = Money::nanos(0, plan.facts().currency);
  for (Finding& finding : findings) {
    if (std::string why = why_not_aside(finding, plan, prover); !why.empty()) {
      finding.caveats.insert(finding.caveats.begin(), std::move(why));
    } else {
      aside.saving_per_month += plan.apply(finding.change).value();
      aside.findings.push_back(finding.id);
      finding.prices = prices_behind(finding.change, plan);
      finding.price_doubt = worst_doubt(finding.prices, now);
    }
    rejected.push_back(std::move(finding));
  }
  if (aside.findings.empty()) return std::nullopt;
  return aside;
}

std::string aside_note(const CommitmentsAside& aside) {
  const std::string counts = static_cast<double>(aside.days) >= kFewestDaysToCommit
                                 ? fmt::format("--commit-on-days {} counts them", aside.days)
                                 : fmt::format("{:.0f} days are the least that --commit-on-days takes", kFewestDaysToCommit);
  return fmt::format(
      "Not counted, of high risk: commitments that rest on {} of use, where {} are asked for, would take {} a month off this "
      "plan, "
      "to {} ({})",
      counted(aside.days, "day"), aside.days_asked, aside.saving_per_month.to_text(), aside.plan_per_month.to_text(), counts);
}

}  // namespace stint
