// What telemetry saw of each run: how much of the GPUs it held it used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/history.h"
#include "telemetry/usage.h"

namespace stint {

struct RunUse {
  double held_hours = 0;     ///< GPU-hours within the period, a slice as its part
  double watched_hours = 0;  ///< of them, with telemetry of utilisation
  double used_hours = 0;     ///< of the watched ones, × utilisation
  double idle_hours = 0;     ///< of the watched ones, those without activity
  int64_t gpus_watched = 0;
  int64_t gpus_idle = 0;   ///< of those: without any activity
  double busiest_pct = 0;  ///< mean of its busiest hour on one GPU
  std::optional<Bytes> memory_peak;
  std::string gpu_model;  ///< of a GPU it held
};

/// Telemetry that names the job counts before that of the device, which also shows who came before or after within the hour.
/// @return by index into history.runs.
std::vector<RunUse> use_of_runs(const History& history, const Usage& usage);

}  // namespace stint
