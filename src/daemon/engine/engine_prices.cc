// What machines cost as time goes on: the books go by the price of the time, the scheduler is told of each change when it comes and
// of those that are known ahead, so that deferrable jobs wait for cheap hours as they do in a replay.
#include <algorithm>

#include "daemon/engine/engine_impl.h"
#include "sched/markets.h"

namespace stint {
namespace {

constexpr Duration kWeek = Duration::hours(7 * 24);
/// Changes of a machine's price that are kept until the History has them; it is written every few minutes.
constexpr size_t kMostRates = 64;
/// Hours of the week are told ahead for so long from the beginning of the present one; lists of instants for ever.
constexpr Duration kToldAhead = Duration::hours(6 * 7 * 24);

bool by_hours(const std::vector<PriceRule>& rules) {
  return std::ranges::any_of(rules, [](const PriceRule& rule) { return rule.hours.any(); });
}

}  // namespace

int64_t week_of_prices(Instant t) { return t.ns() / kWeek.count_ns(); }

/// Machines whose tasks must be paid for by the rules of now before those of `next` hold.
std::vector<NodeId> Engine::Impl::repriced_by(const FleetConfig& next) const {
  std::vector<NodeId> repriced;
  if (next.prices == fleet.prices) return repriced;
  for (uint32_t n = 0; n < nodes.size(); ++n)
    if (nodes[n].is_machine() &&
        (!nodes[n].price_rules.empty() || !rules_naming(nodes[n].machine.node.name, next.prices).empty()))
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

/// What has changed by its rules and its own price, as they still are, up to now.
void Engine::Impl::follow_prices(NodeBook& book) const {
  const MachinePrices prices = prices_of(book);
  if (prices.vary())
    for (Instant t = prices.next_change(book.rates_until); t <= now; t = prices.next_change(t))
      book.charge_from(t, prices.at(t));
  book.rates_until = now;
}

void Engine::Impl::set_prices(std::vector<PriceRule> rules) {
  if (rules == fleet.prices) return;
  for (NodeBook& node : nodes)
    if (node.is_machine()) follow_prices(node);
  fleet.prices = std::move(rules);
  prices_changed = true;
  for (uint32_t n = 0; n < nodes.size(); ++n) {
    if (!nodes[n].is_machine()) continue;
    nodes[n].price_rules = rules_naming(nodes[n].machine.node.name, fleet.prices);
    charge(NodeId(n));
  }
}

/// What it costs now: the scheduler hears of it where that is news.
void Engine::Impl::charge(NodeId node) {
  NodeBook& book = nodes[node.index()];
  const Rate before = book.charged;
  follow_prices(book);
  const Rate rate = prices_of(book).at(now);
  if (rate != book.charged) book.charge_from(now, rate);
  if (rate == before) return;
  event_of(sched::EventKind::kPrice, node);
  events.back().price = gpu_rate_of(book.machine.node, rate);
}

/// After the records of a step.
void Engine::Impl::apply_prices() {
  if (now >= next_prices)
    for (uint32_t n = 0; n < nodes.size(); ++n)
      if (nodes[n].is_machine()) charge(NodeId(n));
  if (now >= next_prices || prices_changed) find_next_prices();
  const bool is_new_week = prices_told >= 0 && prices_told != week_of_prices(now) && by_hours(fleet.prices);
  if ((prices_changed && (prices_told >= 0 || !fleet.prices.empty())) || is_new_week) tell_prices_ahead();
  prices_changed = false;
}

void Engine::Impl::find_next_prices() {
  next_prices = sched::kNever;
  if (fleet.prices.empty()) return;
  for (const NodeBook& node : nodes)
    if (node.is_machine()) next_prices = std::min(next_prices, prices_of(node).next_change(now));
}

void Engine::Impl::tell_prices_ahead() {
  prices_told = -1;
  if (fleet.prices.empty()) return scheduler->set_prices({});
  prices_told = week_of_prices(now);
  const Instant until = by_hours(fleet.prices) ? Instant::from_ns(prices_told * kWeek.count_ns()) + kToldAhead : sched::kNever;
  const auto key_of = [&](uint32_t n) {
    using Key = std::tuple<std::vector<uint32_t>, int32_t, Money>;
    const NodeBook& node = nodes[n];
    if (!node.is_machine()) return std::optional<Key>();
    return std::optional(Key(node.price_rules, node.machine.node.gpus, node.machine.rate.per_hour()));
  };
  const auto windows_of = [&](uint32_t n) {
    std::vector<sched::PriceWindow> windows;
    prices_of(nodes[n]).over({now, until}, [&](Interval when, Rate rate) {
      windows.push_back({.when = when, .rate = gpu_rate_of(nodes[n].machine.node, rate)});
    });
    return windows;
  };
  scheduler->set_prices(sched::markets_by(static_cast<uint32_t>(nodes.size()), key_of, windows_of));
}

}  // namespace stint
