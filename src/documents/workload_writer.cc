// Writes the plain workload format; docs/formats.md.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "documents/workload_file.h"
#include "documents/workload_row.h"

namespace stint {
namespace {

std::string time_cell(Instant t, Instant none) { return t == none ? "" : format_utc(t); }
std::string duration_cell(Duration d, Duration none) { return d == none ? "" : format_scaled(d.count_ns(), 9); }
std::string size_cell(Bytes size) { return size.count() == 0 ? "" : format_size(size); }
std::string amount_cell(const std::optional<int64_t>& milli) { return milli ? format_scaled(*milli, 3) : ""; }

Status check_writable_names(const std::vector<std::string>& names, std::string_view kind) {
  std::set<std::string_view> seen;
  for (const std::string& name : names)
    if (name.empty() || name[0] == '#' || !seen.insert(name).second)
      return invalid("{} '{}': a workload file needs a different name for each, not beginning with #", kind, name);
  return {};
}

template <typename Entries, typename NameOf>
Status check_names_of(const Entries& entries, std::string_view kind, NameOf name_of) {
  std::vector<std::string> names;
  for (const auto& entry : entries)
    names.push_back(name_of(entry));
  return check_writable_names(names, kind);
}

Status check_writable_names(const sim::Workload& w) {
  TRY(check_names_of(w.queues, "queue", [](const auto& q) { return q.name; }));
  TRY(check_names_of(w.prices, "price series", [](const auto& p) { return p.name; }));
  TRY(check_names_of(w.studies, "study", [](const auto& s) { return s.name; }));
  TRY(check_names_of(w.nodes, "node", [](const auto& n) { return n.node.name; }));
  return check_names_of(w.jobs, "job", [](const auto& j) { return j.name; });
}

/// Whether a row can hold all there is to say about the node.
bool is_plain(const NodeSpec& n) {
  return n.labels.empty() && n.static_mig.empty() && !n.repartition && n.whole_gpus && n.shared_gpus && n.gpu_parts == 0 &&
         n.max_tasks == NodeSpec().max_tasks;
}

bool is_plain(const sched::Request& r) {
  return r.node_labels.empty() && !r.only_allowed_nodes && r.labels.empty() && r.affinity.empty() && r.anti_affinity.empty() &&
         r.work_kind.empty() && r.max_slowdown_percent < 0 &&
         std::ranges::none_of(r.gpu_models, [](const std::string& m) { return m.empty() || m.find('|') != std::string::npos; });
}

bool is_plain(const sched::QueueSpec& q) {
  return !q.deserved.cpu_milli && !q.deserved.memory_bytes && !q.limit.cpu_milli && !q.limit.memory_bytes;
}

std::string budget_cells(const sched::QueueSpec& q) {
  if (!q.budget) return ",,,";
  const sched::Budget& b = *q.budget;
  return fmt::format("{},{},{},{}", b.amount.to_decimal(), duration_cell(b.period, Duration()), time_cell(b.from, Instant()),
                     b.amount.currency().code());
}

Status write_queues(std::string& out, const sim::Workload& w) {
  out += "\n[queues]\nname,parent,deserved,limit,weight,priority,budget,budget_period,budget_from,currency,hours\n";
  for (const sched::QueueSpec& q : w.queues) {
    if (!is_plain(q)) return invalid("queue '{}': CPU and memory limits have no column in a workload file", q.name);
    const std::optional<std::string> hours = q.closed.none() ? "" : format_open_hours(q.closed);
    if (!hours) return invalid("queue '{}': hours that differ from day to day have no column in a workload file", q.name);
    out += fmt::format("{},{},{},{},{},{},{},{}\n", csv_cell(q.name),
                       q.parent.valid() ? csv_cell(w.queues[q.parent.index()].name) : "", amount_cell(q.deserved.gpu_milli),
                       amount_cell(q.limit.gpu_milli), format_scaled(static_cast<int64_t>(q.over_quota_weight * 1e6 + 0.5), 6),
                       q.priority, budget_cells(q), *hours);
  }
  return {};
}

void write_prices(std::string& out, const sim::Workload& w) {
  if (w.prices.empty()) return;
  out += "\n[prices]\nname,from,per_hour,currency\n";
  for (const sim::PriceSeries& series : w.prices)
    for (const RatePoint& point : series.points)
      out += fmt::format("{},{},{},{}\n", csv_cell(series.name), format_utc(point.from), point.rate.per_hour().to_decimal(),
                         point.rate.per_hour().currency().code());
}

Status write_nodes(std::string& out, const sim::Workload& w) {
  out +=
      "\n[nodes]\nname,gpu_model,gpus,gpu_memory,cpu,memory,provider,region,zone,instance_type,market,per_hour,currency,prices,"
      "from,until\n";
  for (const sim::SimNode& n : w.nodes) {
    if (!is_plain(n.node))
      return invalid("node '{}': labels, MIG layouts and task limits have no column in a workload file", n.node.name);
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_cell(n.node.name), csv_cell(n.node.gpu_model),
                       n.node.gpus, size_cell(n.node.gpu_memory), format_scaled(n.node.cpu_milli, 3), format_size(n.node.memory),
                       csv_cell(n.provider), csv_cell(n.region), csv_cell(n.zone), csv_cell(n.instance_type), name_of(n.market),
                       n.rate.per_hour().to_decimal(), n.rate.per_hour().currency().code(),
                       n.prices >= 0 ? csv_cell(w.prices[static_cast<size_t>(n.prices)].name) : "",
                       time_cell(n.present_from, Instant()), time_cell(n.present_until, sched::kNever));
  }
  return {};
}

std::string request_cells(const sched::Request& r) {
  std::string mig;
  for (const MigAsk& ask : r.mig)
    mig += fmt::format("{}{}x{}", mig.empty() ? "" : " ", ask.count, ask.profile);
  return fmt::format("{},{},{},{},{},{},{}", r.gpus, r.milli > 0 ? format_scaled(r.milli, 3) : "", size_cell(r.gpu_memory),
                     csv_cell(mig), format_scaled(r.cpu_milli, 3), size_cell(r.memory),
                     csv_cell(fmt::format("{}", fmt::join(r.gpu_models, "|"))));
}

Result<std::string> after_cell(const sim::Workload& w, const sched::JobSpec& spec) {
  std::string names;
  for (const sched::JobId id : spec.after) {
    const std::string& name = w.jobs[id.index()].name;
    if (name.find('|') != std::string::npos) return invalid("job '{}': others wait for it, so its name may hold no |", name);
    names += (names.empty() ? "" : "|") + name;
  }
  return csv_cell(names);
}

/// A column that only some workloads have.
bool names_sharers(const sim::Workload& w) {
  return std::ranges::any_of(w.requests, [](const sched::Request& r) { return !r.shares_with.empty(); });
}

Status write_jobs(std::string& out, const sim::Workload& w) {
  const bool sharers = names_sharers(w);
  out += fmt::format(
      "\n[jobs]\nname,array,at_once,queue,submitted,run_time,tasks,min_tasks,gpus,share,gpu_memory,mig,cpu,memory,gpu_models,"
      "priority,preemptible,not_before,deadline,time_limit,expected,min_runtime,checkpoint,save,restart,retries,failures,"
      "fails_after,cancelled,after,makes,ran_on,deferrable,study,losses{}\n",
      sharers ? ",shares_with" : "");
  for (const sim::SimJob& job : w.jobs) {
    const sched::JobSpec& s = job.spec;
    const sched::Request& request = w.requests[s.request.index()];
    if (s.gang.valid() || !is_plain(request))
      return invalid("job '{}': groups, labels, affinity and lists of nodes have no column in a workload file", job.name);
    TRY_ASSIGN(const std::string after, after_cell(w, s));
    out +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},", csv_cell(job.name),
                    s.array.valid() ? csv_cell(w.arrays[s.array.index()]) : "", s.at_once > 0 ? fmt::format("{}", s.at_once) : "",
                    csv_cell(w.queues[s.queue.index()].name), format_utc(s.submitted), format_scaled(job.run_time.count_ns(), 9),
                    s.tasks, s.min_tasks, request_cells(request), s.priority, s.preemptible ? "yes" : "no");
    for (const std::string& name : job.ran_on)
      if (name.empty() || name.find('|') != std::string::npos)
        return invalid("job '{}': it ran on node '{}', a name that is empty or holds |", job.name, name);
    std::vector<std::string> losses;
    for (const int64_t loss : job.losses_micro)
      losses.push_back(format_scaled(loss, 6));
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}{}{}\n", time_cell(s.not_before, Instant()),
                       time_cell(s.deadline, sched::kNever), duration_cell(s.time_limit, sched::kUnlimited),
                       duration_cell(s.expected, sched::kUnlimited), duration_cell(s.min_runtime, Duration()),
                       duration_cell(s.checkpoint.interval, sched::kUnlimited), duration_cell(s.checkpoint.save, Duration()),
                       duration_cell(s.checkpoint.restart, Duration()), s.retries, job.failures,
                       duration_cell(job.fails_after, Duration()), time_cell(job.cancelled, sched::kNever), after,
                       s.makes.valid() ? csv_cell(w.products[s.makes.index()]) : "",
                       csv_cell(fmt::format("{}", fmt::join(job.ran_on, "|"))), s.deferrable ? "yes" : "",
                       s.study.valid() ? csv_cell(w.studies[s.study.index()].name) : "", fmt::join(losses, "|"),
                       sharers ? "," : "", sharers ? csv_cell(request.shares_with) : "");
  }
  return {};
}

void write_studies(std::string& out, const sim::Workload& w) {
  if (w.studies.empty()) return;
  out += "\n[studies]\nname,first_rung,most,reduction\n";
  for (const sim::Study& s : w.studies)
    out += fmt::format("{},{},{},{}\n", csv_cell(s.name), s.rules.first_rung, s.rules.most, s.rules.reduction);
}

void write_outages(std::string& out, const sim::Workload& w) {
  if (w.outages.empty()) return;
  out += "\n[outages]\nnode,cause,notice,down,up\n";
  for (const sim::Outage& o : w.outages)
    out += fmt::format("{},{},{},{},{}\n", csv_cell(w.nodes[o.node.index()].node.name), sim::name_of(o.cause),
                       format_utc(o.notice), format_utc(o.down), time_cell(o.up, sched::kNever));
}

}  // namespace

Result<std::string> write_workload(const sim::Workload& workload) {
  TRY(sim::check_workload(workload));
  TRY(check_writable_names(workload));
  if (!workload.commitments.empty()) return invalid("commitments have no place in a workload file");
  if (!workload.pools.empty()) return invalid("pools of nodes have no place in a workload file");
  std::string out = "stint-workload/1\n";
  TRY(write_queues(out, workload));
  write_prices(out, workload);
  TRY(write_nodes(out, workload));
  write_studies(out, workload);
  TRY(write_jobs(out, workload));
  write_outages(out, workload);
  return out;
}

}  // namespace stint
