// Functions run in forked copies of this process: one that aborts, runs for ever or eats all memory harms no other.
//
// For exploration and shrinking, where the failure looked for may be an abort. Not for use while other threads run.
#pragma once

#include <functional>
#include <string>

#include "base/time.h"
#include "host/process.h"

namespace stint {

struct IsolatedOutcome {
  ExitStatus status;
  std::string result;  ///< what the function returned; empty when it did not come to an end
  std::string said;    ///< on standard error
  [[nodiscard]] bool ok() const { return status.code == 0 && status.signal == 0; }
};

/// Runs `function(i)` for i = 0 … count − 1 in up to `workers` processes at a time and hands each outcome to `done`, in
/// order of completion. @param limit  of one run; it then ends with SIGALRM. Whole seconds, ≥ 1.
/// @param done  false: no further one is started.
Status run_isolated(int64_t count, int workers, Duration limit, const std::function<std::string(int64_t)>& function,
                    const std::function<bool(int64_t, const IsolatedOutcome&)>& done);

}  // namespace stint
