#include <nlohmann/json.hpp>

#include "report/waiting_text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;
using sched::Standing;

std::string_view name_of(Standing standing) {
  switch (standing) {
    case Standing::kUnknown: return "unknown";
    case Standing::kWaiting: return "waiting";
    case Standing::kReserved: return "reserved";
    case Standing::kNominated: return "nominated";
    case Standing::kRunning: return "running";
    case Standing::kEnded: return "ended";
  }
  return "";
}

Json money(const Money& m) { return {{"amount", m.to_double()}, {"currency", std::string(m.currency().code())}}; }

Json budget_json(const sched::BudgetStanding& b, const WaitingNames& names) {
  Json out = {{"queue", names.queue(b.queue)},
              {"budget", money(b.budget)},
              {"spent", money(b.spent)},
              {"burn_per_hour", money(b.burn.per_hour())}};
  if (b.runs_out_at) out["runs_out_at"] = format_utc(*b.runs_out_at);
  if (b.renewed_at) out["renewed_at"] = format_utc(*b.renewed_at);
  return out;
}

Json remedy_json(const sched::Remedy& r, const WaitingNames& names) {
  using sched::RemedyKind;
  Json out = {{"kind", std::string(sched::name_of(r.kind))}};
  if (r.kind == RemedyKind::kMoreGpus) out["gpus"] = r.amount;
  if (r.kind == RemedyKind::kRaiseLimit) out["gpus"] = static_cast<double>(r.amount) / 1000;
  if (r.kind == RemedyKind::kHigherPriority) out["priority"] = r.amount;
  if (r.kind == RemedyKind::kEvictLower) out["job"] = names.job(r.job);
  if (r.other_queue.valid()) out["other_queue"] = names.queue(r.other_queue);
  if (r.kind == RemedyKind::kEvictLower || r.kind == RemedyKind::kHigherPriority) out["lost_gpu_seconds"] = r.lost_gpu_seconds;
  if (r.kind == RemedyKind::kWait) out["at"] = format_utc(r.at);
  if (r.like.valid()) out["like"] = names.node(r.like);
  if (r.machines > 0) out["machines"] = r.machines;
  if (r.per_hour) out["per_hour"] = money(r.per_hour->per_hour());
  if (r.cost) out["cost"] = money(*r.cost);
  return out;
}

}  // namespace

Json waiting_json(const sched::Explanation& e, const WaitingNames& names, sched::JobId job, Instant now) {
  Json out = {{"job", names.job(job)}, {"at", format_utc(now)}, {"standing", std::string(name_of(e.standing))}};
  if (e.obstacle != sched::Obstacle::kNone) out["obstacle"] = std::string(sched::name_of(e.obstacle));
  if (e.at_queue.valid()) out["queue"] = names.queue(e.at_queue);
  if (e.behind.valid()) out["behind"] = names.job(e.behind);
  if (e.budget) out["budget"] = budget_json(*e.budget, names);
  if (e.deferral) {
    out["deferral"] = {{"latest_start", format_utc(e.deferral->latest_start)}, {"cost", money(e.deferral->cost)}};
    if (e.deferral->cost_now) out["deferral"]["cost_now"] = money(*e.deferral->cost_now);
  }
  if (e.missing_gpu_milli > 0) out["missing_gpus"] = static_cast<double>(e.missing_gpu_milli) / 1000;
  out["jobs_ahead"] = e.jobs_ahead;
  if (e.starts_at) out["starts_at"] = format_utc(*e.starts_at);
  if (e.expected) {
    Json& expected = out["expected"] = {{"seconds", e.expected->typical.whole_seconds()}};
    if (e.expected->like > 0)
      expected.update({{"low_seconds", e.expected->low.whole_seconds()},
                       {"high_seconds", e.expected->high.whole_seconds()},
                       {"like", e.expected->like},
                       {"same", std::string(sched::name_of(e.expected->likeness))}});
  }
  if (e.likely_start)
    out["likely_start"] = {{"at", format_utc(e.likely_start->at)},
                           {"earliest", format_utc(e.likely_start->earliest)},
                           {"latest", format_utc(e.likely_start->latest)}};
  out["remedies"] = Json::array();
  for (const sched::Remedy& remedy : e.remedies)
    out["remedies"].push_back(remedy_json(remedy, names));
  return out;
}

}  // namespace stint
