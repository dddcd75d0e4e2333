// What a MIG instance weighs of its card, and what the rest of the card is worth to anybody else.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/fleet.h"
#include "model/mig.h"

namespace stint {

/// Parts a card is counted in. Every share of a 7- or 4-slice geometry is a whole number of 112ths.
inline constexpr int64_t kSliceParts = 112;

struct SliceWeight {
  const MigGeometry* geometry = nullptr;  ///< nullptr: the model's geometry is not known
  int profile = -1;                       ///< into geometry->profiles
  int64_t parts = 0;                      ///< of kSliceParts, > 0
};

/// @param instance  has `mig`. The model is the device's, else the node's. Without a known geometry or profile an
/// instance weighs its compute slices of seven, as its name says.
SliceWeight slice_weight(const Device& instance, const Node& node);

/// Of what a card's instances leave, the parts that could still be cut off and those that no instance can have.
class CardRemainder {
 public:
  struct Parts {
    int64_t available = 0;
    int64_t stranded = 0;
  };
  /// @param profiles  of the instances on one card, in any order. Where they stand is not known from telemetry:
  /// of the legal layouts with these instances the one that strands least is assumed.
  Parts of(const MigGeometry& geometry, std::vector<int> profiles);

 private:
  std::map<std::pair<const MigGeometry*, std::vector<int>>, Parts> known_;  // looked up, never walked
};

}  // namespace stint
