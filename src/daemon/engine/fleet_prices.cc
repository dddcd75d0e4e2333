// What machines cost as time goes on: the books go by the price of the time, the scheduler is told of each change when it comes and
// of those that are known ahead, so that deferrable jobs wait for cheap hours as they do in a replay.
#include "daemon/engine/fleet_prices.h"

#include <algorithm>

#include "sched/markets.h"

namespace stint {
namespace {

constexpr Duration kWeek = Duration::hours(7 * 24);
/// The week as of which prices are told ahead; the same for all instants of seven days.
int64_t week_of_prices(Instant t) { return t.ns() / kWeek.count_ns(); }

/// Changes of a machine's price that are kept until the History has them; it is written every few minutes.
constexpr size_t kMostRates = 64;
/// Hours of the week are told ahead for so long from the beginning of the present one; lists of instants for ever.
constexpr Duration kToldAhead = Duration::hours(6 * 7 * 24);

bool by_hours(const std::vector<PriceRule>& rules) {
  return std::ranges::any_of(rules, [](const PriceRule& rule) { return rule.hours.any(); });
}

}  // namespace

std::vector<NodeId> FleetPrices::repriced_by(const FleetConfig& next) const {
  std::vector<NodeId> repriced;
  if (next.prices == s_.fleet.prices) return repriced;
  for (uint32_t n = 0; n < s_.nodes.size(); ++n)
    if (s_.nodes[n].is_machine() &&
        (!s_.nodes[n].price_rules.empty() || !rules_naming(s_.nodes[n].machine.node.name, next.prices).empty()))
      repriced.emplace_back(n);
  return repriced;
}

void NodeBook::charge_from(Instant from, Rate rate) {
  charged = rate;
  if (!rates.empty() && rates.back().from == from) rates.pop_back();
  if (rates.empty() || rates.back().rate != rate) rates.push_back({from, rate});
  if (rates.size() > kMostRates) rates.erase(rates.begin());
  rates_until = from;
}

void FleetPrices::follow(NodeBook& book) const {
  const MachinePrices prices = of(book);
  if (prices.vary())
    for (Instant t = prices.next_change(book.rates_until); t <= s_.now; t = prices.next_change(t))
      book.charge_from(t, prices.at(t));
  book.rates_until = s_.now;
}

void FleetPrices::set_rules(std::vector<PriceRule> rules) {
  if (rules == s_.fleet.prices) return;
  for (NodeBook& node : s_.nodes)
    if (node.is_machine()) follow(node);
  s_.fleet.prices = std::move(rules);
  book_.changed = true;
  for (uint32_t n = 0; n < s_.nodes.size(); ++n) {
    if (!s_.nodes[n].is_machine()) continue;
    s_.nodes[n].price_rules = rules_naming(s_.nodes[n].machine.node.name, s_.fleet.prices);
    charge(NodeId(n));
  }
}

void FleetPrices::charge(NodeId node) {
  NodeBook& book = s_.nodes[node.index()];
  const Rate before = book.charged;
  follow(book);
  const Rate rate = of(book).at(s_.now);
  if (rate != book.charged) book.charge_from(s_.now, rate);
  if (rate == before) return;
  add_event(s_.events, sched::EventKind::kPrice, node);
  s_.events.back().price = gpu_rate_of(book.machine.node, rate);
}

void FleetPrices::apply() {
  if (s_.now >= book_.next)
    for (uint32_t n = 0; n < s_.nodes.size(); ++n)
      if (s_.nodes[n].is_machine()) charge(NodeId(n));
  if (s_.now >= book_.next || book_.changed) find_next();
  const bool is_new_week = book_.told >= 0 && book_.told != week_of_prices(s_.now) && by_hours(s_.fleet.prices);
  if ((book_.changed && (book_.told >= 0 || !s_.fleet.prices.empty())) || is_new_week) tell_ahead();
  book_.changed = false;
}

void FleetPrices::restored() {
  if (!s_.fleet.prices.empty()) book_.told = week_of_prices(s_.now);
  find_next();
}

void FleetPrices::find_next() {
  book_.next = sched::kNever;
  if (s_.fleet.prices.empty()) return;
  for (const NodeBook& node : s_.nodes)
    if (node.is_machine()) book_.next = std::min(book_.next, of(node).next_change(s_.now));
}

void FleetPrices::tell_ahead() {
  book_.told = -1;
  if (s_.fleet.prices.empty()) return s_.scheduler->set_prices({});
  book_.told = week_of_prices(s_.now);
  const Instant until = by_hours(s_.fleet.prices) ? Instant::from_ns(book_.told * kWeek.count_ns()) + kToldAhead : sched::kNever;
  const auto key_of = [&](uint32_t n) {
    using Key = std::tuple<std::vector<uint32_t>, int32_t, Money>;
    const NodeBook& node = s_.nodes[n];
    if (!node.is_machine()) return std::optional<Key>();
    return std::optional(Key(node.price_rules, node.machine.node.gpus, node.machine.rate.per_hour()));
  };
  const auto windows_of = [&](uint32_t n) {
    std::vector<sched::PriceWindow> windows;
    of(s_.nodes[n]).over({s_.now, until}, [&](Interval when, Rate rate) {
      windows.push_back({.when = when, .rate = gpu_rate_of(s_.nodes[n].machine.node, rate)});
    });
    return windows;
  };
  s_.scheduler->set_prices(sched::markets_by(static_cast<uint32_t>(s_.nodes.size()), key_of, windows_of));
}

}  // namespace stint
