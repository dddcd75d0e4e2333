#include "store/machine_acts.h"

#include <array>
#include <optional>

#include "store/schema.h"

namespace stint {
namespace {

constexpr std::array kActs = {MachineAct::kMade, MachineAct::kStarted, MachineAct::kStopped, MachineAct::kEnded};

std::optional<MachineAct> act_named(std::string_view name) {
  for (const MachineAct act : kActs)
    if (name_of(act) == name) return act;
  return std::nullopt;
}

Status insert_act(Statement& insert, const MachineActRecord& record) {
  insert.bind(1, record.at.ns());
  int index = 1;
  for (const std::string_view text :
       {std::string_view(record.machine), name_of(record.act), std::string_view(record.who), std::string_view(record.from),
        std::string_view(record.by), std::string_view(record.failed)})
    insert.bind(++index, text);
  return insert.run();
}

Result<int64_t> insert_acts(Database& database, std::span<const MachineActRecord> records) {
  TRY_ASSIGN(Statement insert, database.prepare("INSERT OR IGNORE INTO machine_act VALUES (?, ?, ?, ?, ?, ?, ?)"));
  int64_t kept = 0;
  for (const MachineActRecord& record : records) {
    TRY(insert_act(insert, record));
    kept += database.changed_rows();
  }
  TRY(database.execute("COMMIT"));
  return kept;
}

}  // namespace

Result<int64_t> keep_machine_acts(const std::string& path, std::span<const MachineActRecord> records) {
  TRY_ASSIGN(Database database, Database::open(path, DatabaseAccess::kReadWrite));
  TRY(prepare_schema(database, DatabaseAccess::kReadWrite));
  TRY(database.execute("BEGIN IMMEDIATE"));
  Result<int64_t> kept = insert_acts(database, records);
  if (!kept.ok() && database.in_transaction()) (void)database.execute("ROLLBACK").ok();
  return kept;
}

Result<std::vector<MachineActRecord>> read_machine_acts(const std::string& path) {
  TRY_ASSIGN(Database database, Database::open(path, DatabaseAccess::kReadOnly));
  return read_machine_acts(database);
}

Result<std::vector<MachineActRecord>> read_machine_acts(Database& database) {
  std::vector<MachineActRecord> records;
  TRY_ASSIGN(const int version, schema_version(database));
  if (version < kMachineActsSince) return records;
  TRY_ASSIGN(Statement rows, database.prepare("SELECT at, machine, act, who, address, program, failed FROM machine_act ORDER BY "
                                              "at, machine, act"));
  for (;;) {
    TRY_ASSIGN(const bool row, rows.step());
    if (!row) return records;
    const auto act = act_named(rows.bytes(2));
    if (!act)
      return invalid("{}: damaged: machine_act of {}: '{}' is nothing that is done to a machine: restore it from a backup",
                     database.path(), rows.bytes(1), rows.bytes(2));
    records.push_back({.at = Instant::from_ns(rows.integer(0)),
                       .machine = std::string(rows.bytes(1)),
                       .act = *act,
                       .who = std::string(rows.bytes(3)),
                       .from = std::string(rows.bytes(4)),
                       .by = std::string(rows.bytes(5)),
                       .failed = std::string(rows.bytes(6))});
  }
}

}  // namespace stint
