// Room: of which moment free resources are asked.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stint::sched {

enum class Room : uint8_t {
  kFree,    ///< free now and not promised to a nominated task: a task can run there at once
  kComing,  ///< free when leaving tasks have left, and not promised: a task can be nominated to it
};

[[nodiscard]] constexpr size_t index_of(Room room) { return static_cast<size_t>(room); }

}  // namespace stint::sched
