// Any bytes are recorded capacity of zones, their prices and those of transfers, or errors.
#include <cstdint>

#include "base/check.h"
#include "codec/traces/region_trace.h"
#include "sim/regions_protocol.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Three files with a NUL between them.
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto part = [&rest] {
    const std::string_view taken = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), taken.size() + 1));
    return taken;
  };
  const auto trace = stint::read_zones_trace(part(), "z.csv");
  const auto prices = stint::read_zone_prices(part(), "p.csv");
  const auto transfers = stint::read_transfer_prices(part(), "e.csv");
  if (!trace.ok()) return 0;
  CHECK(trace->tick_s > 0, "a tick of {} s", trace->tick_s);
  std::vector<std::string> names;
  for (const stint::ZoneTrace& zone : trace->zones) {
    CHECK(zone.available.size() == trace->zones.front().available.size(), "zones of different lengths");
    names.push_back(zone.zone);
  }
  if (!prices.ok() || !transfers.ok()) return 0;
  const auto ticks = static_cast<int64_t>(trace->zones.front().available.size());
  const stint::sim::RegionsSetup setup{.zones = names, .ratio = 1.5, .deadline_ticks = ticks};
  const auto task = stint::sim::make_regions_task(setup, trace->tick_s, *prices, *transfers);
  if (!task.ok() || names.size() > 4 || ticks > 200) return 0;
  const auto run =
      stint::sim::run_regions(stint::sim::RegionsChoice::kUpAp, *task, *stint::sim::zone_capacity(*trace, names, 0, ticks));
  CHECK(run.ok() && !run->late, "late, though on-demand would have been in time");
  return 0;
}
