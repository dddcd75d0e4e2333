#include "advise/prove/service_proof.h"

#include <algorithm>

#include "advise/prove/proof_weeks.h"
#include "advise/prove/service_replay.h"
#include "advise/share/interference.h"
#include "base/prng.h"

namespace stint {
namespace {

constexpr int kDraws = 100;

std::string shown_pct(double pct) { return pct >= kCannotKeepUpPct ? "far more than 100" : fmt::format("{:.0f}", pct); }

/// The books' saving, and how it varies with the weeks: it comes in the hours in which the machines are paid for.
void add_money(Proof& proof, const Change& change, const Books& books, Money saving, std::span<const Instant> marks,
               uint64_t seed) {
  const FleetFacts& facts = books.facts();
  std::vector<double> paid(marks.size() - 1);
  for (const std::string& name : nodes_of(change)) {
    const auto node = std::ranges::find(facts.nodes, name, &NodeFacts::name);
    const auto hourly = node == facts.nodes.end() ? std::nullopt : books.hourly(node->id);
    if (!hourly) continue;
    const PlanNode& plan = books.of(node->id);
    for (size_t b = 0; b < paid.size(); ++b)
      for (int64_t hour = marks[b].hour_index(); hour < marks[b + 1].hour_index(); ++hour)
        if (const auto h = static_cast<size_t>(hour - facts.first_hour); h < plan.on_s.size())
          paid[b] += hourly->to_double() * plan.on_s[h] / 3600;
  }
  double all = 0;
  for (const double p : paid)
    all += p;
  Prng prng(seed);
  std::vector<double> drawn;
  for (int d = 0; d < kDraws; ++d) {
    double sum = 0;
    for (size_t b = 0; b < paid.size(); ++b)
      sum += paid[prng.below(paid.size())];
    drawn.push_back(all > 0 ? saving.to_double() * sum / all : saving.to_double());
  }
  const ProofFigure figure = figure_of(saving.to_double(), std::move(drawn));
  proof.saving_per_month = saving;
  proof.saving_p10 = Money::estimate(figure.p10, saving.currency());
  proof.saving_p90 = Money::estimate(figure.p90, saving.currency());
}

std::string range_text(const ServiceOutlook& outlook) {
  return outlook.measured ? shown_pct(outlook.p99_pct.mean)
                          : fmt::format("{} to {}", shown_pct(outlook.p99_least_pct), shown_pct(outlook.p99_pct.mean));
}

/// What p99 would be and what it may be, in milliseconds where it was measured.
std::string too_slow_text(const ServiceOutlook& outlook) {
  const std::string rule =
      outlook.bound.promised ? "keeps what is promised" : "is what it may be without a promise that allows more";
  std::string in_ms;
  if (outlook.p99_now_ms && outlook.p99_least_pct < kCannotKeepUpPct)
    in_ms = fmt::format(", {:.0f} ms where {:.0f} ms is the most", *outlook.p99_now_ms * outlook.p99_least_pct / 100,
                        *outlook.p99_now_ms * outlook.bound.pct / 100);
  return fmt::format("replayed, p99 of {} is {} % of what it is now{} (at most {:.0f} % {})", outlook.worst, range_text(outlook),
                     in_ms, outlook.bound.pct, rule);
}

std::string how_replayed(const ServiceOutlook& outlook) {
  if (!outlook.busy) return "no request was seen there";
  if (!outlook.pooled)
    return fmt::format(
        "requests were not recorded one by one: measured is how long each GPU was busy in each hour{}, modelled is the queue "
        "before it (M/M/1)",
        outlook.measured ? " and how much of it that takes" : "");
  return "requests were not recorded one by one: measured is how busy each replica was in each hour and at its busiest sample, "
         "modelled is one queue before all replicas of a service (M/D/c or M/M/c, whichever suffers more), in the busiest 5 % of "
         "the hours, of which a twelfth is a burst at the sum of the busiest samples";
}

void judge(Proof& proof, const ServiceOutlook& outlook, const ProofOptions& options) {
  const double most_pct = outlook.bound.pct;
  proof.verdict = ProofVerdict::kRejected;
  if (outlook.in_time_most_pct < options.least_work_pct) {
    proof.reason = fmt::format("replayed, {:.1f} % of the requests served in time now still are", outlook.in_time_most_pct);
    return;
  }
  if (outlook.p99_least_pct > most_pct) {
    proof.reason = too_slow_text(outlook);
    return;
  }
  proof.verdict = ProofVerdict::kSurvives;
  if (outlook.p99_pct.mean <= most_pct && outlook.in_time_pct.mean >= options.least_work_pct) return;
  if (outlook.beside_others) {
    proof.verdict = ProofVerdict::kRejected;
    proof.reason = fmt::format(
        "p99 of {} may be {} % of what it is now: what neighbours under MPS do to each other was not measured here, and of "
        "measured "
        "pairs of jobs one in a hundred takes more than {:.1f} × as long beside the other",
        outlook.worst, range_text(outlook), kMostSlowedByNeighbour);
    return;
  }
  proof.verdict = ProofVerdict::kArithmetic;
  proof.reason = fmt::format(
      "p99 of {} may be {} % of what it is now: how much of a GPU its requests keep busy was not measured (SM and memory "
      "activity: "
      "DCGM profiling metrics)",
      outlook.worst, range_text(outlook));
}

}  // namespace

Proof prove_by_requests(const Change& change, const Books& books, const Catalog& catalog, std::span<const Instant> marks,
                        const ProofOptions& options) {
  Proof proof;
  proof.method = ProofMethod::kRequests;
  const auto outlook = replay_services(change, books.facts(), catalog, {.marks = marks, .draws = kDraws, .seed = options.seed});
  const auto saving = books.saving_of(change);
  if (!outlook.ok() || !saving.ok()) {
    proof.reason = outlook.ok() ? saving.error().message : outlook.error().message;
    return proof;
  }
  add_money(proof, change, books, *saving, marks, options.seed);
  proof.services = outlook->seats;
  proof.latency_pct = outlook->p99_pct;
  proof.throughput_pct = outlook->in_time_pct;
  proof.weeks = static_cast<int>(marks.size()) - 1;
  proof.seeds = 1;
  judge(proof, *outlook, options);
  proof.notes.push_back(how_replayed(*outlook));
  if (outlook->p99_now_ms)
    proof.notes.push_back(fmt::format("p99 of {} as measured: {:.0f} ms now, so {:.0f} ms", outlook->worst, *outlook->p99_now_ms,
                                      *outlook->p99_now_ms * outlook->p99_pct.mean / 100));
  return proof;
}

}  // namespace stint
