// The changes a History says took effect: what was promised, since when, until when, and how to take it back.
#include "codec/changes/change_file.h"
#include "codec/changes/change_json.h"
#include "store/history_impl.h"
#include "store/schema.h"

namespace stint {
namespace {

Result<AppliedChange> read_applied(const Statement& row, const std::string& path) {
  const auto damaged = [&](const std::string& why) {
    return invalid("{}: damaged: applied_change {}: {}: restore it from a backup", path, row.integer(0), why);
  };
  AppliedChange change{.number = row.integer(0),
                       .proposal = {},
                       .source = std::string(row.bytes(1)),
                       .applied_at = Instant::from_ns(row.integer(4)),
                       .undone_at = {},
                       .undo = {},
                       .cost = {}};
  auto proposals = read_proposals(row.bytes(2), "proposal");
  if (!proposals.ok()) return damaged(proposals.error().message);
  if (proposals->size() != 1) return damaged("it holds several proposals");
  change.proposal = std::move(proposals->front());
  auto undo = read_undo(row.bytes(3), "undo");
  if (!undo.ok()) return damaged(undo.error().message);
  change.undo = std::move(*undo);
  if (!row.is_null(5)) change.undone_at = Instant::from_ns(row.integer(5));
  const auto cost = Column<std::optional<Money>>::read(row, 6);
  if (!cost) return damaged("its cost has no currency");
  change.cost = *cost;
  return change;
}

Status must_be_writable(const HistoryFile::Impl& impl) {
  if (impl.mode == OpenMode::kReadOnly)
    return make_error(ErrorCode::kConflict, "{}: opened for reading only", impl.database.path());
  return {};
}

}  // namespace

Result<std::vector<AppliedChange>> HistoryFile::applied_changes() {
  Database& database = impl_->database;
  std::vector<AppliedChange> changes;
  TRY_ASSIGN(const int version, schema_version(database));
  if (version < 2) return changes;  // the table came with 2
  TRY_ASSIGN(Statement rows, database.prepare("SELECT number, source, proposal, undo, applied_at, undone_at, cost, cost_currency "
                                              "FROM applied_change ORDER BY number"));
  for (;;) {
    TRY_ASSIGN(const bool row, rows.step());
    if (!row) return changes;
    TRY_ASSIGN(AppliedChange change, read_applied(rows, database.path()));
    changes.push_back(std::move(change));
  }
}

Result<int64_t> HistoryFile::record_change(const AppliedChange& change) {
  TRY(must_be_writable(*impl_));
  Database& database = impl_->database;
  TRY_ASSIGN(Statement insert,
             database.prepare("INSERT INTO applied_change (source, proposal, undo, applied_at, undone_at, cost, cost_currency) "
                              "VALUES (?, ?, ?, ?, ?, ?, ?)"));
  insert.bind(1, change.source);
  insert.bind(2, write_proposals(std::span(&change.proposal, 1)));
  insert.bind(3, write_undo(change.undo));
  Column<Instant>::bind(insert, 4, change.applied_at);
  Column<std::optional<Instant>>::bind(insert, 5, change.undone_at);
  Column<std::optional<Money>>::bind(insert, 6, change.cost);
  TRY(insert.run());
  return database.last_insert_id();
}

Status HistoryFile::record_undo(int64_t number, Instant at) {
  TRY(must_be_writable(*impl_));
  Database& database = impl_->database;
  TRY_ASSIGN(Statement update, database.prepare("UPDATE applied_change SET undone_at = ?2 "
                                                "WHERE number = ?1 AND undone_at IS NULL AND applied_at <= ?2"));
  update.bind(1, number);
  update.bind(2, at.ns());
  TRY(update.run());
  if (database.changed_rows() == 1) return {};
  return make_error(ErrorCode::kConflict,
                    "change {} cannot be undone at {}: there is none of that number, it was undone already, or it was applied "
                    "later; `stint change list` shows them",
                    number, format_utc(at));
}

}  // namespace stint
