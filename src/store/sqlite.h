// SQLite's C interface as values: a connection and its statements, errors as Result with a remedy.
//
// Source: https://www.sqlite.org/c3ref/intro.html and https://www.sqlite.org/rescode.html
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

struct sqlite3;
struct sqlite3_stmt;

namespace stint {

enum class DatabaseAccess { kReadOnly, kReadWrite, kCreate };

/// A prepared statement. Parameters count from 1, columns from 0, as in SQLite.
class Statement {
 public:
  Statement() = default;

  void bind(int index, int64_t value);
  /// The text is copied.
  void bind(int index, std::string_view text);
  /// The bytes are not copied: they must live until the statement is reset or bound anew.
  void bind_blob(int index, std::string_view bytes);
  void bind_null(int index);

  /// @return true when there is a row, false at the end; after an error the statement is reset.
  Result<bool> step();
  /// For statements without rows: runs to the end and resets.
  Status run();
  void reset();

  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] int64_t integer(int column) const;
  /// Text or blob; valid until the next step or reset.
  [[nodiscard]] std::string_view bytes(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A connection, for one thread at a time. Statements must not outlive it.
class Database {
 public:
  /// @param patience  how long a writer waits for another one before it gives up.
  /// @param vfs  SQLite's name of the file system to use; null = the usual one.
  /// @return kNotFound when the file is absent and access is not kCreate.
  static Result<Database> open(const std::string& path, DatabaseAccess access, Duration patience = Duration::seconds(10),
                               const char* vfs = nullptr);

  Result<Statement> prepare(std::string_view sql);
  /// One or more statements without parameters; rows are ignored.
  Status execute(const std::string& sql);
  /// The first column of the only row. @return error when there is none.
  Result<int64_t> integer(std::string_view sql);
  /// All of it as this connection sees it, while others may write, into a new file. Source: https://www.sqlite.org/backup.html
  Status copy_to(const std::string& path);
  [[nodiscard]] int64_t last_insert_id() const;
  [[nodiscard]] int64_t changed_rows() const;
  [[nodiscard]] bool in_transaction() const;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  Database(std::string path, sqlite3* connection) : path_(std::move(path)), connection_(connection) {}
  std::string path_;
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace stint
