#include "codec/traces/region_trace.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"
#include "codec/csv_table.h"

namespace stint {
namespace {

constexpr int64_t kLastTick = 10'000'000;
constexpr int64_t kMostInstances = 1'000'000'000;
constexpr int64_t kLongestTickSeconds = 24 * 3600;
constexpr std::string_view kTickColumn = "tick";
constexpr std::string_view kTimeColumn = "time_utc";

/// The step from one row's time to the next, the same throughout.
class TickTimes {
 public:
  Status see(const CsvTable& table) {
    const Result<Instant> at = parse_instant(table.text(kTimeColumn));
    if (!at.ok())
      return table.wrong("{} is `{}`, expected a time such as 2025-10-04T00:10:00Z", kTimeColumn,
                         excerpt(table.text(kTimeColumn)));
    if (last_) {
      const Duration step = *at - *last_;
      if (step.count_ns() <= 0 || step > Duration::seconds(kLongestTickSeconds) ||
          step.count_ns() % Duration::seconds(1).count_ns() != 0)
        return table.wrong("{}: a tick lasts whole seconds, at least 1 and at most {}", excerpt(table.text(kTimeColumn)),
                           kLongestTickSeconds);
      if (step_.count_ns() != 0 && step != step_)
        return table.wrong("{}: this tick began {} s after the one before, the others {} s: fill the gap",
                           excerpt(table.text(kTimeColumn)), step.count_ns() / 1'000'000'000, tick_s());
      step_ = step;
    }
    last_ = *at;
    return {};
  }
  [[nodiscard]] int64_t tick_s() const { return step_.count_ns() / 1'000'000'000; }

 private:
  std::optional<Instant> last_;
  Duration step_;
};

Result<Money> price_in(const CsvTable& table, std::string_view column) {
  const Result<Money> price = Money::parse(table.text(column));
  if (price.ok() && price->count_nanos() >= 0) return *price;
  return table.wrong("{} is `{}`, expected a price of 0 or more", column, excerpt(table.text(column)));
}

Result<Rate> rate_in(const CsvTable& table, std::string_view column) {
  TRY_ASSIGN(const Money price, price_in(table, column));
  if (price.is_zero()) return table.wrong("{} is 0: what costs nothing needs no choice", column);
  return Rate::per_hour(price);
}

Result<std::string> name_in(const CsvTable& table, std::string_view column) {
  if (const std::string_view name = table.text(column); !name.empty()) return std::string(name);
  return table.wrong("{} is empty", column);
}

}  // namespace

Result<ZonesTrace> read_zones_trace(std::string_view bytes, const std::string& source) {
  constexpr std::array<std::string_view, 2> kColumns = {kTickColumn, kTimeColumn};
  CsvTable table(bytes, source);
  TRY(table.read_header(kColumns, "tick,time_utc and one for each zone"));
  ZonesTrace trace;
  for (const std::string& name : table.header().names())
    if (name != kTickColumn && name != kTimeColumn) trace.zones.push_back({name, {}});
  if (trace.zones.empty()) return invalid("{}: no zones: expected a column for each beside tick and time_utc", source);
  TickTimes times;
  std::optional<int64_t> last;
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) break;
    TRY_ASSIGN(const int64_t tick, table.whole(kTickColumn, kLastTick));
    if (last && tick != *last + 1) return table.wrong("tick {} follows tick {}: ticks count up by one", tick, *last);
    last = tick;
    TRY(times.see(table));
    for (ZoneTrace& zone : trace.zones) {
      TRY_ASSIGN(const int64_t instances, table.whole(zone.zone, kMostInstances));
      zone.available.push_back(instances > 0 ? 1 : 0);
    }
  }
  trace.tick_s = times.tick_s();
  if (trace.tick_s == 0) return invalid("{}: fewer than two ticks: how long is one?", source);
  return trace;
}

Result<std::vector<ZonePrice>> read_zone_prices(std::string_view bytes, const std::string& source) {
  constexpr std::array<std::string_view, 4> kColumns = {"zone", "region", "spot_usd_per_hour", "on_demand_usd_per_hour"};
  CsvTable table(bytes, source);
  TRY(table.read_header(kColumns));
  std::vector<ZonePrice> prices;
  std::set<std::string> seen;
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) break;
    ZonePrice price;
    TRY_ASSIGN(price.zone, name_in(table, "zone"));
    TRY_ASSIGN(price.region, name_in(table, "region"));
    TRY_ASSIGN(price.spot, rate_in(table, "spot_usd_per_hour"));
    TRY_ASSIGN(price.on_demand, rate_in(table, "on_demand_usd_per_hour"));
    if (!seen.insert(price.zone).second) return table.wrong("zone {} stands twice", excerpt(price.zone));
    prices.push_back(std::move(price));
  }
  if (prices.empty()) return invalid("{}: no prices: expected a row for each zone", source);
  return prices;
}

Result<TransferPrices> read_transfer_prices(std::string_view bytes, const std::string& source) {
  constexpr std::array<std::string_view, 3> kColumns = {"from_region", "to_region", "usd_per_gb"};
  CsvTable table(bytes, source);
  TRY(table.read_header(kColumns));
  TransferPrices prices;
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) return prices;
    TRY_ASSIGN(std::string from, name_in(table, "from_region"));
    TRY_ASSIGN(std::string to, name_in(table, "to_region"));
    TRY_ASSIGN(const Money price, price_in(table, "usd_per_gb"));
    const std::string pair = from + " to " + to;
    if (from == to && !price.is_zero())
      return table.wrong("{}: a transfer within a region is taken to cost nothing", excerpt(pair));
    if (!prices.emplace(std::pair(std::move(from), std::move(to)), price).second)
      return table.wrong("{} stands twice", excerpt(pair));
  }
}

}  // namespace stint
