// Work that comes again and again, on separate threads. One that takes long keeps a thread, and no other waiting as long
// as there are more threads than such.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/time.h"

namespace stint {

class Recurring {
 public:
  /// Does its work and says after what pause, from when it began, it wants to be called again. One thread at a time calls it; it must not
  /// throw.
  using Work = std::function<Duration()>;

  /// Each is called at once, then as it says. @param threads  at least one.
  Recurring(std::vector<Work> works, size_t threads);
  /// Waits for what is being done; nothing is called after.
  ~Recurring();
  Recurring(const Recurring&) = delete;
  Recurring& operator=(const Recurring&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
