#include "ledger/kpis.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ledger/node_hours.h"

namespace stint {
namespace {

enum class JobGroup { kTraining, kEvaluation, kBatchInference, kOther };
constexpr std::array<std::string_view, 4> kJobGroupNames = {"training", "evaluation", "batch inference", "other"};

JobGroup job_group_of(WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::kTraining:
    case WorkloadKind::kFineTuning: return JobGroup::kTraining;
    case WorkloadKind::kEvaluation: return JobGroup::kEvaluation;
    case WorkloadKind::kBatchInference: return JobGroup::kBatchInference;
    default: return JobGroup::kOther;
  }
}

/// Nearest rank. @param sorted  not empty.
template <typename T>
T at_quantile(const std::vector<T>& sorted, double q) {
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

/// What a GPU-hour of each node cost in the ledger's period, whoever held it; none = not known.
std::map<std::string_view, double> gpu_hour_costs(const History& history, const Occupancy& occupancy, const Ledger& ledger) {
  std::vector<double> money(history.nodes.size());
  std::vector<Interval> charged(history.nodes.size());  // first to last charge: hours beyond it have no price
  for (size_t i = 0; i < ledger.lines.size(); ++i) {
    if (!ledger.line_nodes[i].valid() || ledger.lines[i].spend != SpendKind::kCompute) continue;
    const size_t node = ledger.line_nodes[i].index();
    money[node] += ledger.line_amounts[i].to_double();
    const Interval line = intersect(ledger.lines[i].charge_period, ledger.period);
    if (line.empty()) continue;
    charged[node] =
        charged[node].empty() ? line : Interval{std::min(charged[node].begin, line.begin), std::max(charged[node].end, line.end)};
  }
  TenantTable tenants = occupancy.tenants;
  const NodeHours hours = NodeHours::build(history, occupancy, tenants.intern({}));
  std::map<std::string_view, double> out;
  for (uint32_t n = 0; n < history.nodes.size(); ++n) {
    double there = 0;
    for (const NodeHours::Hour& hour : hours.of(NodeId(n), charged[n]))
      there += static_cast<double>(weight_within(hour.present, hour.hour_index, charged[n])) / static_cast<double>(kWholeDevice);
    there *= static_cast<double>(hours.gpu_count(NodeId(n)));
    if (there > 0 && money[n] > 0) out[history.nodes[n].name] = money[n] / there;
  }
  return out;
}

/// All runs of a job: the first and those that began it again.
struct JobOfRuns {
  JobGroup group = JobGroup::kOther;
  int last_restart = -1;
  RunState state = RunState::kUnknown;
  std::optional<Instant> submitted, started, ended;
  /// A source that says no state says of no job that it failed.
  [[nodiscard]] bool completed() const { return state == RunState::kCompleted || state == RunState::kUnknown; }
  double gpu_hours = 0;
  double cost = 0;
  bool priced = true;
};

void add_run(JobOfRuns& job, const Run& run, const std::map<std::string_view, double>& prices, Interval period) {
  if (run.submitted && (!job.submitted || *run.submitted < *job.submitted)) job.submitted = run.submitted;
  if (run.started && (!job.started || *run.started < *job.started)) job.started = run.started;
  if (run.restart > job.last_restart) {
    job.last_restart = run.restart;
    job.state = run.state;
    job.ended = run.ended;
    job.group = job_group_of(run.kind);
  }
  if (!run.started || !run.ended) return;
  const Interval held = intersect({*run.started, *run.ended}, period);
  if (held.empty()) return;
  const double part = run.share ? static_cast<double>(run.share->parts()) / static_cast<double>(run.share->total()) : 1;
  for (const RunAllocation& a : run.allocations) {
    const auto gpus = static_cast<double>(std::max<int64_t>(a.gpu_count, static_cast<int64_t>(a.gpu_indexes.size())));
    const double gpu_hours = gpus * part * held.length().to_hours();
    const auto price = prices.find(a.node);
    job.priced &= price != prices.end() && gpus > 0;
    if (price == prices.end()) continue;
    job.gpu_hours += gpu_hours;
    job.cost += gpu_hours * price->second;
  }
  job.priced &= !run.allocations.empty();
}

using JobKey = std::pair<std::string_view, std::string_view>;  // id and name: ids are one source's

std::map<JobKey, JobOfRuns> jobs_of_runs(const History& history, const Occupancy& occupancy, const Ledger& ledger) {
  const auto prices = gpu_hour_costs(history, occupancy, ledger);
  std::map<JobKey, JobOfRuns> jobs;
  for (const Run& run : history.runs)
    add_run(jobs[{run.id, run.name}], run, prices, ledger.period);
  std::erase_if(jobs, [&](const auto& entry) {
    const JobOfRuns& job = entry.second;
    const bool ran_on = job.state == RunState::kRunning || job.state == RunState::kPending;
    return ran_on || !job.ended || *job.ended <= ledger.period.begin || *job.ended > ledger.period.end;
  });
  return jobs;
}

std::vector<JobKpis> kpis_of_jobs(const std::map<JobKey, JobOfRuns>& jobs, Currency currency) {
  std::vector<JobKpis> out;
  for (size_t g = 0; g < kJobGroupNames.size(); ++g) {
    JobKpis k;
    k.kind = kJobGroupNames[g];
    double cost = 0, unfinished = 0;
    std::vector<double> completed;
    for (const auto& [key, job] : jobs) {
      if (job.group != static_cast<JobGroup>(g)) continue;
      ++k.jobs;
      const bool done = job.completed();
      k.completed += done ? 1 : 0;
      if (!job.priced) {
        ++k.unpriced;
        continue;
      }
      k.gpu_hours += job.gpu_hours;
      cost += job.cost;
      if (done)
        completed.push_back(job.cost);
      else
        unfinished += job.cost;
    }
    if (k.jobs == 0) continue;
    k.cost = Money::estimate(cost, currency);
    k.cost_unfinished = Money::estimate(unfinished, currency);
    std::ranges::sort(completed);
    if (!completed.empty()) {
      k.per_completed_job = Money::estimate(cost / static_cast<double>(completed.size()), currency);
      k.median = Money::estimate(at_quantile(completed, 0.5), currency);
      k.p90 = Money::estimate(at_quantile(completed, 0.9), currency);
    }
    out.push_back(std::move(k));
  }
  return out;
}

std::optional<TimeToResult> time_to_result(const std::map<JobKey, JobOfRuns>& jobs) {
  std::vector<Duration> waits, wholes;
  for (const auto& [key, job] : jobs) {
    if (!job.completed() || !job.submitted || !job.started || *job.started < *job.submitted) continue;
    waits.push_back(*job.started - *job.submitted);
    wholes.push_back(*job.ended - *job.submitted);
  }
  if (waits.empty()) return std::nullopt;
  std::ranges::sort(waits);
  std::ranges::sort(wholes);
  return TimeToResult{.jobs = waits.size(),
                      .median_wait = at_quantile(waits, 0.5),
                      .p90_wait = at_quantile(waits, 0.9),
                      .median = at_quantile(wholes, 0.5),
                      .p90 = at_quantile(wholes, 0.9)};
}

Result<std::vector<ServiceKpi>> kpis_of_services(const Ledger& ledger, const std::map<std::string, double>& requests) {
  std::vector<ServiceKpi> out;
  const CostStatement workloads = make_statement(ledger, {.by = TenantDimension::kWorkload});
  for (const StatementRow& row : workloads.rows) {
    if (row.name.empty() || row.inference.is_zero()) continue;
    ServiceKpi service{.service = row.name, .cost = row.inference, .requests = {}, .per_thousand = {}};
    if (const auto known = requests.find(row.name); known != requests.end()) {
      service.requests = known->second;
      if (known->second > 0)
        service.per_thousand = Money::estimate(1'000 * row.inference.to_double() / known->second, row.inference.currency());
    }
    out.push_back(std::move(service));
  }
  std::ranges::stable_sort(out, std::ranges::greater(), &ServiceKpi::cost);
  for (const auto& [name, count] : requests) {
    if (std::ranges::find(out, name, &ServiceKpi::service) != out.end()) continue;
    std::string there;
    for (const ServiceKpi& service : out)
      there += (there.empty() ? "" : ", ") + service.service;
    return make_error(ErrorCode::kNotFound, "no service '{}' with inference cost in this period; there {}", name,
                      there.empty() ? "are none" : "are " + there);
  }
  return out;
}

}  // namespace

Result<Kpis> make_kpis(const History& history, const Occupancy& occupancy, const Ledger& ledger,
                       const std::map<std::string, double>& requests) {
  Kpis out;
  out.period = ledger.period;
  out.basis = ledger.basis;
  out.total = ledger.total();
  TRY_ASSIGN(out.services, kpis_of_services(ledger, requests));
  const CostStatement statement = make_statement(ledger, {});
  out.per_active_gpu_hour = statement.fleet_per_active_gpu_hour;
  out.active_pct = statement.sum.efficiency_pct();
  double idle = 0;
  for (const IdleAmount& cause : statement.idle)
    idle += cause.gpu_hours;
  if (const double there = statement.sum.gpu_hours + idle; there > 0) out.held_pct = 100 * statement.sum.gpu_hours / there;
  const auto jobs = jobs_of_runs(history, occupancy, ledger);
  out.jobs = kpis_of_jobs(jobs, out.total.currency());
  out.time = time_to_result(jobs);
  return out;
}

}  // namespace stint
