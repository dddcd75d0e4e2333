// How much memory there is and how much of it is in use: of the control group this process lives in, else of the machine.
// Sources: proc(5) (meminfo, self/statm, self/cgroup); Linux, Documentation/admin-guide/cgroup-v2.rst (memory.max, .current, .stat).
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace stint {

struct MemoryUse {
  Bytes limit;  ///< that may be used
  Bytes used;   ///< of it, by whoever; what the kernel can take back at once does not count
  Bytes own;    ///< resident in this process
};

/// @param limit  what this process may use, in place of the group's and the machine's limits; `used` is then its own.
/// @param proc, cgroups  where the kernel shows them. @return error naming the file that is not as it should be
Result<MemoryUse> memory_use(std::optional<Bytes> limit, const std::string& proc = "/proc",
                             const std::string& cgroups = "/sys/fs/cgroup");

/// What this process takes of memory.
struct OwnMemory {
  Bytes anonymous;  ///< resident, but for what lies in files and can be read again
  Bytes resident;
  Bytes peak;  ///< resident at most, since reset_own_peak() or the start
};
Result<OwnMemory> own_memory(const std::string& proc = "/proc");
/// Where the kernel allows that.
void reset_own_peak();

/// From now on blocks of 4 MiB and more go back to the system when they are freed. Else glibc keeps up to 32 MiB of what was freed for
/// each thread, which takes memory that no book knows of. Before any other thread.
void give_back_large_blocks();

}  // namespace stint
