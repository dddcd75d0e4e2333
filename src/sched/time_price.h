// When to run, given what an hour costs when and where: the cheapest slot before a deadline, and for work that can be
// interrupted the cheapest hours.
//
// Prices are windows of a constant rate; where there is no window the price is not known and nothing runs. A start that
// costs least lies where a window begins, or where the run would end exactly as a window ends, with the windows cut at the
// earliest instant and the deadline: between those the cost is linear in the start. So only those are looked at, in one
// sweep: n windows take O(n log n).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "model/change.h"
#include "sched/ids.h"

namespace stint::sched {

struct PriceWindow {
  Interval when;  ///< half-open, not empty
  Rate rate;      ///< ≥ 0
};
/// One market in one region. Ascending, not overlapping; gaps = not known. One currency.
using PriceWindows = std::span<const PriceWindow>;

/// What an hour of one GPU costs on some nodes.
struct MarketPrices {
  std::vector<PriceWindow> windows;  ///< as PriceWindows
  std::vector<NodeId> nodes;
};

struct SlotRequest {
  Duration length;  ///< > 0
  Instant not_before;
  Instant deadline;  ///< has ended by then
};

struct Slot {
  size_t market = 0;  ///< index of the windows it lies in
  Instant start;
  Money cost;  ///< rounded per window, half to even
};

/// The cheapest uninterrupted run; of equals the earliest, then the first market.
/// @return none when no market has known prices for the whole length before the deadline.
std::optional<Slot> cheapest_slot(std::span<const PriceWindows> markets, const SlotRequest& request);

/// A run in pieces, ascending.
struct Pieces {
  std::vector<Interval> when;
  Money cost;
  Duration overhead;  ///< spent on resuming; part of the pieces
};

/// Interruptible work: `length` of useful time before the deadline in one market, each piece starting with `resume` of overhead.
/// Pieces end where windows end. Fills the cheapest windows first and then tries without each of them as long as that costs
/// less: exact with `resume` 0, else a heuristic that is never dearer than the cheapest uninterrupted run where there is one.
/// @return none when the known hours before the deadline do not suffice.
std::optional<Pieces> cheapest_pieces(PriceWindows market, const SlotRequest& request, Duration resume);

/// Instants of [from, until) that lie outside `busy` hours of the week, as windows of one rate.
std::vector<PriceWindow> off_peak_windows(const WeekHours& busy, Interval span, Rate rate);

}  // namespace stint::sched
