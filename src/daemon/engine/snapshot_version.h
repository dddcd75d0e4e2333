// Which layout the engine's snapshots have.
#pragma once

#include <cstdint>

namespace stint {

/// Of all that is packed in engine_snapshot.cc and sched/scheduler_snapshot.cc: another number whenever one of them is laid out otherwise.
inline constexpr int32_t kSnapshotVersion = 14;

}  // namespace stint
