#include "daemon/engine/simulated_faults.h"

#include <algorithm>

#include "sim/faults.h"

namespace stint {
namespace {

constexpr int64_t kAwayPart = 10;

MachineCause cause_of(sim::OutageCause cause) {
  switch (cause) {
    case sim::OutageCause::kSpotInterruption: return MachineCause::kSpot;
    case sim::OutageCause::kMaintenance: return MachineCause::kMaintenance;
    case sim::OutageCause::kGpuFailure: return MachineCause::kBroken;
    case sim::OutageCause::kNodeFailure: return MachineCause::kOther;
  }
  return MachineCause::kOther;
}

}  // namespace

std::vector<SimulatedBackend::PlannedNews> simulated_faults(const FleetConfig& fleet, Duration between, Interval when) {
  std::vector<sim::SimNode> nodes;
  for (const Machine& machine : fleet.nodes)
    static_cast<Machine&>(nodes.emplace_back()) = machine;
  sim::FaultModel model;
  model.node_mtbf = between;
  model.spot_per_hour = kHour.to_seconds() / between.to_seconds();
  const Duration away = Duration::nanoseconds(between.count_ns() / kAwayPart);
  model.repair_mean = model.spot_return_mean = away;
  model.provisioning = std::min(model.provisioning, away);
  model.spot_notice = std::min(model.spot_notice, away);
  std::vector<SimulatedBackend::PlannedNews> news;
  for (const sim::Outage& outage : sim::draw_outages(model, nodes, when, static_cast<uint64_t>(when.begin.ns()))) {
    MachineReport report{.cause = cause_of(outage.cause)};
    report.machine.node.name = fleet.nodes[outage.node.index()].node.name;  // the configuration says the rest
    const bool is_spot = report.cause == MachineCause::kSpot;
    if (outage.notice < outage.down) {
      report.news = MachineNews::kDraining;
      report.until = outage.down;
      report.detail = "taken back";
      news.push_back({outage.notice, report});
      report.until.reset();
    }
    report.news = MachineNews::kLost;
    report.detail = is_spot ? "taken back" : "does not answer";
    news.push_back({outage.down, report});
    news.push_back({outage.up, {.news = MachineNews::kThere, .machine = report.machine}});
  }
  std::ranges::stable_sort(news, {}, &SimulatedBackend::PlannedNews::at);
  return news;
}

}  // namespace stint
