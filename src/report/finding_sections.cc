// What to change: the plan, each finding in full, and what was considered or cannot be reached.
#include <algorithm>

#include "report/audit_charts.h"
#include "report/audit_sections.h"
#include "report/bound_view.h"
#include "report/figures.h"
#include "report/proof_words.h"

namespace stint {
namespace {

constexpr size_t kMostNodesInFinding = 40;

/// Green is good: little risk, much confidence, little effort.
Tone tone_of_burden(Level l) { return l == Level::kLow ? Tone::kGood : l == Level::kMedium ? Tone::kWarn : Tone::kBad; }
Tone tone_of_trust(Level l) { return l == Level::kHigh ? Tone::kGood : l == Level::kMedium ? Tone::kWarn : Tone::kBad; }

std::string listed(const std::vector<std::string>& nodes) {
  const size_t named = std::min(nodes.size(), kMostNodesInFinding);
  std::string out = fmt::format("{}", fmt::join(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  return named < nodes.size() ? fmt::format("{} and {} more: --json has all", out, nodes.size() - named) : out;
}

Html finding_body(const Finding& f) {
  std::vector<std::pair<std::string, Html>> facts = {{"change", Html::text(describe(f.change))}};
  if (nodes_of(f.change).size() > 1) facts.emplace_back("nodes", Html::text(listed(nodes_of(f.change))));
  facts.emplace_back("saving in the plan", Html::text(f.saving_per_month.to_text() + " a month"));
  facts.emplace_back("saving alone", Html::text(f.alone_per_month.to_text() + " a month"));
  for (const Evidence& e : f.evidence)
    facts.emplace_back(e.label, Html::text(e.value));
  Html out = definitions(facts);
  if (!f.arithmetic.empty()) out += element("h3", "Arithmetic") + numbered_list(f.arithmetic);
  if (f.proof) out += element("h3", "Proof") + bullet_list(proof_lines(*f.proof));
  if (!f.caveats.empty()) out += element("h3", "Caveats") + bullet_list(f.caveats);
  if (!f.apply.empty()) out += element("h3", "Apply") + code_block(fmt::format("{}", fmt::join(f.apply, "\n")));
  // The anchor lies inside, so that a link to it opens the finding.
  return element("div", {{"id", f.id}}, out);
}

Html proof_badge(const Finding& f) {
  if (!f.proof) return {};
  return badge(shown_proof(f), f.proof->verdict == ProofVerdict::kSurvives ? Tone::kGood : Tone::kPlain);
}

Html finding_entry(const Finding& f, const AmountText& amount) {
  const Html meta = element("span", {{"class", "finding-meta"}},
                            element("span", f.id) + proof_badge(f) +
                                badge(fmt::format("confidence {}", name_of(f.confidence)), tone_of_trust(f.confidence)) +
                                badge(fmt::format("risk {}", name_of(f.risk)), tone_of_burden(f.risk)) +
                                badge(fmt::format("effort {}", name_of(f.effort)), tone_of_burden(f.effort)));
  const Html title = element("span", element("span", {{"class", "finding-title"}}, Html::text(f.title)) + meta);
  const Html saving = element("span", {{"class", "finding-amount good"}}, Html::text(amount.minus(f.saving_per_month)));
  return disclosure(title + saving, finding_body(f));
}

Html rejected_entry(const Finding& f, const AmountText& amount) {
  const Html why =
      element("span", {{"class", "finding-meta"}}, element("span", with_code(f.caveats.empty() ? f.id : f.caveats.front())));
  const Html title = element("span", element("span", {{"class", "finding-title"}}, Html::text(f.title)) + why);
  const std::string worth = f.alone_per_month.count_nanos() > 0 ? amount(f.alone_per_month) + " alone" : "";
  return disclosure(title + element("span", {{"class", "finding-amount muted"}}, Html::text(worth)), finding_body(f));
}

std::string saving_lead(const AuditReport& report) {
  const AuditTotals& t = report.totals;
  std::string lead = fmt::format("A month, in {}.", t.bill_per_month.currency().code());
  if (t.saving_per_month.count_nanos() <= 0) return lead;
  const AmountText amount(report);
  lead += fmt::format(
      " Of the saving, {} was replayed or billed again (solid), {} is arithmetic (narrow stripes), {} rests on an estimated or "
      "old "
      "price (wide stripes).",
      amount(t.saving_by.replayed), amount(t.saving_by.arithmetic), amount(t.saving_by.doubtful_price));
  if (t.plan_range)
    lead += fmt::format(" The plan costs {} to {} with {}.", amount(t.plan_range->low), amount(t.plan_range->high),
                        t.plan_range->source);
  return lead;
}

/// Lines about findings that are listed by themselves below are not said twice.
std::vector<std::string> not_of_findings(const AuditReport& report) {
  std::vector<std::string> lines = report.out_of_reach;
  std::erase_if(lines, [&](const std::string& line) {
    return std::ranges::any_of(report.rejected, [&](const Finding& f) { return line.starts_with(f.title); });
  });
  return lines;
}

}  // namespace

Html plan_section(const AuditReport& report) {
  if (report.totals.bill_per_month.is_zero() && report.findings.empty()) return {};
  return section("plan", "From the bill to the plan", saving_lead(report), plan_waterfall(report) + bound_waterfall(report));
}

Html findings_section(const AuditReport& report) {
  const AmountText amount(report);
  Html body;
  for (const Finding& f : report.findings)
    body += finding_entry(f, amount);
  if (body.empty())
    return section("findings", "Findings", "", element("p", "Nothing found that saves money and can be shown from these data."));
  return section("findings", "Findings",
                 "Each saving is what is left to save after the findings applied before it, so they add "
                 "up to the plan. "
                 "Open one for its evidence, its arithmetic and the commands that apply it.",
                 body);
}

Html proof_section(const AuditReport& report) {
  if (!report.proof) return {};
  return section("proof", "What a replay of the fleet's own work says",
                 "The jobs of the period were run again with the changes, on the same machines at the same prices.",
                 bullet_list(plan_proof_lines(report)));
}

Html limits_section(const AuditReport& report) {
  Html body;
  const AmountText amount(report);
  if (const auto lines = not_of_findings(report); !lines.empty()) body += bullet_list(lines);
  if (!report.rejected.empty()) body += element("h3", "Considered and not advised");
  for (const Finding& f : report.rejected)
    body += rejected_entry(f, amount);
  return body.empty() ? Html() : section("limits", "What the plan does not reach, and why", "", body);
}

}  // namespace stint
