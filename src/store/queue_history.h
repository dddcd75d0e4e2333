// What batch systems told beside the runs of a History file.
#pragma once

#include <string>

#include "base/result.h"
#include "model/queue_history.h"

namespace stint {

/// Empty where nothing was told, or the file is older than the tables that would hold it.
Result<QueueHistory> read_queue_history(const std::string& path);

}  // namespace stint
