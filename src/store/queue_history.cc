#include "store/queue_history.h"

#include "store/history_impl.h"
#include "store/schema.h"

namespace stint {
namespace {

template <typename T>
std::string all_of(std::string_view order) {
  return fmt::format("SELECT {} FROM {} ORDER BY {}", column_list<T>(), RowFields<T>::table, order);
}

}  // namespace

Result<QueueHistory> read_queue_history(const std::string& path) {
  TRY_ASSIGN(Database database, Database::open(path, DatabaseAccess::kReadOnly));
  TRY_ASSIGN(const int version, schema_version(database));
  QueueHistory queue;
  if (version < kQueueRecordsSince) return queue;
  TRY_ASSIGN(queue.records, read_rows<QueueRecord>(database, all_of<QueueRecord>("run_id, restart")));
  TRY_ASSIGN(queue.partitions, read_rows<PartitionNode>(database, all_of<PartitionNode>("queue, node")));
  return queue;
}

}  // namespace stint
