#include "store/history_file.h"

#include <algorithm>
#include <filesystem>

#include "store/history_impl.h"
#include "store/schema.h"

namespace stint {
namespace {

DatabaseAccess access_of(OpenMode mode) {
  switch (mode) {
    case OpenMode::kReadOnly: return DatabaseAccess::kReadOnly;
    case OpenMode::kReadWrite: return DatabaseAccess::kReadWrite;
    case OpenMode::kCreate: return DatabaseAccess::kCreate;
  }
  CHECK(false, "mode {}", static_cast<int>(mode));
}

}  // namespace

HistoryFile::HistoryFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HistoryFile::HistoryFile(HistoryFile&&) noexcept = default;
HistoryFile& HistoryFile::operator=(HistoryFile&&) noexcept = default;
HistoryFile::~HistoryFile() = default;

Result<HistoryFile> HistoryFile::open(const std::string& path, OpenMode mode, Duration patience) {
  TRY_ASSIGN(Database database, Database::open(path, access_of(mode), patience));
  TRY(prepare_schema(database, access_of(mode)));
  // 64 MiB of pages: an import of a large fleet comes back to the day it is writing. FULL: a commit that was
  // reported survives a power failure.
  TRY(database.execute(
      "PRAGMA cache_size = -65536; PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY"));
  return HistoryFile(std::make_unique<Impl>(Impl{std::move(database), mode}));
}

Result<std::unique_ptr<HistoryFile::Import>> HistoryFile::begin_import(std::string_view kind, std::string_view source,
                                                                       Instant now, DeliveryOptions delivery) {
  if (impl_->mode == OpenMode::kReadOnly)
    return make_error(ErrorCode::kConflict, "{}: opened for reading only", impl_->database.path());
  if (impl_->importing)
    return make_error(ErrorCode::kConflict, "{}: an import is in progress: commit or drop it first", impl_->database.path());
  return make_import(*impl_, kind, source, now, std::move(delivery));
}

Result<std::optional<ImportRecord>> HistoryFile::find_import(std::string_view kind, std::string_view fingerprint) {
  TRY_ASSIGN(Statement statement,
             impl_->database.prepare("SELECT source, imported_at, accepted, rejected, duplicates FROM import "
                                     "WHERE kind = ? AND fingerprint = ?"));
  statement.bind(1, kind);
  statement.bind(2, fingerprint);
  TRY_ASSIGN(const bool row, statement.step());
  if (!row) return std::optional<ImportRecord>();
  return std::optional(ImportRecord{.kind = std::string(kind),
                                    .source = std::string(statement.bytes(0)),
                                    .fingerprint = std::string(fingerprint),
                                    .imported_at = Instant::from_ns(statement.integer(1)),
                                    .accepted = static_cast<uint64_t>(statement.integer(2)),
                                    .rejected = static_cast<uint64_t>(statement.integer(3)),
                                    .duplicates = static_cast<uint64_t>(statement.integer(4))});
}

Result<std::optional<Currency>> HistoryFile::shown_currency() {
  Database& database = impl_->database;
  TRY_ASSIGN(Statement statement, database.prepare("SELECT value FROM meta WHERE key = 'currency'"));
  TRY_ASSIGN(const bool row, statement.step());
  if (!row) return std::optional<Currency>();
  const auto currency = Currency::parse(statement.bytes(0));
  if (!currency) return invalid("{}: damaged: amounts are to be shown in {}", database.path(), currency.error().message);
  return std::optional(*currency);
}

Result<std::vector<Currency>> HistoryFile::billed_currencies() {
  Database& database = impl_->database;
  TRY_ASSIGN(const int version, schema_version(database));
  std::vector<Currency> out;
  if (version < kBillExtentsSince) return out;
  // By the index of deliveries: no question of all lines.
  TRY_ASSIGN(Statement statement,
             database.prepare("SELECT DISTINCT (SELECT billed_currency FROM bill_line l WHERE l.import_id = d.import_id AND "
                              "l.billing_begin = d.billing_begin AND l.billed <> 0 LIMIT 1) FROM bill_delivery d WHERE "
                              "d.superseded_by IS NULL"));
  for (;;) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) break;
    if (const auto currency = Currency::parse(statement.bytes(0)); !statement.is_null(0) && currency.ok())
      out.push_back(*currency);
  }
  std::ranges::sort(out);
  return out;
}

Status HistoryFile::show_in(Currency currency) {
  Database& database = impl_->database;
  TRY_ASSIGN(Statement statement,
             database.prepare("INSERT INTO meta VALUES ('currency', ?) ON CONFLICT (key) DO UPDATE SET value "
                              "= excluded.value"));
  statement.bind(1, currency.code());
  return statement.run();
}

Result<HistoryInfo> HistoryFile::info() {
  Database& database = impl_->database;
  HistoryInfo info;
  TRY_ASSIGN(info.schema_version, schema_version(database));
  TRY_ASSIGN(info.telemetry, interval_of(database, "SELECT min(telemetry_begin), max(telemetry_end) FROM import"));
  TRY_ASSIGN(const std::string counted, lines_that_count(database));
  TRY_ASSIGN(const std::string extents, bill_extents(database));
  TRY_ASSIGN(const std::string counted_extents, lines_that_count(database, "bill_extent"));
  TRY_ASSIGN(info.billed, interval_of(database, fmt::format("SELECT min(charged_from), max(charged_until) FROM {} WHERE true{}",
                                                            extents, counted_extents)));
  struct Count {
    uint64_t& to;
    std::string sql;
  };
  const Count counts[] = {
      {info.nodes, "SELECT count(*) FROM node"},
      {info.devices, "SELECT count(*) FROM device"},
      {info.series, "SELECT count(*) FROM series"},
      {info.rollup_days, "SELECT coalesce(sum(rollup_days), 0) FROM import"},  // counting the rows would read the whole file
      {info.runs, "SELECT count(*) FROM run"},
      {info.bill_lines, "SELECT count(*) FROM bill_line WHERE true" + counted},
      {info.prices, "SELECT count(*) FROM price"},
      {info.exchange_rates, info.schema_version < kExchangeRatesSince ? "SELECT 0" : "SELECT count(*) FROM exchange_rate"},
      {info.imports, "SELECT count(*) FROM import"},
      {info.rejected, "SELECT coalesce(sum(rejected), 0) FROM import"},
  };
  for (const Count& count : counts) {
    TRY_ASSIGN(const int64_t n, database.integer(count.sql));
    count.to = static_cast<uint64_t>(n);
  }
  std::error_code error;
  const auto size = std::filesystem::file_size(database.path(), error);
  info.file_bytes = error ? 0 : static_cast<int64_t>(size);
  return info;
}

}  // namespace stint
