#include "sched/spot/regions_futures.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

namespace stint::sched {
namespace {

constexpr double kGroupStep = 1.3;  // a spot price this much above the least of its group begins the next
constexpr size_t kMostGroups = 4;
constexpr size_t kShortlist = 2;
constexpr int32_t kEver = 1'000'000;  // ticks

}  // namespace

constexpr std::array<RegionsFutures::Waiting, 6> RegionsFutures::kWaitings = {
    {{0, 0}, {2, 3}, {8, 3}, {kEver, 3}, {kEver, 8}, {kEver, 20}}};

RegionsFutures::RegionsFutures(const RegionsTask& task, const ZoneProcess& process, size_t draws)
    : task_(task), process_(process), draws_(draws), ranked_(task.zones.size()), rank_(task.zones.size()) {
  std::iota(ranked_.begin(), ranked_.end(), size_t{0});
  std::stable_sort(ranked_.begin(), ranked_.end(), [&](size_t a, size_t b) { return task.zones[a].spot < task.zones[b].spot; });
  for (size_t r = 0; r < ranked_.size(); ++r)
    rank_[ranked_[r]] = r;
  ranked_.resize(std::min(ranked_.size(), kMostZones));
  const double tick_h = static_cast<double>(task.tick_s) / 3600;
  for (const size_t z : ranked_)
    spot_cost_.push_back(static_cast<float>(task.zones[z].spot.per_hour().to_double() * tick_h));
  for (const RegionZone& zone : task.zones)
    on_demand_cost_.push_back(static_cast<float>(zone.on_demand.per_hour().to_double() * tick_h));
  cheapest_on_demand_ = static_cast<size_t>(std::ranges::min_element(on_demand_cost_) - on_demand_cost_.begin());
  size_t groups = 0;
  for (size_t r = 0; r < ranked_.size();) {
    size_t end = r + 1;
    const bool last = ++groups == kMostGroups;
    while (end < ranked_.size() && (last || spot_cost_[end] <= spot_cost_[r] * kGroupStep))
      ++end;
    const uint32_t cheap = end == 32 ? ~uint32_t{0} : (uint32_t{1} << end) - 1;
    for (const Waiting& waiting : kWaitings)
      ways_.push_back({cheap, waiting});
    r = end;
  }
}

void RegionsFutures::draw(const RegionsMoment& now, std::span<const ZoneBelief> beliefs, Prng& random) {
  ticks_ = static_cast<size_t>(task_.deadline_ticks - now.tick);
  shortlist_.resize(ways_.size());
  std::iota(shortlist_.begin(), shortlist_.end(), size_t{0});
  free_.assign(draws_ * ticks_, 0);
  given_.assign(draws_ * ticks_, 0);
  std::vector<uint16_t> states(draws_);
  std::vector<uint8_t> ups(ticks_);
  for (size_t r = 0; r < ranked_.size(); ++r) {
    const ZoneBelief& belief = beliefs[ranked_[r]];
    const double up = belief.chance_up();
    const auto fill = [&](std::vector<uint32_t>& into, bool only_up) {
      belief.draw_states(random, only_up, states);
      for (size_t d = 0; d < draws_; ++d) {
        process_.draw(states[d], random, ups);
        for (size_t t = 0; t < ticks_; ++t)
          into[d * ticks_ + t] |= uint32_t{ups[t]} << r;
      }
    };
    fill(free_, false);
    if (up > 1e-6) fill(given_, true);
  }
}

struct RegionsFutures::Walk {
  double work_left_s;
  double changeover_left_s;
  SpotTake held;
  size_t zone;
  std::optional<size_t> checkpointed;
  float cost = 0;
};

float RegionsFutures::walk(const RegionsMoment& now, const FirstAct& first, uint32_t given, size_t draw, const Way& way) const {
  const auto tick_s = static_cast<double>(task_.tick_s);
  const auto changeover_s = static_cast<double>(task_.changeover_s);
  Walk at{now.work_left_s, first.changeover_left_s, first.take, first.zone, now.checkpointed, 0};
  int32_t waited = 0;
  const auto start = [&](SpotTake take, size_t zone) {
    at.held = take;
    at.zone = zone;
    at.changeover_left_s = changeover_s;
    if (at.checkpointed) at.cost += static_cast<float>(task_.fetch_cost(*at.checkpointed, zone).to_double());
    at.checkpointed = zone;
    waited = 0;
  };
  if (first.moves) start(first.take, first.zone);
  for (size_t t = 0; t < ticks_; ++t) {
    const uint32_t there_now = there(draw, t, given);
    const double rest_s = static_cast<double>(ticks_ - t) * tick_s;
    if (t > 0) {
      if (at.work_left_s + changeover_s > rest_s - tick_s) {
        // The safety net: on-demand to the end.
        if (at.held != SpotTake::kOnDemand)
          start(SpotTake::kOnDemand, at.held == SpotTake::kSpot ? at.zone : cheapest_on_demand_);
        const double ticks = std::ceil((at.work_left_s + at.changeover_left_s) / tick_s);
        return at.cost + static_cast<float>(ticks) * on_demand_cost_[at.zone];
      }
      if (at.held == SpotTake::kSpot && (there_now >> rank_[at.zone] & 1) == 0) at.held = SpotTake::kIdle;
      const uint32_t cheap = there_now & way.cheap;
      const bool on_cheap = at.held == SpotTake::kSpot && (way.cheap >> rank_[at.zone] & 1) != 0;
      if (!on_cheap && cheap != 0) {
        // From what runs already only with room for a loss.
        if (at.held == SpotTake::kIdle || at.work_left_s + 2 * changeover_s <= rest_s - 2 * tick_s)
          start(SpotTake::kSpot, ranked_[static_cast<size_t>(std::countr_zero(cheap))]);
      } else if (at.held == SpotTake::kIdle) {
        const bool spare = rest_s - at.work_left_s - changeover_s >= (way.waiting.reserve + 1) * tick_s;
        if (++waited > way.waiting.patience || !spare) {
          const auto r = static_cast<size_t>(std::countr_zero(there_now));
          if (there_now != 0 && spot_cost_[r] < on_demand_cost_[cheapest_on_demand_])
            start(SpotTake::kSpot, ranked_[r]);
          else
            start(SpotTake::kOnDemand, cheapest_on_demand_);
        }
      }
    }
    if (at.held == SpotTake::kIdle) continue;
    at.cost += at.held == SpotTake::kSpot ? spot_cost_[rank_[at.zone]] : on_demand_cost_[at.zone];
    at.work_left_s -= std::max(0.0, tick_s - at.changeover_left_s);
    at.changeover_left_s = std::max(0.0, at.changeover_left_s - tick_s);
    if (at.work_left_s <= 0) break;
  }
  return at.cost;
}

double RegionsFutures::walk_all(const RegionsMoment& now, const FirstAct& first, uint32_t given, const Way& way,
                                std::span<float> costs) const {
  double sum = 0;
  for (size_t d = 0; d < draws_; ++d) {
    costs[d] = walk(now, first, given, d, way);
    sum += costs[d];
  }
  return sum / static_cast<double>(draws_);
}

void RegionsFutures::shortlist_ways(const RegionsMoment& now, std::span<const FirstAct> acts) {
  std::vector<float> costs(draws_);
  std::vector<uint8_t> kept(ways_.size(), 0);
  for (const FirstAct& act : acts) {
    std::vector<std::pair<double, size_t>> means;
    for (size_t w = 0; w < ways_.size(); ++w)
      means.emplace_back(walk_all(now, act, 0, ways_[w], costs), w);
    std::sort(means.begin(), means.end());
    for (size_t i = 0; i < std::min(means.size(), kShortlist); ++i)
      kept[means[i].second] = 1;
  }
  shortlist_.clear();
  for (size_t w = 0; w < ways_.size(); ++w)
    if (kept[w] != 0) shortlist_.push_back(w);
}

RegionsFutures::Judged RegionsFutures::judge(const RegionsMoment& now, const FirstAct& first,
                                             std::span<const size_t> given_up) const {
  uint32_t given = 0;
  for (const size_t z : given_up)
    given |= uint32_t{1} << rank_[z];
  Judged best;
  std::vector<float> costs(draws_);
  for (const size_t w : shortlist_) {
    const double mean = walk_all(now, first, given, ways_[w], costs);
    if (!best.by_draw.empty() && mean >= best.cost) continue;
    best.cost = mean;
    best.by_draw = costs;
  }
  return best;
}

}  // namespace stint::sched
