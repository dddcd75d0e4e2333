// Right-size: the cheapest type whose GPUs hold the work's memory and do its busiest 5 % with room to spare.
#include <algorithm>

#include "advise/find/finder_text.h"
#include "advise/find/resize_fit.h"
#include "advise/thresholds.h"
#include "base/short_money.h"

namespace stint {
namespace {

struct Candidate {
  const InstanceType* type = nullptr;
  Money hourly;
  double throughput = 1;  // per GPU, relative to now
};

std::optional<Candidate> check(const FleetView& fleet, const PlanNode& plan, const InstanceType& type, const GpuFacts& now,
                               const ResizeNeed& need) {
  if (type.provider != plan.provider || type.name == plan.instance_type || resize_misfit(type, need)) return std::nullopt;
  const GpuFacts* gpu = fleet.prices.catalog().find_gpu(type.gpu_model, type.gpu_memory);
  if (gpu == nullptr) return std::nullopt;
  double throughput = 1;
  // The same GPU does the same work in the same time; another one must have room.
  if (gpu->model != now.model) {
    const auto relative = relative_throughput(*gpu, now);
    if (!relative || relative->low * kResizeHeadroom < need.p95_pct / 100) return std::nullopt;
    throughput = relative->low;
  }
  const Market market = plan.market == Market::kSpot ? Market::kSpot : Market::kOnDemand;
  const auto* quote = fleet.prices.find({type.provider, type.name, plan.region}, market);
  if (quote == nullptr) return std::nullopt;
  return Candidate{&type, quote->hourly, throughput};
}

/// The cheapest two that fit.
std::vector<Candidate> candidates_for(const FleetView& fleet, const NodeFacts& node, const ResizeNeed& need) {
  const PlanNode& plan = fleet.books.of(node.id);
  const GpuFacts* now = fleet.prices.catalog().find_gpu(node.gpu_model);
  const auto hourly = fleet.books.hourly(node.id);
  std::vector<Candidate> fits;
  if (now == nullptr || !hourly) return fits;
  for (const InstanceType& type : fleet.prices.catalog().instances())
    if (auto c = check(fleet, plan, type, *now, need); c && c->hourly.to_double() <= hourly->to_double() * (1 - kSmallestSaving))
      fits.push_back(*c);
  std::sort(fits.begin(), fits.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.hourly, a.type->name) < std::tie(b.hourly, b.type->name);
  });
  if (fits.size() > 2) fits.resize(2);
  return fits;
}

void describe_choice(Finding& f, const FleetView& fleet, const NodeGroup& group, const std::vector<Candidate>& fits,
                     const ResizeNeed& need) {
  const NodeFacts& node = *group.front();
  const InstanceType& to = *fits.front().type;
  f.evidence.push_back({"GPUs in use at once, at most", fmt::format("{} of {}", need.gpus, node.gpu_count)});
  f.arithmetic.push_back(cost_line(fleet, group));
  f.arithmetic.push_back(fmt::format("memory: {} peak × {:.1f} = {} ≤ {} ({})", gibibytes(node.memory_peak), kResizeMemoryMargin,
                                     gibibytes(need.memory), gibibytes(to.gpu_memory), to.gpu_model));
  if (fits.front().throughput == 1 && to.gpu_model == node.gpu_model)
    f.arithmetic.push_back(fmt::format("the same GPU ({}), {} in place of {}: each piece of work runs as fast as now",
                                       to.gpu_model, to.whole_gpus(), node.gpu_count));
  else
    f.arithmetic.push_back(
        fmt::format("throughput: {} does {:.2f} of a {} (roofline); {:.2f} × {:.2f} headroom = {:.2f} ≥ {:.2f} needed in the "
                    "busiest 5 % of working time",
                    to.gpu_model, fits.front().throughput, node.gpu_model, fits.front().throughput, kResizeHeadroom,
                    fits.front().throughput * kResizeHeadroom, need.p95_pct / 100));
  const auto now = fleet.books.hourly(node.id);
  f.arithmetic.push_back(fmt::format("price per hour: {} now, {} as {}", now ? short_money(*now) : "not known",
                                     short_money(fits.front().hourly), to.name));
  if (fits.size() > 1)
    f.evidence.push_back({"runner-up", fmt::format("{} at {}/h", fits[1].type->name, short_money(fits[1].hourly))});
}

}  // namespace

Proposals find_resize(const FleetView& fleet) {
  std::map<std::pair<std::string, std::string>, NodeGroup> groups;
  for (const NodeFacts& node : fleet.facts.nodes) {
    const PlanNode& plan = fleet.books.of(node.id);
    const bool seen = node.quality >= TelemetryQuality::kFair && sees_all_gpus(node);
    if (plan.gone || plan.structure_changed || !seen || node.mean_pct.value_or(100) >= kLowUtilizationPct) continue;
    const auto need = resize_need(node, fleet.prices.catalog());
    if (!need) continue;
    const auto fits = candidates_for(fleet, node, *need);
    if (fits.empty()) continue;
    const std::string pool = plan.provider + '\t' + plan.region + '\t' + plan.instance_type + '\t' + node.category;
    groups[{pool, fits.front().type->name}].push_back(&node);
  }
  Proposals out;
  for (const auto& [key, group] : groups) {
    // The most demanding node speaks for the group.
    ResizeNeed need = resize_need(*group.front(), fleet.prices.catalog()).value();
    const NodeFacts* hardest = group.front();
    for (const NodeFacts* node : group)
      if (const ResizeNeed other = resize_need(*node, fleet.prices.catalog()).value(); other.p95_pct > need.p95_pct) {
        need = other;
        hardest = node;
      }
    const auto fits = candidates_for(fleet, *hardest, need);
    Finding f;
    f.change = ResizeNodes{names_of(group), key.second, "", static_cast<int64_t>(group.size())};
    f.title = fmt::format("Replace {} by {}", title_of(group), key.second);
    f.confidence = confidence_of(fleet, group);
    const bool same_gpu = fits.front().type->gpu_model == hardest->gpu_model;
    f.risk = same_gpu ? Level::kLow : Level::kMedium;
    f.effort = Level::kMedium;
    add_use(f, group);
    NodeGroup speaker = group;
    std::iter_swap(speaker.begin(), std::find(speaker.begin(), speaker.end(), hardest));
    describe_choice(f, fleet, speaker, fits, need);
    if (!same_gpu) {
      f.confidence = at_most(f.confidence, Level::kMedium);
      f.caveats.push_back(
          "throughput is a roofline estimate from data sheets: measure the workload on the new GPU before moving everything");
    }
    if (!hardest->host_cpu_pct)
      f.caveats.push_back("host CPU and memory use were not measured; the new type has at least half the CPUs per GPU");
    if (need.gpus > 1)
      f.caveats.push_back("work that spans several GPUs also depends on the links between them: check NVLink on the new type");
    out.advised.push_back(std::move(f));
  }
  return out;
}

}  // namespace stint
