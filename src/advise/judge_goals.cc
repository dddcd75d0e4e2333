#include "advise/judge_goals.h"

#include <algorithm>
#include <set>

#include "advise/find/finder_text.h"
#include "advise/headline.h"
#include "advise/prove/proof_weeks.h"
#include "advise/prove/service_replay.h"

namespace stint {
namespace {

constexpr int kSeeds = 2;                // of spot interruptions, as for the points of a front
constexpr double kMostThroughput = 400;  // %: beyond it is not looked
constexpr double kThroughputStep = 10;
constexpr size_t kReasonsShown = 4;

std::string hours(double seconds) { return fmt::format("{:.1f} h", seconds / 3600); }

class Judge {
 public:
  explicit Judge(const JudgedPlan& plan) : plan_(plan) {
    std::vector<const Finding*> in_order;
    for (const Finding& f : plan.report.findings)
      in_order.push_back(&f);
    std::ranges::stable_sort(in_order, {}, &Finding::step);
    for (const Finding* f : in_order)
      changes_.push_back(f->change);
  }

  GoalVerdict operator()(const Goal& goal) const {
    GoalVerdict verdict{.goal = goal, .outcome = GoalOutcome::kNotShown, .figure = {}, .why = {}};
    switch (goal.measure) {
      case GoalMeasure::kCost: cost(verdict); break;
      case GoalMeasure::kSaving: saving(verdict); break;
      case GoalMeasure::kThroughput: throughput(verdict, {}); break;
      case GoalMeasure::kTrainingThroughput: throughput(verdict, {WorkloadKind::kTraining, WorkloadKind::kFineTuning}); break;
      case GoalMeasure::kLatencyP99: latency(verdict); break;
      case GoalMeasure::kServiceP99: promise(verdict); break;
      case GoalMeasure::kSavingOf: saving_of(verdict); break;
    }
    return verdict;
  }

 private:
  static void decide(GoalVerdict& verdict, bool holds) { verdict.outcome = holds ? GoalOutcome::kHolds : GoalOutcome::kFails; }

  void cost(GoalVerdict& verdict) const {
    const AuditTotals& t = plan_.report.totals;
    if (!t.priced) return verdict.why.push_back("nothing says what this fleet costs: import a bill or prices");
    verdict.figure = t.plan_per_month.to_text() + " a month";
    decide(verdict, t.plan_per_month.to_double() <= verdict.goal.bound);
    add_what_it_rests_on(verdict);
    if (verdict.outcome == GoalOutcome::kHolds) return;
    const Money missing = t.plan_per_month - Money::estimate(verdict.goal.bound, t.plan_per_month.currency());
    verdict.why.push_back(fmt::format("{} a month too much", missing.to_text()));
    verdict.gap = gap_of(plan_.report.obstacles, missing);
    add_obstacles(verdict);
  }

  void saving(GoalVerdict& verdict) const {
    const AuditTotals& t = plan_.report.totals;
    if (!t.priced || t.bill_per_month.count_nanos() <= 0)
      return verdict.why.push_back("nothing says what this fleet costs: import a bill or prices");
    const double pct = 100 * t.saving_per_month.to_double() / t.bill_per_month.to_double();
    verdict.figure = fmt::format("{:.1f} % of the bill", pct);
    decide(verdict, pct >= verdict.goal.bound);
    add_what_it_rests_on(verdict);
    if (verdict.outcome == GoalOutcome::kHolds) return;
    const Money most =
        Money::estimate(t.bill_per_month.to_double() * (1 - verdict.goal.bound / 100), t.bill_per_month.currency());
    verdict.gap = gap_of(plan_.report.obstacles, t.plan_per_month - most);
    add_obstacles(verdict);
  }

  void add_what_it_rests_on(GoalVerdict& verdict) const {
    if (!plan_.report.proof) return verdict.why.push_back("arithmetic alone: nothing was replayed");
    const PlanProof& proof = *plan_.report.proof;
    verdict.why.push_back(
        fmt::format("{} of the saving was replayed with jobs, {} with services' hours, {} billed again, {} is arithmetic",
                    proof.by_jobs.to_text(), proof.by_requests.to_text(), proof.by_bill.to_text(), proof.by_sum.to_text()));
  }

  /// What was considered and not advised, dearest first, and what no finding reaches.
  void add_obstacles(GoalVerdict& verdict) const {
    const auto& all = plan_.report.out_of_reach;
    verdict.why.insert(verdict.why.end(), all.begin(), all.begin() + static_cast<ptrdiff_t>(std::min(all.size(), kReasonsShown)));
    if (all.size() > kReasonsShown)
      verdict.why.push_back(fmt::format("and {} more: see what the plan does not reach", all.size() - kReasonsShown));
  }

  // ── throughput ──

  /// @param as_is  of the jobs of the period on the machines as they are.
  [[nodiscard]] bool is_carried(const Proof& proof, const ProofJobs& as_is) const {
    const double allowed = std::max(0.001 * static_cast<double>(proof.jobs), 0.5);
    const double longer_s = proof.after.completion_mean_s - as_is.completion_mean_s;
    return proof.after.unfinished <= as_is.unfinished + allowed &&
           (longer_s <= plan_.options->always_allowed.to_seconds() ||
            longer_s <= plan_.options->most_longer_pct / 100 * as_is.completion_mean_s);
  }

  [[nodiscard]] Proof carry(const std::vector<WorkloadKind>& kinds, double pct) const {
    return plan_.prover->carry(changes_, {.kinds = kinds, .factor = pct / 100}, kSeeds);
  }

  void throughput(GoalVerdict& verdict, const std::vector<WorkloadKind>& kinds) const {
    if (plan_.prover == nullptr) return verdict.why.push_back("nothing was replayed");
    const Proof now = carry(kinds, 100);
    if (now.verdict == ProofVerdict::kArithmetic || now.jobs == 0)
      return verdict.why.push_back(now.reason.empty() ? "no job of that kind is in the replay" : now.reason);
    const double as_is_s = now.before.completion_mean_s;
    const double bound = verdict.goal.bound;
    const Proof asked = bound == 100 ? now : carry(kinds, bound);
    decide(verdict, is_carried(asked, now.before));
    const double most = largest_carried(kinds, now.before, verdict.outcome == GoalOutcome::kHolds ? bound : 0, bound);
    verdict.figure = most <= 0
                         ? fmt::format("less than {:.0f} % of the work of the period", kThroughputStep)
                         : fmt::format("{}{:.0f} % of the work of the period", most >= kMostThroughput ? "at least " : "", most);
    verdict.why.push_back(
        fmt::format("replayed with {:.0f} % of the jobs ({}): on the plan's machines they take {} from submission to end in "
                    "place of {} as it is (at "
                    "most {:.0f} % more is taken for harmless), {:.1f} do not finish",
                    bound, asked.jobs, hours(asked.after.completion_mean_s), hours(as_is_s), plan_.options->most_longer_pct,
                    asked.after.unfinished));
    Proof as_is_asked = asked;
    as_is_asked.after = asked.before;
    const bool as_is_carries = is_carried(as_is_asked, now.before);
    if (bound > 100)
      verdict.why.push_back(
          fmt::format("the machines as they are would take {} with as many jobs: {}", hours(asked.before.completion_mean_s),
                      as_is_carries                            ? "the room was there before, idle"
                      : verdict.outcome == GoalOutcome::kHolds ? "the plan makes room that was not there"
                                                               : "neither has room for as much work at the hours it comes"));
    verdict.why.push_back(
        fmt::format("a job by itself is no quicker: with the jobs of the period they take {} in place of {} ({:+.1f} %), by "
                    "waiting and by what interruptions cost",
                    hours(now.after.completion_mean_s), hours(as_is_s), now.completion_pct.mean));
  }

  /// In steps, by halving. @param low  that much is carried. @param high  the next to try.
  [[nodiscard]] double largest_carried(const std::vector<WorkloadKind>& kinds, const ProofJobs& as_is, double low,
                                       double bound) const {
    double high = low > 0 ? kMostThroughput + kThroughputStep : bound;
    while (high - low > kThroughputStep * 1.5) {
      const double middle = kThroughputStep * std::round((low + high) / 2 / kThroughputStep);
      if (middle <= low || middle >= high) break;
      (is_carried(carry(kinds, middle), as_is) ? low : high) = middle;
    }
    return low;
  }

  // ── services ──

  void latency(GoalVerdict& verdict) const {
    const bool any = std::ranges::any_of(plan_.facts.nodes,
                                         [](const NodeFacts& node) { return node.kind == WorkloadKind::kRealtimeInference; });
    if (!any) return verdict.why.push_back("no machine is known to serve requests");
    const std::vector<Instant> marks = week_marks(plan_.facts.period);
    std::optional<ServiceOutlook> worst;
    double least_pct = 100, most_pct = 100;  // of all services, whatever each may be
    int64_t moved = 0;
    for (const Change& change : changes_) {
      if (!touches_services(change, plan_.facts)) continue;
      const auto outlook = replay_services(change, plan_.facts, plan_.catalog, {.marks = marks});
      if (!outlook.ok())
        return verdict.why.push_back(
            fmt::format("what becomes of requests is not known: {}: {}", describe(change), outlook.error().message));
      moved += outlook->seats;
      for (const ServiceP99& each : outlook->each) {
        least_pct = std::max(least_pct, each.least_pct);
        most_pct = std::max(most_pct, each.most_pct);
      }
      if (!worst || outlook->p99_pct.mean > worst->p99_pct.mean) worst = *outlook;
    }
    if (moved == 0) {
      verdict.figure = "100 %: no service is moved";
      return decide(verdict, verdict.goal.bound >= 100);
    }
    verdict.figure = worst->measured
                         ? fmt::format("{:.0f} % of p99 now, at worst ({:.0f} to {:.0f} over weeks drawn again)",
                                       worst->p99_pct.mean, worst->p99_pct.p10, worst->p99_pct.p90)
                         : fmt::format("{:.0f} to {:.0f} % of p99 now, at worst", worst->p99_least_pct, worst->p99_pct.mean);
    if (most_pct <= verdict.goal.bound)
      decide(verdict, true);
    else if (least_pct > verdict.goal.bound)
      decide(verdict, false);
    verdict.why.push_back(fmt::format(
        "the hours of {} services on GPUs were run again, {} suffers most: measured is how long each GPU was busy{}, modelled "
        "is the queue before it; single requests are not recorded",
        moved, worst->worst, worst->measured ? " and how much of it requests keep busy" : ""));
    if (verdict.outcome == GoalOutcome::kHolds) return;
    verdict.why.push_back(
        "a request that keeps more of the SMs or of the memory bandwidth busy than its part holds takes that much longer, and "
        "queues form "
        "sooner");
    verdict.why.push_back(
        fmt::format("without sharing and fewer replicas (`stint plan all` names the findings) services stay as they are and the "
                    "plan costs up to {} "
                    "a month more",
                    saved_on_services().to_text()));
  }

  /// p99 of one service in milliseconds: as measured, times what the plan's changes do to it.
  void promise(GoalVerdict& verdict) const {
    const std::string& name = verdict.goal.service;
    bool known = false;
    std::optional<double> now_ms;
    for (const NodeFacts& node : plan_.facts.nodes)
      for (const GpuLoad& gpu : node.gpus) {
        if (node.kind != WorkloadKind::kRealtimeInference || service_name(node, gpu) != name) continue;
        known = true;
        if (gpu.p99_ms) now_ms = std::max(now_ms.value_or(0), *gpu.p99_ms);
      }
    if (!known) return verdict.why.push_back(fmt::format("no service '{}' in this fleet", name));
    if (!now_ms)
      return verdict.why.push_back(
          "p99 of its requests was not measured: import latency_p99 in milliseconds; the plan keeps to p99 as it is, in percent");
    const std::vector<Instant> marks = week_marks(plan_.facts.period);
    std::optional<ServiceP99> worst;
    for (const Change& change : changes_) {
      if (!touches_services(change, plan_.facts)) continue;
      const auto outlook = replay_services(change, plan_.facts, plan_.catalog, {.marks = marks, .draws = 1});
      if (!outlook.ok()) return verdict.why.push_back(fmt::format("{}: {}", describe(change), outlook.error().message));
      const auto p99 = std::ranges::find(outlook->each, name, &ServiceP99::service);
      if (p99 != outlook->each.end() && (!worst || p99->most_pct > worst->most_pct)) worst = *p99;
    }
    const double least_pct = worst ? worst->least_pct : 100;
    const double most_pct = worst ? worst->most_pct : 100;
    verdict.figure = least_pct == most_pct
                         ? fmt::format("{:.1f} ms", *now_ms * most_pct / 100)
                         : fmt::format("{:.1f} to {:.1f} ms", *now_ms * least_pct / 100, *now_ms * most_pct / 100);
    if (*now_ms * most_pct / 100 <= verdict.goal.bound)
      decide(verdict, true);
    else if (*now_ms * least_pct / 100 > verdict.goal.bound)
      decide(verdict, false);
    verdict.why.push_back(
        fmt::format("{:.1f} ms as measured now, {:.0f} % of that on the plan's machines, replayed", *now_ms, most_pct));
  }

  [[nodiscard]] Money saved_on_services() const {
    Money sum = Money::nanos(0, plan_.facts.currency);
    for (const Finding& f : plan_.report.findings)
      if ((std::holds_alternative<ShareGpus>(f.change) || std::holds_alternative<ResizeNodes>(f.change)) &&
          touches_services(f.change, plan_.facts))
        sum += f.saving_per_month;
    return sum;
  }

  // ── one kind of change ──

  void saving_of(GoalVerdict& verdict) const {
    Money saved = Money::nanos(0, plan_.facts.currency);
    Money paid = saved;
    std::set<std::string> nodes;
    for (const Finding& f : plan_.report.findings) {
      if (kind_of(f.change) != verdict.goal.change_kind) continue;
      saved += std::max(f.alone_per_month, f.saving_per_month);
      nodes.insert(nodes_of(f.change).begin(), nodes_of(f.change).end());
    }
    for (const NodeFacts& node : plan_.facts.nodes)
      if (nodes.contains(node.name)) paid += plan_.facts.months.monthly(node.compute);
    if (nodes.empty()) {
      verdict.figure = "none advised";
      for (const Finding& f : plan_.report.rejected)
        if (kind_of(f.change) == verdict.goal.change_kind && !f.caveats.empty())
          verdict.why.push_back(f.title + ": " + f.caveats.front());
      return;
    }
    const double pct = paid.count_nanos() > 0 ? 100 * saved.to_double() / paid.to_double() : 0;
    verdict.figure = fmt::format("{:.1f} % of the {} a month that these machines cost now", pct, paid.to_text());
    decide(verdict, pct >= verdict.goal.bound);
    for (const Finding& f : plan_.report.findings)
      if (kind_of(f.change) == verdict.goal.change_kind)
        verdict.why.push_back(fmt::format("{}: {} a month alone{}", f.title, f.alone_per_month.to_text(),
                                          f.arithmetic.size() > 1 ? "; " + f.arithmetic[f.arithmetic.size() - 2] : ""));
    for (const Finding& f : plan_.report.rejected)
      if (kind_of(f.change) == verdict.goal.change_kind && !f.caveats.empty())
        verdict.why.push_back("not: " + f.title + ": " + f.caveats.front());
  }

  const JudgedPlan& plan_;
  std::vector<Change> changes_;
};

}  // namespace

std::vector<GoalVerdict> judge_goals(std::span<const Goal> goals, const JudgedPlan& plan) {
  const Judge judge(plan);
  std::vector<GoalVerdict> verdicts;
  for (const Goal& goal : goals)
    verdicts.push_back(judge(goal));
  return verdicts;
}

}  // namespace stint
