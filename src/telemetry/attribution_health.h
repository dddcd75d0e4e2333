// Health of a device hour by hour, from XID codes and ECC counters.
//
// The exporters' XID gauge holds the last code and does not clear (dcgm-exporter, DCGM_FI_DEV_XID_ERRORS), so
// an old code on a device that has worked since says nothing.
#pragma once

#include <cstdint>

#include "telemetry/usage.h"

namespace stint {

/// Codes after which NVIDIA's "XID Errors" catalogue asks for a reset or repair, or after which the work on the
/// device was lost: 48 double-bit ECC, 63 and 64 row remapping pending or failed, 74 NVLink, 79 fallen off the
/// bus, 94 and 95 uncorrectable ECC, 119 and 120 GSP firmware.
bool is_critical_xid(int code);

class HealthTracker {
 public:
  explicit HealthTracker(const DeviceUsage& usage);
  /// Hours in ascending order. @param active  the device did work in that hour.
  /// @return true when it could not be used in the unallocated part of the hour.
  bool unhealthy(size_t hour, bool active);

 private:
  const HourlySeries* xid_;
  const HourlySeries* ecc_;
  int last_xid_ = 0;
  bool broken_ = false;
  double ecc_seen_ = -1;  ///< highest count so far; negative = none yet
};

}  // namespace stint
