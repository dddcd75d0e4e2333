// What ran where and when, for those who look back over some hours.
#include <algorithm>

#include "daemon/api/job_groups.h"
#include "daemon/engine/engine_impl.h"
#include "ledger/run_cost.h"

namespace stint {
namespace {

std::string end_of(const EndView& end) {
  if (!end.detail.empty()) return end.detail;
  return end.exit_code == 0 && end.signal == 0 ? "ok" : "failed";
}

}  // namespace

std::vector<RunView> Engine::runs(Instant from, const std::function<bool(std::string_view client)>& may_see) const {
  const Impl& s = *impl_;
  std::vector<RunView> runs;
  const auto add = [&](uint32_t j, NodeId node, RunView run) {
    const JobBook& job = s.jobs[j];
    const NodeBook& book = s.nodes[node.index()];
    const Machine& place = book.machine;
    run.job = s.id_of(sched::JobId(j));
    run.number = job.number;
    run.array_index = job.place_in_array();
    run.name = name_shown(*job.request);
    run.queue = s.queue_name(job.queue);
    run.client = s.client_of(job.queue);
    run.user = job.request->user;
    run.node = place.node.name;
    const int64_t capacity = place.node.gpus > 0 ? int64_t{place.node.gpus} * sched::kMilli : place.node.cpu_milli;
    const int64_t held = std::min(place.node.gpus > 0 ? run.gpu_milli : needs_of(*job.request, run.task).cpu_milli, capacity);
    const auto part_of = [&](Rate rate) { return Rate::per_hour(cost_of_run(rate, held, capacity, kHour)); };
    run.burn = part_of(book.charged);
    const Interval when{run.ended ? run.started : run.unposted_from, run.ended.value_or(s.shown_at())};
    run.rate = part_of(s.prices.of(book).mean_over(when));
    runs.push_back(std::move(run));
  };
  for (uint32_t j = 0; j < s.jobs.size(); ++j) {
    const JobBook& job = s.jobs[j];
    if (!job.first_started || (job.ended && *job.ended <= from) || !may_see(s.client_of(job.queue))) continue;
    for (const EndView& end : job.ends)
      if (const auto node = s.node_ids.find(end.node); end.ended > from && node != s.node_ids.end())
        add(j, node->second,
            {.task = end.task,
             .attempt = end.attempt,
             .gpus = end.gpus,
             .gpu_milli = end.gpu_milli,
             .started = end.started,
             .ended = end.ended,
             .end = end_of(end)});
    for (const PlacedTask& placed : job.placed)
      if (!placed.ended)
        add(j, placed.place.node,
            {.task = placed.task,
             .attempt = placed.attempt,
             .gpus = placed.place.gpus,
             .gpu_milli = s.costs.gpu_milli(job, placed),
             .started = placed.started,
             .unposted_from = placed.metered_from});
  }
  std::ranges::stable_sort(runs, {}, &RunView::started);
  return runs;
}

std::optional<Instant> Engine::runs_complete_from(const std::function<bool(std::string_view client)>& may_see) const {
  std::optional<Instant> from;
  for (const auto& [client, until] : impl_->forgotten_until)
    if (may_see(client)) from = std::max(from.value_or(until), until);
  return from;
}

}  // namespace stint
