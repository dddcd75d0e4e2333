// Who held which part of a device in an hour, and whether it was used: what the ledger prices.
//
// Built by telemetry/attribution from rollups and runs; one entry per GPU (or MIG instance) and hour.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "model/fleet.h"
#include "model/tenant.h"

namespace stint {

/// Parts of one device. 1 000 000 000 = the whole device for the whole hour; integers so that the ledger stays exact.
using DeviceParts = int64_t;
inline constexpr DeviceParts kWholeDevice = 1'000'000'000;

/// One tenant's hold on a device during an hour.
struct Tenure {
  TenantId tenant;
  WorkloadKind kind = WorkloadKind::kUnknown;
  DeviceParts held = 0;        ///< share of the device × share of the hour it was held
  DeviceParts active = 0;      ///< of `held`, what was active (utilisation above the idle threshold); ≤ held
  bool activity_known = true;  ///< false: no telemetry for it; `active` is then 0 and means nothing
};

/// One device, one hour. held parts of all tenures + unhealthy + missing ≤ present.
struct DeviceHour {
  DeviceId device;
  int64_t hour_index = 0;              ///< hours since 1970, UTC
  DeviceParts present = kWholeDevice;  ///< part of the hour the device was there at all
  DeviceParts unhealthy = 0;           ///< part of the hour it could not be used (XID, ECC, node down)
  DeviceParts missing = 0;             ///< not held as far as known, and no telemetry that says so
  uint32_t first_tenure = 0;           ///< range in Occupancy::tenures
  uint32_t tenure_count = 0;
};

/// A GPU cut into MIG instances has hours of the instances and none of its own.
struct Occupancy {
  TenantTable tenants;
  std::vector<DeviceHour> hours;  ///< ascending by device, then hour; at most one per pair
  std::vector<Tenure> tenures;    ///< of `hours` and `inferred_hours`
  /// GPUs that inventory or runs speak of and telemetry never saw; ascending by node, index.
  std::vector<Device> inferred_devices;
  std::vector<DeviceHour> inferred_hours;  ///< `device` is an index into inferred_devices; otherwise as `hours`
  [[nodiscard]] std::span<const Tenure> of(const DeviceHour& h) const {
    return std::span(tenures).subspan(h.first_tenure, h.tenure_count);
  }
};

}  // namespace stint
