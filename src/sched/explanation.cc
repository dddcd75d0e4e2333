#include "sched/explanation.h"

#include <array>

namespace stint::sched {

std::string_view name_of(Obstacle o) {
  constexpr std::array<std::string_view, 18> kNames = {"none",       "on-hold",     "not-before",  "deferred",      "dependency",
                                                       "being-made", "array",       "closed",      "queue-limit",   "budget",
                                                       "guarantee",  "no-room",     "fragmented",  "others-shares", "slowed",
                                                       "constraint", "behind-gang", "behind-order"};
  return kNames[static_cast<size_t>(o)];
}

std::string_view name_of(RemedyKind k) {
  constexpr std::array<std::string_view, 7> kNames = {"more-gpus",    "evict-lower", "wait",        "higher-priority",
                                                      "not-deferred", "raise-limit", "raise-budget"};
  return kNames[static_cast<size_t>(k)];
}

}  // namespace stint::sched
