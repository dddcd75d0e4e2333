#include "advise/plan/later_runs.h"

#include <algorithm>

#include "advise/thresholds.h"
#include "sched/time_price.h"

namespace stint {
namespace {

constexpr Duration kResume = Duration::minutes(5);

using sched::PriceWindow;
using sched::PriceWindows;

/// The tariff around the clock, dear and cheap hours in turn.
std::vector<PriceWindow> tariff(const SchedulePlanOptions& options, Interval span, Rate rate) {
  const Rate cheap =
      Rate::per_hour(Money::estimate(rate.per_hour().to_double() * (1 - options.off_peak_discount), rate.per_hour().currency()));
  std::vector<PriceWindow> all = sched::off_peak_windows(options.off_peak, span, rate);
  const std::vector<PriceWindow> other = sched::off_peak_windows(~options.off_peak, span, cheap);
  all.insert(all.end(), other.begin(), other.end());
  std::sort(all.begin(), all.end(), [](const PriceWindow& a, const PriceWindow& b) { return a.when.begin < b.when.begin; });
  return all;
}

Money cost_at(PriceWindows market, Interval when) {
  Money sum = Money::nanos(0, market.front().rate.per_hour().currency());
  for (const PriceWindow& w : market)
    if (const Interval part = intersect(w.when, when); !part.empty()) sum += w.rate.over(part.length());
  return sum;
}

/// Hours in which a machine that is paid for anyway stands idle.
struct IdleMachine {
  const NodeFacts* node = nullptr;
  std::vector<PriceWindow> windows;
};

std::vector<IdleMachine> idle_machines(const FleetFacts& facts) {
  const Rate free = Rate::per_hour(Money::nanos(0, facts.currency));
  std::vector<IdleMachine> machines;
  for (const NodeFacts& node : facts.nodes) {
    if (node.market != Market::kOwned && node.market != Market::kReserved) continue;
    IdleMachine machine{&node, {}};
    for (size_t h = 0; h < node.timeline.size(); ++h) {
      const NodeHour& hour = node.timeline[h];
      if (hour.on_s < 3600 || hour.seen_s < kWatchedSeconds || hour.used_gpus > 0 || hour.reserved) continue;
      const Instant begin = Instant::from_hour_index(facts.first_hour + static_cast<int64_t>(h));
      if (!machine.windows.empty() && machine.windows.back().when.end == begin)
        machine.windows.back().when.end = begin + kHour;
      else
        machine.windows.push_back({{begin, begin + kHour}, free});
    }
    if (!machine.windows.empty()) machines.push_back(std::move(machine));
  }
  return machines;
}

void take(std::vector<PriceWindow>& windows, Interval taken) {
  std::vector<PriceWindow> left;
  for (const PriceWindow& w : windows) {
    if (const Interval before{w.when.begin, std::min(w.when.end, taken.begin)}; !before.empty()) left.push_back({before, w.rate});
    if (const Interval after{std::max(w.when.begin, taken.end), w.when.end}; !after.empty()) left.push_back({after, w.rate});
  }
  windows = std::move(left);
}

struct Shift {
  Money cost;
  Instant end;
  bool onto_idle = false;
  bool in_pieces = false;
};

class Shifter {
 public:
  Shifter(const FleetView& fleet, const SchedulePlanOptions& options)
      : fleet_(fleet), options_(options), idle_(idle_machines(fleet.facts)) {}

  [[nodiscard]] std::optional<LaterRuns> shift(const RunGroup& group) {
    const NodeFacts& node = *group.node;
    const auto hourly = fleet_.books.hourly(node.id);
    if (!hourly || !is_deferrable(group.kind) || !group.recorded || node.market == Market::kOwned ||
        node.market == Market::kReserved)
      return std::nullopt;
    // Rate of a run: its machines, or its part of one.
    const int64_t gpus = std::max<int64_t>(1, node.gpu_count);
    const Rate rate = Rate::per_hour(scale(*hourly, group.machines * std::min(gpus, group.gpus_per_machine), gpus));
    const Interval span{fleet_.facts.period.begin, fleet_.facts.period.end + options_.slack};
    const std::vector<PriceWindow> prices = tariff(options_, span, rate);
    const Money zero = Money::nanos(0, fleet_.facts.currency);
    LaterRuns out{group.client, group.name, node.instance_type, std::ssize(group.when), 0, 0, 0, {}, zero, zero};
    Duration delay;
    for (const Interval& run : group.when) {
      const Money now = cost_at(prices, run);
      out.cost_now += now;
      const auto better = best_for(group, prices, run);
      if (!better || better->cost >= now) {
        out.cost_then += now;
        continue;
      }
      out.cost_then += better->cost;
      ++out.moved;
      out.onto_idle += better->onto_idle ? 1 : 0;
      out.in_pieces += better->in_pieces ? 1 : 0;
      delay += better->end - run.end;
    }
    if (out.moved == 0) return std::nullopt;
    out.mean_delay = Duration::nanoseconds(delay.count_ns() / out.moved);
    return out;
  }

 private:
  std::optional<Shift> best_for(const RunGroup& group, PriceWindows prices, Interval run) {
    const sched::SlotRequest request{run.length(), run.begin, run.end + options_.slack};
    std::vector<PriceWindows> markets = {prices};
    std::vector<IdleMachine*> machines = {nullptr};
    for (IdleMachine& machine : idle_)
      if (group.machines == 1 && machine.node->gpu_model == group.node->gpu_model &&
          machine.node->gpu_count >= group.gpus_per_machine) {
        markets.push_back(machine.windows);
        machines.push_back(&machine);
      }
    const auto slot = sched::cheapest_slot(markets, request);
    if (!slot) return std::nullopt;
    Shift best{slot->cost, slot->start + run.length(), slot->market > 0, false};
    if (group.checkpointable == true) {
      const auto pieces = sched::cheapest_pieces(prices, request, kResume);
      if (pieces && pieces->when.size() > 1 && pieces->cost < best.cost)
        return Shift{pieces->cost, pieces->when.back().end, false, true};
    }
    if (best.onto_idle) take(machines[slot->market]->windows, {slot->start, best.end});
    return best;
  }

  const FleetView& fleet_;
  const SchedulePlanOptions& options_;
  std::vector<IdleMachine> idle_;
};

}  // namespace

std::vector<LaterRuns> later_runs(const FleetView& fleet, const SchedulePlanOptions& options) {
  Shifter shifter(fleet, options);
  std::vector<LaterRuns> out;
  for (const RunGroup& group : run_groups(fleet.history, fleet.facts))
    if (auto shifted = shifter.shift(group)) out.push_back(std::move(*shifted));
  std::stable_sort(out.begin(), out.end(),
                   [](const LaterRuns& a, const LaterRuns& b) { return a.cost_now - a.cost_then > b.cost_now - b.cost_then; });
  return out;
}

}  // namespace stint
