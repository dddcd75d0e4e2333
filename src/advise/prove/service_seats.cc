#include "advise/prove/service_seats.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace stint {
namespace {

class Seater {
 public:
  explicit Seater(const FleetFacts& facts) : facts_(facts) {
    for (const NodeFacts& node : facts.nodes)
      by_name_[node.name] = &node;
  }

  Result<std::vector<ServiceSeat>> operator()(const StopNodes& c) const {
    TRY_ASSIGN(std::vector<ServiceSeat> seats, as_they_are(c.nodes));
    for (const ServiceSeat& seat : seats)
      if (std::ranges::any_of(seat.busy, [](float b) { return b > 0; }))
        return invalid("something ran for {} now and then: whether users wait for it is not known", seat.service);
    return seats;
  }

  Result<std::vector<ServiceSeat>> operator()(const ScheduleOff& c) const {
    TRY_ASSIGN(std::vector<ServiceSeat> seats, as_they_are(c.nodes));
    std::vector<uint8_t> off(facts_.hour_count);
    for (size_t h = 0; h < off.size(); ++h)
      off[h] = c.off[hour_of_week(facts_.first_hour + static_cast<int64_t>(h))] ? 1 : 0;
    for (ServiceSeat& seat : seats)
      seat.off = off;
    return seats;
  }

  Result<std::vector<ServiceSeat>> operator()(const ResizeNodes&) const { CHECK(false, "replicas on other machines are pools"); }

  Result<std::vector<ServiceSeat>> operator()(const ShareGpus&) const { CHECK(false, "replicas on shared GPUs are pools"); }

  Result<std::vector<ServiceSeat>> operator()(const Commit&) const { return std::vector<ServiceSeat>(); }
  Result<std::vector<ServiceSeat>> operator()(const SavingsPlan&) const { return std::vector<ServiceSeat>(); }
  Result<std::vector<ServiceSeat>> operator()(const LimitReservation& c) const { return as_they_are(c.nodes); }
  Result<std::vector<ServiceSeat>> operator()(const SwitchMarket& c) const {
    TRY_ASSIGN(std::vector<ServiceSeat> seats, as_they_are(c.nodes));
    if (!seats.empty() && c.to == Market::kSpot)
      return invalid("what becomes of requests while spot capacity is away is not known");
    return seats;
  }
  Result<std::vector<ServiceSeat>> operator()(const MoveOffGpu& c) const {
    return invalid("how fast requests are on a {} is not known", c.to_instance_type.empty() ? "CPU" : c.to_instance_type);
  }
  Result<std::vector<ServiceSeat>> operator()(const MoveRegion& c) const {
    return invalid("how far {} is from those who ask is not known", c.to_region);
  }

 private:
  /// Where no hours were kept (work that is no service) its mean stands for each.
  ServiceSeat seat_of(const NodeFacts& node, int index) const {
    ServiceSeat seat{.service = node.workload.empty() ? node.name : node.workload,
                     .busy = std::vector<float>(facts_.hour_count, -1.0F),
                     .off = {},
                     .p99_ms = {}};
    const auto gpu = std::ranges::find(node.gpus, index, &GpuLoad::index);
    if (gpu != node.gpus.end()) {
      if (!gpu->workload.empty()) seat.service = gpu->workload;
      seat.p99_ms = gpu->p99_ms;
      for (size_t h = 0; h < seat.busy.size(); ++h) {
        if (h < gpu->hourly_pct.size())
          seat.busy[h] = gpu->hourly_pct[h] < 0 ? -1.0F : std::min(gpu->hourly_pct[h] / 100, 1.0F);
        else if (gpu->mean_pct && h < node.timeline.size() && node.timeline[h].on_s > 0)
          seat.busy[h] = static_cast<float>(*gpu->mean_pct / 100);
      }
    }
    return seat;
  }

  Result<std::vector<ServiceSeat>> as_they_are(const std::vector<std::string>& nodes) const {
    std::vector<ServiceSeat> seats;
    for (const std::string& name : nodes) {
      const auto node = by_name_.find(name);
      if (node == by_name_.end() || node->second->kind != WorkloadKind::kRealtimeInference) continue;
      for (const GpuLoad& gpu : node->second->gpus)
        seats.push_back(seat_of(*node->second, gpu.index));
    }
    return seats;
  }

  const FleetFacts& facts_;
  std::map<std::string_view, const NodeFacts*> by_name_;
};

}  // namespace

Result<std::vector<ServiceSeat>> service_seats(const Change& change, const FleetFacts& facts) {
  return std::visit(Seater(facts), change);
}

}  // namespace stint
