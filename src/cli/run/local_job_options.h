// The options that say whose accounts jobs of this machine have and what they may take: of `stint daemon`, and of `stint starter`.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/parser.h"
#include "daemon/daemon.h"

namespace stint {

/// As they were given, to be read.
struct LocalJobArguments {
  std::string disk_reserve, log_limit, job_memory;
};
void add_local_job_options(Command& command, DaemonOptions& options, LocalJobArguments& arguments);
/// @return error for a size that is none, for a device that is not below /dev, and for options of jobs beside --starter
Status read_local_job_options(DaemonOptions& options, const LocalJobArguments& arguments);

}  // namespace stint
