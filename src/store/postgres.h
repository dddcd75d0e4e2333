// A connection to PostgreSQL, as the event log and the governance store beside it use one: values in binary form, and transactions
// that are one journey and hold only while this process drives the log.
//
// Who may write. The active daemon holds a session's advisory lock, which the server takes back when the connection dies. A
// daemon that was cut off and does not know it yet is kept out by the epoch: whoever takes the lock raises it, and every
// transaction begins by looking whether it is still its own; a row lock on it makes taker and writer wait for each other.
// Sources: PostgreSQL 15 documentation, 13.3.5 (advisory locks), 13.2.1 (read committed: a locked row is looked at again),
// 34.5 (pipeline mode: everything up to a synchronization point is one transaction).
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

/// Parameters of a statement: numbers, texts and bytes, all in PostgreSQL's binary form.
class PostgresValues {
 public:
  PostgresValues& number(int64_t value);
  PostgresValues& text(std::string_view value);
  PostgresValues& bytes(std::string_view value);
  /// Of a bigint.
  PostgresValues& null();

 private:
  friend class PostgresConnection;
  template <typename Send>
  auto send(Send&& send) const;
  PostgresValues& add(std::string value, Oid type);
  std::vector<std::string> values_;
  std::vector<bool> nulls_;
  std::vector<Oid> types_;
};

struct PostgresStatement {
  std::string sql;
  PostgresValues values = {};
};

/// An answer; columns are bigint, text or bytea.
class PostgresRows {
 public:
  explicit PostgresRows(PGresult* result) : result_(result) {}
  [[nodiscard]] int count() const { return PQntuples(result_.get()); }
  [[nodiscard]] bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) == 1; }
  [[nodiscard]] int64_t integer(int row, int column) const;
  [[nodiscard]] std::string_view bytes(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column), static_cast<size_t>(PQgetlength(result_.get(), row, column))};
  }
  [[nodiscard]] bool good() const;
  /// Of an error, such as PG_DIAG_SQLSTATE.
  [[nodiscard]] std::string_view field(int code) const;

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

/// For one thread at a time.
class PostgresConnection {
 public:
  /// Anew where there is one, which first gives up its locks. Tables are those of the schema `stint_log`; what is committed is on disk.
  Status connect(const std::string& url);
  void close() { connection_.reset(); }
  [[nodiscard]] bool connected() const { return connection_ && PQstatus(connection_.get()) == CONNECTION_OK; }
  /// Also notices when the server has ended an idle one.
  [[nodiscard]] bool alive() { return connected() && PQconsumeInput(connection_.get()) == 1 && connected(); }
  [[nodiscard]] bool idle() const { return connection_ && PQtransactionStatus(connection_.get()) == PQTRANS_IDLE; }

  /// Statements without parameters and answers.
  Status execute(const char* sql);
  Result<PostgresRows> query(const char* sql, const PostgresValues& values = {});

  /// What a failed statement means; none = what the server said.
  using Meaning = std::function<std::optional<Error>(const PostgresRows& failed)>;
  /// All of it, or nothing, and only while the log's epoch is this one.
  Status transaction(int64_t epoch, const std::vector<PostgresStatement>& statements, const Meaning& meaning = {});

 private:
  struct Close {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  Status collect(size_t statements, const Meaning& meaning);
  [[nodiscard]] Error lost() const;
  [[nodiscard]] std::string message() const;
  std::unique_ptr<PGconn, Close> connection_;
};

/// Advisory locks of the log: the active daemon's; and whoever makes tables holds this one meanwhile.
inline constexpr int64_t kPostgresLock = 0x5354'4c47;  // "STLG"
inline constexpr int64_t kPostgresTablesLock = kPostgresLock + 1;

}  // namespace stint
