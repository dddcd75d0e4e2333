#include "advise/audit.h"

#include <algorithm>
#include <array>
#include <map>

#include "advise/apply/apply_text.h"
#include "advise/bound/plan_bound.h"
#include "advise/commit/renewals.h"
#include "advise/find/diagnosis.h"
#include "advise/find/finder.h"
#include "advise/headline.h"
#include "advise/judge_goals.h"
#include "advise/plan/assumed_prices.h"
#include "advise/plan/commitments_aside.h"
#include "advise/plan/plan_notes.h"
#include "advise/plan/plan_rightsize.h"
#include "advise/plan/risk_outlook.h"
#include "advise/plan/timed_notes.h"
#include "advise/presence.h"
#include "advise/promises.h"
#include "advise/prove/prove.h"
#include "advise/report_views.h"
#include "base/check.h"
#include "base/text.h"
#include "ledger/cost_statement.h"

namespace stint {
namespace {

/// In this order each finder works on what the ones before left.
constexpr std::array kFinders = {find_stop,  find_schedule, find_limit, find_offgpu, find_resize,
                                 find_share, find_region,   find_spot,  find_commit, find_savings_plan};

std::string id_of(const Change& change) {
  Fnv1a hash;
  hash.update(kind_of(change));
  // A savings plan covers whatever the findings before it leave.
  if (const auto* plan = std::get_if<SavingsPlan>(&change)) {
    hash.update(fmt::format("\n{}\n{}", plan->provider, name_of(plan->term)));
    return fmt::format("F-{:08x}", hash.digest() & 0xffffffffU);
  }
  for (const std::string& node : nodes_of(change)) {
    hash.update("\n");
    hash.update(node);
  }
  // The same machines may be committed for one term or another.
  if (const auto* commit = std::get_if<Commit>(&change); commit != nullptr && commit->term == CommitmentTerm::kThreeYears)
    hash.update("\n3y");
  return fmt::format("F-{:08x}", hash.digest() & 0xffffffffU);
}

/// Of the same machines and kind as the best: told from it by where it leads, and so the same in the next audit.
std::string id_of_second_best(const Change& change) {
  Fnv1a hash;
  hash.update(id_of(change));
  if (const auto* resize = std::get_if<ResizeNodes>(&change))
    hash.update(fmt::format("\n{}\n{}", resize->to_instance_type, resize->to_region));
  else
    hash.update("\n" + describe(change));
  return fmt::format("F-{:08x}", hash.digest() & 0xffffffffU);
}

void finish(Finding& finding, Money zero) {
  finding.id = id_of(finding.change);
  // A Money of no currency's making is the struct's default: give it the bill's.
  if (finding.saving_per_month.is_zero()) finding.saving_per_month = zero;
  if (finding.alone_per_month.is_zero()) finding.alone_per_month = zero;
}

/// Empty when it may be in the plan.
std::string why_not_chosen(const Finding& finding, const PlanChoice& choice) {
  if (finding.risk > choice.max_risk)
    return fmt::format("its risk is {}, and at most {} is wanted", name_of(finding.risk), name_of(choice.max_risk));
  if (std::find(choice.without.begin(), choice.without.end(), finding.id) != choice.without.end())
    return "left out of this plan: others do better without it";
  return {};
}

/// Books proposals one by one. What does not save on what is left, or does not survive its replay, is rejected with the reason, and the
/// next best on the same machines is tried in its place.
class Decider {
 public:
  /// @param prover  null = no replay.
  Decider(const PlanChoice& choice, Books& books, const Books& fresh, Prover* prover, Instant now, AuditReport& report)
      : choice_(choice),
        books_(books),
        fresh_(fresh),
        prover_(prover),
        now_(now),
        report_(report),
        zero_(Money::nanos(0, books.facts().currency)) {}

  void decide(Proposals proposals) {
    for (Finding& finding : proposals.advised) {
      std::vector<Finding> tries = std::move(finding.instead);
      finding.instead.clear();
      finish(finding, zero_);
      tries.insert(tries.begin(), std::move(finding));
      for (size_t i = 0; i < tries.size(); ++i) {
        finish(tries[i], zero_);
        if (i > 0) tries[i].id = id_of_second_best(tries[i].change);
        if (take(std::move(tries[i])) != Verdict::kFailed) break;
      }
    }
    for (Finding& finding : proposals.rejected) {
      finish(finding, zero_);
      report_.rejected.push_back(std::move(finding));
    }
    for (Finding& finding : proposals.on_few_days) {
      finish(finding, zero_);
      if (const auto alone = fresh_.saving_of(finding.change); alone.ok()) finding.alone_per_month = *alone;
      if (auto why = why_not_chosen(finding, choice_); !why.empty())
        reject_unwanted(std::move(finding), std::move(why));
      else
        on_few_days_.push_back(std::move(finding));
    }
  }

  /// Commitments that are wanted and rest on too few days of use, in the order in which they were found.
  std::vector<Finding> take_on_few_days() { return std::move(on_few_days_); }

 private:
  enum class Verdict : uint8_t { kTaken, kNotWanted, kFailed };

  static bool is_among(const std::string& id, const std::vector<std::string>& ids) {
    return std::ranges::find(ids, id) != ids.end();
  }

  void reject(Finding finding, std::string why) {
    finding.caveats.insert(finding.caveats.begin(), std::move(why));
    report_.rejected.push_back(std::move(finding));
  }

  void reject_unwanted(Finding finding, std::string why) {
    if (const auto alone = fresh_.saving_of(finding.change); alone.ok()) finding.alone_per_month = *alone;
    finding.remedy = finding.risk > choice_.max_risk ? fmt::format("to allow a risk that is {}", name_of(finding.risk)) : "";
    reject(std::move(finding), std::move(why));
  }

  Verdict take(Finding finding) {
    if (auto why = why_not_chosen(finding, choice_); !why.empty()) {
      reject_unwanted(std::move(finding), std::move(why));
      return Verdict::kNotWanted;
    }
    const auto saving = books_.saving_of(finding.change);
    const auto alone = fresh_.saving_of(finding.change);
    finding.alone_per_month = alone.ok() ? *alone : zero_;
    if (is_among(finding.id, choice_.disproven)) {
      reject(std::move(finding), "it did not survive its replay");
      return Verdict::kFailed;
    }
    if (!saving.ok() || saving->count_nanos() <= 0) {
      reject(std::move(finding),
             !saving.ok() ? saving.error().message
                          : fmt::format("saves nothing on what the other findings leave ({}/month)", saving->to_text()));
      return Verdict::kFailed;
    }
    if (prover_ != nullptr) {
      finding.proof = prover_->try_change(finding.change, books_);
      if (finding.proof->verdict == ProofVerdict::kRejected) {
        std::string why = finding.proof->reason;
        reject(std::move(finding), std::move(why));
        return Verdict::kFailed;
      }
      prover_->keep();
    }
    book(std::move(finding), *saving, alone.ok() ? "" : alone.error().message);
    return Verdict::kTaken;
  }

  /// @param not_alone  why it is not possible by itself; empty = it is.
  void book(Finding finding, Money saving, const std::string& not_alone) {
    finding.arithmetic.push_back(fmt::format("saving on the books: {}/month", saving.to_text()));
    // Which machines become another type is told from what they are before.
    if (std::holds_alternative<ResizeNodes>(finding.change)) finding.apply = apply_text(finding.change, books_);
    const bool replayed =
        finding.proof && finding.proof->verdict == ProofVerdict::kSurvives && finding.proof->method == ProofMethod::kJobs;
    finding.saving_per_month = replayed ? books_.apply_as_replayed(finding.change, finding.proof->saving_per_month).value()
                                        : books_.apply(finding.change).value();
    if (finding.saving_per_month != saving)
      finding.arithmetic.back() +=
          fmt::format("; replayed {}/month, which is what the plan counts", finding.saving_per_month.to_text());
    if (!not_alone.empty())
      finding.caveats.push_back("not possible alone: it builds on the findings before it (" + not_alone + ")");
    finding.prices = prices_behind(finding.change, books_);
    finding.price_doubt = worst_doubt(finding.prices, now_);
    if (finding.price_doubt == PriceDoubt::kSecondary)
      finding.caveats.push_back("its price is quoted second-hand, not by the provider: ask for a quote before you rely on it");
    if (finding.apply.empty()) finding.apply = apply_text(finding.change, books_);
    finding.step = static_cast<int>(report_.findings.size()) + 1;
    report_.findings.push_back(std::move(finding));
  }

  const PlanChoice& choice_;
  Books& books_;
  const Books& fresh_;
  Prover* prover_;
  Instant now_;
  AuditReport& report_;
  Money zero_;
  std::vector<Finding> on_few_days_;
};

PlanProof proof_of_plan(const Prover& prover, const std::vector<Finding>& findings, Money zero) {
  PlanProof proof{.together = prover.whole(), .by_jobs = zero, .by_requests = zero, .by_bill = zero, .by_sum = zero};
  const auto sum_for = [&](ProofMethod method) -> Money& {
    switch (method) {
      case ProofMethod::kJobs: return proof.by_jobs;
      case ProofMethod::kRequests: return proof.by_requests;
      case ProofMethod::kBill: return proof.by_bill;
    }
    CHECK(false, "a proof of no method");
  };
  for (const Finding& f : findings) {
    const bool replayed = f.proof && f.proof->verdict == ProofVerdict::kSurvives;
    (replayed ? sum_for(f.proof->method) : proof.by_sum) += f.saving_per_month;
  }
  return proof;
}

/// Rows name a model as the driver or the catalogue does, machines as their inventory does.
MeasuredPairs pairs_of(std::vector<PairMeasurement> rows, const FleetFacts& fleet, const Catalog& catalog) {
  std::map<const GpuFacts*, std::string> names;
  for (const NodeFacts& node : fleet.nodes)
    if (const GpuFacts* gpu = catalog.find_gpu(node.gpu_model)) names.emplace(gpu, node.gpu_model);
  for (PairMeasurement& row : rows)
    if (const auto name = names.find(catalog.find_gpu(row.gpu_model)); name != names.end()) row.gpu_model = name->second;
  return MeasuredPairs(rows);
}

NodeAudit node_view(const NodeFacts& facts, const FleetFacts& fleet, const Usage& usage, const Catalog& catalog) {
  NodeAudit node{.node = facts.id,
                 .name = facts.name,
                 .provider = facts.provider,
                 .region = facts.region,
                 .instance_type = facts.instance_type,
                 .gpu_model = facts.gpu_model,
                 .market = facts.market,
                 .kind = facts.kind,
                 .category = facts.category,
                 .client = facts.client,
                 .gpu_count = facts.gpu_count,
                 .hours = facts.hours,
                 .priced = facts.priced,
                 .cost_per_month = fleet.months.monthly(facts.compute),
                 .mean_utilization_pct = facts.mean_pct,
                 .p95_utilization_pct = facts.p95_pct,
                 .idle_pct = facts.idle_pct,
                 .memory_p95 = facts.memory_p95,
                 .memory_peak = facts.memory_peak,
                 .memory_total = facts.memory_total,
                 .coverage_pct = facts.coverage_pct,
                 .utilization_source = facts.utilization_source,
                 .quality = facts.quality,
                 .verdict = facts.mean_pct ? utilization_verdict(*facts.mean_pct) : UtilizationVerdict::kUnknown,
                 .diagnosis = diagnose(facts, active_metrics(facts, usage), catalog.find_gpu(facts.gpu_model)),
                 .findings = {}};
  return node;
}

void add_nodes(AuditReport& report, const FleetFacts& fleet, const Usage& usage, const Catalog& catalog) {
  std::map<std::string_view, std::vector<std::string>> findings;
  for (const Finding& f : report.findings)
    for (const std::string& node : nodes_of(f.change))
      findings[node].push_back(f.id);
  for (const NodeFacts& facts : fleet.nodes) {
    report.nodes.push_back(node_view(facts, fleet, usage, catalog));
    if (const auto it = findings.find(facts.name); it != findings.end()) report.nodes.back().findings = it->second;
  }
  std::stable_sort(report.nodes.begin(), report.nodes.end(),
                   [](const NodeAudit& a, const NodeAudit& b) { return a.cost_per_month > b.cost_per_month; });
}

AuditTotals totals_of(const FleetFacts& fleet, const Ledger& ledger, Money saving) {
  AuditTotals totals;
  totals.months = fleet.months.count();
  totals.priced = !ledger.lines.empty();
  totals.bill_per_month = fleet.months.monthly(ledger.total());
  totals.saving_per_month = saving;
  totals.plan_per_month = totals.bill_per_month - saving;
  const FleetUse use = use_of(fleet);
  totals.gpu_hours = use.gpu_hours;
  totals.mean_utilization_pct = use.mean_pct;
  totals.coverage_pct = use.coverage_pct;
  totals.per_useful_gpu_hour = use.per_useful_gpu_hour.value_or(Money::nanos(0, fleet.currency));
  return totals;
}

}  // namespace

struct Auditor::Impl {
  explicit Impl(const AuditInput& in)
      : bill_alone(with_machines_of_bill(in.history, in.catalog)),
        input{bill_alone ? *bill_alone : in.history,
              in.usage,
              in.catalog,
              in.now,
              in.allowed_regions,
              in.proof,
              in.choice,
              in.goals,
              in.longest_term,
              in.savings_plans,
              in.owned,
              in.services_longer_pct,
              in.pairs,
              in.owners,
              in.batch_curves,
              in.commit_on_days} {}

  std::optional<History> bill_alone;  ///< its machines, where nothing else names any
  AuditInput input;
  Attribution attribution;
  std::optional<Ledger> ledger;
  std::optional<FleetFacts> facts;
  mutable RightsizeMemo rightsize_memo;        ///< of `facts`: searches try the same changes again and again
  mutable std::map<Level, FleetBound> bounds;  ///< by the greatest risk: all plans of a fleet have the same

  const FleetBound& bound_for(Level max_risk) const {
    auto known = bounds.find(max_risk);
    if (known == bounds.end()) {
      const PriceLookup prices(input.catalog, facts->currency);
      known = bounds
                  .emplace(max_risk, fleet_bound({.facts = *facts,
                                                  .prices = prices,
                                                  .allowed_regions = input.allowed_regions,
                                                  .longest_term = input.longest_term,
                                                  .savings_plans = input.savings_plans,
                                                  .max_risk = max_risk}))
                  .first;
    }
    return known->second;
  }

  /// Findings and rejected of `report`, on `books`. @return commitments on too few days of use, of which nothing is booked.
  std::vector<Finding> find(AuditReport& report, Books& books, const PriceLookup& prices, const PlanChoice& choice,
                            Prover* prover) const {
    const Books fresh = books;
    Decider decider(choice, books, fresh, prover, input.now, report);
    for (const auto finder : kFinders)
      decider.decide(finder({*facts, books, prices, input.history, input.allowed_regions, input.longest_term, input.savings_plans,
                             &rightsize_memo, input.commit_on_days}));
    std::vector<Finding> on_few_days = decider.take_on_few_days();
    if (bill_alone)
      for (std::vector<Finding>* list : {&report.findings, &report.rejected, &on_few_days})
        for (Finding& f : *list) {
          f.confidence = Level::kLow;
          f.caveats.push_back("it rests on the bill alone: whether these machines were used is not known");
        }
    return on_few_days;
  }

  /// What is too small today, whatever the plan does: `stint plan rightsize` says the same.
  std::vector<std::string> growth(const PriceLookup& prices) const {
    const Books today(*facts, prices);
    const auto plan = plan_rightsize({*facts, today, prices, input.history, input.allowed_regions, input.longest_term,
                                      input.savings_plans, &rightsize_memo, input.commit_on_days},
                                     {});
    return plan.ok() ? growth_notes(*plan) : std::vector<std::string>();
  }
};

Auditor::Auditor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Auditor::Auditor(Auditor&&) noexcept = default;
Auditor& Auditor::operator=(Auditor&&) noexcept = default;
Auditor::~Auditor() = default;
const FleetFacts& Auditor::facts() const { return *impl_->facts; }
const AuditInput& Auditor::input() const { return impl_->input; }

Result<Auditor> Auditor::create(const AuditInput& input) {
  const History& history = input.history;
  if (history.period.empty()) return invalid("the History holds nothing in this period: import telemetry or a bill first");
  CHECK(input.usage.devices.size() == history.devices.size(), "usage of {} devices for {}", input.usage.devices.size(),
        history.devices.size());
  auto impl = std::make_unique<Impl>(input);
  const History& known = impl->input.history;
  impl->attribution = attribute(known, input.usage);
  TRY_ASSIGN(impl->ledger,
             post(known, impl->attribution.occupancy, input.catalog, {.basis = CostBasis::kEffective, .period = history.period}));
  impl->facts = collect_facts(known, input.usage, impl->attribution.occupancy, *impl->ledger, input.catalog);
  add_promises(*impl->facts, *impl->ledger);
  add_promises(*impl->facts, known, input.owners);
  add_promises(*impl->facts, input.goals);
  add_batch_curves(*impl->facts, input.batch_curves);
  if (input.services_longer_pct) impl->facts->unpromised_pct = 100 + *input.services_longer_pct;
  impl->facts->pairs = pairs_of(input.pairs, *impl->facts, input.catalog);
  return Auditor(std::move(impl));
}

Auditor::Draft Auditor::draft(const PlanChoice& choice) const {
  const FleetFacts& facts = *impl_->facts;
  const PriceLookup prices(impl_->input.catalog, facts.currency);
  Books books(facts, prices);
  AuditReport report;
  (void)impl_->find(report, books, prices, choice, nullptr);
  Draft draft{.findings = std::move(report.findings), .saving_per_month = Money::nanos(0, facts.currency), .plan_per_month = {}};
  for (const Finding& f : draft.findings)
    draft.saving_per_month += f.saving_per_month;
  draft.plan_per_month = facts.months.monthly(impl_->ledger->total()) - draft.saving_per_month;
  return draft;
}

Result<AuditReport> Auditor::plan(const PlanChoice& choice, Prove prove) const {
  const AuditInput& input = impl_->input;
  const History& history = input.history;
  const FleetFacts& facts = *impl_->facts;
  const PriceLookup prices(input.catalog, facts.currency);
  Books books(facts, prices);
  std::optional<Prover> prover;
  if (prove == Prove::kYes && input.proof) {
    TRY_ASSIGN(prover, Prover::create(history, facts, input.catalog, *input.proof));
  }

  AuditReport report;
  report.period = history.period;
  std::vector<Finding> on_few_days = impl_->find(report, books, prices, choice, prover ? &*prover : nullptr);
  report.commitments_aside = set_aside(std::move(on_few_days), books, input.now, prover ? &*prover : nullptr, report.rejected);
  if (prover) report.proof = proof_of_plan(*prover, report.findings, Money::nanos(0, facts.currency));
  Money saving = Money::nanos(0, facts.currency);
  for (const Finding& f : report.findings)
    saving += f.saving_per_month;
  const auto by_saving = [](const Finding& a, const Finding& b) { return a.saving_per_month > b.saving_per_month; };
  std::stable_sort(report.findings.begin(), report.findings.end(), by_saving);
  std::stable_sort(report.rejected.begin(), report.rejected.end(),
                   [](const Finding& a, const Finding& b) { return a.alone_per_month > b.alone_per_month; });

  const Attribution& attribution = impl_->attribution;
  const Ledger& ledger = *impl_->ledger;
  report.coverage = coverage_lines(ledger);
  report.covers_period = covers_period(ledger);
  report.totals = totals_of(facts, ledger, saving);
  if (!report.totals.priced) report.commitments_aside.reset();
  if (auto& aside = report.commitments_aside) {
    aside->days_asked = static_cast<int64_t>(input.commit_on_days);
    aside->plan_per_month = report.totals.plan_per_month - aside->saving_per_month;
  }
  report.totals.saving_by = saving_basis(report.findings, Money::nanos(0, facts.currency));
  report.totals.plan_range = plan_range(report.findings, facts, input.catalog, report.totals.plan_per_month);
  if (report.totals.priced) report.bound = bound_of_plan(impl_->bound_for(choice.max_risk), books, report.totals);
  add_nodes(report, facts, input.usage, input.catalog);
  report.holders = holder_view(history, input.usage);
  report.clients = client_view(facts, history, input.usage, attribution.occupancy, ledger);
  report.idle_causes = idle_view(facts, ledger);
  report.totals.not_used_per_month = Money::nanos(0, facts.currency);
  for (const NamedAmount& cause : report.idle_causes)
    report.totals.not_used_per_month += cause.amount;
  report.categories = category_view(facts, ledger);
  report.curve = curve_view(facts);
  report.heat = heat_view(facts);
  report.imports = history.imports;
  report.prices = prices_used(report.findings, ledger, impl_->input.history, input.catalog, input.now);
  report.data = data_checks(report, ledger);
  report.contradictions = facts.contradictions;
  report.notes = notes_for({facts, attribution.summary, ledger, report.prices});
  if (impl_->bill_alone) report.notes.push_back(bill_alone_note(facts));
  std::ranges::copy(facts.promise_notes, std::back_inserter(report.notes));
  if (auto note = holder_note(report.holders)) report.notes.push_back(std::move(*note));
  std::ranges::move(
      renewal_notes({facts, books, prices, history, input.allowed_regions, input.longest_term}, input.owned, input.now),
      std::back_inserter(report.notes));
  if (report.totals.priced)
    report.discounts =
        discount_outlooks({facts, books, prices, history, input.allowed_regions, input.longest_term, input.savings_plans});
  std::ranges::move(impl_->growth(prices), std::back_inserter(report.beside));
  std::ranges::move(timed_notes({facts, books, prices, history, input.allowed_regions}, timed_offers()),
                    std::back_inserter(report.beside));
  if (report.totals.priced && choice.max_risk == Level::kHigh)
    report.high_risk = risk_outlooks(
        {facts, books, prices, history, input.allowed_regions, input.longest_term, input.savings_plans}, report.findings);
  for (const RiskOutlook& outlook : report.high_risk)
    report.beside.push_back(risk_note(outlook));
  std::ranges::copy(report.beside, std::back_inserter(report.notes));
  std::ranges::move(discount_notes(report.discounts), std::back_inserter(report.notes));
  report.out_of_reach = out_of_reach_for(report, books);
  report.obstacles = obstacles_of(report.rejected, choice.without, books);
  report.goals = judge_goals(input.goals,
                             {report, facts, input.catalog, prover ? &*prover : nullptr, input.proof ? &*input.proof : nullptr});
  return report;
}

Result<AuditReport> audit(const AuditInput& input) {
  TRY_ASSIGN(const Auditor auditor, Auditor::create(input));
  return auditor.plan(input.choice, Auditor::Prove::kYes);
}

}  // namespace stint
