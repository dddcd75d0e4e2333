#include "store/sqlite.h"

#include <sqlite3.h>

#include <filesystem>

namespace stint {
namespace {

/// What the last call on `connection` complained about, in words a user can act on.
Error last_error(sqlite3* connection, std::string_view path) {
  const int extended = sqlite3_extended_errcode(connection);
  const char* detail = sqlite3_errmsg(connection);
  switch (extended & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return make_error(ErrorCode::kConflict, "{}: another process is writing to it: wait until it is done, then repeat", path);
    case SQLITE_FULL:
      return make_error(ErrorCode::kUnavailable,
                        "{}: the disk is full: free some space; nothing of this write is stored, everything before is", path);
    case SQLITE_READONLY:
      return make_error(ErrorCode::kUnavailable, "{}: not writable: check the permissions of the file and its folder ({})", path,
                        detail);
    case SQLITE_CANTOPEN:
      return make_error(ErrorCode::kUnavailable, "{}: cannot be opened: check the path and the permissions of its folder ({})",
                        path, detail);
    case SQLITE_NOTADB:
      return invalid("{}: no database: name a History file that `stint import` wrote, or a daemon's events.db", path);
    case SQLITE_CORRUPT:
      return invalid("{}: damaged ({}): restore it from a backup, or import the sources into a new file if it is a History", path,
                     detail);
    case SQLITE_IOERR:
      return make_error(ErrorCode::kUnavailable,
                        "{}: input/output error ({}; code {}): check the disk and its quota; nothing of this write is stored, "
                        "everything before is",
                        path, detail, extended);
    case SQLITE_CONSTRAINT: return make_error(ErrorCode::kConflict, "{}: contradicts what is stored ({})", path, detail);
    case SQLITE_NOMEM: return make_error(ErrorCode::kUnavailable, "{}: out of memory", path);
    default: return make_error(ErrorCode::kInternal, "{}: SQLite says: {} (code {})", path, detail, extended);
  }
}

/// After a failed read: whether a lock file beside the database could not be made. A file that is itself not writable says "read-only".
bool lacks_lock_file(sqlite3* connection) {
  const int error = sqlite3_errcode(connection) & 0xff;
  return error == SQLITE_CANTOPEN || error == SQLITE_READONLY;
}

Error statement_error(sqlite3_stmt* statement) {
  sqlite3* connection = sqlite3_db_handle(statement);
  const char* path = sqlite3_db_filename(connection, "main");
  return last_error(connection, path == nullptr ? "" : path);
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }

void Statement::bind(int index, int64_t value) { sqlite3_bind_int64(statement_.get(), index, value); }

void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL: an empty view may hold one.
  sqlite3_bind_text64(statement_.get(), index, text.empty() ? "" : text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void Statement::bind_blob(int index, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), index, bytes.data(), bytes.size(), SQLITE_STATIC);
}

void Statement::bind_null(int index) { sqlite3_bind_null(statement_.get(), index); }

Result<bool> Statement::step() {
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW: return true;
    case SQLITE_DONE: return false;
    default: {
      Error error = statement_error(statement_.get());
      reset();
      return error;
    }
  }
}

Status Statement::run() {
  for (;;) {
    TRY_ASSIGN(const bool row, step());
    if (!row) break;
  }
  reset();
  return {};
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

bool Statement::is_null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr ? std::string_view() : std::string_view(static_cast<const char*>(data), static_cast<size_t>(size));
}

Result<Database> Database::open(const std::string& path, DatabaseAccess access, Duration patience, const char* vfs) {
  std::error_code ignored;
  if (access != DatabaseAccess::kCreate && !std::filesystem::exists(path, ignored))
    return make_error(ErrorCode::kNotFound, "{}: no such file: `stint import … --history {}` makes it", path, path);
  if (std::filesystem::is_directory(path, ignored)) return invalid("{}: is a folder: name a file", path);

  int flags = SQLITE_OPEN_EXRESCODE;
  switch (access) {
    case DatabaseAccess::kReadOnly: flags |= SQLITE_OPEN_READONLY; break;
    case DatabaseAccess::kReadWrite: flags |= SQLITE_OPEN_READWRITE; break;
    case DatabaseAccess::kCreate: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE; break;
  }
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, vfs);
  Database database(path, raw);  // closes also after a failure
  if (code != SQLITE_OK) return last_error(raw, path);
  sqlite3_busy_timeout(raw, static_cast<int>(patience.count_ns() / 1'000'000));

  // In WAL mode even a reader keeps a lock file beside the database. Where the folder is not writable and no
  // log is waiting there, the file cannot change under us, and may be read as it lies.
  if (access == DatabaseAccess::kReadOnly &&
      sqlite3_exec(raw, "SELECT 1 FROM sqlite_schema", nullptr, nullptr, nullptr) != SQLITE_OK && lacks_lock_file(raw) &&
      !std::filesystem::exists(path + "-wal", ignored)) {
    std::string uri = "file:";
    for (const char c : std::filesystem::absolute(path, ignored).string())
      uri += c == '?' || c == '#' || c == '%' ? fmt::format("%{:02x}", static_cast<unsigned char>(c)) : std::string(1, c);
    uri += "?immutable=1";
    sqlite3* still = nullptr;
    const int again = sqlite3_open_v2(uri.c_str(), &still, flags | SQLITE_OPEN_URI, nullptr);
    Database unchanging(path, still);
    if (again != SQLITE_OK) return last_error(still, path);
    return unchanging;
  }
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &raw, nullptr) !=
      SQLITE_OK)
    return last_error(connection_.get(), path_);
  return Statement(raw);
}

Status Database::execute(const std::string& sql) {
  if (sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return last_error(connection_.get(), path_);
  return {};
}

Result<int64_t> Database::integer(std::string_view sql) {
  TRY_ASSIGN(Statement statement, prepare(sql));
  TRY_ASSIGN(const bool row, statement.step());
  if (!row) return make_error(ErrorCode::kNotFound, "{}: no row for: {}", path_, sql);
  return statement.integer(0);
}

Status Database::copy_to(const std::string& path) {
  TRY_ASSIGN(const Database copy, Database::open(path, DatabaseAccess::kCreate));
  sqlite3_backup* backup = sqlite3_backup_init(copy.connection_.get(), "main", connection_.get(), "main");
  if (backup == nullptr) return last_error(copy.connection_.get(), path);
  (void)sqlite3_backup_step(backup, -1);  // finish tells the same error
  if (sqlite3_backup_finish(backup) != SQLITE_OK) return last_error(copy.connection_.get(), path);
  return {};
}

int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(connection_.get()); }
int64_t Database::changed_rows() const { return sqlite3_changes64(connection_.get()); }
bool Database::in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

}  // namespace stint
