// What the parts of HistoryFile share: opening (history_file.cc), importing (import.cc), loading (load.cc)
// and checking (check.cc).
#pragma once

#include <fmt/ranges.h>

#include "store/columns.h"
#include "store/history_file.h"
#include "store/rows.h"
#include "store/sqlite.h"

namespace stint {

struct HistoryFile::Impl {
  Database database;
  OpenMode mode;
  bool importing = false;
};

/// How many rejections of one import are kept with their reasons; all are counted.
inline constexpr uint64_t kRejectionsKept = 1000;

/// The columns of a row, comma separated.
template <typename T>
std::string column_list() {
  NameColumns names;
  const T row{};
  RowFields<T>::visit(names, row);
  return fmt::format("{}", fmt::join(names.names, ", "));
}

/// Reads the row the statement stands on. @param first  column of its first field.
template <typename T>
Result<T> read_row(const Statement& statement, int first, const std::string& path) {
  T row;
  ReadColumns read{statement, first};
  RowFields<T>::visit(read, row);
  if (read.damaged)
    return invalid("{}: damaged: {}.{} holds what cannot be there: restore it from a backup or import into a new file", path,
                   RowFields<T>::table, *read.damaged);
  return row;
}

/// All rows of `sql`, whose first columns are those of T. @param bound  its two parameters; empty = it has none.
template <typename T>
Result<std::vector<T>> read_rows(Database& database, const std::string& sql, Interval bound = {}) {
  TRY_ASSIGN(Statement statement, database.prepare(sql));
  if (!bound.empty()) {
    statement.bind(1, bound.begin.ns());
    statement.bind(2, bound.end.ns());
  }
  std::vector<T> rows;
  for (;;) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) return rows;
    TRY_ASSIGN(T value, read_row<T>(statement, 0, database.path()));
    rows.push_back(std::move(value));
  }
}

/// [begin, end) from the first two columns of the only row; empty where they are NULL.
inline Result<Interval> interval_of(Database& database, std::string_view sql) {
  TRY_ASSIGN(Statement statement, database.prepare(sql));
  TRY_ASSIGN(const bool row, statement.step());
  if (!row || statement.is_null(0) || statement.is_null(1)) return Interval{};
  return Interval{Instant::from_ns(statement.integer(0)), Instant::from_ns(statement.integer(1))};
}

/// Begins the transaction.
Result<std::unique_ptr<HistoryFile::Import>> make_import(HistoryFile::Impl& impl, std::string_view kind, std::string_view source,
                                                         Instant now, DeliveryOptions delivery);

}  // namespace stint
