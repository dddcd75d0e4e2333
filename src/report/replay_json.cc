#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/replay_view.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json spread(const sim::Spread& s) {
  return {{"jobs", s.count},  {"mean_s", s.mean_s}, {"p50_s", s.p50_s},
          {"p95_s", s.p95_s}, {"p99_s", s.p99_s},   {"max_s", s.max_s}};
}

Json by_size(const std::array<sim::Spread, sim::kSizeClasses>& spreads) {
  Json out = Json::object();
  for (size_t c = 0; c < spreads.size(); ++c)
    if (spreads[c].count > 0) out[std::string(sim::name_of(static_cast<sim::SizeClass>(c)))] = spread(spreads[c]);
  return out;
}

Json endings(const sim::ReplayResult& r) {
  Json out = Json::object();
  for (size_t e = 0; e < sim::kJobEndings; ++e)
    if (r.endings[e] > 0) out[std::string(sim::name_of(static_cast<sim::JobEnding>(e)))] = r.endings[e];
  return out;
}

Json run_json(const ReplayView& view, const ReplayRun& run) {
  const sim::ReplayResult& r = run.result;
  const ReplayChange& change = view.changes[run.change];
  if (!change.refused.empty()) return {{"policy", run.policy}, {"change", change.name}, {"refused", change.refused}};
  return {{"policy", run.policy},
          {"change", run.change == 0 ? "" : change.name},
          {"from", format_utc(r.period.begin)},
          {"to", format_utc(r.period.end)},
          {"waiting", spread(r.waiting)},
          {"completion", spread(r.completion)},
          {"waiting_by_gpus", by_size(r.waiting_by_size)},
          {"completion_by_gpus", by_size(r.completion_by_size)},
          {"makespan_s", r.makespan.to_seconds()},
          {"allocation_pct", r.allocation_pct},
          {"utilization_pct", r.utilization_pct},
          {"fragmentation_pct", r.fragmentation_pct},
          {"gpu_hours",
           {{"available", r.gpu_hours.available},
            {"held", r.gpu_hours.held},
            {"useful", r.gpu_hours.useful},
            {"lost", r.gpu_hours.lost},
            {"overhead", r.gpu_hours.overhead}}},
          {"starts", r.starts},
          {"evictions", r.evictions},
          {"node_losses", r.node_losses},
          {"nodes_started", r.nodes_started},
          {"nodes_stopped", r.nodes_stopped},
          {"deadlines", r.deadlines},
          {"deadlines_missed", r.deadlines_missed},
          {"cost",
           {{"currency", std::string(r.money.total.currency().code())},
            {"total", r.money.total.to_double()},
            {"jobs", r.money.jobs.to_double()},
            {"idle", r.money.idle.to_double()}}},
          {"jobs_by_ending", endings(r)},
          {"steps", r.steps},
          {"decisions", r.decisions},
          {"fingerprint", fmt::format("{:016x}", r.fingerprint)},
          {"seconds", run.seconds}};
}

Json change_json(const ReplayChange& change) {
  Json out = {{"name", change.name}, {"nodes", change.node_names.size()}, {"notes", change.notes}};
  if (!change.refused.empty()) out["refused"] = change.refused;
  return out;
}

}  // namespace

std::string replay_json(const ReplayView& view) {
  Json out = {{"source", view.source}, {"jobs", view.jobs}, {"gpus", view.gpus},
              {"nodes", view.nodes},   {"seed", view.seed}, {"notes", view.notes}};
  out["changes"] = Json::array();
  for (size_t c = 1; c < view.changes.size(); ++c)
    out["changes"].push_back(change_json(view.changes[c]));
  out["runs"] = Json::array();
  for (const ReplayRun& run : view.runs)
    out["runs"].push_back(run_json(view, run));
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stint
