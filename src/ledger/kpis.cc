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

/// A node's charges within the ledger's period.
struct ChargedNode {
  Money cost;
  double gpu_hours = 0;           ///< there while it was charged for: other hours have no price
  double reserved_gpu_hours = 0;  ///< of them, paid for by a commitment
};

std::vector<Interval> merged(std::vector<Interval> intervals) {
  std::ranges::sort(intervals, {}, [](const Interval& i) { return std::pair(i.begin, i.end); });
  std::vector<Interval> out;
  for (const Interval& i : intervals)
    if (!out.empty() && i.begin <= out.back().end)
      out.back().end = std::max(out.back().end, i.end);
    else
      out.push_back(i);
  return out;
}

/// By NodeId.
std::vector<ChargedNode> charged_nodes(const History& history, const Occupancy& occupancy, const Ledger& ledger) {
  const Money zero = Money::nanos(0, ledger.total().currency());
  std::vector<ChargedNode> out(history.nodes.size(), ChargedNode{.cost = zero});
  std::vector<std::vector<Interval>> charges(history.nodes.size()), reserved(history.nodes.size());
  for (size_t i = 0; i < ledger.lines.size(); ++i) {
    const BillLine& line = ledger.lines[i];
    if (!ledger.line_nodes[i].valid() || line.spend != SpendKind::kCompute || line.commitment_unused) continue;
    const size_t node = ledger.line_nodes[i].index();
    out[node].cost += ledger.line_amounts[i];
    const Interval charged = intersect(line.charge_period, ledger.period);
    if (charged.empty()) continue;
    charges[node].push_back(charged);
    if (line.market == Market::kReserved) reserved[node].push_back(charged);
  }
  TenantTable tenants = occupancy.tenants;
  const NodeHours hours = NodeHours::build(history, occupancy, tenants.intern({}));
  const auto gpu_hours_within = [&](uint32_t node, Interval when) {
    double there = 0;
    for (const NodeHours::Hour& hour : hours.of(NodeId(node), when))
      there += static_cast<double>(weight_within(hour.present, hour.hour_index, when)) / static_cast<double>(kWholeDevice);
    return there * static_cast<double>(hours.gpu_count(NodeId(node)));
  };
  for (uint32_t n = 0; n < history.nodes.size(); ++n) {
    for (const Interval& when : merged(std::move(charges[n])))
      out[n].gpu_hours += gpu_hours_within(n, when);
    for (const Interval& when : merged(std::move(reserved[n])))
      out[n].reserved_gpu_hours += gpu_hours_within(n, when);
  }
  return out;
}

/// What a GPU-hour of each node cost in the ledger's period, whoever held it; none = not known.
std::map<std::string_view, double> gpu_hour_costs(const History& history, const std::vector<ChargedNode>& charged) {
  std::map<std::string_view, double> out;
  for (size_t n = 0; n < charged.size(); ++n)
    if (charged[n].gpu_hours > 0 && charged[n].cost.count_nanos() > 0)
      out[history.nodes[n].name] = charged[n].cost.to_double() / charged[n].gpu_hours;
  return out;
}

/// The catalogue's on-demand price of a GPU-hour of the node, in `currency`.
std::optional<double> listed_gpu_hour(const Node& node, const Catalog& catalog, Currency currency) {
  if (node.instance_type.empty() || node.gpu_count <= 0) return std::nullopt;
  const auto price = catalog.price({node.provider, node.instance_type, node.region, Market::kOnDemand, CommitmentTerm::kNone});
  if (!price.ok() || price->rate.per_hour().currency() != currency) return std::nullopt;
  return price->rate.per_hour().to_double() / static_cast<double>(node.gpu_count);
}

/// Cost of machines whose on-demand price is known, and what it would be at that price.
struct AgainstList {
  double gpu_hours = 0, cost = 0, listed = 0;
  [[nodiscard]] std::optional<double> below_pct() const {
    return listed > 0 ? std::optional(100 * (1 - cost / listed)) : std::nullopt;
  }
};

void add_prices(const History& history, const std::vector<ChargedNode>& charged, const Ledger& ledger, const Catalog& catalog,
                Kpis& out) {
  const Currency currency = out.total.currency();
  std::map<std::string_view, GpuPriceKpi> models;
  std::map<std::string_view, AgainstList> lists;
  AgainstList all;
  for (size_t n = 0; n < charged.size(); ++n) {
    const Node& node = history.nodes[n];
    if (charged[n].gpu_hours <= 0) continue;
    GpuPriceKpi& model =
        models.try_emplace(node.gpu_model, GpuPriceKpi{.gpu_model = node.gpu_model, .cost = Money::nanos(0, currency)})
            .first->second;
    model.gpu_hours += charged[n].gpu_hours;
    model.cost += charged[n].cost;
    const auto listed = listed_gpu_hour(node, catalog, currency);
    if (!listed) continue;
    for (AgainstList* list : {&lists[node.gpu_model], &all}) {
      list->gpu_hours += charged[n].gpu_hours;
      list->cost += charged[n].cost.to_double();
      list->listed += charged[n].gpu_hours * *listed;
    }
  }
  for (auto& [name, model] : models) {
    model.per_gpu_hour = Money::estimate(model.cost.to_double() / model.gpu_hours, currency);
    if (const auto list = lists.find(name); list != lists.end()) {
      model.listed_gpu_hours = list->second.gpu_hours;
      model.listed = Money::estimate(list->second.listed / list->second.gpu_hours, currency);
      model.below_list_pct = list->second.below_pct();
    }
    out.prices.push_back(std::move(model));
  }
  std::ranges::stable_sort(out.prices, std::ranges::greater(), &GpuPriceKpi::cost);
  out.below_list_pct = all.below_pct();
  for (size_t i = 0; i < ledger.lines.size(); ++i)
    if (ledger.lines[i].commitment_unused) all.cost += ledger.line_amounts[i].to_double();
  out.effective_savings_pct = all.below_pct();
}

std::optional<CommitmentKpi> commitments_of(const std::vector<ChargedNode>& charged, const Ledger& ledger) {
  CommitmentKpi out{.unused = Money::nanos(0, ledger.total().currency())};
  double all = 0, reserved = 0, used = 0;
  for (const ChargedNode& node : charged) {
    all += node.gpu_hours;
    reserved += node.reserved_gpu_hours;
  }
  for (size_t i = 0; i < ledger.lines.size(); ++i) {
    const BillLine& line = ledger.lines[i];
    if (line.commitment_unused)
      out.unused += ledger.line_amounts[i];
    else if (line.spend == SpendKind::kCompute && line.market == Market::kReserved)
      used += ledger.line_amounts[i].to_double();
  }
  const double committed = used + out.unused.to_double();
  if (reserved <= 0 && committed <= 0) return std::nullopt;
  out.coverage_pct = all > 0 ? 100 * reserved / all : 0;
  out.utilization_pct = committed > 0 ? 100 * used / committed : 0;
  return out;
}

double owned_pct(const Ledger& ledger, TenantDimension by) {
  const double total = ledger.total().to_double();
  if (total == 0) return 0;
  double named = 0;
  for (const StatementRow& row : make_statement(ledger, {.by = by, .idle = IdleTreatment::kSeparate}).rows)
    if (!row.name.empty()) named += row.total.to_double();
  return 100 * named / total;
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

std::map<JobKey, JobOfRuns> jobs_of_runs(const History& history, const std::vector<ChargedNode>& charged, const Ledger& ledger) {
  const auto prices = gpu_hour_costs(history, charged);
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

Result<Kpis> make_kpis(const History& history, const Occupancy& occupancy, const Ledger& ledger, const Catalog& catalog,
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
  const std::vector<ChargedNode> charged = charged_nodes(history, occupancy, ledger);
  add_prices(history, charged, ledger, catalog, out);
  out.commitments = commitments_of(charged, ledger);
  out.owned = {.client = owned_pct(ledger, TenantDimension::kClient),
               .project = owned_pct(ledger, TenantDimension::kProject),
               .team = owned_pct(ledger, TenantDimension::kTeam),
               .environment = owned_pct(ledger, TenantDimension::kEnvironment)};
  const auto jobs = jobs_of_runs(history, charged, ledger);
  out.jobs = kpis_of_jobs(jobs, out.total.currency());
  out.time = time_to_result(jobs);
  return out;
}

}  // namespace stint
