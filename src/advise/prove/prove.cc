#include "advise/prove/prove.h"

#include <algorithm>
#include <map>
#include <set>

#include "advise/commit/savings_plan_hours.h"
#include "advise/find/idle_windows.h"
#include "advise/prove/proof_weeks.h"
#include "advise/prove/service_proof.h"
#include "advise/prove/service_replay.h"
#include "sched/policy_text.h"
#include "sched/scheduler.h"
#include "sim/apply_change.h"
#include "sim/replay.h"

namespace stint {
namespace {

bool draws_interruptions(const Change& change) {
  const auto* market = std::get_if<SwitchMarket>(&change);
  return market != nullptr && market->to == Market::kSpot;
}

/// It changes no job: the hours are billed again.
bool is_billed(const Change& change) {
  return std::holds_alternative<Commit>(change) || std::holds_alternative<SavingsPlan>(change);
}

std::string shown_hours(double seconds) {
  return seconds < 5400 ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

std::string_view name_of(ProofVerdict v) {
  switch (v) {
    case ProofVerdict::kArithmetic: return "arithmetic";
    case ProofVerdict::kSurvives: return "survives";
    case ProofVerdict::kRejected: return "rejected";
  }
  return "arithmetic";
}

std::string_view name_of(ProofMethod m) {
  switch (m) {
    case ProofMethod::kJobs: return "jobs";
    case ProofMethod::kRequests: return "requests";
    case ProofMethod::kBill: return "bill";
  }
  return "jobs";
}

class Prover::Impl {
 public:
  /// @param nothing  why there are no jobs to replay; empty = there are.
  Impl(ProofWorkload base, std::string nothing, const FleetFacts& facts, const Catalog& catalog, sched::Policy policy,
       ProofOptions options)
      : base_(std::move(base)),
        nothing_(std::move(nothing)),
        facts_(facts),
        catalog_(catalog),
        policy_(std::move(policy)),
        options_(std::move(options)),
        ground_(ground_of(base_.workload, facts.period)) {
    for (const NodeFacts& node : facts.nodes)
      facts_of_[node.name] = &node;
    if (nothing_.empty()) as_is_ = replay_all({}, 1).tallies;
    kept_tallies_ = as_is_;
  }

  Proof try_change(const Change& change, const Books& books) {
    tried_.reset();
    if (const auto* commit = std::get_if<Commit>(&change)) return billed(*commit, books);
    if (const auto* plan = std::get_if<SavingsPlan>(&change)) return billed(*plan, books);
    Proof proof;
    proof.reason = nothing_.empty() ? why_not(nodes_of(change)) : nothing_;
    if (!proof.reason.empty())
      return is_of_services(change) ? prove_by_requests(change, books, catalog_, ground_.marks, options_) : proof;
    std::vector<Change> changes = kept_;
    changes.push_back(change);
    Trial trial = replay_all(changes, options_.seeds);
    if (!trial.refused.empty()) {
      proof.reason = std::move(trial.refused);
      return proof;
    }
    proof = compared(kept_tallies_, trial.tallies, {});
    proof.notes = std::move(trial.notes);
    judge(proof, change, trial.tallies);
    tried_ = Tried{change, std::move(trial.tallies)};
    return proof;
  }

  void keep() {
    if (!tried_) return;  // not replayed: nothing changes for those that follow
    kept_.push_back(std::move(tried_->change));
    kept_tallies_ = std::move(tried_->tallies);
    tried_.reset();
  }

  Proof whole() const {
    if (!nothing_.empty()) {
      Proof proof;
      proof.reason = nothing_;
      return proof;
    }
    Proof proof = compared(as_is_, kept_tallies_, {});
    proof.verdict = ProofVerdict::kSurvives;
    proof.notes = base_.notes;
    return proof;
  }

  Proof together(const std::vector<Change>& changes, int seeds) const {
    Proof proof;
    proof.reason = nothing_;
    if (!nothing_.empty()) return proof;
    const Trial trial = replay_all(possible(changes), seeds);
    proof.reason = trial.refused;
    if (!trial.refused.empty()) return proof;
    proof = compared(as_is_, trial.tallies, {});
    proof.verdict = ProofVerdict::kSurvives;
    return proof;
  }

  Proof carry(const std::vector<Change>& changes, const MoreWork& more, int seeds) const {
    Proof proof;
    proof.reason = nothing_;
    if (!nothing_.empty()) return proof;
    std::vector<uint8_t> counted;
    const Impl grown(with_more(more, counted), "", facts_, catalog_, policy_, options_);
    const Trial trial = grown.replay_all(grown.possible(changes), seeds);
    proof.reason = trial.refused;
    if (!trial.refused.empty()) return proof;
    proof = grown.compared(grown.as_is_, trial.tallies, counted);
    proof.verdict = ProofVerdict::kSurvives;
    return proof;
  }

  const ProofWorkload& base() const { return base_; }

 private:
  struct Trial {
    std::string refused;
    std::vector<ReplayTally> tallies;
    std::vector<std::string> notes;
  };
  struct Tried {
    Change change;
    std::vector<ReplayTally> tallies;
  };

  /// Those that can be replayed.
  std::vector<Change> possible(const std::vector<Change>& changes) const {
    std::vector<Change> out;
    for (const Change& change : changes)
      if (!is_billed(change) && why_not(nodes_of(change)).empty()) out.push_back(change);
    return out;
  }

  /// @param counted  by job of the result: whether it is of the kinds.
  ProofWorkload with_more(const MoreWork& more, std::vector<uint8_t>& counted) const {
    ProofWorkload out = base_;
    out.workload.jobs.clear();
    double due = 0;
    for (const sim::SimJob& job : base_.workload.jobs) {
      const auto node = job.ran_on.empty() ? facts_of_.end() : facts_of_.find(job.ran_on.front());
      const bool counts = more.kinds.empty() ||
                          (node != facts_of_.end() && std::ranges::find(more.kinds, node->second->kind) != more.kinds.end());
      due += counts ? more.factor : 1;
      for (; due >= 1; --due) {
        out.workload.jobs.push_back(job);
        counted.push_back(counts ? 1 : 0);
      }
    }
    return out;
  }

  /// Machines of services, and machines on which nothing was seen to run.
  bool is_of_services(const Change& change) const {
    if (!touches_services(change, facts_)) return false;
    return std::ranges::all_of(nodes_of(change), [&](const std::string& name) {
      const auto node = facts_of_.find(name);
      if (node == facts_of_.end() || (nothing_.empty() && !base_.left_out.contains(name))) return false;
      return node->second->kind == WorkloadKind::kRealtimeInference ||
             std::ranges::none_of(node->second->timeline, [](const NodeHour& h) { return h.active_gpus > 0; });
    });
  }

  /// Empty when all the machines are in the replay.
  std::string why_not(const std::vector<std::string>& nodes) const {
    size_t out = 0;
    std::string why;
    for (const std::string& node : nodes) {
      const auto it = base_.left_out.find(node);
      if (it == base_.left_out.end()) continue;
      ++out;
      why = it->second;
    }
    if (out == 0) return {};
    return out == nodes.size() ? why : fmt::format("{} of {} machines: {}", out, nodes.size(), why);
  }

  /// One drawing of interruptions out of `of`.
  struct Draw {
    size_t number = 0, of = 1;
  };

  /// Interruptions per hour of one drawing: another quantile of the belief for each, so that what is not known of the rate widens the
  /// interval; the drawings' mean is the belief's, which is what the arithmetic takes.
  static double drawn_rate(const InterruptionRate& rate, const Draw& draw) {
    if (draw.of == 1) return rate.mean();
    double own = 0, sum = 0;
    for (size_t k = 0; k < draw.of; ++k) {
      const double quantile = rate.quantile((static_cast<double>(k) + 0.5) / static_cast<double>(draw.of));
      sum += quantile;
      if (k == draw.number) own = quantile;
    }
    return own * rate.mean() * static_cast<double>(draw.of) / sum;
  }

  /// How often machines that move are interrupted: the same quantile in all places, so that it does not average out over places.
  void believe(const sim::Workload& workload, const std::vector<std::string>& nodes, const Draw& draw,
               sim::ChangeSettings& settings, std::vector<std::string>& notes) const {
    std::map<SpotPlace, double> drawn;
    const std::set<std::string_view> moved(nodes.begin(), nodes.end());
    for (const sim::SimNode& node : workload.nodes) {
      if (!moved.contains(node.node.name)) continue;
      const auto facts = facts_of_.find(node.node.name);
      const bool stays = facts != facts_of_.end() && facts->second->region == node.region;
      const SpotPlace place = {node.provider, node.region, stays ? facts->second->zone : "", node.instance_type};
      const InterruptionRate rate = facts_.spot.rate(place);
      const auto [at, is_new] = drawn.emplace(place, 0);
      if (is_new) {
        at->second = drawn_rate(rate, draw);
        notes.push_back(fmt::format("{}{}{}: {}", place.instance_type, place.zone.empty() ? "" : " in ", place.zone,
                                    belief_text(rate, facts_.spot.seen(place))));
      }
      settings.spot_between_of[node.node.name] = interruption_model(at->second).mean_between;
      settings.spot_belief_of[node.node.name] = interruption_model(rate.mean()).mean_between;
    }
  }

  /// A machine that is idle since some day did the work before that day.
  void keep_until_last_work(const std::vector<std::string>& nodes, sim::ChangeSettings& settings) const {
    for (const std::string& name : nodes) {
      const auto facts = facts_of_.find(name);
      const auto since = facts == facts_of_.end() ? std::nullopt : idle_since(*facts->second);
      if (since) settings.stopped_at[name] = Instant::from_hour_index(facts_.first_hour + static_cast<int64_t>(*since));
    }
  }

  /// Changes one after another on a copy of the workload as it is.
  Result<std::vector<std::string>> apply(sim::Workload& workload, const std::vector<Change>& changes, const Draw& draw) const {
    std::vector<std::string> notes;
    for (const Change& change : changes) {
      notes.clear();  // of the last one alone
      sim::ChangeSettings settings{.catalog = &catalog_, .seed = options_.seed + draw.number};
      if (std::holds_alternative<StopNodes>(change)) keep_until_last_work(nodes_of(change), settings);
      if (draws_interruptions(change)) believe(workload, nodes_of(change), draw, settings, notes);
      TRY_ASSIGN(std::vector<std::string> more, sim::apply_in_place(workload, change, settings));
      std::ranges::move(more, std::back_inserter(notes));
    }
    return notes;
  }

  Trial replay_all(const std::vector<Change>& changes, int seeds) const {
    const bool chance = std::ranges::any_of(changes, draws_interruptions);
    const auto count = static_cast<size_t>(chance ? std::clamp(seeds, 1, std::max(options_.seeds, 1)) : 1);
    std::vector<std::string> refused(count);
    std::vector<std::vector<std::string>> notes(count);
    Trial trial;
    trial.tallies.resize(count);
    const auto one = [&](size_t s) {
      sim::Workload workload = base_.workload;
      auto applied = apply(workload, changes, {.number = s, .of = count});
      if (!applied.ok()) {
        refused[s] = applied.error().message;
        return;
      }
      notes[s] = std::move(*applied);
      trial.tallies[s] = replay(workload);
      if (options_.replayed) options_.replayed();
    };
    if (options_.run && count > 1)
      options_.run(count, one);
    else
      for (size_t s = 0; s < count; ++s)
        one(s);
    trial.refused = refused.front();
    trial.notes = std::move(notes.front());
    return trial;
  }

  ReplayTally replay(const sim::Workload& workload) const {
    sched::Scheduler scheduler(policy_);
    const sim::ReplayOptions options{.until = facts_.period.end + kProofPatience,
                                     .announce_checkpoints = false,
                                     .timeline_points = 2,
                                     .occupancies = 0,
                                     .marks = ground_.marks};
    return tally_of(workload, sim::replay(scheduler, workload, options), ground_.marks);
  }

  Proof compared(std::span<const ReplayTally> before, std::span<const ReplayTally> after, std::span<const uint8_t> only) const {
    const ProofComparison c = compare(ground_, before, after, only, {.draws = options_.draws, .seed = options_.seed});
    Proof proof;
    const auto monthly = [&](double amount) { return facts_.months.monthly(Money::estimate(amount, facts_.currency)); };
    proof.saving_per_month = monthly(c.saving.mean);
    proof.saving_p10 = monthly(c.saving.p10);
    proof.saving_p90 = monthly(c.saving.p90);
    proof.jobs = only.empty() ? static_cast<int64_t>(ground_.work.size()) : std::ranges::count(only, uint8_t{1});
    proof.waiting_s = c.waiting_s;
    proof.completion_pct = c.completion_pct;
    proof.throughput_pct = c.throughput_pct;
    proof.lost_gpu_hours = c.lost_gpu_hours;
    proof.before = c.before;
    proof.after = c.after;
    proof.weeks = static_cast<int>(ground_.marks.size()) - 1;
    proof.seeds = static_cast<int>(std::max(before.size(), after.size()));
    return proof;
  }

  /// Those that ran on machines the change is about: a delay of few must not drown in the mean of all.
  std::vector<uint8_t> touched_by(const Change& change) const {
    const std::set<std::string_view> nodes(nodes_of(change).begin(), nodes_of(change).end());
    std::vector<uint8_t> touched;
    for (const sim::SimJob& job : base_.workload.jobs)
      touched.push_back(std::ranges::any_of(job.ran_on, [&](const std::string& n) { return nodes.contains(n); }) ? 1 : 0);
    return touched;
  }

  void judge(Proof& proof, const Change& change, std::span<const ReplayTally> tallies) const {
    proof.verdict = ProofVerdict::kRejected;
    const std::vector<uint8_t> touched = touched_by(change);
    if (proof.saving_per_month.count_nanos() <= 0) {
      proof.reason = fmt::format("replayed it saves nothing ({}/month)", proof.saving_per_month.to_text());
      return;
    }
    const double more_unfinished = proof.after.unfinished - proof.before.unfinished;
    const double allowed = 0.001 * static_cast<double>(ground_.work.size());
    if (more_unfinished > std::max(allowed, 0.5) || proof.throughput_pct.mean < options_.least_work_pct) {
      proof.reason = fmt::format("replayed, {:.1f} jobs that finished do not finish ({:.1f} % of the work gets done)",
                                 std::max(more_unfinished, 0.0), proof.throughput_pct.mean);
      return;
    }
    std::vector<Proof> views = {proof};
    if (std::ranges::count(touched, uint8_t{1}) > 0) views.push_back(compared(kept_tallies_, tallies, touched));
    for (size_t i = 0; i < views.size(); ++i) {
      const double longer_s = views[i].after.completion_mean_s - views[i].before.completion_mean_s;
      if (longer_s <= options_.always_allowed.to_seconds() || views[i].completion_pct.mean <= options_.most_longer_pct) continue;
      proof.reason = fmt::format(
          "replayed, {} take {:.0f} % longer from submission to end ({} in place of {} on average; at most {:.0f} % more "
          "is taken for harmless)",
          i == 0 ? "jobs" : fmt::format("the {} jobs of these machines", views[i].jobs), views[i].completion_pct.mean,
          shown_hours(views[i].after.completion_mean_s), shown_hours(views[i].before.completion_mean_s),
          options_.most_longer_pct);
      if (draws_interruptions(change)) proof.reason += hours_kept_on(nodes_of(change));
      return;
    }
    proof.verdict = ProofVerdict::kSurvives;
  }

  /// What an earlier change has to do with it, when the machines are there at some hours only.
  std::string hours_kept_on(const std::vector<std::string>& nodes) const {
    for (const Change& kept : kept_) {
      if (!std::holds_alternative<ScheduleOff>(kept) && !std::holds_alternative<LimitReservation>(kept)) continue;
      const auto& others = nodes_of(kept);
      if (std::ranges::any_of(nodes, [&](const std::string& n) { return std::ranges::find(others, n) != others.end(); }))
        return fmt::format(
            "; since \"{}\" these machines are there at some hours only, and what an interruption delays past them waits "
            "for the next",
            describe(kept));
    }
    return {};
  }

  /// The hours in use, as the changes before left them, with the commitment and without.
  Proof billed(const Commit& commit, const Books& books) const {
    const auto* quote = books.prices().find({commit.provider, commit.instance_type, commit.region}, Market::kReserved,
                                            commit.term, commit.payment);
    std::vector<double> in_use(facts_.hour_count);
    double paid = 0;
    for (const NodeFacts& node : facts_.nodes) {
      if (std::ranges::find(commit.nodes, node.name) == commit.nodes.end()) continue;
      const auto hourly = books.hourly(node.id);
      const PlanNode& plan = books.of(node.id);
      for (size_t h = 0; h < in_use.size() && hourly; ++h)
        in_use[h] += plan.on_s[h] / 3600.0;
      if (hourly) paid += hourly->to_double() * static_cast<double>(plan.seconds()) / 3600;
    }
    double used = 0;
    for (const double u : in_use)
      used += u;
    if (quote == nullptr || used <= 0) return billed(std::vector<double>(), {});
    const double on_demand = paid / used;
    const auto committed = static_cast<double>(commit.count);
    std::vector<double> before, after;
    for (const double u : in_use) {
      before.push_back(u * on_demand);
      after.push_back(std::max(0.0, u - committed) * on_demand + committed * quote->hourly.to_double());
    }
    return billed(before, after);
  }

  Proof billed(const SavingsPlan& plan, const Books& books) const {
    std::vector<NodeId> nodes;
    for (const std::string& name : plan.nodes)
      if (const auto node = facts_of_.find(name); node != facts_of_.end()) nodes.push_back(node->second->id);
    std::vector<double> before, after;
    for (const SavingsPlanHour& hour : hours_under(books, plan, nodes)) {
      before.push_back(hour.before.to_double());
      after.push_back((plan.per_hour + hour.beyond).to_double());
    }
    return billed(before, after);
  }

  /// What is paid in each hour of the period, week by week.
  Proof billed(const std::vector<double>& before_of, const std::vector<double>& after_of) const {
    Proof proof;
    proof.method = ProofMethod::kBill;
    if (before_of.empty()) {
      proof.reason = "no hours in use, or no price, to bill again";
      return proof;
    }
    // What is paid counts as the cost of replays without jobs.
    ReplayTally before, after;
    for (size_t b = 0; b + 1 < ground_.marks.size(); ++b) {
      before.paid.push_back(0);
      after.paid.push_back(0);
      for (int64_t hour = ground_.marks[b].hour_index(); hour < ground_.marks[b + 1].hour_index(); ++hour) {
        const auto h = static_cast<size_t>(hour - facts_.first_hour);
        if (h >= before_of.size()) continue;
        before.paid.back() += before_of[h];
        after.paid.back() += after_of[h];
      }
    }
    proof = compared(std::span(&before, 1), std::span(&after, 1), {});
    proof.method = ProofMethod::kBill;
    proof.jobs = 0;
    proof.verdict = proof.saving_per_month.count_nanos() > 0 ? ProofVerdict::kSurvives : ProofVerdict::kRejected;
    if (proof.verdict == ProofVerdict::kRejected)
      proof.reason = fmt::format("billed again it saves nothing ({}/month)", proof.saving_per_month.to_text());
    if (proof.saving_p10.count_nanos() < 0) proof.notes.push_back("in one of ten drawings of the weeks it loses money");
    proof.notes.push_back(
        "the coming months are taken to be like these weeks; what jobs do is not changed by how machines are paid for");
    return proof;
  }

  ProofWorkload base_;
  std::string nothing_;
  const FleetFacts& facts_;
  std::map<std::string_view, const NodeFacts*> facts_of_;
  const Catalog& catalog_;
  sched::Policy policy_;
  ProofOptions options_;
  ProofGround ground_;
  std::vector<ReplayTally> as_is_, kept_tallies_;
  std::vector<Change> kept_;
  std::optional<Tried> tried_;
};

Prover::Prover(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Prover::Prover(Prover&&) noexcept = default;
Prover& Prover::operator=(Prover&&) noexcept = default;
Prover::~Prover() = default;

Result<Prover> Prover::create(const History& history, const FleetFacts& facts, const Catalog& catalog, ProofOptions options) {
  TRY_ASSIGN(const sched::Policy policy, sched::parse_policy(options.policy));
  Result<ProofWorkload> base = proof_workload(history, facts);
  const std::string nothing = base.ok() ? "" : base.error().message;
  return Prover(std::make_unique<Impl>(base.ok() ? std::move(*base) : ProofWorkload(), nothing, facts, catalog, policy,
                                       std::move(options)));
}

Proof Prover::try_change(const Change& change, const Books& books) { return impl_->try_change(change, books); }
void Prover::keep() { impl_->keep(); }
Proof Prover::together(const std::vector<Change>& changes, int seeds) const { return impl_->together(changes, seeds); }
Proof Prover::carry(const std::vector<Change>& changes, const MoreWork& more, int seeds) const {
  return impl_->carry(changes, more, seeds);
}
Proof Prover::whole() const { return impl_->whole(); }
const ProofWorkload& Prover::base() const { return impl_->base(); }

}  // namespace stint
