#include "advise/books.h"

#include <algorithm>
#include <numeric>

#include "advise/commit/savings_plan_hours.h"

namespace stint {
int64_t PlanNode::seconds() const { return std::accumulate(on_s.begin(), on_s.end(), int64_t{0}); }

std::vector<uint16_t> limited_hours(std::vector<uint16_t> on_s, Duration from, Duration to) {
  const int64_t each_s = from.whole_seconds();
  const int64_t most_s = to.whole_seconds();
  for (size_t begin = 0; begin < on_s.size(); ++begin) {
    size_t end = begin;
    int64_t all_s = 0;
    for (; end < on_s.size() && on_s[end] > 0; ++end)
      all_s += on_s[end];
    const int64_t times = std::max<int64_t>(1, each_s > 0 ? all_s / each_s : 1);
    const int64_t length_s = std::max<int64_t>(1, (all_s + times - 1) / times);
    const auto kept_until = [&](int64_t s) { return s / length_s * std::min(most_s, length_s) + std::min(most_s, s % length_s); };
    int64_t at_s = 0;
    for (; begin < end; ++begin) {
      const int64_t next_s = at_s + on_s[begin];
      on_s[begin] = static_cast<uint16_t>(kept_until(next_s) - kept_until(at_s));
      at_s = next_s;
    }
  }
  return on_s;
}

namespace {

/// Adds to each hour `seconds` × its part of `room`, or all of it.
void fill_room(std::vector<uint16_t>& on_s, const std::vector<int64_t>& room, int64_t seconds) {
  const int64_t all = std::accumulate(room.begin(), room.end(), int64_t{0});
  if (all == 0) return;
  const int64_t filled = std::min(seconds, all);
  int64_t so_far = 0;
  for (size_t h = 0; h < on_s.size(); ++h) {
    const int64_t before = so_far * filled / all;
    so_far += room[h];
    on_s[h] = static_cast<uint16_t>(on_s[h] + so_far * filled / all - before);
  }
}

}  // namespace

std::vector<uint16_t> stretched_hours(std::vector<uint16_t> on_s, const std::vector<uint16_t>& before, int64_t wanted_s) {
  const auto seconds = [&] { return std::accumulate(on_s.begin(), on_s.end(), int64_t{0}); };
  if (const int64_t now = seconds(); wanted_s <= now) {
    const std::vector<int64_t> room(on_s.begin(), on_s.end());
    std::ranges::fill(on_s, uint16_t{0});
    fill_room(on_s, room, std::max<int64_t>(0, wanted_s));
    return on_s;
  }
  for (const bool whole : {false, true}) {
    std::vector<int64_t> room;
    for (size_t h = 0; h < on_s.size(); ++h)
      room.push_back(std::max<int64_t>(0, (whole ? 3600 : before[h]) - on_s[h]));
    fill_room(on_s, room, wanted_s - seconds());
  }
  return on_s;
}

Books::Books(const FleetFacts& facts, const PriceLookup& prices) : facts_(facts), prices_(prices) {
  std::vector<Money> period;
  for (const NodeFacts& node : facts.nodes)
    period.push_back(node.compute);
  const std::vector<Money> monthly = facts.months.monthly(period);
  for (const NodeFacts& node : facts.nodes) {
    PlanNode plan{.provider = node.provider,
                  .region = node.region,
                  .instance_type = node.instance_type,
                  .market = node.market,
                  .monthly = monthly[nodes_.size()],
                  .on_s = {}};
    plan.on_s.reserve(node.timeline.size());
    for (const NodeHour& hour : node.timeline)
      plan.on_s.push_back(hour.on_s);
    by_name_.emplace(node.name, nodes_.size());
    nodes_.push_back(std::move(plan));
  }
}

Money Books::total() const {
  Money sum = Money::nanos(0, facts_.currency);
  for (const PlanNode& node : nodes_)
    sum += node.monthly;
  return sum;
}

std::optional<Money> Books::hourly_of(Money monthly, int64_t seconds) const {
  const Money an_hour_every_period = facts_.months.monthly(Money::nanos(seconds, facts_.currency));
  if (an_hour_every_period.is_zero() || monthly.count_nanos() <= 0) return std::nullopt;
  return scale(monthly, 3600, an_hour_every_period.count_nanos());
}

std::optional<Money> Books::hourly(NodeId id) const {
  const PlanNode& node = of(id);
  return hourly_of(node.monthly, node.gone ? 0 : node.seconds());
}

std::optional<Money> Books::open_hourly(NodeId id) const {
  const PlanNode& node = of(id);
  const std::vector<uint16_t>& open = node.open_s();
  return hourly_of(node.open_monthly(), node.gone ? 0 : std::accumulate(open.begin(), open.end(), int64_t{0}));
}

SpotPlace Books::place_of(NodeId id) const {
  const PlanNode& node = of(id);
  const NodeFacts& facts = facts_.nodes[id.index()];
  return {node.provider, node.region, node.region == facts.region ? facts.zone : "", node.instance_type};
}

InterruptionRate Books::spot_rate(NodeId id) const { return facts_.spot.rate(place_of(id)); }

Money Books::monthly_at(Money hourly, const PlanNode& node) const {
  return facts_.months.monthly(scale(hourly, node.seconds(), 3600));
}

Result<Money> Books::saving_of(const Change& change) const {
  TRY_ASSIGN(const std::vector<Outcome> outcomes, outcome_of(change));
  Money saving = Money::nanos(0, facts_.currency);
  for (const Outcome& o : outcomes)
    saving += nodes_[o.node].monthly - o.after.monthly;
  return saving;
}

Result<Money> Books::apply(const Change& change) {
  TRY_ASSIGN(std::vector<Outcome> outcomes, outcome_of(change));
  Money saving = Money::nanos(0, facts_.currency);
  for (Outcome& o : outcomes) {
    saving += nodes_[o.node].monthly - o.after.monthly;
    nodes_[o.node] = std::move(o.after);
  }
  return saving;
}

Result<Money> Books::apply_as_replayed(const Change& change, Money replayed) {
  TRY_ASSIGN(const std::vector<Outcome> outcomes, outcome_of(change));
  const bool of_price = std::holds_alternative<SwitchMarket>(change) || std::holds_alternative<MoveRegion>(change);
  std::vector<std::vector<uint16_t>> on_before;
  for (const Outcome& o : outcomes)
    on_before.push_back(nodes_[o.node].on_s);
  TRY_ASSIGN(const Money saving, apply(change));
  Money left = Money::nanos(0, facts_.currency);
  std::vector<int64_t> weights;
  for (const Outcome& o : outcomes) {
    weights.push_back(std::max<int64_t>(0, nodes_[o.node].monthly.count_nanos()));
    left += nodes_[o.node].monthly;
  }
  const Money wanted = left + saving - replayed;
  if (left.count_nanos() <= 0 || wanted.count_nanos() <= 0) return saving;
  const std::vector<Money> parts = split_by_largest_remainder(wanted, weights);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    PlanNode& node = nodes_[outcomes[i].node];
    if (!of_price && node.monthly.count_nanos() > 0 && parts[i] != node.monthly) {
      const Money seconds =
          scale(Money::nanos(node.seconds(), facts_.currency), parts[i].count_nanos(), node.monthly.count_nanos());
      node.on_s = stretched_hours(std::move(node.on_s), on_before[i], seconds.count_nanos());
      node.hours_changed = true;
    }
    node.monthly = parts[i];
  }
  return replayed;
}

Result<std::vector<Books::Outcome>> Books::outcome_of(const Change& change) const {
  return std::visit([&](const auto& c) { return outcome(c); }, change);
}

Result<std::vector<Books::Outcome>> Books::open(const std::vector<std::string>& nodes) const {
  std::vector<Outcome> outcomes;
  for (const std::string& name : nodes) {
    const auto it = by_name_.find(name);
    if (it == by_name_.end()) return make_error(ErrorCode::kNotFound, "no node '{}' in the fleet", name);
    if (nodes_[it->second].gone) return make_error(ErrorCode::kConflict, "{} is already given back by another change", name);
    outcomes.push_back({it->second, nodes_[it->second]});
  }
  return outcomes;
}

Status Books::claim_structure(std::vector<Outcome>& nodes) const {
  for (Outcome& o : nodes) {
    const std::string& name = facts_.nodes[o.node].name;
    if (o.after.structure_changed) return make_error(ErrorCode::kConflict, "{} is already changed by another finding", name);
    if (is_paid_while_off(o.after.market))
      return make_error(ErrorCode::kConflict, "{} is {}: it costs the same until the commitment ends or it is sold", name,
                        name_of(o.after.market));
    o.after.structure_changed = true;
  }
  return {};
}

Status Books::reprice(PlanNode& node) const {
  const Market market = node.market == Market::kSpot ? Market::kSpot : Market::kOnDemand;
  const auto* quote = prices_.find({node.provider, node.instance_type, node.region}, market);
  if (quote == nullptr)
    return make_error(ErrorCode::kNotFound, "no {} price in {} known for {} in {}: import one with `stint import prices`",
                      name_of(market), facts_.currency.code(), node.instance_type,
                      node.region.empty() ? "any region" : node.region);
  node.monthly = monthly_at(quote->hourly, node);
  return {};
}

namespace {

void give_back(PlanNode& node) {
  node.gone = true;
  node.monthly = node.monthly - node.monthly;
  std::fill(node.on_s.begin(), node.on_s.end(), uint16_t{0});
}

}  // namespace

Result<std::vector<Books::Outcome>> Books::outcome(const StopNodes& c) const {
  TRY_ASSIGN(auto nodes, open(c.nodes));
  TRY(claim_structure(nodes));
  for (Outcome& o : nodes)
    give_back(o.after);
  return nodes;
}

Result<std::vector<Books::Outcome>> Books::outcome(const MoveOffGpu& c) const {
  TRY_ASSIGN(auto nodes, open(c.nodes));
  TRY(claim_structure(nodes));
  if (c.to_instance_type.empty()) return make_error(ErrorCode::kNotFound, "no CPU type with a price in the catalogue");
  for (Outcome& o : nodes) {
    o.after.instance_type = c.to_instance_type;
    TRY(reprice(o.after));
  }
  return nodes;
}

Result<std::vector<Books::Outcome>> Books::outcome(const ScheduleOff& c) const {
  TRY_ASSIGN(auto nodes, open(c.nodes));
  for (Outcome& o : nodes) {
    if (is_paid_while_off(o.after.market))
      return make_error(ErrorCode::kConflict, "{} is {}: switching it off saves no money", facts_.nodes[o.node].name,
                        name_of(o.after.market));
    const int64_t before = o.after.seconds();
    for (size_t h = 0; h < o.after.on_s.size(); ++h)
      if (c.off[hour_of_week(facts_.first_hour + static_cast<int64_t>(h))]) o.after.on_s[h] = 0;
    if (before > 0) o.after.monthly = scale(o.after.monthly, o.after.seconds(), before);
    o.after.hours_changed = true;
    o.after.off |= c.off;
  }
  return nodes;
}

Result<std::vector<Books::Outcome>> Books::outcome(const LimitReservation& c) const {
  TRY_ASSIGN(auto nodes, open(c.nodes));
  if (c.from <= Duration() || c.to < Duration() || c.to > c.from)
    return invalid("a reservation of {:.1f} h cannot be cut to {:.1f} h", c.from.to_hours(), c.to.to_hours());
  for (Outcome& o : nodes) {
    if (is_paid_while_off(o.after.market))
      return make_error(ErrorCode::kConflict, "{} is {}: using it for fewer hours saves no money", facts_.nodes[o.node].name,
                        name_of(o.after.market));
    const int64_t before = o.after.seconds();
    o.after.on_s = limited_hours(std::move(o.after.on_s), c.from, c.to);
    if (before > 0) o.after.monthly = scale(o.after.monthly, o.after.seconds(), before);
    o.after.hours_changed = true;
  }
  return nodes;
}

void Books::stand_in_for_all(std::vector<Outcome>& nodes, const std::vector<size_t>& kept) {
  if (kept.empty() || kept.size() == nodes.size()) return;
  std::vector<int64_t> left_s(nodes.front().after.on_s.size());
  Money paid = nodes.front().after.monthly - nodes.front().after.monthly;
  int64_t seconds = 0;
  for (const Outcome& o : nodes) {
    for (size_t h = 0; h < left_s.size(); ++h)
      left_s[h] += o.after.on_s[h];
    paid += o.after.monthly;
    seconds += o.after.seconds();
  }
  if (seconds == 0) return;
  for (const size_t k : kept) {
    PlanNode& node = nodes[k].after;
    const int64_t before = node.seconds();
    for (size_t h = 0; h < left_s.size(); ++h) {
      node.on_s[h] = static_cast<uint16_t>(std::min<int64_t>(3600, left_s[h]));
      left_s[h] -= node.on_s[h];
    }
    node.monthly = before > 0 ? scale(node.monthly, node.seconds(), before) : scale(paid, node.seconds(), seconds);
  }
}

Result<std::vector<Books::Outcome>> Books::outcome(const ResizeNodes& c) const {
  TRY_ASSIGN(auto nodes, open(c.nodes));
  TRY(claim_structure(nodes));
  if (c.to_count < 1 || c.to_count > static_cast<int64_t>(nodes.size()))
    return invalid("{} nodes cannot become {}", nodes.size(), c.to_count);
  std::vector<size_t> kept(static_cast<size_t>(c.to_count));
  std::iota(kept.begin(), kept.end(), size_t{0});
  stand_in_for_all(nodes, kept);
  for (size_t i = 0; i < nodes.size(); ++i) {
    PlanNode& node = nodes[i].after;
    if (static_cast<int64_t>(i) >= c.to_count) {
      give_back(node);
      continue;
    }
    const std::string& region = c.to_region.empty() ? node.region : c.to_region;
    // One that stays as it is costs what it costs, whatever the list says.
    if (node.instance_type == c.to_instance_type && node.region == region) continue;
    node.instance_type = c.to_instance_type;
    node.region = region;
    TRY(reprice(node));
  }
  return nodes;
}

Result<std::vector<Books::Outcome>> Books::outcome(const ShareGpus& c) const {
  TRY_ASSIGN(auto nodes, open(c.nodes));
  TRY(claim_structure(nodes));
  const auto stays = [&](const Outcome& o) { return std::ranges::find(c.keep, facts_.nodes[o.node].name) != c.keep.end(); };
  std::vector<size_t> kept;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (stays(nodes[i])) kept.push_back(i);
  stand_in_for_all(nodes, kept);
  for (Outcome& o : nodes)
    if (!stays(o)) give_back(o.after);
  return nodes;
}

Result<std::vector<Books::Outcome>> Books::outcome(const MoveRegion& c) const {
  TRY_ASSIGN(auto nodes, open(c.nodes));
  for (Outcome& o : nodes) {
    if (o.after.market != Market::kOnDemand && o.after.market != Market::kUnknown && o.after.market != Market::kSpot)
      return make_error(ErrorCode::kConflict, "{} is {} and cannot move", facts_.nodes[o.node].name, name_of(o.after.market));
    o.after.region = c.to_region;
    TRY(reprice(o.after));
  }
  return nodes;
}

Result<std::vector<Books::Outcome>> Books::outcome(const SwitchMarket& c) const {
  TRY_ASSIGN(auto nodes, open(c.nodes));
  if (c.to != Market::kSpot) return invalid("only a switch to spot can be priced; a commitment is a separate change");
  for (Outcome& o : nodes) {
    PlanNode& node = o.after;
    if (node.market_changed || (node.market != Market::kOnDemand && node.market != Market::kUnknown))
      return make_error(ErrorCode::kConflict, "{} is not on demand", facts_.nodes[o.node].name);
    const auto* quote = prices_.find({node.provider, node.instance_type, node.region}, Market::kSpot);
    if (quote == nullptr)
      return make_error(ErrorCode::kNotFound, "no spot price known for {} in {}: import one with `stint import prices`",
                        node.instance_type, node.region);
    const SpotTime time = spot_time(interruption_model(spot_rate(facts_.nodes[o.node].id).mean()).mean_between);
    // In millionths, so that the arithmetic of money stays whole.
    const auto millionths = [](double part) { return static_cast<int64_t>(part * 1e6 + 0.5); };
    node.monthly = scale(monthly_at(quote->hourly, node), millionths(time.on_spot), 1'000'000) +
                   scale(node.monthly, millionths(time.on_demand), 1'000'000);
    node.market = Market::kSpot;
    node.market_changed = true;
  }
  return nodes;
}

Result<std::vector<Books::Outcome>> Books::outcome(const Commit& c) const {
  TRY_ASSIGN(auto nodes, open(c.nodes));
  if (c.count < 1 || nodes.empty()) return invalid("a commitment to {} instances", c.count);
  std::vector<int64_t> in_use(facts_.hour_count);  // seconds of all nodes, per hour
  std::vector<Money> on_demand;
  for (Outcome& o : nodes) {
    if (o.after.market_changed)
      return make_error(ErrorCode::kConflict, "{} is bought another way by another finding", facts_.nodes[o.node].name);
    if (o.after.market != Market::kOnDemand && o.after.market != Market::kUnknown)
      return make_error(ErrorCode::kConflict, "{} is not on demand", facts_.nodes[o.node].name);
    if (o.after.instance_type != c.instance_type || o.after.region != c.region)
      return make_error(ErrorCode::kConflict, "{} is no {} in {}", facts_.nodes[o.node].name, c.instance_type, c.region);
    for (size_t h = 0; h < in_use.size(); ++h)
      in_use[h] += o.after.on_s[h];
    on_demand.push_back(o.after.monthly);
    o.after.market = Market::kReserved;
    o.after.market_changed = true;
  }
  const auto* quote = prices_.find({c.provider, c.instance_type, c.region}, Market::kReserved, c.term, c.payment);
  if (quote == nullptr)
    return make_error(ErrorCode::kNotFound, "no reserved price known for {} in {}: import one with `stint import prices`",
                      c.instance_type, c.region);
  int64_t used = 0;
  int64_t beyond = 0;
  for (const int64_t seconds : in_use) {
    used += seconds;
    beyond += std::max<int64_t>(0, seconds - c.count * 3600);
  }
  if (used == 0) return invalid("the nodes were never on");
  Money before = Money::nanos(0, facts_.currency);
  for (const Money m : on_demand)
    before += m;
  const int64_t committed_hours = c.count * static_cast<int64_t>(facts_.hour_count);
  cover(nodes, c.count, facts_.months.monthly(scale(quote->hourly, committed_hours, 1)), scale(before, beyond, used));
  return nodes;
}

void Books::cover(std::vector<Outcome>& nodes, int64_t count, Money committed, Money open) const {
  std::vector<int64_t> left_s(facts_.hour_count, count * 3600);
  std::vector<int64_t> covered_weights, open_weights;
  for (Outcome& o : nodes) {
    PlanNode::Committed& part = o.after.committed.emplace();
    part.open_s = o.after.on_s;
    covered_weights.push_back(0);
    open_weights.push_back(0);
    for (size_t h = 0; h < left_s.size(); ++h) {
      const int64_t covered = std::min<int64_t>(part.open_s[h], left_s[h]);
      left_s[h] -= covered;
      part.open_s[h] = static_cast<uint16_t>(part.open_s[h] - covered);
      covered_weights.back() += covered;
      open_weights.back() += part.open_s[h];
    }
  }
  const auto split = [&](Money amount, const std::vector<int64_t>& weights) {
    const bool any = std::ranges::any_of(weights, [](int64_t w) { return w > 0; });
    return any ? split_by_largest_remainder(amount, weights)
               : std::vector<Money>(nodes.size(), Money::nanos(0, amount.currency()));
  };
  const std::vector<Money> committed_of = split(committed, covered_weights);
  const std::vector<Money> open_of = split(open, open_weights);
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].after.committed->open_monthly = open_of[i];
    nodes[i].after.monthly = committed_of[i] + open_of[i];
  }
}

Result<std::vector<Books::Outcome>> Books::outcome(const SavingsPlan& c) const {
  TRY_ASSIGN(auto nodes, open(c.nodes));
  if (c.per_hour.count_nanos() <= 0 || nodes.empty()) return invalid("a savings plan of {} an hour", c.per_hour.to_text(4));
  if (c.per_hour.currency() != facts_.currency)
    return invalid("a savings plan in {}, the bill in {}", c.per_hour.currency().code(), facts_.currency.code());
  std::vector<NodeId> ids;
  for (Outcome& o : nodes) {
    const std::string& name = facts_.nodes[o.node].name;
    const bool on_demand = o.after.market == Market::kOnDemand || o.after.market == Market::kUnknown || o.after.committed;
    if (o.after.in_savings_plan || !on_demand)
      return make_error(ErrorCode::kConflict, "{} is bought another way: a savings plan covers no part of it", name);
    if (o.after.provider != c.provider || rate_of(c, o.after.region, o.after.instance_type) == nullptr)
      return make_error(ErrorCode::kConflict, "{}: the savings plan has no rate for its type", name);
    ids.push_back(facts_.nodes[o.node].id);
    o.after.in_savings_plan = true;
    o.after.market_changed = true;
  }
  const std::vector<SavingsPlanHour> hours = hours_under(*this, c, ids);
  if (hours.empty()) return invalid("the nodes were never on demand");
  Money after = Money::nanos(0, facts_.currency);
  for (const SavingsPlanHour& hour : hours)
    after += c.per_hour + hour.beyond;
  after = facts_.months.monthly(after);
  // Who runs more pays more of it.
  std::vector<int64_t> weights;
  for (const Outcome& o : nodes)
    weights.push_back(std::max<int64_t>(0, o.after.open_monthly().count_nanos()));
  const std::vector<Money> parts = split_by_largest_remainder(after, weights);
  for (size_t i = 0; i < nodes.size(); ++i)
    nodes[i].after.monthly = nodes[i].after.monthly - nodes[i].after.open_monthly() + parts[i];
  return nodes;
}

}  // namespace stint
