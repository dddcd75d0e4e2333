// What a launch asks for now: a machine of which pools, or none; which machine has done its part; and whether it is over. Pure.
//
//   no machine ──spot, on demand or wait: the deadline decides──► one machine ──it ended──► over
//        ▲                                                            │
//        └──────interrupted, silent, unfit: its pool is passed over───┘
//
// The deadline decides by Uniform Progress (sched/spot/spot_policy.h) each time there is no machine: a machine that works is kept, on
// whichever market it is, as a change would cost the start of another.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "capacity/capacity_book.h"
#include "launch/launch_plan.h"
#include "launch/launch_record.h"

namespace stint {

/// A pool whose machine was taken back is passed over for so long while another has stock.
inline constexpr Duration kPassedOver = Duration::minutes(30);
/// A machine that runs and tells nothing for so long is given up.
inline constexpr Duration kLaunchSilent = Duration::minutes(10);
/// In a row, before it is taken for a mistake of image, network or role.
inline constexpr int kMostFailedStarts = 5;

/// What is known at that instant.
struct LaunchSight {
  Instant now;
  const LaunchPlan& plan;
  const LaunchRecord& record;
  const CapacityBook& book;
  const std::map<std::string, HeardReport>& reports;  ///< by machine
  bool last_words = true;  ///< what machines that are gone told at last is among them: the command may have ended there
};

struct LaunchDecision {
  CapacityAsk ask;
  std::optional<LaunchEnd> end;  ///< it is over: the machines go
  std::string why;               ///< this market, or none; for people
};

LaunchDecision decide_launch(const LaunchSight& sight);

/// So many machines are kept, and no other is made in their place: what comes after them is decided anew.
CapacityWish wish_to_keep(const LaunchPlan& plan, int32_t machines);

/// Can on demand alone, begun at once, meet the deadline? @return kInvalidInput saying when it would be done.
Status check_deadline(const LaunchPlan& plan);

}  // namespace stint
