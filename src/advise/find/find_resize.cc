// Right-size: what `plan_rightsize` finds, as findings: the cheapest type and count that does the work of machines and keeps the promise
// of services.
#include <algorithm>

#include "advise/find/finder_text.h"
#include "advise/plan/plan_rightsize.h"
#include "advise/promises.h"
#include "advise/thresholds.h"
#include "base/counted.h"
#include "base/short_money.h"

namespace stint {
namespace {

NodeGroup nodes_named(const FleetView& fleet, const std::vector<std::string>& names) {
  NodeGroup group;
  for (const NodeFacts& node : fleet.facts.nodes)
    if (std::ranges::find(names, node.name) != names.end()) group.push_back(&node);
  return group;
}

bool is_fewer_of_the_same(const RightsizeRow& row, const RightsizeTarget& to) { return to.type->name == row.instance_type; }

std::string resize_title(const RightsizeRow& row, const RightsizeTarget& to, const NodeGroup& group) {
  if (is_fewer_of_the_same(row, to))
    return fmt::format("Keep {} of {}: fewer replicas of {}", to.count, title_of(group),
                       row.service_names.size() == 1 ? row.service_names.front() : counted(row.service_count, "service"));
  if (to.count == std::ssize(row.nodes)) return fmt::format("Replace {} by {}", title_of(group), to.type->name);
  return fmt::format("Replace {} by {} × {}", title_of(group), to.count, to.type->name);
}

void describe_target(Finding& f, const FleetView& fleet, const RightsizeRow& row, const RightsizeTarget& to,
                     const NodeGroup& group) {
  const NodeFacts& node = *group.front();
  const bool same_gpu = to.type->gpu_model == row.gpu_model;
  f.evidence.push_back({"GPUs in use at once, at most", fmt::format("{} of {}", row.need.gpus, node.gpu_count)});
  f.arithmetic.push_back(cost_line(fleet, group));
  f.arithmetic.push_back(fmt::format("memory: peak × {:.1f} = {} ≤ {} ({})", kResizeMemoryMargin, gibibytes(row.need.memory),
                                     gibibytes(to.type->gpu_memory), to.type->gpu_model));
  if (row.services)
    f.arithmetic.push_back(
        fmt::format("{:.2f} GPUs of work in the busiest 5 % of working time on {} now; {} on {} then, at {:.2f} of the speed of "
                    "a {} ({}): their "
                    "hours, replayed, {}",
                    row.busy_gpus, counted(row.gpus, "GPU"), counted(row.service_count, "service"),
                    counted(to.count * to.type->whole_gpus(), "GPU"), to.throughput.low, row.gpu_model, to.throughput.basis,
                    promise_text(fleet.facts)));
  else if (same_gpu)
    f.arithmetic.push_back(fmt::format("the same GPU ({}), {} in place of {}: each piece of work runs as fast as now",
                                       to.type->gpu_model, to.type->whole_gpus(), node.gpu_count));
  else
    f.arithmetic.push_back(
        fmt::format("throughput: {} does {:.2f} of a {} (roofline); {:.2f} × {:.2f} headroom = {:.2f} ≥ {:.2f} needed in the "
                    "busiest 5 % of working time",
                    to.type->gpu_model, to.throughput.low, row.gpu_model, to.throughput.low, kResizeHeadroom,
                    to.throughput.low * kResizeHeadroom, row.need.p95_pct / 100));
  const auto now = fleet.books.hourly(node.id);
  f.arithmetic.push_back(fmt::format("price per hour: {} now, {} as {}", now ? short_money(*now) : "not known",
                                     short_money(is_fewer_of_the_same(row, to) && now ? *now : to.hourly), to.type->name));
  if (!row.need.instances.empty())
    f.caveats.push_back("the new GPUs must be cut into MIG instances for what is apart now, before the work moves");
  if (!same_gpu) {
    f.confidence = at_most(f.confidence, Level::kMedium);
    f.caveats.push_back(
        "throughput is a roofline estimate from data sheets: measure the workload on the new GPU before moving everything");
  }
  if (!is_fewer_of_the_same(row, to) &&
      std::ranges::any_of(group, [](const NodeFacts* n) { return !n->host_cpu_pct.has_value(); }))
    f.caveats.push_back("host CPU and memory use were not measured; the new type has at least half the CPUs per GPU");
  if (row.need.gpus > 1)
    f.caveats.push_back("work that spans several GPUs also depends on the links between them: check NVLink on the new type");
  if (row.services && to.count < std::ssize(row.nodes))
    f.caveats.push_back("every replica that is left serves more requests: watch p99 at peak before the machines go");
}

Finding resize_finding(const FleetView& fleet, const RightsizeRow& row, const RightsizeTarget& to) {
  const NodeGroup group = nodes_named(fleet, row.nodes);
  Finding f;
  f.change = ResizeNodes{row.nodes, to.type->name, "", to.count};
  f.title = resize_title(row, to, group);
  f.confidence = confidence_of(fleet, group);
  f.risk = to.type->gpu_model == row.gpu_model && to.count == std::ssize(row.nodes) ? Level::kLow : Level::kMedium;
  f.effort = Level::kMedium;
  add_use(f, group);
  describe_target(f, fleet, row, to, group);
  return f;
}

}  // namespace

Proposals find_resize(const FleetView& fleet) {
  Proposals out;
  const auto plan = plan_rightsize(fleet, {});
  if (!plan.ok()) return out;  // without demands nothing can be wrong with them
  for (const RightsizeRow& row : plan->rows) {
    if (row.best && saves(row, *row.best)) {
      out.advised.push_back(resize_finding(fleet, row, *row.best));
      if (row.runner_up && saves(row, *row.runner_up)) {
        out.advised.back().evidence.push_back(
            {"runner-up", fmt::format("{} × {} at {}/h", row.runner_up->count, row.runner_up->type->name,
                                      short_money(row.runner_up->hourly))});
        out.advised.back().instead.push_back(resize_finding(fleet, row, *row.runner_up));
      }
      continue;
    }
    // Instances that must stay apart: what looks cheaper is named, with what forbids it.
    if (row.need.instances.empty() || row.best || row.dropped.empty()) continue;
    const NodeGroup group = nodes_named(fleet, row.nodes);
    const RightsizeDropped& cheaper = row.dropped.front();
    Finding f;
    f.change = ResizeNodes{row.nodes, cheaper.type->name, "", std::ssize(row.nodes)};
    f.title = fmt::format("Replace {} by {}", title_of(group), cheaper.type->name);
    if (const auto saving = fleet.books.saving_of(f.change); saving.ok()) f.alone_per_month = *saving;
    f.caveats.push_back(cheaper.reason);
    out.rejected.push_back(std::move(f));
  }
  return out;
}

}  // namespace stint
