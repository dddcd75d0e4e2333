// The machine's side of a launch: fetches the plan and the code, runs the command under `stint run`, and tells the object store how it goes.
#pragma once

#include <string>

#include "base/result.h"

namespace stint {

struct LaunchMachineOptions {
  std::string store;          ///< LaunchPlan::store
  std::string machine;        ///< this one's name
  std::string cloud = "aws";  ///< whose it is, as `stint run --cloud` takes it
  std::string program;        ///< of this very stint
  std::string folder;         ///< to work in; made where it is missing
};

/// For a process without threads. SIGTERM is passed on: the command saves and ends.
/// @return once all that can be told is told: the command's exit code; error when it did not begin, which the store is told, too.
Result<int> run_launch_machine(const LaunchMachineOptions& options);

}  // namespace stint
