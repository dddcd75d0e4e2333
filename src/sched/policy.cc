#include "sched/policy.h"

#include <fmt/ranges.h>

namespace stint::sched {

namespace {

constexpr std::array<std::string_view, 6> kOrders = {"fifo", "fifo-skip", "sjf-oracle", "srtf", "fair", "stint"};
constexpr std::array<std::string_view, 3> kBackfills = {"none", "easy", "conservative"};
constexpr std::array<std::string_view, 9> kPlacements = {"first-fit",  "best-fit", "spread", "dot-product", "packing",
                                                         "clustering", "random",   "fgd",    "stint"};

template <typename E, size_t N>
Result<E> parse(std::string_view what, const std::array<std::string_view, N>& names, std::string_view text) {
  for (size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<E>(i);
  return invalid("unknown {} '{}': use one of {}", what, text, fmt::join(names, ", "));
}

}  // namespace

std::string_view name_of(Order o) { return kOrders[static_cast<size_t>(o)]; }
std::string_view name_of(Backfill b) { return kBackfills[static_cast<size_t>(b)]; }
std::string_view name_of(Placement p) { return kPlacements[static_cast<size_t>(p)]; }
Result<Order> parse_order(std::string_view text) { return parse<Order>("order", kOrders, text); }
Result<Backfill> parse_backfill(std::string_view text) { return parse<Backfill>("backfill", kBackfills, text); }
Result<Placement> parse_placement(std::string_view text) { return parse<Placement>("placement", kPlacements, text); }

}  // namespace stint::sched
