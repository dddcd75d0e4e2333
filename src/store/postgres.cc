#include "store/postgres.h"

#include <endian.h>

#include <array>
#include <cstring>
#include <optional>
#include <utility>

namespace stint {
namespace {

constexpr int kBinary = 1;
constexpr Oid kBytea = 17, kText = 25, kInt8 = 20;

}  // namespace

PostgresValues& PostgresValues::number(int64_t value) {
  uint64_t big = htobe64(static_cast<uint64_t>(value));
  return add(std::string(reinterpret_cast<const char*>(&big), sizeof big), kInt8);
}

PostgresValues& PostgresValues::text(std::string_view value) { return add(std::string(value), kText); }
PostgresValues& PostgresValues::bytes(std::string_view value) { return add(std::string(value), kBytea); }

PostgresValues& PostgresValues::null() {
  add({}, kInt8);
  nulls_.back() = true;
  return *this;
}

PostgresValues& PostgresValues::add(std::string value, Oid type) {
  values_.push_back(std::move(value));
  nulls_.push_back(false);
  types_.push_back(type);
  return *this;
}

template <typename Send>
auto PostgresValues::send(Send&& send) const {
  std::vector<const char*> values;
  std::vector<int> lengths, formats(values_.size(), kBinary);
  for (size_t i = 0; i < values_.size(); ++i) {
    values.push_back(nulls_[i] ? nullptr : values_[i].data());
    lengths.push_back(static_cast<int>(values_[i].size()));
  }
  return send(static_cast<int>(values.size()), types_.data(), values.data(), lengths.data(), formats.data());
}

int64_t PostgresRows::integer(int row, int column) const {
  uint64_t big = 0;
  std::memcpy(&big, PQgetvalue(result_.get(), row, column), sizeof big);
  return static_cast<int64_t>(be64toh(big));
}

bool PostgresRows::good() const {
  const ExecStatusType status = PQresultStatus(result_.get());
  return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK || status == PGRES_PIPELINE_SYNC;
}

std::string_view PostgresRows::field(int code) const {
  const char* text = PQresultErrorField(result_.get(), code);
  return text == nullptr ? "" : text;
}

Status PostgresConnection::connect(const std::string& url) {
  connection_.reset();  // with its lock, if it has one
  const std::array<const char*, 5> keys = {"dbname", "connect_timeout", "tcp_user_timeout", "fallback_application_name", nullptr};
  const std::array<const char*, 5> values = {url.c_str(), "3", "5000", "stint", nullptr};
  connection_.reset(PQconnectdbParams(keys.data(), values.data(), 1));
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    const Error error = lost();
    connection_.reset();
    return error;
  }
  // The lock of a machine that has lost its power or its network is given back within seconds, not hours.
  return execute(
      "SET client_min_messages TO warning; SET search_path TO stint_log; SET synchronous_commit TO on; "
      "SET tcp_keepalives_idle TO 5; SET tcp_keepalives_interval TO 2; SET tcp_keepalives_count TO 3");
}

Status PostgresConnection::execute(const char* sql) {
  if (!connection_) return lost();
  const PostgresRows done(PQexec(connection_.get(), sql));
  return done.good() ? Status() : Status(lost());
}

Result<PostgresRows> PostgresConnection::query(const char* sql, const PostgresValues& values) {
  if (!connection_) return lost();
  PostgresRows rows(
      values.send([&](int count, const Oid* types, const char* const* data, const int* lengths, const int* formats) {
        return PQexecParams(connection_.get(), sql, count, types, data, lengths, formats, kBinary);
      }));
  if (!rows.good()) return lost();
  return rows;
}

Status PostgresConnection::transaction(int64_t epoch, const std::vector<PostgresStatement>& statements, const Meaning& meaning) {
  if (!connection_) return lost();
  PGconn* to = connection_.get();
  if (PQenterPipelineMode(to) == 0) return lost();
  const auto send = [&](const char* sql, const PostgresValues& all) {
    return all.send([&](int count, const Oid* types, const char* const* values, const int* lengths, const int* formats) {
      return PQsendQueryParams(to, sql, count, types, values, lengths, formats, kBinary);
    });
  };
  // Fails, and everything behind it, when somebody else's epoch has begun.
  bool sent = send("WITH held AS (SELECT 1 FROM about WHERE epoch = $1 FOR SHARE) SELECT 1 / (SELECT count(*) FROM held)",
                   PostgresValues().number(epoch)) == 1;
  for (const PostgresStatement& statement : statements)
    sent = sent && send(statement.sql.c_str(), statement.values) == 1;
  sent = sent && PQpipelineSync(to) == 1;
  const Status done = sent ? collect(statements.size() + 1, meaning) : Status(lost());
  if (PQexitPipelineMode(to) == 0 && done.ok()) return lost();
  return done;
}

Status PostgresConnection::collect(size_t statements, const Meaning& meaning) {
  PGconn* from = connection_.get();
  Status first;
  for (size_t i = 0; i <= statements; ++i) {  // the last is the synchronization point
    PGresult* raw = PQgetResult(from);
    if (raw == nullptr) return lost();
    const PostgresRows rows(raw);
    if (!rows.good() && first.ok()) {
      const std::string_view code = rows.field(PG_DIAG_SQLSTATE);
      std::optional<Error> meant = meaning ? meaning(rows) : std::nullopt;
      if (code == "22012")
        first = make_error(ErrorCode::kUnavailable, "PostgreSQL: another daemon has taken over this log");
      else if (meant)
        first = std::move(*meant);
      else
        first = make_error(ErrorCode::kUnavailable, "PostgreSQL: {}",
                           code.empty() ? message() : std::string(rows.field(PG_DIAG_MESSAGE_PRIMARY)));
    }
    if (PQresultStatus(raw) == PGRES_PIPELINE_SYNC) break;
    if (i < statements && PQgetResult(from) != nullptr) return lost();  // the end of this statement's answer
  }
  return first;
}

Error PostgresConnection::lost() const { return make_error(ErrorCode::kUnavailable, "PostgreSQL: {}", message()); }

std::string PostgresConnection::message() const {
  std::string text = connection_ ? PQerrorMessage(connection_.get()) : "not connected";
  while (!text.empty() && text.back() == '\n')
    text.pop_back();
  return text;
}

}  // namespace stint
