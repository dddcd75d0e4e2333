// What is believed of spot interruptions in each place: a prior, moved by what the History saw there.
//
// A place is capacity that is given and taken back together: a type in a zone. What was seen in one says nothing of another. The belief
// is a Gamma distribution of the rate (spot_hazard.h), so little seen leaves it wide, and who plans with it can draw from it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "advise/prove/spot_hazard.h"
#include "model/history.h"
#include "sim/spot_math.h"

namespace stint {

struct NodeFacts;

struct SpotPlace {
  std::string provider, region, zone, instance_type;  ///< zone "": not known
  auto operator<=>(const SpotPlace&) const = default;
};

struct SpotSeen {
  int64_t interruptions = 0;
  double hours = 0;  ///< instance-hours on spot
};

/// One interruption in 20 h: an assumption, worth 100 h of watching.
InterruptionRate assumed_interruptions();

/// By place.
class SpotBelief {
 public:
  SpotBelief() = default;
  /// Spot machines' hours, and runs of theirs that ended by preemption or a lost node; a run on several machines is lost with one of them and
  /// counts once.
  SpotBelief(const History& history, const std::vector<NodeFacts>& nodes);

  [[nodiscard]] SpotSeen seen(const SpotPlace& place) const;
  /// Of one instance there.
  [[nodiscard]] InterruptionRate rate(const SpotPlace& place, const InterruptionRate& prior = assumed_interruptions()) const;

 private:
  std::map<SpotPlace, SpotSeen> seen_;
};

/// "an interruption every 20 h (12 to 41 h with 80 % probability; 7 seen in …)", for people.
std::string belief_text(const InterruptionRate& rate, const SpotSeen& seen);

}  // namespace stint
