#include "store/schema.h"

#include <array>
#include <filesystem>

#include "base/text.h"

namespace stint {
namespace {

// Changes that took effect. Never deleted; `undone_at` ends one.
constexpr const char* kAppliedChanges = R"sql(
CREATE TABLE applied_change (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,
  proposal TEXT NOT NULL,         -- JSON: stint-changes/1 with this one
  undo TEXT NOT NULL,             -- JSON: stint-undo/1
  applied_at INTEGER NOT NULL,
  undone_at INTEGER,
  cost INTEGER, cost_currency TEXT
) STRICT;
)sql";

// What a batch system keeps beside runs, and its partitions.
constexpr const char* kQueueRecords = R"sql(
CREATE TABLE queue_record (
  origin TEXT NOT NULL,
  run_id TEXT NOT NULL,
  restart INTEGER NOT NULL,
  queue TEXT NOT NULL,            -- Slurm's partition
  qos TEXT NOT NULL,
  reason TEXT NOT NULL,
  eligible INTEGER,
  PRIMARY KEY (origin, run_id, restart)
) STRICT, WITHOUT ROWID;
CREATE TABLE partition_node (
  queue TEXT NOT NULL,
  node TEXT NOT NULL,
  PRIMARY KEY (queue, node)
) STRICT, WITHOUT ROWID;
)sql";

// Times in which nodes were switched off and not paid for.
constexpr const char* kAbsences = R"sql(
CREATE TABLE node_absence (
  node TEXT NOT NULL,
  absent_from INTEGER NOT NULL,
  absent_until INTEGER NOT NULL,
  PRIMARY KEY (node, absent_from)
) STRICT, WITHOUT ROWID;
)sql";

// What nodes cost from when on, where that was not always the same.
constexpr const char* kNodeRates = R"sql(
CREATE TABLE node_rate (
  node TEXT NOT NULL,
  paid_from INTEGER NOT NULL,
  rate INTEGER NOT NULL, rate_currency TEXT NOT NULL,
  PRIMARY KEY (node, paid_from)
) STRICT, WITHOUT ROWID;
)sql";

// What was done to machines, by whom, as clouds' own audit logs say it. An act is told by all of it: a log that is read again adds nothing.
constexpr const char* kMachineActs = R"sql(
CREATE TABLE machine_act (
  at INTEGER NOT NULL,
  machine TEXT NOT NULL,
  act TEXT NOT NULL,              -- made, started, stopped, ended
  who TEXT NOT NULL,
  address TEXT NOT NULL,
  program TEXT NOT NULL,
  failed TEXT NOT NULL,           -- why the cloud did not do it
  PRIMARY KEY (at, machine, act, who, address, program, failed)
) STRICT, WITHOUT ROWID;
)sql";

// Which bills an import brought, and which import counts in its place. A bill is told by provider, account and begin of its period.
constexpr const char* kBillDeliveries = R"sql(
CREATE TABLE bill_delivery (
  import_id INTEGER NOT NULL REFERENCES import,
  provider TEXT NOT NULL,
  billing_account TEXT NOT NULL,
  billing_begin INTEGER NOT NULL,
  superseded_by INTEGER REFERENCES import,  -- NULL: it counts
  PRIMARY KEY (import_id, provider, billing_account, billing_begin)
) STRICT, WITHOUT ROWID;
INSERT INTO bill_delivery SELECT DISTINCT import_id, provider, billing_account, billing_begin, NULL FROM bill_line;
CREATE INDEX bill_line_import ON bill_line (import_id);
)sql";

// What each delivered bill charges for, from when until when, so that no question of that kind reads all lines. Compute by resource;
// all else together.
constexpr const char* kBillExtentTable = R"sql(
CREATE TABLE bill_extent (
  import_id INTEGER NOT NULL REFERENCES import,
  provider TEXT NOT NULL,
  billing_account TEXT NOT NULL,
  billing_begin INTEGER NOT NULL,
  purchase INTEGER NOT NULL,      -- 1: a purchase, which may cover years
  compute INTEGER NOT NULL,
  resource_id TEXT NOT NULL,
  resource_name TEXT NOT NULL,
  instance_type TEXT NOT NULL,    -- of usage
  charged_from INTEGER NOT NULL,
  charged_until INTEGER NOT NULL,
  PRIMARY KEY (import_id, provider, billing_account, billing_begin, purchase, compute, resource_id, resource_name, instance_type)
) STRICT, WITHOUT ROWID;
DROP INDEX bill_line_import;
CREATE INDEX bill_line_delivery ON bill_line (import_id, billing_begin);
)sql";

// Columns of bills that bill_line has no place for, of the lines first_line to last_line that have any: kept_columns.h.
constexpr const char* kBillSourceTable = R"sql(
CREATE TABLE bill_source (
  first_line INTEGER PRIMARY KEY, -- bill_line.id
  last_line INTEGER NOT NULL,
  import_id INTEGER NOT NULL REFERENCES import,
  bytes INTEGER NOT NULL,         -- unpacked
  texts BLOB NOT NULL
) STRICT;
CREATE INDEX bill_source_import ON bill_source (import_id);
)sql";

// Of one unit of `base`. By day first: a period is a range.
constexpr const char* kExchangeRateTable = R"sql(
CREATE TABLE exchange_rate (
  day INTEGER NOT NULL,
  base TEXT NOT NULL,
  price INTEGER NOT NULL, price_currency TEXT NOT NULL,
  import_id INTEGER NOT NULL REFERENCES import,
  PRIMARY KEY (day, base, price_currency)
) STRICT, WITHOUT ROWID;
)sql";

// What a run of Kubernetes belongs to, and its labels.
constexpr const char* kRunOwnerTable = R"sql(
CREATE TABLE run_owner (
  origin TEXT NOT NULL,
  run_id TEXT NOT NULL,
  restart INTEGER NOT NULL,
  owner_kind TEXT NOT NULL,
  labels TEXT NOT NULL,           -- JSON: [["key","value"]]
  PRIMARY KEY (origin, run_id, restart)
) STRICT, WITHOUT ROWID;
)sql";

// Instants and durations are nanoseconds, money is nano-units beside its currency, bytes are bytes. Where a
// value is not known, text is '', a count is 0 and everything else NULL, as in the model.
constexpr const char* kHistoryTables = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE import (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  source TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  imported_at INTEGER NOT NULL,
  accepted INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  duplicates INTEGER NOT NULL,
  rollup_days INTEGER NOT NULL,   -- rows this import added to rollup_day
  telemetry_begin INTEGER,        -- the hours it brought telemetry for
  telemetry_end INTEGER,
  UNIQUE (kind, fingerprint)
) STRICT;

-- The first thousand of each import; import.rejected counts all.
CREATE TABLE rejection (
  id INTEGER PRIMARY KEY,
  import_id INTEGER NOT NULL REFERENCES import,
  line INTEGER NOT NULL,
  reason TEXT NOT NULL
) STRICT;
CREATE INDEX rejection_import ON rejection (import_id);

CREATE TABLE node (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  resource_id TEXT NOT NULL,
  provider TEXT NOT NULL,
  region TEXT NOT NULL,
  zone TEXT NOT NULL,
  instance_type TEXT NOT NULL,
  market TEXT NOT NULL,
  gpu_model TEXT NOT NULL,
  gpu_count INTEGER NOT NULL,
  vcpus INTEGER NOT NULL,
  memory INTEGER NOT NULL,
  rate INTEGER, rate_currency TEXT,
  client TEXT NOT NULL, project TEXT NOT NULL, team TEXT NOT NULL, environment TEXT NOT NULL, workload TEXT NOT NULL,
  kind TEXT NOT NULL,
  checkpointable INTEGER,
  present_from INTEGER,
  present_until INTEGER
) STRICT;

-- gpu_index -1 with an empty uuid is the machine itself, or its only GPU where the source names none.
CREATE TABLE device (
  id INTEGER PRIMARY KEY,
  node_id INTEGER NOT NULL REFERENCES node,
  uuid TEXT NOT NULL,
  gpu_index INTEGER NOT NULL,
  model TEXT NOT NULL,
  mig_profile TEXT NOT NULL,
  mig_instance INTEGER NOT NULL,  -- -1 = the whole GPU
  UNIQUE (node_id, uuid, gpu_index, mig_instance)
) STRICT;

CREATE TABLE holder (
  id INTEGER PRIMARY KEY,
  ns TEXT NOT NULL, pod TEXT NOT NULL, container TEXT NOT NULL, job TEXT NOT NULL,
  process TEXT NOT NULL, user TEXT NOT NULL, account TEXT NOT NULL,
  UNIQUE (pod, ns, container, job, process, user, account)
) STRICT;
INSERT INTO holder VALUES (0, '', '', '', '', '', '', '');  -- the device itself

CREATE TABLE series (
  id INTEGER PRIMARY KEY,
  device_id INTEGER NOT NULL REFERENCES device,
  holder_id INTEGER NOT NULL REFERENCES holder,
  metric INTEGER NOT NULL,
  UNIQUE (device_id, holder_id, metric)
) STRICT;

CREATE TABLE rollup_day (
  key INTEGER PRIMARY KEY,
  series_id INTEGER GENERATED ALWAYS AS (key & 0xffffffff) VIRTUAL,
  day INTEGER GENERATED ALWAYS AS (key >> 32) VIRTUAL,  -- since 1970, UTC
  data BLOB NOT NULL
) STRICT;

CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  import_id INTEGER NOT NULL REFERENCES import,
  origin TEXT NOT NULL,           -- the kind of import: ids are unique within it
  run_id TEXT NOT NULL,
  restart INTEGER NOT NULL,
  name TEXT NOT NULL,
  ns TEXT NOT NULL, pod TEXT NOT NULL, container TEXT NOT NULL, job TEXT NOT NULL,
  process TEXT NOT NULL, user TEXT NOT NULL, account TEXT NOT NULL,
  client TEXT NOT NULL, project TEXT NOT NULL, team TEXT NOT NULL, environment TEXT NOT NULL, workload TEXT NOT NULL,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  submitted INTEGER,
  started INTEGER,
  ended INTEGER,
  time_limit INTEGER,
  gpus_requested INTEGER NOT NULL,
  share INTEGER, share_total INTEGER,
  cpus INTEGER NOT NULL,
  memory INTEGER NOT NULL,
  allocations TEXT NOT NULL,      -- JSON: [{"node":"n1","gpus":[0,1],"count":2}]
  checkpointable INTEGER,
  UNIQUE (origin, run_id, restart)
) STRICT;

CREATE TABLE bill_line (
  id INTEGER PRIMARY KEY,
  import_id INTEGER NOT NULL REFERENCES import,
  digest BLOB NOT NULL,           -- XXH3-128 of all that follows
  provider TEXT NOT NULL,
  billing_account TEXT NOT NULL,
  sub_account TEXT NOT NULL,
  service TEXT NOT NULL,
  service_category TEXT NOT NULL,
  description TEXT NOT NULL,
  region TEXT NOT NULL,
  zone TEXT NOT NULL,
  resource_id TEXT NOT NULL,
  resource_name TEXT NOT NULL,
  resource_type TEXT NOT NULL,
  instance_type TEXT NOT NULL,
  sku TEXT NOT NULL,
  invoice_id TEXT NOT NULL,
  category TEXT NOT NULL,
  spend TEXT NOT NULL,
  market TEXT NOT NULL,
  commitment_id TEXT NOT NULL,
  commitment_unused INTEGER NOT NULL,
  correction INTEGER NOT NULL,
  charge_begin INTEGER NOT NULL,
  charge_end INTEGER NOT NULL,
  billing_begin INTEGER NOT NULL,
  billing_end INTEGER NOT NULL,
  billed INTEGER NOT NULL, billed_currency TEXT NOT NULL,
  effective INTEGER NOT NULL, effective_currency TEXT NOT NULL,
  list INTEGER, list_currency TEXT,
  contracted INTEGER, contracted_currency TEXT,
  list_unit_price INTEGER, list_unit_price_currency TEXT,
  pricing_unit TEXT NOT NULL,
  quantity TEXT NOT NULL,
  tags TEXT NOT NULL              -- JSON: [["Key","value"]]
) STRICT;
CREATE INDEX bill_line_digest ON bill_line (digest);

CREATE TABLE price (
  id INTEGER PRIMARY KEY,
  import_id INTEGER NOT NULL REFERENCES import,
  provider TEXT NOT NULL,
  region TEXT NOT NULL,
  instance_type TEXT NOT NULL,
  market TEXT NOT NULL,
  term TEXT NOT NULL,
  payment TEXT NOT NULL,
  rate INTEGER NOT NULL, rate_currency TEXT NOT NULL,
  estimated INTEGER NOT NULL,
  source TEXT NOT NULL,
  as_of INTEGER NOT NULL,
  UNIQUE (provider, instance_type, region, market, term, payment)
) STRICT;

-- The first rule that matches wins: ascending id.
CREATE TABLE tenant_rule (
  id INTEGER PRIMARY KEY,
  import_id INTEGER NOT NULL REFERENCES import,
  pattern TEXT NOT NULL UNIQUE,
  client TEXT NOT NULL, project TEXT NOT NULL, team TEXT NOT NULL, environment TEXT NOT NULL, workload TEXT NOT NULL
) STRICT;
)sql";

/// One step from `from` to `from` + 1; steps are only ever added.
struct Migration {
  int from;
  const char* sql;
};
constexpr std::array<Migration, 10> kMigrations = {{{1, kAppliedChanges},
                                                    {2, kQueueRecords},
                                                    {3, kAbsences},
                                                    {4, kBillDeliveries},
                                                    {5, kExchangeRateTable},
                                                    {6, kBillExtentTable},
                                                    {7, kBillSourceTable},
                                                    {8, kRunOwnerTable},
                                                    {9, kNodeRates},
                                                    {10, kMachineActs}}};
static_assert(kMigrations.back().from + 1 == kSchemaVersion);

Status create_tables(Database& database) {
  // Both only take effect before the first table is made.
  TRY(database.execute("PRAGMA page_size = 16384; PRAGMA journal_mode = WAL"));
  TRY(database.execute("BEGIN IMMEDIATE"));
  // Another process may have made them while this one waited.
  TRY_ASSIGN(const int64_t tables, database.integer("SELECT count(*) FROM sqlite_schema"));
  if (tables > 0) return database.execute("ROLLBACK");
  TRY(database.execute(kHistoryTables));
  for (const Migration& step : kMigrations)
    TRY(database.execute(step.sql));
  TRY(database.execute(fmt::format("INSERT INTO meta VALUES ('schema_version', '{}'); PRAGMA application_id = {}; COMMIT",
                                   kSchemaVersion, kApplicationId)));
  return {};
}

/// Appears whole or not at all.
Status keep_copy(const std::string& path, int version) {
  const std::string copy = copy_before_upgrade(path, version);
  const std::string part = copy + ".part";
  std::error_code error;
  std::filesystem::remove(part, error);  // of an upgrade that was killed
  TRY_ASSIGN(Database reader, Database::open(path, DatabaseAccess::kReadOnly));
  const Status copied = reader.copy_to(part);
  if (copied.ok()) std::filesystem::rename(part, copy, error);
  if (copied.ok() && !error) return {};
  std::error_code ignored;
  std::filesystem::remove(part, ignored);
  return make_error(ErrorCode::kUnavailable, "{}: cannot be kept as {} before it is brought up to date: {}. It is as it was",
                    path, copy, copied.ok() ? error.message() : copied.error().message);
}

Status upgrade_from(Database& database, int version) {
  TRY(keep_copy(database.path(), version));
  for (const Migration& step : kMigrations)
    if (step.from >= version) TRY(database.execute(step.sql));
  if (version < kBillExtentsSince)
    TRY(database.execute(fmt::format("INSERT INTO bill_extent {} GROUP BY {}", kExtentsOfLines, kExtentKey)));
  return database.execute(fmt::format("UPDATE meta SET value = '{}' WHERE key = 'schema_version'; COMMIT", kSchemaVersion));
}

/// All steps are one transaction. Another process may be about the same: who comes second finds it done.
Status migrate(Database& database) {
  TRY(database.execute("BEGIN IMMEDIATE"));
  const Result<int> version = schema_version(database);
  Status done = version.ok() ? Status() : Status(version.error());
  if (version.ok() && *version < kSchemaVersion) done = upgrade_from(database, *version);
  if (database.in_transaction()) TRY(database.execute("ROLLBACK"));
  return done;
}

}  // namespace

Result<int> schema_version(Database& database) {
  TRY_ASSIGN(Statement statement, database.prepare("SELECT value FROM meta WHERE key = 'schema_version'"));
  TRY_ASSIGN(const bool row, statement.step());
  const auto version = row ? parse_int(statement.bytes(0)) : std::nullopt;
  if (!version || *version < 1 || *version > INT32_MAX)
    return invalid("{}: damaged: it does not say its schema version; restore it from a backup", database.path());
  return static_cast<int>(*version);
}

std::string copy_before_upgrade(const std::string& path, int version) { return fmt::format("{}.schema-{}", path, version); }

Status prepare_schema(Database& database, DatabaseAccess access) {
  TRY_ASSIGN(const int64_t tables, database.integer("SELECT count(*) FROM sqlite_schema"));
  if (tables == 0) {
    if (access != DatabaseAccess::kCreate)
      return invalid("{}: empty: `stint import … --history {}` fills it", database.path(), database.path());
    TRY(create_tables(database));
  }
  TRY_ASSIGN(const int64_t application, database.integer("PRAGMA application_id"));
  if (application != kApplicationId)
    return invalid("{}: a database of another program, not a History file: name another file", database.path());
  TRY_ASSIGN(const int version, schema_version(database));
  if (version > kSchemaVersion)
    return invalid("{}: written by a newer Stint (schema {}, this one knows up to {}): update Stint", database.path(), version,
                   kSchemaVersion);
  if (version < kSchemaVersion) {
    if (access != DatabaseAccess::kReadOnly) return migrate(database);
    if (version < kOldestReadable)
      return invalid("{}: written by an older Stint (schema {}): any import into it brings it up to date", database.path(),
                     version);
  }
  return {};
}

}  // namespace stint
