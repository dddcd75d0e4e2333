// What runs cost: a posting when a task ends or its machine's price changes, to the client at the top of its queue's path.
#include "daemon/engine/run_costs.h"

#include <algorithm>

#include "daemon/api/job_groups.h"
#include "ledger/run_cost.h"
#include "model/mig.h"
#include "model/mig_ask.h"

namespace stint {
namespace {

__extension__ using Wide = __int128;

int64_t micro_gpu_hours(int64_t gpu_milli, Duration d) {
  return static_cast<int64_t>(Wide{gpu_milli} * 1'000 * d.count_ns() / kHour.count_ns());
}

}  // namespace

int64_t RunCosts::gpu_milli(const JobBook& job, const PlacedTask& placed) const {
  const sched::Place& place = placed.place;
  const std::string& profile = needs_of(*job.request, placed.task).mig_profile;
  if (profile.empty() || place.mig_profile >= 0) return s_.scheduler->cluster().gpu_milli(place);
  return compute_milli(s_.nodes[place.node.index()].machine.node.gpu_model, mig_asks_of(profile));
}

/// Its part of what the machine costs.
Money RunCosts::cost_at(Rate rate, const JobBook& job, const PlacedTask& placed, Duration length) const {
  const NodeSpec& node = s_.nodes[placed.place.node.index()].machine.node;
  const bool by_gpu = node.gpus > 0;
  const int64_t capacity = by_gpu ? int64_t{node.gpus} * sched::kMilli : node.cpu_milli;
  const int64_t held = std::min(by_gpu ? gpu_milli(job, placed) : needs_of(*job.request, placed.task).cpu_milli, capacity);
  return cost_of_run(rate, held, capacity, length);
}

Money RunCosts::cost_over(const JobBook& job, const PlacedTask& placed, Interval when) const {
  Money cost = Money::nanos(0, s_.fleet.currency);
  s_.prices.of(s_.nodes[placed.place.node.index()]).over(when, [&](Interval part, Rate rate) {
    cost += cost_at(rate, job, placed, part.length());
  });
  return cost;
}

Money RunCosts::cost_of_hour(const JobBook& job, const PlacedTask& placed) const {
  return cost_at(s_.nodes[placed.place.node.index()].charged, job, placed, kHour);
}

RunPosting RunCosts::posting_of(sched::JobId id, const PlacedTask& placed, Instant until) const {
  const JobBook& job = s_.jobs[id.index()];
  const Interval when{placed.metered_from, until};
  return {.job = job.id,
          .attempt = placed.attempt,
          .task = placed.task,
          .client = client_of(s_.fleet, job.queue),
          .queue = s_.fleet.queues[job.queue.index()].name,
          .node = s_.nodes[placed.place.node.index()].machine.node.name,
          .when = when,
          .gpu_milli = gpu_milli(job, placed),
          .amount = cost_over(job, placed, when)};
}

Rate RunCosts::burn_of(sched::JobId id) const {
  Money burn = Money::nanos(0, s_.fleet.currency);
  for (const PlacedTask& placed : s_.jobs[id.index()].placed)
    burn += cost_of_hour(s_.jobs[id.index()], placed);
  return Rate::per_hour(burn);
}

void RunCosts::post(sched::JobId id, PlacedTask& placed, Instant until) {
  if (until == placed.metered_from) return;
  const RunPosting posting = posting_of(id, placed, until);
  JobBook& job = s_.jobs[id.index()];
  job.posted += posting.amount;
  job.posted_micro_gpu_hours += micro_gpu_hours(posting.gpu_milli, posting.when.length());
  s_.queues[job.queue.index()].posted += posting.amount;
  s_.accounts.post(job, posting);
  placed.metered_from = until;
}

void RunCosts::post_all_on(NodeId node) {
  for (uint32_t j = 0; j < s_.jobs.size(); ++j)
    for (PlacedTask& placed : s_.jobs[j].placed)
      if (placed.place.node == node && !placed.ended) post(sched::JobId(j), placed, s_.now);
}

std::vector<RunPosting> RunCosts::postings_of(const std::vector<Record>& records, Instant at) const {
  std::vector<RunPosting> postings;
  std::vector<LaunchKey> ended;
  const auto add = [&](sched::JobId id, const PlacedTask& placed, Instant until) {
    const LaunchKey key = key_of(s_.jobs[id.index()], placed);
    if (placed.ended || std::ranges::find(ended, key) != ended.end()) return;
    ended.push_back(key);  // or paid for until `at`: what comes after that in this step is no time
    if (until > placed.metered_from) postings.push_back(posting_of(id, placed, until));
  };
  const auto add_all_on = [&](NodeId node) {
    for (uint32_t j = 0; j < s_.jobs.size(); ++j)
      for (const PlacedTask& placed : s_.jobs[j].placed)
        if (placed.place.node == node) add(sched::JobId(j), placed, at);
  };
  const auto add_if_repriced = [&](const Machine& machine) {
    if (const auto known = s_.node_ids.find(machine.node.name);
        known != s_.node_ids.end() && s_.nodes[known->second.index()].machine.rate != machine.rate)
      add_all_on(known->second);
  };
  for (const Record& record : records) {
    if (record.kind == RecordKind::kEnded || record.kind == RecordKind::kLost) {
      if (const PlacedTask* placed = find_placed(s_.jobs, record.report.key); placed != nullptr)
        add(find_job(s_.jobs, record.report.key.job), *placed, std::clamp(record.report.at, placed->metered_from, at));
    } else if (record.kind == RecordKind::kNodeDown || record.kind == RecordKind::kNodeGone) {
      add_all_on(s_.node_ids.find(record.node)->second);
    } else if (record.kind == RecordKind::kMachine) {
      const Result<Machine> machine = parse_machine(record.machine, "machine", s_.fleet.currency);
      CHECK(machine.ok(), "a machine that was accepted: {}", machine.error().message);
      add_if_repriced(*machine);
    } else if (record.kind == RecordKind::kFleet) {
      const Result<FleetConfig> next = parse_fleet_config(record.fleet, "fleet");
      CHECK(next.ok(), "a fleet that was accepted: {}", next.error().message);
      for (const NodeId node : s_.prices.repriced_by(*next))
        add_all_on(node);
      for (const Machine& machine : next->nodes)
        add_if_repriced(machine);
    }
  }
  return postings;
}

Money RunCosts::cost_of(const JobBook& job, sched::JobId id, Instant at) const {
  Money sum = job.posted;
  for (const PlacedTask& placed : job.placed)
    if (!placed.ended) sum += posting_of(id, placed, at).amount;
  return sum;
}

int64_t RunCosts::micro_gpu_hours_of(const JobBook& job, Instant at) const {
  int64_t sum = job.posted_micro_gpu_hours;
  for (const PlacedTask& placed : job.placed)
    if (!placed.ended) sum += micro_gpu_hours(gpu_milli(job, placed), at - placed.metered_from);
  return sum;
}

}  // namespace stint
