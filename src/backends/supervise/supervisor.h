// Runs a command to its end, however often it or its machine fails: `stint run`.
//
// One loop, no threads: it waits for signals, the command, and two worker processes, of which one proves checkpoints and
// the other copies them. What to do is decided in supervisor_policy.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/supervise/checkpoint_copies.h"
#include "backends/supervise/supervisor_policy.h"
#include "base/money.h"
#include "base/result.h"
#include "clouds/object_url.h"

namespace stint {

struct SupervisorOptions {
  std::vector<std::string> command;   ///< program (searched in PATH) and its arguments
  std::string checkpoint_folder;      ///< made where it is missing; "" = the command saves nothing
  CopyTarget copies;                  ///< what outlives the machine
  int64_t copy_bytes_per_second = 0;  ///< 0 = as fast as it goes
  Duration look_every = Duration::seconds(1);
  /// A checkpoint without a list of hashes that has not changed for so long is taken for complete.
  Duration settled_after = Duration::seconds(10);
  SupervisorLimits limits;
  std::optional<CloudProvider> cloud;  ///< whose notices are watched for; none = no cloud's
  bool acknowledge_notice = false;     ///< lets the machine go (Azure) once all is saved
  std::optional<Rate> price;           ///< of the machine; for what it cost in the end
  std::string events_file;             ///< appended to, a JSON object a line; "" = none
};

/// Runs the command with STINT_CHECKPOINT_DIR, STINT_RESTORE_FROM (path of the checkpoint to go on from, "" = from the
/// beginning), STINT_READY_FILE (to be made once that is loaded), STINT_START (0 = first) and STINT_NOTICE_SECONDS set.
/// What happens is told on standard error. SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are passed on to the
/// command, which then has the notice time to save and end; a notice of the machine's cloud reaches it as SIGTERM. For a process without threads; the signals stay blocked.
/// @return how the command ended last; error when it cannot be run at all, or another supervisor has that folder.
Result<ExitStatus> supervise(const SupervisorOptions& options);

}  // namespace stint
