// What machines cost as time goes on, in the books and as the scheduler knows it.
#pragma once

#include <vector>

#include "daemon/engine/engine_books.h"

namespace stint {

class FleetPrices {
 public:
  struct View {
    FleetConfig& fleet;  ///< its rules of prices
    std::vector<NodeBook>& nodes;
    std::optional<sched::Scheduler>& scheduler;
    const Instant& now;
    std::vector<sched::Event>& events;  ///< of the step being applied
  };
  FleetPrices(const View& view, PriceBook& book) : s_(view), book_(book) {}

  [[nodiscard]] MachinePrices of(const NodeBook& node) const { return {node.machine.rate, s_.fleet.prices, node.price_rules}; }
  /// Machines whose tasks must be paid for by the rules of now before those of `next` hold.
  [[nodiscard]] std::vector<NodeId> repriced_by(const FleetConfig& next) const;
  /// Some machine costs something else from then on.
  [[nodiscard]] Instant next_change() const { return book_.next; }
  /// Notes what has changed by its rules and its own price, as they still are, up to now.
  void follow(NodeBook& book) const;
  void set_rules(std::vector<PriceRule> rules);
  /// A machine has come, gone, or another price of its own: what is known ahead holds no more.
  void machines_changed() { book_.changed = true; }
  /// What it costs now: the scheduler hears of it where that is news.
  void charge(NodeId node);
  /// After the records of a step.
  void apply();
  /// The books were read as of now.
  void restored();

 private:
  void find_next();
  void tell_ahead();

  View s_;
  PriceBook& book_;
};

}  // namespace stint
