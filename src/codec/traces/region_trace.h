// Reads recorded spot capacity of many zones and what they cost.
//
//   zones   CSV: tick,time_utc, then a column per zone: how many instances there were. Ticks count up by one; the times say how
//           long a tick is.
//   prices  CSV: zone,region,spot_usd_per_hour,on_demand_usd_per_hour
//   egress  CSV: from_region,to_region,usd_per_gb
//
// A replay of half a trace proves nothing: the first row that is not as it should be is an error, with its line.
// Source: SkyNomad (NSDI 2027), its artifact's traces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/region_trace.h"

namespace stint {

/// @param source  file name, for messages. Errors name it and the line.
Result<ZonesTrace> read_zones_trace(std::string_view bytes, const std::string& source);
Result<std::vector<ZonePrice>> read_zone_prices(std::string_view bytes, const std::string& source);
Result<TransferPrices> read_transfer_prices(std::string_view bytes, const std::string& source);

}  // namespace stint
