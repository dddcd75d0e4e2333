#include "store/run_owners.h"

#include "store/history_impl.h"
#include "store/schema.h"

namespace stint {

Result<RunOwners> read_run_owners(const std::string& path) {
  TRY_ASSIGN(Database database, Database::open(path, DatabaseAccess::kReadOnly));
  TRY_ASSIGN(const int version, schema_version(database));
  RunOwners owners;
  if (version < kRunOwnersSince) return owners;
  TRY_ASSIGN(std::vector<RunOwner> rows,
             read_rows<RunOwner>(
                 database, fmt::format("SELECT {} FROM run_owner ORDER BY run_id, restart, origin", column_list<RunOwner>())));
  for (RunOwner& row : rows) {
    std::pair key(row.run_id, row.restart);
    owners.insert_or_assign(std::move(key), std::move(row));
  }
  return owners;
}

}  // namespace stint
