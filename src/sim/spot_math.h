// What interruptions cost work that checkpoints.
//
// Interruptions come at a mean interval M, a checkpoint takes δ, a restart R. The best interval between checkpoints
// is close to τ = √(2δM)·[1 + ⅓√(δ/2M) + δ/(18M)] − δ, and the time a unit of work takes is then
// M·e^{R/M}·(e^{(τ+δ)/M} − 1)/τ.
// One place holds what is assumed of spot: arithmetic and replay both read it.
// Source: Daly 2006, "A higher order estimate of the optimum checkpoint interval for restart dumps", FGCS 22.
#pragma once

#include "base/time.h"

namespace stint {

struct InterruptionModel {
  Duration mean_between = Duration::hours(20);  ///< an assumption where nothing was measured
  Duration checkpoint = Duration::minutes(1);
  Duration restart = Duration::minutes(5);
};

/// Hours of work between two checkpoints. @param model  all > 0.
double best_checkpoint_interval_h(const InterruptionModel& model);
/// Hours taken per hour of work, > 1.
double expected_stretch(const InterruptionModel& model);

/// As Daly's formula takes it; checkpoint and restart as assumed. @param per_hour  interruptions, > 0.
InterruptionModel interruption_model(double per_hour);

/// Where the time of a machine goes that is moved to spot and for which one on demand stands in while spot is away: parts of it. What is
/// missing from 1 is neither there nor paid: the stand-in starts, the work moves back.
struct SpotTime {
  double on_spot = 1;
  double on_demand = 0;
};
/// @param mean_between  interruptions, > 0; how long capacity stays away and machines take to start is as a replay draws it (sim/faults.h).
SpotTime spot_time(Duration mean_between);

}  // namespace stint
