// Series: what a stream of samples measures and for whom, as sources name it.
#pragma once

#include <compare>
#include <string>

#include "base/id.h"
#include "base/units.h"
#include "model/metric.h"
#include "model/workload.h"

namespace stint {

/// A device as a source names it. node + uuid identify it; without uuid, node + index; MIG instances by mig_instance on top.
struct DeviceKey {
  std::string node;
  std::string uuid;
  int index = -1;           ///< −1 = not given
  std::string model;        ///< as written: "NVIDIA A100-SXM4-80GB"
  std::string mig_profile;  ///< "" = the whole GPU
  int mig_instance = -1;
  auto operator<=>(const DeviceKey&) const = default;
};

/// One metric of one device for one holder (an empty holder = the device itself).
struct SeriesKey {
  DeviceKey device;
  Holder holder;
  Metric metric = Metric::kUtilization;
  auto operator<=>(const SeriesKey&) const = default;
};

using SeriesId = Id<struct SeriesTag>;

}  // namespace stint
