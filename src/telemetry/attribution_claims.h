// Claims: who says they held a device in one hour, and how an over-claimed hour is shared out.
#pragma once

#include <vector>

#include "model/occupancy.h"

namespace stint {

/// One run's or holder's hold on a device in one hour.
struct Claim {
  TenantId tenant;
  WorkloadKind kind = WorkloadKind::kUnknown;
  DeviceParts held = 0;  ///< as claimed; share_out() cuts it
  bool activity_known = false;
  int idle_permille = 0;                     ///< of the time with samples; 0 … 1000
  double mean_pct = 0;                       ///< utilisation over the time with samples
  [[nodiscard]] DeviceParts active() const;  ///< of `held`; 0 when not known
};

/// Cuts claims so that they sum to at most `capacity`. When they do already, nothing changes. Otherwise the
/// device was shared (time slicing, MPS): by activity (utilisation × time) where the claims tell each other
/// apart, by time where they all repeat the device's value or do not know it. No claim grows.
void share_out(std::vector<Claim>& claims, DeviceParts capacity);

/// Joins claims of the same tenant and kind into tenures, in order of first appearance; claims of nothing vanish.
void append_tenures(const std::vector<Claim>& claims, std::vector<Tenure>& tenures);

}  // namespace stint
