// What batch systems told beside the runs of a History.
#pragma once

#include <vector>

#include "model/queue_record.h"

namespace stint {

struct QueueHistory {
  std::vector<QueueRecord> records;       ///< ascending by run id, then restart
  std::vector<PartitionNode> partitions;  ///< ascending
};

}  // namespace stint
