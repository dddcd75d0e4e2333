#include "store/govern_postgres.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/counted.h"
#include "store/govern_file.h"
#include "store/govern_rows.h"

namespace stint {
namespace {

constexpr int64_t kGovernTablesVersion = 1;
/// A daemon of this version of the log's tables looks for users and tokens here; an older one would go by its own file.
constexpr int64_t kLogVersion = 2;

// Bytes, not texts: a text holds no NUL and nothing that the database's encoding has not, and one such name would keep everybody's
// records of its transaction from being written.
constexpr const char* kGovernPostgresTables = R"(
CREATE TABLE IF NOT EXISTS govern_about(version bigint NOT NULL, taken_from bytea NOT NULL, audit_head bytea NOT NULL);
CREATE TABLE IF NOT EXISTS govern_user(name bytea PRIMARY KEY, grants bytea NOT NULL, disabled bigint NOT NULL,
                                       created_ns bigint NOT NULL);
CREATE TABLE IF NOT EXISTS govern_client(name bytea PRIMARY KEY, disabled bigint NOT NULL, mandatory_tags bytea NOT NULL,
                                         created_ns bigint NOT NULL);
CREATE TABLE IF NOT EXISTS govern_token(id bytea PRIMARY KEY, hash bytea NOT NULL UNIQUE,
                                        user_name bytea NOT NULL REFERENCES govern_user(name), scopes bytea NOT NULL,
                                        note bytea NOT NULL, created_ns bigint NOT NULL, expires_ns bigint NOT NULL,
                                        revoked_ns bigint);
CREATE TABLE IF NOT EXISTS govern_second_factor(user_name bytea PRIMARY KEY REFERENCES govern_user(name), secret bytea NOT NULL,
                                                confirmed bigint NOT NULL, used_step bigint NOT NULL, failures bigint NOT NULL,
                                                locked_until_ns bigint, recovery bytea NOT NULL, created_ns bigint NOT NULL);
CREATE TABLE IF NOT EXISTS govern_audit(sequence bigint PRIMARY KEY, client bytea NOT NULL, record bytea NOT NULL,
                                        hash bytea NOT NULL);
CREATE INDEX IF NOT EXISTS govern_audit_of_client ON govern_audit(client, sequence);
)";

AuditRow audit_row(const PostgresRows& rows, int i) {
  return {rows.integer(i, 0), std::string(rows.bytes(i, 1)), std::string(rows.bytes(i, 2)), std::string(rows.bytes(i, 3))};
}

Result<Token> token_of(const PostgresRows& rows, int i) {
  Token token{.id = std::string(rows.bytes(i, 0)),
              .hash = std::string(rows.bytes(i, 1)),
              .user = std::string(rows.bytes(i, 2)),
              .note = std::string(rows.bytes(i, 4)),
              .created = Instant::from_ns(rows.integer(i, 5)),
              .expires = Instant::from_ns(rows.integer(i, 6))};
  TRY_ASSIGN(token.scopes, parse_scopes(rows.bytes(i, 3)));
  if (!rows.is_null(i, 7)) token.revoked = Instant::from_ns(rows.integer(i, 7));
  return token;
}

SecondFactor factor_of(const PostgresRows& rows, int i) {
  SecondFactor factor{.user = std::string(rows.bytes(i, 0)),
                      .confirmed = rows.integer(i, 2) != 0,
                      .used_step = static_cast<uint64_t>(rows.integer(i, 3)),
                      .failures = static_cast<int>(rows.integer(i, 4)),
                      .recovery = parted(rows.bytes(i, 6)),
                      .created = Instant::from_ns(rows.integer(i, 7))};
  if (!rows.is_null(i, 5)) factor.locked_until = Instant::from_ns(rows.integer(i, 5));
  return factor;
}

/// Of a file that is not there yet: `path`, else with a number.
std::string free_name(const std::string& path) {
  std::error_code error;
  std::string name = path;
  for (int number = 2; std::filesystem::exists(name, error); ++number)
    name = fmt::format("{}.{}", path, number);
  return name;
}

PostgresValues& number_or_null(PostgresValues& values, const std::optional<Instant>& at) {
  return at ? values.number(at->ns()) : values.null();
}

}  // namespace

Result<std::unique_ptr<GovernPostgres>> GovernPostgres::open(std::string url, std::shared_ptr<const std::atomic<int64_t>> epoch,
                                                             GovernSecrets secrets) {
  CHECK(epoch != nullptr, "a log in PostgreSQL has epochs");
  std::unique_ptr<GovernPostgres> opened(new GovernPostgres(std::move(url), std::move(epoch), std::move(secrets)));
  TRY(opened->reach());
  TRY(opened->make_tables());
  return opened;
}

Result<std::unique_ptr<GovernPostgres>> GovernPostgres::open_to_read(std::string url) {
  std::unique_ptr<GovernPostgres> opened(new GovernPostgres(std::move(url), nullptr, {.key = std::nullopt, .untouched = true}));
  TRY(opened->reach());
  TRY(opened->connection_.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"));
  TRY_ASSIGN(const PostgresRows there, opened->query("SELECT (to_regclass('stint_log.govern_about') IS NOT NULL)::int::bigint"));
  if (there.integer(0, 0) == 0) return std::unique_ptr<GovernPostgres>();
  TRY_ASSIGN(const bool begun, opened->is_begun());
  return begun ? std::move(opened) : nullptr;
}

Status GovernPostgres::reach() { return connection_.alive() ? Status() : connection_.connect(url_); }

Result<PostgresRows> GovernPostgres::query(const char* sql, const PostgresValues& values) {
  if (log_epoch_) TRY(reach());
  return connection_.query(sql, values);
}

Status GovernPostgres::write(const std::vector<PostgresStatement>& statements) {
  CHECK(log_epoch_ != nullptr, "a store that was opened to read");
  TRY(reach());
  return connection_.transaction(epoch_, statements);
}

Status GovernPostgres::make_tables() {
  epoch_ = *log_epoch_;
  std::vector<PostgresStatement> all = {{"SELECT pg_advisory_xact_lock($1)", PostgresValues().number(kPostgresTablesLock)}};
  for (std::string_view left = kGovernPostgresTables; left.find(';') != std::string_view::npos;
       left.remove_prefix(left.find(';') + 1))
    all.push_back({std::string(left.substr(0, left.find(';')))});
  TRY(write(all));
  TRY_ASSIGN(const PostgresRows about, query("SELECT coalesce(max(version), 0) FROM govern_about"));
  if (about.integer(0, 0) > kGovernTablesVersion)
    return invalid("PostgreSQL: its users and tokens are of a newer Stint (version {}, this one knows {}): use that",
                   about.integer(0, 0), kGovernTablesVersion);
  return {};
}

Result<bool> GovernPostgres::is_begun() {
  TRY_ASSIGN(const PostgresRows about, query("SELECT count(*) FROM govern_about"));
  return about.integer(0, 0) > 0;
}

Status GovernPostgres::clear() {
  return write({{"DELETE FROM govern_second_factor"},
                {"DELETE FROM govern_token"},
                {"DELETE FROM govern_user"},
                {"DELETE FROM govern_client"},
                {"DELETE FROM govern_audit"}});
}

Status GovernPostgres::mark_begun(const std::string& from, const std::string& head) {
  return write(
      {{"INSERT INTO govern_about VALUES($1, $2, $3)", PostgresValues().number(kGovernTablesVersion).bytes(from).bytes(head)},
       {"UPDATE about SET version = greatest(version, $1)", PostgresValues().number(kLogVersion)}});
}

Result<GovernPostgres::Origin> GovernPostgres::origin() {
  TRY_ASSIGN(const PostgresRows about, query("SELECT taken_from, audit_head FROM govern_about LIMIT 1"));
  if (about.count() == 0) return Origin{};
  return Origin{std::string(about.bytes(0, 0)), std::string(about.bytes(0, 1))};
}

/// What lay there in the open leaves no trace in the table; what the server keeps elsewhere, such as its write-ahead log, goes in its time.
Status GovernPostgres::seal_all(const std::vector<SecondFactor>& factors) {
  TRY(begin());
  for (const SecondFactor& factor : factors)
    TRY(put(factor));
  TRY(commit());
  return connection_.execute("VACUUM FULL govern_second_factor");
}

Result<GovernState> GovernPostgres::load() {
  if (log_epoch_) epoch_ = *log_epoch_;  // before anything is read: who takes over afterwards is noticed
  GovernState state;
  TRY_ASSIGN(const PostgresRows users, query("SELECT name, grants, disabled, created_ns FROM govern_user ORDER BY name"));
  for (int i = 0; i < users.count(); ++i) {
    TRY_ASSIGN(User user, user_of(users.bytes(i, 0), users.bytes(i, 1), users.integer(i, 2) != 0, users.integer(i, 3)));
    state.users.push_back(std::move(user));
  }
  TRY_ASSIGN(const PostgresRows clients,
             query("SELECT name, disabled, mandatory_tags, created_ns FROM govern_client ORDER BY name"));
  for (int i = 0; i < clients.count(); ++i)
    state.clients.push_back(
        client_of(clients.bytes(i, 0), clients.integer(i, 1) != 0, clients.bytes(i, 2), clients.integer(i, 3)));
  TRY_ASSIGN(const PostgresRows tokens, query("SELECT id, hash, user_name, scopes, note, created_ns, expires_ns, revoked_ns "
                                              "FROM govern_token ORDER BY id"));
  for (int i = 0; i < tokens.count(); ++i) {
    TRY_ASSIGN(Token token, token_of(tokens, i));
    state.tokens.push_back(std::move(token));
  }
  bool in_the_open = false;
  TRY_ASSIGN(const PostgresRows factors,
             query("SELECT user_name, secret, confirmed, used_step, failures, locked_until_ns, recovery, created_ns "
                   "FROM govern_second_factor ORDER BY user_name"));
  for (int i = 0; i < factors.count(); ++i) {
    SecondFactor factor = factor_of(factors, i);
    TRY_ASSIGN(factor.secret, opened_secret(secrets_, factor.user, factors.bytes(i, 1), "PostgreSQL"));
    in_the_open = in_the_open || is_to_be_sealed(secrets_, factors.bytes(i, 1));
    state.second_factors.push_back(std::move(factor));
  }
  if (in_the_open) TRY(seal_all(state.second_factors));
  return state;
}

Result<AuditRow> GovernPostgres::last_audit() {
  TRY_ASSIGN(const PostgresRows rows,
             query("SELECT sequence, client, record, hash FROM govern_audit ORDER BY sequence DESC LIMIT 1"));
  return rows.count() > 0 ? audit_row(rows, 0) : AuditRow{};
}

Status GovernPostgres::read_audit(int64_t after, int64_t limit, std::string_view client,
                                  const std::function<Status(const AuditRow&)>& visit) {
  constexpr int64_t kPage = 5'000;
  while (limit > 0) {
    const int64_t page = std::min(limit, kPage);
    TRY_ASSIGN(const PostgresRows rows, client.empty()
                                            ? query("SELECT sequence, client, record, hash FROM govern_audit WHERE sequence > $1 "
                                                    "ORDER BY sequence LIMIT $2",
                                                    PostgresValues().number(after).number(page))
                                            : query("SELECT sequence, client, record, hash FROM govern_audit WHERE client = $3 "
                                                    "ORDER BY sequence LIMIT $2 OFFSET $1",
                                                    PostgresValues().number(after).number(page).bytes(client)));
    for (int i = 0; i < rows.count(); ++i) {
      AuditRow row = audit_row(rows, i);
      if (!client.empty()) row.sequence = after + 1;
      after = row.sequence;
      TRY(visit(row));
    }
    if (rows.count() < page) return {};
    limit -= page;
  }
  return {};
}

Status GovernPostgres::begin() {
  pending_.clear();
  // The turn after ours can only be ours again when it is this daemon's log that has begun it: then no other daemon wrote between.
  const int64_t now = *log_epoch_;
  if (now != epoch_ && now != epoch_ + 1)
    return make_error(ErrorCode::kUnavailable, "PostgreSQL: another daemon has driven this log in the meantime: ask again");
  epoch_ = now;
  return {};
}

Status GovernPostgres::commit() {
  const std::vector<PostgresStatement> all = std::exchange(pending_, {});
  return all.empty() ? Status() : write(all);
}

Status GovernPostgres::put(const User& user) {
  pending_.push_back(
      {"INSERT INTO govern_user VALUES($1, $2, $3, $4) ON CONFLICT (name) DO UPDATE SET grants = $2, disabled = $3",
       PostgresValues()
           .bytes(user.name)
           .bytes(grants_text(user.grants))
           .number(int64_t{user.disabled})
           .number(user.created.ns())});
  return {};
}

Status GovernPostgres::put(const Client& client) {
  pending_.push_back(
      {"INSERT INTO govern_client VALUES($1, $2, $3, $4) ON CONFLICT (name) DO UPDATE SET disabled = $2, mandatory_tags = $3",
       PostgresValues()
           .bytes(client.name)
           .number(int64_t{client.disabled})
           .bytes(joined(client.mandatory_tags))
           .number(client.created.ns())});
  return {};
}

Status GovernPostgres::put(const Token& token) {
  PostgresValues values;
  values.bytes(token.id).bytes(token.hash).bytes(token.user).bytes(format_scopes(token.scopes)).bytes(token.note);
  values.number(token.created.ns()).number(token.expires.ns());
  pending_.push_back(
      {"INSERT INTO govern_token VALUES($1, $2, $3, $4, $5, $6, $7, $8) "
       "ON CONFLICT (id) DO UPDATE SET expires_ns = $7, revoked_ns = $8",
       number_or_null(values, token.revoked)});
  return {};
}

Status GovernPostgres::put(const SecondFactor& factor) {
  if (factor.secret.empty()) {
    pending_.push_back({"DELETE FROM govern_second_factor WHERE user_name = $1", PostgresValues().bytes(factor.user)});
    return {};
  }
  PostgresValues values;
  values.bytes(factor.user).bytes(closed_secret(secrets_, factor)).number(int64_t{factor.confirmed});
  values.number(static_cast<int64_t>(factor.used_step)).number(int64_t{factor.failures});
  number_or_null(values, factor.locked_until).bytes(joined(factor.recovery)).number(factor.created.ns());
  pending_.push_back(
      {"INSERT INTO govern_second_factor VALUES($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (user_name) DO UPDATE "
       "SET secret = $2, confirmed = $3, used_step = $4, failures = $5, locked_until_ns = $6, recovery = $7, "
       "created_ns = $8",
       std::move(values)});
  return {};
}

Status GovernPostgres::append(const AuditRow& row) {
  pending_.push_back({"INSERT INTO govern_audit VALUES($1, $2, $3, $4)",
                      PostgresValues().number(row.sequence).bytes(row.client).bytes(row.record).bytes(row.hash)});
  return {};
}

Status GovernPostgres::take_out(int64_t first, int64_t last) {
  pending_.push_back(
      {"DELETE FROM govern_audit WHERE sequence >= $1 AND sequence < $2", PostgresValues().number(first).number(last)});
  pending_.push_back({"UPDATE govern_audit SET client = '', record = '' WHERE sequence = $1", PostgresValues().number(last)});
  return {};
}

Result<int64_t> GovernPostgres::taken_out_up_to() {
  TRY_ASSIGN(const PostgresRows rows,
             query("SELECT coalesce(max(sequence), 0) FROM govern_audit WHERE client = '' AND record = ''"));
  return rows.integer(0, 0);
}

Result<OpenedGovernance> open_governance(const GovernPlace& place, std::optional<SealKey> key) {
  const std::string path = place.state_folder + "/govern.db";
  OpenedGovernance opened;
  if (place.database.empty()) {
    TRY_ASSIGN(GovernFile file, GovernFile::open(path, std::move(key)));
    opened.store = std::make_unique<GovernFile>(std::move(file));
    return opened;
  }
  TRY_ASSIGN(std::unique_ptr<GovernPostgres> copy, GovernPostgres::open(place.database, place.epoch, {.untouched = true}));
  TRY_ASSIGN(const bool begun, copy->is_begun());
  std::error_code error;
  const bool is_there = std::filesystem::exists(path, error);
  AuditRow last;
  size_t users = 0;
  if (is_there) {
    TRY_ASSIGN(GovernFile file, GovernFile::open(path, GovernSecrets{.untouched = true}));
    TRY_ASSIGN(last, file.last_audit());
    TRY_ASSIGN(const GovernState state, file.load());
    users = state.users.size();
    if (!begun) {
      TRY(copy->clear());
      TRY(copy_governance(file, *copy));
    }
  } else if (!begun) {
    TRY(copy->clear());
  }
  if (!begun) TRY(copy->mark_begun(is_there ? path : "", last.hash));
  if (is_there) {
    // A file whose copy was marked, and the daemon ended before it was moved, was taken over as well.
    TRY_ASSIGN(const GovernPostgres::Origin origin, copy->origin());
    const bool taken = !begun || (origin.from == path && origin.head == last.hash);
    const std::string kept = free_name(path + (taken ? ".taken" : ".unused"));
    if (std::rename(path.c_str(), kept.c_str()) != 0)
      return make_error(ErrorCode::kUnavailable, "{}: cannot be moved to {}", path, kept);
    const std::string what = fmt::format("{}, {} of the audit log", counted(users, "user"), counted(last.sequence, "record"));
    opened.news =
        taken ? fmt::format("{}: taken over into PostgreSQL ({}), which all daemons on this log go by from now on; kept as {}",
                            path, what, kept)
              : fmt::format("{}: counts no more ({}): users, tokens and the audit log are in PostgreSQL, from {}; kept as {}",
                            path, what, origin.from.empty() ? "a new start" : origin.from, kept);
  }
  copy.reset();
  TRY_ASSIGN(opened.store, GovernPostgres::open(place.database, place.epoch, {.key = std::move(key), .untouched = false}));
  return opened;
}

}  // namespace stint
