// What keeps a History bounded that the daemon writes into every few minutes.
#include "store/history_impl.h"
#include "store/schema.h"

namespace stint {
namespace {

constexpr int64_t kDayNs = int64_t{24} * 3600 * 1'000'000'000;

/// Runs `work` as one transaction.
template <typename Work>
Status transaction(Database& database, const Work& work) {
  TRY(database.execute("BEGIN IMMEDIATE"));
  Status done = work();
  if (done.ok()) done = database.execute("COMMIT");
  if (!done.ok() && database.in_transaction()) (void)database.execute("ROLLBACK").ok();
  return done;
}

Status run(Database& database, std::string_view sql, std::initializer_list<int64_t> values) {
  TRY_ASSIGN(Statement statement, database.prepare(sql));
  int index = 0;
  for (const int64_t value : values)
    statement.bind(++index, value);
  return statement.run();
}

/// Of one kind and day: the newest keeps the sums, the others go.
Status fold_day(Database& database, std::string_view kind, int64_t day, int64_t kept) {
  const std::string others =
      fmt::format("(SELECT id FROM import WHERE kind = ?2 AND imported_at / {} = ?3 AND id <> ?1)", kDayNs);
  const auto execute = [&](const std::string& sql) -> Status {
    TRY_ASSIGN(Statement statement, database.prepare(sql));
    statement.bind(1, kept);
    statement.bind(2, kind);
    statement.bind(3, day);
    return statement.run();
  };
  TRY(execute("UPDATE run SET import_id = ?1 WHERE import_id IN " + others));
  TRY(execute("UPDATE rejection SET import_id = ?1 WHERE import_id IN " + others));
  TRY(
      execute(fmt::format("UPDATE import SET (accepted, rejected, duplicates, rollup_days, telemetry_begin, telemetry_end) = "
                          "(SELECT sum(accepted), sum(rejected), sum(duplicates), sum(rollup_days), min(telemetry_begin), "
                          "max(telemetry_end) FROM import WHERE kind = ?2 AND imported_at / {} = ?3) WHERE id = ?1",
                          kDayNs)));
  return execute("DELETE FROM import WHERE id IN " + others);
}

/// Imports count the rows they added: those that are gone count no more, the oldest imports' first.
Status uncount_days(Database& database, int64_t gone) {
  while (gone > 0) {
    TRY_ASSIGN(Statement oldest, database.prepare("SELECT id, rollup_days FROM import WHERE rollup_days > 0 "
                                                  "ORDER BY telemetry_begin, id LIMIT 1"));
    TRY_ASSIGN(const bool row, oldest.step());
    if (!row) return {};
    const int64_t id = oldest.integer(0);
    const int64_t counted = std::min(gone, oldest.integer(1));
    oldest.reset();
    TRY(run(database, "UPDATE import SET rollup_days = rollup_days - ? WHERE id = ?", {counted, id}));
    gone -= counted;
  }
  return {};
}

}  // namespace

Status HistoryFile::fold_imports(std::string_view kind) {
  Database& database = impl_->database;
  return transaction(database, [&]() -> Status {
    TRY_ASSIGN(Statement days, database.prepare(fmt::format("SELECT imported_at / {0}, max(id) FROM import WHERE kind = ? "
                                                            "GROUP BY imported_at / {0} HAVING count(*) > 1",
                                                            kDayNs)));
    days.bind(1, kind);
    std::vector<std::pair<int64_t, int64_t>> found;
    for (;;) {
      TRY_ASSIGN(const bool row, days.step());
      if (!row) break;
      found.emplace_back(days.integer(0), days.integer(1));
    }
    days.reset();
    for (const auto& [day, kept] : found)
      TRY(fold_day(database, kind, day, kept));
    return {};
  });
}

Status HistoryFile::forget_before(std::string_view kind, Instant cutoff) {
  Database& database = impl_->database;
  const int64_t day = cutoff.hour_index() / 24;
  const int64_t day_ns = day * kDayNs;
  return transaction(database, [&]() -> Status {
    TRY(run(database, "DELETE FROM rollup_day WHERE key < ?", {rollup_key(day, 0)}));
    TRY(uncount_days(database, database.changed_rows()));
    TRY_ASSIGN(Statement runs, database.prepare("DELETE FROM run WHERE ended < ? AND origin = ?"));
    runs.bind(1, cutoff.ns());
    runs.bind(2, kind);
    TRY(runs.run());
    TRY(run(database, "DELETE FROM node_absence WHERE absent_until < ?", {day_ns}));
    // The last one before it holds at it.
    TRY(run(database,
            "DELETE FROM node_rate WHERE paid_from < (SELECT max(paid_from) FROM node_rate AS held WHERE held.node = "
            "node_rate.node AND held.paid_from <= ?)",
            {day_ns}));
    TRY(run(database, "UPDATE import SET telemetry_begin = NULL, telemetry_end = NULL WHERE telemetry_end <= ?", {day_ns}));
    TRY(run(database, "UPDATE import SET telemetry_begin = ?1 WHERE telemetry_begin < ?1", {day_ns}));
    TRY_ASSIGN(Statement imports, database.prepare("DELETE FROM rejection WHERE import_id IN (SELECT id FROM import "
                                                   "WHERE kind = ? AND imported_at < ?)"));
    imports.bind(1, kind);
    imports.bind(2, day_ns);
    TRY(imports.run());
    TRY_ASSIGN(imports, database.prepare("DELETE FROM import WHERE kind = ? AND imported_at < ? AND telemetry_end IS NULL AND "
                                         "rollup_days = 0 AND NOT EXISTS (SELECT 1 FROM run WHERE import_id = import.id)"));
    imports.bind(1, kind);
    imports.bind(2, day_ns);
    return imports.run();
  });
}

}  // namespace stint
