// The tuner's answer for people and programs: what to set on which device, what it costs, or why a promise cannot be made.
#pragma once

#include <string>
#include <vector>

#include "batching/tuner.h"
#include "report/table.h"

namespace stint {

struct ServingView {
  std::vector<batching::DeviceProfile> profiles;
  batching::TuneOptions options;
  batching::Tuning tuning;
};

std::string serving_text(const ServingView& view, Screen screen);
std::string serving_json(const ServingView& view);

}  // namespace stint
