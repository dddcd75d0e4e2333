#include "advise/joint_plan.h"

#include <algorithm>

#include "advise/prove.h"

namespace stint {
namespace {

constexpr int kMostRounds = 3;
constexpr double kSecondsThatCount = 1;

class Planner {
 public:
  Planner(const Auditor& auditor, const JointPlanOptions& options) : auditor_(auditor), options_(options) {}

  Result<JointPlan> plan() {
    choice_.max_risk = options_.max_risk;
    exchange();
    // What does not survive its replay makes room too: the proven plan is what the front starts from.
    TRY_ASSIGN(out_.report, auditor_.plan(choice_, Auditor::Prove::kYes));
    if (!out_.report.proof || out_.report.proof->together.verdict == ProofVerdict::kArithmetic) return done(std::nullopt);
    out_.as_is_completion_s = out_.report.proof->together.before.completion_mean_s;
    out_.as_is_waiting_s = out_.report.proof->together.before.waiting_mean_s;
    for (const Finding& f : out_.report.rejected)
      if (f.proof && f.proof->verdict == ProofVerdict::kRejected) choice_.without.push_back(f.id);
    TRY(walk_the_front());
    return done(pick());
  }

 private:
  /// Takes out what stands in the way of more.
  void exchange() {
    Auditor::Draft best = auditor_.draft(choice_);
    for (int round = 0; round < kMostRounds; ++round) {
      std::optional<size_t> gone;
      Auditor::Draft better = best;
      for (size_t i = 0; i < best.findings.size(); ++i) {
        PlanChoice without = choice_;
        without.without.push_back(best.findings[i].id);
        Auditor::Draft draft = auditor_.draft(without);
        if (draft.saving_per_month <= better.saving_per_month) continue;
        better = std::move(draft);
        gone = i;
      }
      if (!gone) return;
      const Finding& out = best.findings[*gone];
      out_.gains.push_back(fmt::format("without \"{}\" ({}) the others save {} a month more together", out.title, out.id,
                                       (better.saving_per_month - best.saving_per_month).to_text()));
      choice_.without.push_back(out.id);
      best = std::move(better);
    }
  }

  /// A plan without these, replayed as a whole.
  FrontPoint point(const Prover& prover, const std::vector<std::string>& without) const {
    PlanChoice choice = choice_;
    choice.without.insert(choice.without.end(), without.begin(), without.end());
    const Auditor::Draft draft = auditor_.draft(choice);
    std::vector<Change> changes;
    for (const Finding& f : draft.findings)
      changes.push_back(f.change);
    const Proof proof = prover.together(changes, options_.front_seeds);
    return {.plan_per_month = draft.plan_per_month,
            .completion_mean_s = proof.after.completion_mean_s,
            .waiting_mean_s = proof.after.waiting_mean_s,
            .without = without,
            .chosen = false};
  }

  Status walk_the_front() {
    const AuditInput& input = auditor_.input();
    TRY_ASSIGN(const Prover prover, Prover::create(input.history, auditor_.facts(), input.catalog, *input.proof));
    std::vector<FrontPoint> points = {point(prover, {})};
    struct Gain {
      std::string id;
      double seconds_per_money = 0;
    };
    std::vector<Gain> gains;
    for (const Finding& f : out_.report.findings) {
      if (!f.proof || f.proof->verdict != ProofVerdict::kSurvives || f.proof->method != ProofMethod::kJobs) continue;
      if (points.size() >= options_.most_points) break;
      points.push_back(point(prover, {f.id}));
      const double seconds = points.front().completion_mean_s - points.back().completion_mean_s;
      const double money = (points.back().plan_per_month - points.front().plan_per_month).to_double();
      if (seconds > kSecondsThatCount) gains.push_back({f.id, seconds / std::max(money, 1e-9)});
    }
    std::ranges::stable_sort(gains, [](const Gain& a, const Gain& b) { return a.seconds_per_money > b.seconds_per_money; });
    std::vector<std::string> without;
    for (const Gain& gain : gains) {
      without.push_back(gain.id);
      if (without.size() > 1 && points.size() < options_.most_points) points.push_back(point(prover, without));
    }
    exchange_on_front(prover, points);
    keep_the_best(points);
    out_.front = std::move(points);
    return {};
  }

  /// From each plan that leaves several out, one back in: greedy steps may have taken out too much.
  void exchange_on_front(const Prover& prover, std::vector<FrontPoint>& points) const {
    const std::vector<FrontPoint> first = points;
    for (const FrontPoint& p : first)
      for (size_t i = 0; i + 1 < p.without.size() && p.without.size() > 2; ++i) {
        if (points.size() >= options_.most_points) return;
        std::vector<std::string> without = p.without;
        without.erase(without.begin() + static_cast<ptrdiff_t>(i));
        points.push_back(point(prover, without));
      }
  }

  /// Those that no other beats in both cost and time.
  static void keep_the_best(std::vector<FrontPoint>& points) {
    std::ranges::stable_sort(points, [](const FrontPoint& a, const FrontPoint& b) {
      return std::tuple(a.plan_per_month, a.completion_mean_s, a.without.size()) <
             std::tuple(b.plan_per_month, b.completion_mean_s, b.without.size());
    });
    std::vector<FrontPoint> kept;
    for (FrontPoint& p : points)
      if (kept.empty() || p.completion_mean_s < kept.back().completion_mean_s - kSecondsThatCount) kept.push_back(std::move(p));
    points = std::move(kept);
  }

  /// The quickest within the budget; without one, and where none keeps within it, the cheapest.
  std::optional<size_t> pick() {
    if (out_.front.empty()) return std::nullopt;
    size_t chosen = 0;
    if (options_.budget) {
      for (size_t i = 0; i < out_.front.size(); ++i)
        if (out_.front[i].plan_per_month <= *options_.budget) chosen = i;
    }
    out_.front[chosen].chosen = true;
    return chosen;
  }

  Result<JointPlan> done(std::optional<size_t> chosen) {
    if (chosen && !out_.front[*chosen].without.empty()) {
      PlanChoice choice = choice_;
      const auto& without = out_.front[*chosen].without;
      choice.without.insert(choice.without.end(), without.begin(), without.end());
      TRY_ASSIGN(out_.report, auditor_.plan(choice, Auditor::Prove::kYes));
    }
    if (options_.budget && out_.report.totals.plan_per_month > *options_.budget)
      out_.budget_missed = fmt::format("no plan costs {} a month or less: the cheapest found costs {}",
                                       options_.budget->to_text(), out_.report.totals.plan_per_month.to_text());
    std::ranges::stable_sort(out_.report.findings, {}, &Finding::step);
    return std::move(out_);
  }

  const Auditor& auditor_;
  const JointPlanOptions& options_;
  PlanChoice choice_;
  JointPlan out_;
};

}  // namespace

Result<JointPlan> joint_plan(const Auditor& auditor, const JointPlanOptions& options) { return Planner(auditor, options).plan(); }

}  // namespace stint
