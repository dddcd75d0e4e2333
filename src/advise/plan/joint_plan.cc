#include "advise/plan/joint_plan.h"

#include <algorithm>

#include "advise/node_facts.h"
#include "advise/plan/plan_parts.h"
#include "advise/plan/plan_search.h"
#include "advise/prove/prove.h"

namespace stint {
namespace {

constexpr int kMostRounds = 3;
constexpr size_t kFewFindings = 8;
constexpr size_t kMostDrafts = 512;  // all sets of eight findings, and of what appears when one is left out
constexpr double kSecondsThatCount = 1;
constexpr int kMostSecondChances = 3;  // a whole plan is proven for each

class JointPlanner {
 public:
  JointPlanner(const Auditor& auditor, const JointPlanOptions& options) : auditor_(auditor), options_(options) {}

  Result<JointPlan> plan() {
    choice_.max_risk = options_.max_risk;
    TRY(search_and_prove());
    if (!out_.report.proof || out_.report.proof->together.verdict == ProofVerdict::kArithmetic) return done(std::nullopt);
    TRY(give_second_chances());
    out_.as_is_completion_s = out_.report.proof->together.before.completion_mean_s;
    out_.as_is_waiting_s = out_.report.proof->together.before.waiting_mean_s;
    for (const Finding& f : out_.report.rejected)
      if (f.proof && f.proof->verdict == ProofVerdict::kRejected) choice_.disproven.push_back(f.id);
    TRY(walk_the_front());
    return done(pick());
  }

 private:
  /// What does not survive its replay makes room too, and what was left out for its sake comes back: the search is made again without it.
  Status search_and_prove() {
    std::vector<Finding> failed;
    std::optional<JointPlan> best;
    PlanChoice best_choice;
    for (int round = 0; round < kMostRounds; ++round) {
      out_ = JointPlan();
      choice_.without.clear();
      exchange();
      TRY_ASSIGN(out_.report, auditor_.plan(choice_, Auditor::Prove::kYes));
      std::vector<std::string> disproven;
      for (const Finding& f : out_.report.rejected)
        if (f.proof && f.proof->verdict == ProofVerdict::kRejected) {
          disproven.push_back(f.id);
          failed.push_back(f);
        }
      const bool made_room = !choice_.without.empty();
      if (!best || out_.report.totals.saving_per_month > best->report.totals.saving_per_month) {
        best = std::move(out_);
        best_choice = choice_;
      }
      if (disproven.empty() || !made_room) break;
      choice_.disproven.insert(choice_.disproven.end(), disproven.begin(), disproven.end());
    }
    out_ = std::move(*best);
    choice_ = std::move(best_choice);
    // Why is known from the round in which it was replayed.
    for (Finding& why : failed) {
      const auto known = std::ranges::find(out_.report.rejected, why.id, &Finding::id);
      if (known == out_.report.rejected.end())
        out_.report.rejected.push_back(std::move(why));
      else if (!known->proof)
        *known = std::move(why);
    }
    return {};
  }

  /// Takes out what stands in the way of more, part by part: the best of all sets where they are few, else step by step.
  void exchange() {
    const Auditor::Draft all = draft(choice_.without);
    const std::vector<PlanPart> parts =
        plan_parts(auditor_.facts(), all.findings, [&](const std::string& id) { return draft({id}).findings; });
    Auditor::Draft best = all;
    Money not_searched = Money::nanos(0, all.saving_per_month.currency());
    for (const PlanPart& part : parts) {
      const auto findings = std::ranges::count_if(all.findings, [&](const Finding& f) { return is_of_part(f, part); });
      if (static_cast<size_t>(findings) <= kFewFindings && search_every_set(part, best)) continue;
      for (int round = 0; round < kMostRounds; ++round)
        if (!step_to_more(part, best)) break;
      not_searched += more_than_saved(part, best);
    }
    out_.search.parts = std::ssize(parts);
    out_.search.every_set = not_searched.is_zero();
    out_.search.at_most = best.saving_per_month + not_searched;
    explain_gains(all);
  }

  Auditor::Draft draft(const std::vector<std::string>& without) {
    ++out_.search.plans;
    return auditor_.draft({.max_risk = choice_.max_risk, .without = without, .disproven = choice_.disproven});
  }

  /// What the machines of a part still cost: no plan saves more than that beyond this one.
  [[nodiscard]] Money more_than_saved(const PlanPart& part, const Auditor::Draft& best) const {
    const FleetFacts& facts = auditor_.facts();
    Money left = Money::nanos(0, facts.currency);
    for (const NodeFacts& node : facts.nodes)
      if (part.contains(node.name)) left += facts.months.monthly(node.compute);
    for (const Finding& f : best.findings)
      if (is_of_part(f, part)) left = left - f.saving_per_month;
    return left;
  }

  /// Beside what was left out of other parts. @return false when there are too many.
  bool search_every_set(const PlanPart& part, Auditor::Draft& best) {
    const std::vector<std::string> others = choice_.without;
    return for_each_left_out(kMostDrafts, [&](const LeftOut& of_part) {
      std::vector<std::string> without = others;
      without.insert(without.end(), of_part.begin(), of_part.end());
      Auditor::Draft tried = draft(without);
      std::vector<std::string> ids;
      for (const Finding& f : tried.findings)
        if (is_of_part(f, part)) ids.push_back(f.id);
      if (tried.saving_per_month > best.saving_per_month) {
        best = std::move(tried);
        choice_.without = std::move(without);
      }
      return ids;
    });
  }

  /// The one finding without which the others save the most more. @return false when there is none.
  bool step_to_more(const PlanPart& part, Auditor::Draft& best) {
    std::optional<std::string> gone;
    Auditor::Draft better = best;
    for (const Finding& f : best.findings) {
      if (!is_of_part(f, part)) continue;
      std::vector<std::string> without = choice_.without;
      without.push_back(f.id);
      Auditor::Draft draft = this->draft(without);
      if (draft.saving_per_month <= better.saving_per_month) continue;
      better = std::move(draft);
      gone = f.id;
    }
    if (!gone) return false;
    choice_.without.push_back(*gone);
    best = std::move(better);
    return true;
  }

  /// @param draft  with nothing left out.
  void explain_gains(Auditor::Draft draft) {
    PlanChoice choice{.max_risk = choice_.max_risk, .without = {}, .disproven = choice_.disproven};
    for (const std::string& id : choice_.without) {
      const auto out = std::ranges::find(draft.findings, id, &Finding::id);
      const std::string title = out == draft.findings.end() ? id : fmt::format("\"{}\" ({})", out->title, id);
      choice.without.push_back(id);
      Auditor::Draft rest = auditor_.draft(choice);
      out_.gains.push_back(fmt::format("without {} the others save {} a month more together", title,
                                       (rest.saving_per_month - draft.saving_per_month).to_text()));
      draft = std::move(rest);
    }
  }

  /// What a replay rejects on top of other findings may survive in their place: spot on a machine that is not switched off at night, say.
  Status give_second_chances() {
    int tries = 0;
    const std::vector<Finding> rejected = out_.report.rejected;
    for (const Finding& f : rejected) {
      if (!f.proof || f.proof->verdict != ProofVerdict::kRejected || tries == kMostSecondChances) continue;
      PlanChoice choice = choice_;
      Money given_up = Money::nanos(0, f.alone_per_month.currency());
      for (const Finding& kept : out_.report.findings) {
        // A savings plan is found anew for whatever is left on demand.
        if (std::holds_alternative<SavingsPlan>(kept.change)) continue;
        const auto& nodes = nodes_of(kept.change);
        if (std::ranges::none_of(nodes_of(f.change),
                                 [&](const std::string& n) { return std::ranges::find(nodes, n) != nodes.end(); }))
          continue;
        choice.without.push_back(kept.id);
        given_up += kept.saving_per_month;
      }
      if (choice.without.size() == choice_.without.size() || f.alone_per_month <= given_up) continue;
      ++tries;
      TRY_ASSIGN(AuditReport report, auditor_.plan(choice, Auditor::Prove::kYes));
      const Money more = report.totals.saving_per_month - out_.report.totals.saving_per_month;
      if (more.count_nanos() <= 0) continue;
      out_.gains.push_back(fmt::format(
          "\"{}\" ({}) survives its replay in place of others on the same machines, not on top of them: {} a month more", f.title,
          f.id, more.to_text()));
      choice_ = std::move(choice);
      out_.report = std::move(report);
    }
    return {};
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
    std::vector<std::string> replayed;
    for (const Finding& f : out_.report.findings)
      if (f.proof && f.proof->verdict == ProofVerdict::kSurvives && f.proof->method == ProofMethod::kJobs)
        replayed.push_back(f.id);
    std::ranges::sort(replayed);
    std::vector<FrontPoint> points;
    if (replayed.size() < 8 * sizeof(size_t) && (size_t{1} << replayed.size()) <= options_.most_points)
      every_point(prover, replayed, points);
    else
      some_points(prover, replayed, points);
    keep_the_best(points);
    out_.front = std::move(points);
    return {};
  }

  void every_point(const Prover& prover, const std::vector<std::string>& replayed, std::vector<FrontPoint>& points) const {
    for (size_t set = 0; set < size_t{1} << replayed.size(); ++set) {
      std::vector<std::string> without;
      for (size_t i = 0; i < replayed.size(); ++i)
        if ((set >> i & 1U) != 0) without.push_back(replayed[i]);
      points.push_back(point(prover, without));
    }
  }

  /// Each finding by itself, then those that give back the most seconds per unit of money, one after another.
  void some_points(const Prover& prover, const std::vector<std::string>& replayed, std::vector<FrontPoint>& points) const {
    points.push_back(point(prover, {}));
    struct Gain {
      std::string id;
      double seconds_per_money = 0;
    };
    std::vector<Gain> gains;
    for (const std::string& id : replayed) {
      if (points.size() >= options_.most_points) break;
      points.push_back(point(prover, {id}));
      const double seconds = points.front().completion_mean_s - points.back().completion_mean_s;
      const double money = (points.back().plan_per_month - points.front().plan_per_month).to_double();
      if (seconds > kSecondsThatCount) gains.push_back({id, seconds / std::max(money, 1e-9)});
    }
    std::ranges::stable_sort(gains, [](const Gain& a, const Gain& b) { return a.seconds_per_money > b.seconds_per_money; });
    std::vector<std::string> without;
    for (const Gain& gain : gains) {
      without.push_back(gain.id);
      if (without.size() > 1 && points.size() < options_.most_points) points.push_back(point(prover, without));
    }
    exchange_on_front(prover, points);
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

  static void keep_the_best(std::vector<FrontPoint>& points) {
    std::vector<FrontMark> marks;
    for (const FrontPoint& p : points)
      marks.push_back({p.plan_per_month, p.completion_mean_s, p.without.size()});
    std::vector<FrontPoint> kept;
    for (const size_t i : best_marks(marks, kSecondsThatCount))
      kept.push_back(std::move(points[i]));
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

  Status take_point(size_t at) {
    if (out_.front[at].without.empty() && !options_.budget) return {};  // the report is of that plan already
    PlanChoice choice = choice_;
    const auto& without = out_.front[at].without;
    choice.without.insert(choice.without.end(), without.begin(), without.end());
    TRY_ASSIGN(out_.report, auditor_.plan(choice, Auditor::Prove::kYes));
    return {};
  }

  Result<JointPlan> done(std::optional<size_t> chosen) {
    if (chosen) TRY(take_point(*chosen));
    // The front is arithmetic, the plan is what was replayed: where that comes out dearer than the budget, the next cheaper point is taken.
    while (options_.budget && chosen && *chosen > 0 && out_.report.totals.plan_per_month > *options_.budget) {
      out_.front[*chosen].chosen = false;
      out_.front[--*chosen].chosen = true;
      TRY(take_point(*chosen));
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

Result<JointPlan> joint_plan(const Auditor& auditor, const JointPlanOptions& options) {
  return JointPlanner(auditor, options).plan();
}

}  // namespace stint
