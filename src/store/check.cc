// Is the file sound? SQLite's own checks, then ours: every reference, every rollup, every count.
#include "store/history_impl.h"
#include "store/kept_columns.h"
#include "store/machine_acts.h"
#include "store/schema.h"

namespace stint {
namespace {

/// Problems listed of one sort; a damaged file can have millions.
constexpr size_t kMostOfOneSort = 20;

/// Adds what the statement's first column says, row by row.
Status collect(Database& database, std::string_view sql, std::vector<std::string>& problems) {
  TRY_ASSIGN(Statement statement, database.prepare(sql));
  for (size_t n = 0;; ++n) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) return {};
    if (n == kMostOfOneSort) {
      problems.emplace_back("… and more of the same sort");
      return {};
    }
    problems.emplace_back(statement.bytes(0));
  }
}

Status check_rollups(Database& database, std::vector<std::string>& problems) {
  TRY_ASSIGN(Statement statement, database.prepare("SELECT key, data FROM rollup_day"));
  for (size_t damaged = 0;;) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) return {};
    const int64_t key = statement.integer(0);
    const auto day = decode_rollup_day(day_of_rollup_key(key), statement.bytes(1));
    if (day.ok()) continue;
    problems.push_back(fmt::format("series {}: {}", series_of_rollup_key(key), day.error().message));
    if (++damaged == kMostOfOneSort) {
      problems.emplace_back("… and more of the same sort");
      return {};
    }
  }
}

/// Reading is the check: a value that cannot be what its column says is an error.
template <typename T>
Status check_rows(Database& database, std::vector<std::string>& problems) {
  TRY_ASSIGN(Statement statement, database.prepare(fmt::format("SELECT {} FROM {}", column_list<T>(), RowFields<T>::table)));
  for (;;) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) return {};
    if (const auto value = read_row<T>(statement, 0, database.path()); !value.ok()) {
      problems.push_back(value.error().message);
      return {};
    }
  }
}

constexpr std::string_view kOwnChecks[] = {
    "SELECT DISTINCT 'rollup days of series ' || series_id || ', which does not exist' FROM rollup_day "
    "WHERE series_id NOT IN (SELECT id FROM series)",
    "SELECT 'rollup days: ' || (SELECT count(*) FROM rollup_day) || ' stored, ' || sum(rollup_days) || ' imported' FROM import "
    "HAVING coalesce(sum(rollup_days), 0) <> (SELECT count(*) FROM rollup_day)",
    "SELECT 'import ' || id || ' (' || source || '): ' || rejected || ' rejected, but ' || "
    "(SELECT count(*) FROM rejection WHERE import_id = import.id) || ' reasons kept' FROM import "
    "WHERE (SELECT count(*) FROM rejection WHERE import_id = import.id) > min(rejected, 1000)",
    "SELECT 'import ' || id || ' (' || source || '): ' || accepted || ' accepted, but more bill lines stored' FROM import "
    "WHERE (SELECT count(*) FROM bill_line WHERE import_id = import.id) > accepted",
    "SELECT 'series ' || id || ' has metric ' || metric || ', which is not known' FROM series WHERE metric NOT BETWEEN 0 AND 24",
    "SELECT 'bill line ' || id || ' ends before it begins' FROM bill_line WHERE charge_end < charge_begin",
};
static_assert(kMetricCount == 25, "the check above knows the metrics 0 … 24");

}  // namespace

Result<std::vector<std::string>> HistoryFile::check() {
  Database& database = impl_->database;
  std::vector<std::string> problems;
  TRY(collect(database, "SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'", problems));
  TRY(collect(database,
              "SELECT DISTINCT \"table\" || ' row ' || rowid || ' refers to a row of ' || parent || ' that does not exist' "
              "FROM pragma_foreign_key_check",
              problems));
  for (const std::string_view sql : kOwnChecks)
    TRY(collect(database, sql, problems));
  TRY(check_rows<Node>(database, problems));
  TRY(check_rows<Holder>(database, problems));
  TRY(check_rows<Run>(database, problems));
  TRY_ASSIGN(const int version, schema_version(database));
  if (version >= kRunOwnersSince) TRY(check_rows<RunOwner>(database, problems));
  if (version >= kQueueRecordsSince) {
    TRY(check_rows<QueueRecord>(database, problems));
    TRY(check_rows<PartitionNode>(database, problems));
  }
  if (version >= kBillDeliveriesSince)
    TRY(collect(
        database,
        "SELECT DISTINCT 'import ' || l.import_id || ': bill lines that no delivery tells of' FROM bill_line l WHERE NOT EXISTS "
        "(SELECT 1 FROM bill_delivery d WHERE d.import_id = l.import_id AND d.provider = l.provider AND d.billing_account = "
        "l.billing_account AND d.billing_begin = l.billing_begin)",
        problems));
  if (version >= kBillExtentsSince) {
    const std::string lines = fmt::format("{} GROUP BY {}", kExtentsOfLines, kExtentKey);
    TRY(collect(
        database,
        fmt::format("SELECT DISTINCT 'import ' || import_id || ': what is kept of the times that its bill charges for is not "
                    "what its lines say' FROM (SELECT * FROM (SELECT * FROM bill_extent EXCEPT {0}) UNION SELECT * FROM ({0} "
                    "EXCEPT SELECT * FROM bill_extent))",
                    lines),
        problems));
  }
  if (version >= kBillSourcesSince) {
    TRY(collect(
        database,
        "SELECT 'columns are kept of bill lines ' || first_line || ' to ' || last_line || ', which are not of import ' || "
        "import_id FROM bill_source s WHERE NOT EXISTS (SELECT 1 FROM bill_line l WHERE l.id = s.first_line AND l.import_id "
        "= s.import_id) OR NOT EXISTS (SELECT 1 FROM bill_line l WHERE l.id = s.last_line AND l.import_id = s.import_id)",
        problems));
    if (const Status read = check_kept_columns(database); !read.ok()) problems.push_back(read.error().message);
  }
  if (version >= kAbsencesSince) TRY(check_rows<NodeAbsence>(database, problems));
  if (version >= kNodeRatesSince) TRY(check_rows<NodeRate>(database, problems));
  if (const auto acts = read_machine_acts(database); !acts.ok()) problems.push_back(acts.error().message);
  TRY(check_rows<BillLine>(database, problems));
  TRY(check_rows<PriceRow>(database, problems));
  if (version >= kExchangeRatesSince) TRY(check_rows<ExchangeRate>(database, problems));
  TRY(check_rows<TenantRule>(database, problems));
  TRY(check_rollups(database, problems));
  if (const auto changes = applied_changes(); !changes.ok()) problems.push_back(changes.error().message);
  return problems;
}

}  // namespace stint
