// What was told beside the runs of a History file: owners and labels of pods.
#pragma once

#include <string>

#include "base/result.h"
#include "model/run_owner.h"

namespace stint {

/// Empty where nothing was told, or the file is older than the table that would hold it.
Result<RunOwners> read_run_owners(const std::string& path);

}  // namespace stint
