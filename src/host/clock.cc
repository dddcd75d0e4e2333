#include "host/clock.h"

#include <chrono>
#include <ctime>

#include "base/text.h"
#include "host/file.h"

namespace stint {

Instant now() {
  using std::chrono::duration_cast, std::chrono::nanoseconds, std::chrono::system_clock;
  return Instant::from_ns(duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
}

Duration since_boot() {
  timespec passed{};
  (void)clock_gettime(CLOCK_BOOTTIME, &passed);
  return Duration::seconds(passed.tv_sec) + Duration::nanoseconds(passed.tv_nsec);
}

std::string boot_id() { return std::string(trim(read_kernel_file("/proc/sys/kernel/random/boot_id"))); }

}  // namespace stint
