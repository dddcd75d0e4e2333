#include "store/govern_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "host/secret.h"
#include "store/govern_rows.h"

namespace stint {
namespace {

constexpr int64_t kGovernVersion = 2;
/// "STGV" in SQLite's header tells this file from other databases.
constexpr int64_t kGovernId = 0x53544756;

constexpr const char* kGovernTables = R"sql(
CREATE TABLE user (name TEXT PRIMARY KEY, grants TEXT NOT NULL, disabled INTEGER NOT NULL, created_ns INTEGER NOT NULL) STRICT;
CREATE TABLE client (name TEXT PRIMARY KEY, disabled INTEGER NOT NULL, mandatory_tags TEXT NOT NULL,
                     created_ns INTEGER NOT NULL) STRICT;
CREATE TABLE token (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, user TEXT NOT NULL REFERENCES user (name), scopes TEXT NOT NULL,
                    note TEXT NOT NULL, created_ns INTEGER NOT NULL, expires_ns INTEGER NOT NULL, revoked_ns INTEGER) STRICT;
CREATE TABLE audit (sequence INTEGER PRIMARY KEY, client TEXT NOT NULL, record TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE INDEX audit_of_client ON audit (client, sequence);
)sql";

/// What version 2 has beside version 1.
constexpr const char* kGovernTablesOf2 = R"sql(
CREATE TABLE second_factor (user TEXT PRIMARY KEY REFERENCES user (name), secret TEXT NOT NULL, confirmed INTEGER NOT NULL,
                            used_step INTEGER NOT NULL, failures INTEGER NOT NULL, locked_until_ns INTEGER, recovery TEXT NOT NULL,
                            created_ns INTEGER NOT NULL) STRICT;
)sql";

Result<Token> read_token(const Statement& row) {
  Token token{.id = std::string(row.bytes(0)),
              .hash = std::string(row.bytes(1)),
              .user = std::string(row.bytes(2)),
              .note = std::string(row.bytes(4)),
              .created = Instant::from_ns(row.integer(5)),
              .expires = Instant::from_ns(row.integer(6))};
  TRY_ASSIGN(token.scopes, parse_scopes(row.bytes(3)));
  if (!row.is_null(7)) token.revoked = Instant::from_ns(row.integer(7));
  return token;
}

Result<SecondFactor> read_factor(const Statement& row) {
  SecondFactor factor{.user = std::string(row.bytes(0)),
                      .confirmed = row.integer(2) != 0,
                      .used_step = static_cast<uint64_t>(row.integer(3)),
                      .failures = static_cast<int>(row.integer(4)),
                      .recovery = parted(row.bytes(6)),
                      .created = Instant::from_ns(row.integer(7))};
  if (!row.is_null(5)) factor.locked_until = Instant::from_ns(row.integer(5));
  return factor;
}

AuditRow read_row(const Statement& row) {
  return {row.integer(0), std::string(row.bytes(1)), std::string(row.bytes(2)), std::string(row.bytes(3))};
}

}  // namespace

Result<GovernFile> GovernFile::open(const std::string& path, std::optional<SealKey> key) {
  return open(path, GovernSecrets{.key = std::move(key)});
}

Result<GovernFile> GovernFile::open(const std::string& path, GovernSecrets secrets) {
  // SQLite would make it readable to all that the umask lets; its companions take over the file's own mode.
  const int file = ::open(path.c_str(), O_CREAT | O_CLOEXEC | O_RDWR, 0600);
  if (file >= 0) ::close(file);
  TRY(check_secret_file(path));
  TRY_ASSIGN(Database database, Database::open(path, DatabaseAccess::kCreate));
  GovernFile opened(std::move(database), std::move(secrets));
  TRY(opened.prepare());
  return opened;
}

Status GovernFile::prepare() {
  TRY(database_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  TRY_ASSIGN(const int64_t id, database_.integer("PRAGMA application_id"));
  TRY_ASSIGN(const int64_t tables, database_.integer("SELECT count(*) FROM sqlite_schema"));
  if (id == 0 && tables == 0) {
    TRY(database_.execute(fmt::format("BEGIN IMMEDIATE; {} {} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT",
                                      kGovernTables, kGovernTablesOf2, kGovernId, kGovernVersion)));
  } else if (id != kGovernId) {
    return invalid("{}: not a file of users and tokens: name the one the daemon made", database_.path());
  }
  TRY_ASSIGN(int64_t version, database_.integer("PRAGMA user_version"));
  if (version == 1) {
    version = kGovernVersion;
    TRY(database_.execute(fmt::format("BEGIN IMMEDIATE; {} PRAGMA user_version = {}; COMMIT", kGovernTablesOf2, kGovernVersion)));
  }
  if (version != kGovernVersion)
    return invalid("{}: of version {}, and this program reads {}: use a newer stint", database_.path(), version, kGovernVersion);
  TRY_ASSIGN(put_user_, database_.prepare("INSERT INTO user VALUES (?1, ?2, ?3, ?4) "
                                          "ON CONFLICT (name) DO UPDATE SET grants = ?2, disabled = ?3"));
  TRY_ASSIGN(put_client_, database_.prepare("INSERT INTO client VALUES (?1, ?2, ?3, ?4) "
                                            "ON CONFLICT (name) DO UPDATE SET disabled = ?2, mandatory_tags = ?3"));
  TRY_ASSIGN(put_token_, database_.prepare("INSERT INTO token VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
                                           "ON CONFLICT (id) DO UPDATE SET expires_ns = ?7, revoked_ns = ?8"));
  TRY_ASSIGN(put_factor_, database_.prepare("INSERT OR REPLACE INTO second_factor VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
  TRY_ASSIGN(remove_factor_, database_.prepare("DELETE FROM second_factor WHERE user = ?1"));
  TRY_ASSIGN(append_, database_.prepare("INSERT INTO audit VALUES (?1, ?2, ?3, ?4)"));
  TRY_ASSIGN(forget_, database_.prepare("DELETE FROM audit WHERE sequence >= ?1 AND sequence < ?2"));
  TRY_ASSIGN(blank_, database_.prepare("UPDATE audit SET client = '', record = '' WHERE sequence = ?1"));
  return {};
}

/// What was there in the open leaves no trace in free pages, nor in the log beside the file.
Status GovernFile::seal_all(const std::vector<SecondFactor>& factors) {
  TRY(database_.execute("PRAGMA secure_delete = ON"));
  TRY(begin());
  for (const SecondFactor& factor : factors)
    TRY(put(factor));
  TRY(commit());
  return database_.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
}

Result<GovernState> GovernFile::load() {
  GovernState state;
  TRY_ASSIGN(Statement users, database_.prepare("SELECT name, grants, disabled, created_ns FROM user ORDER BY name"));
  for (;;) {
    TRY_ASSIGN(const bool more, users.step());
    if (!more) break;
    TRY_ASSIGN(User user, user_of(users.bytes(0), users.bytes(1), users.integer(2) != 0, users.integer(3)));
    state.users.push_back(std::move(user));
  }
  TRY_ASSIGN(Statement clients, database_.prepare("SELECT name, disabled, mandatory_tags, created_ns FROM client ORDER BY name"));
  for (;;) {
    TRY_ASSIGN(const bool more, clients.step());
    if (!more) break;
    state.clients.push_back(client_of(clients.bytes(0), clients.integer(1) != 0, clients.bytes(2), clients.integer(3)));
  }
  TRY_ASSIGN(Statement tokens, database_.prepare("SELECT id, hash, user, scopes, note, created_ns, expires_ns, revoked_ns "
                                                 "FROM token ORDER BY id"));
  for (;;) {
    TRY_ASSIGN(const bool more, tokens.step());
    if (!more) break;
    TRY_ASSIGN(Token token, read_token(tokens));
    state.tokens.push_back(std::move(token));
  }
  bool in_the_open = false;
  TRY_ASSIGN(Statement factors,
             database_.prepare("SELECT user, secret, confirmed, used_step, failures, locked_until_ns, recovery, "
                               "created_ns FROM second_factor ORDER BY user"));
  for (;;) {
    TRY_ASSIGN(const bool more, factors.step());
    if (!more) break;
    TRY_ASSIGN(SecondFactor factor, read_factor(factors));
    TRY_ASSIGN(factor.secret, opened_secret(secrets_, factor.user, factors.bytes(1), database_.path()));
    in_the_open = in_the_open || is_to_be_sealed(secrets_, factors.bytes(1));
    state.second_factors.push_back(std::move(factor));
  }
  if (in_the_open) TRY(seal_all(state.second_factors));
  return state;
}

Result<AuditRow> GovernFile::last_audit() {
  TRY_ASSIGN(Statement rows,
             database_.prepare("SELECT sequence, client, record, hash FROM audit ORDER BY sequence DESC LIMIT 1"));
  TRY_ASSIGN(const bool any, rows.step());
  return any ? read_row(rows) : AuditRow{};
}

Status GovernFile::read_audit(int64_t after, int64_t limit, std::string_view client,
                              const std::function<Status(const AuditRow&)>& visit) {
  TRY_ASSIGN(Statement rows,
             database_.prepare(client.empty() ? "SELECT sequence, client, record, hash FROM audit WHERE sequence > ?1 "
                                                "ORDER BY sequence LIMIT ?2"
                                              : "SELECT sequence, client, record, hash FROM audit WHERE client = ?3 "
                                                "ORDER BY sequence LIMIT ?2 OFFSET ?1"));
  rows.bind(1, after);
  rows.bind(2, limit);
  if (!client.empty()) rows.bind(3, client);
  for (int64_t number = after + 1;; ++number) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return {};
    AuditRow row = read_row(rows);
    if (!client.empty()) row.sequence = number;
    TRY(visit(row));
  }
}

Status GovernFile::begin() { return database_.execute("BEGIN IMMEDIATE"); }
Status GovernFile::commit() { return database_.execute("COMMIT"); }

void GovernFile::roll_back() {
  if (database_.in_transaction()) (void)database_.execute("ROLLBACK").ok();  // else the failure has done so
}

Status GovernFile::put(const User& user) {
  put_user_.bind(1, user.name);
  put_user_.bind(2, grants_text(user.grants));
  put_user_.bind(3, int64_t{user.disabled});
  put_user_.bind(4, user.created.ns());
  return put_user_.run();
}

Status GovernFile::put(const Client& client) {
  put_client_.bind(1, client.name);
  put_client_.bind(2, int64_t{client.disabled});
  put_client_.bind(3, joined(client.mandatory_tags));
  put_client_.bind(4, client.created.ns());
  return put_client_.run();
}

Status GovernFile::put(const Token& token) {
  put_token_.bind(1, token.id);
  put_token_.bind(2, token.hash);
  put_token_.bind(3, token.user);
  put_token_.bind(4, format_scopes(token.scopes));
  put_token_.bind(5, token.note);
  put_token_.bind(6, token.created.ns());
  put_token_.bind(7, token.expires.ns());
  if (token.revoked)
    put_token_.bind(8, token.revoked->ns());
  else
    put_token_.bind_null(8);
  return put_token_.run();
}

Status GovernFile::put(const SecondFactor& factor) {
  if (factor.secret.empty()) {
    remove_factor_.bind(1, factor.user);
    return remove_factor_.run();
  }
  put_factor_.bind(1, factor.user);
  put_factor_.bind(2, closed_secret(secrets_, factor));
  put_factor_.bind(3, int64_t{factor.confirmed});
  put_factor_.bind(4, static_cast<int64_t>(factor.used_step));
  put_factor_.bind(5, int64_t{factor.failures});
  if (factor.locked_until)
    put_factor_.bind(6, factor.locked_until->ns());
  else
    put_factor_.bind_null(6);
  put_factor_.bind(7, joined(factor.recovery));
  put_factor_.bind(8, factor.created.ns());
  return put_factor_.run();
}

Status GovernFile::append(const AuditRow& row) {
  append_.bind(1, row.sequence);
  append_.bind(2, row.client);
  append_.bind(3, row.record);
  append_.bind(4, row.hash);
  return append_.run();
}

Status GovernFile::take_out(int64_t first, int64_t last) {
  forget_.bind(1, first);
  forget_.bind(2, last);
  TRY(forget_.run());
  blank_.bind(1, last);
  return blank_.run();
}

Result<int64_t> GovernFile::taken_out_up_to() {
  return database_.integer("SELECT coalesce(max(sequence), 0) FROM audit WHERE client = '' AND record = ''");
}

}  // namespace stint
