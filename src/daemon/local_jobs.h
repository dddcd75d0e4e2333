// Whose accounts the jobs of this machine have, and what they may take of it: read from the command line of whoever starts them, the
// daemon or the privileged starter.
#pragma once

#include <optional>
#include <string>

#include "backends/local/local_backend.h"
#include "daemon/daemon.h"

namespace stint {

/// What jobs run as.
struct JobAccounts {
  std::optional<RunAs> one;  ///< for all; none = the daemon's own, unless there is a range
  std::optional<UidRange> range;
};

/// An account of this machine. @return kNotFound that names it
Result<RunAs> find_user(const std::string& name);

/// @return error where jobs would have this process's own account, or be root, without that being said
Result<JobAccounts> accounts_of_jobs(const DaemonOptions& options);

/// @param state_folder  of the tasks. @param book  of accounts, where there is a range
LocalBackend::Options local_backend_options(const DaemonOptions& options, const JobAccounts& accounts, std::string state_folder,
                                            std::string book);

}  // namespace stint
