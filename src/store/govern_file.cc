#include "store/govern_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"

namespace stint {
namespace {

constexpr int64_t kGovernVersion = 1;
/// "STGV" in SQLite's header tells this file from other databases.
constexpr int64_t kGovernId = 0x53544756;

constexpr const char* kTables = R"sql(
CREATE TABLE user (name TEXT PRIMARY KEY, grants TEXT NOT NULL, disabled INTEGER NOT NULL, created_ns INTEGER NOT NULL) STRICT;
CREATE TABLE client (name TEXT PRIMARY KEY, disabled INTEGER NOT NULL, mandatory_tags TEXT NOT NULL,
                     created_ns INTEGER NOT NULL) STRICT;
CREATE TABLE token (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, user TEXT NOT NULL REFERENCES user (name), scopes TEXT NOT NULL,
                    note TEXT NOT NULL, created_ns INTEGER NOT NULL, expires_ns INTEGER NOT NULL, revoked_ns INTEGER) STRICT;
CREATE TABLE audit (sequence INTEGER PRIMARY KEY, client TEXT NOT NULL, record TEXT NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE INDEX audit_of_client ON audit (client, sequence);
)sql";

template <typename Parts, typename Format>
std::string join(const Parts& parts, Format format) {
  std::string out;
  for (const auto& part : parts)
    out += fmt::format("{}{}", out.empty() ? "" : ",", format(part));
  return out;
}

std::string plain(const std::string& text) { return text; }

Result<User> read_user(const Statement& row) {
  User user{.name = std::string(row.bytes(0)), .disabled = row.integer(2) != 0, .created = Instant::from_ns(row.integer(3))};
  if (row.bytes(1).empty()) return user;
  for (const std::string_view part : split(row.bytes(1), ',')) {
    TRY_ASSIGN(Grant grant, parse_grant(part));
    user.grants.push_back(std::move(grant));
  }
  return user;
}

Client read_client(const Statement& row) {
  Client client{.name = std::string(row.bytes(0)), .disabled = row.integer(1) != 0, .created = Instant::from_ns(row.integer(3))};
  if (row.bytes(2).empty()) return client;
  for (const std::string_view tag : split(row.bytes(2), ','))
    client.mandatory_tags.emplace_back(tag);
  return client;
}

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

AuditRow read_row(const Statement& row) {
  return {row.integer(0), std::string(row.bytes(1)), std::string(row.bytes(2)), std::string(row.bytes(3))};
}

}  // namespace

Result<GovernFile> GovernFile::open(const std::string& path) {
  // SQLite would make it readable to all that the umask lets; its companions take over the file's own mode.
  const int file = ::open(path.c_str(), O_CREAT | O_CLOEXEC | O_RDWR, 0600);
  if (file >= 0) ::close(file);
  TRY_ASSIGN(Database database, Database::open(path, DatabaseAccess::kCreate));
  GovernFile opened(std::move(database));
  TRY(opened.prepare());
  return opened;
}

Status GovernFile::prepare() {
  TRY(database_.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON"));
  TRY_ASSIGN(const int64_t id, database_.integer("PRAGMA application_id"));
  TRY_ASSIGN(const int64_t tables, database_.integer("SELECT count(*) FROM sqlite_schema"));
  if (id == 0 && tables == 0) {
    TRY(database_.execute(fmt::format("BEGIN IMMEDIATE; {} PRAGMA application_id = {}; PRAGMA user_version = {}; COMMIT", kTables,
                                      kGovernId, kGovernVersion)));
  } else if (id != kGovernId) {
    return invalid("{}: not a file of users and tokens: name the one the daemon made", database_.path());
  }
  TRY_ASSIGN(const int64_t version, database_.integer("PRAGMA user_version"));
  if (version != kGovernVersion)
    return invalid("{}: of version {}, and this program reads {}: use a newer stint", database_.path(), version, kGovernVersion);
  TRY_ASSIGN(put_user_, database_.prepare("INSERT INTO user VALUES (?1, ?2, ?3, ?4) "
                                          "ON CONFLICT (name) DO UPDATE SET grants = ?2, disabled = ?3"));
  TRY_ASSIGN(put_client_, database_.prepare("INSERT INTO client VALUES (?1, ?2, ?3, ?4) "
                                            "ON CONFLICT (name) DO UPDATE SET disabled = ?2, mandatory_tags = ?3"));
  TRY_ASSIGN(put_token_, database_.prepare("INSERT INTO token VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) "
                                           "ON CONFLICT (id) DO UPDATE SET expires_ns = ?7, revoked_ns = ?8"));
  TRY_ASSIGN(append_, database_.prepare("INSERT INTO audit VALUES (?1, ?2, ?3, ?4)"));
  return {};
}

Result<GovernState> GovernFile::load() {
  GovernState state;
  TRY_ASSIGN(Statement users, database_.prepare("SELECT name, grants, disabled, created_ns FROM user ORDER BY name"));
  for (;;) {
    TRY_ASSIGN(const bool more, users.step());
    if (!more) break;
    TRY_ASSIGN(User user, read_user(users));
    state.users.push_back(std::move(user));
  }
  TRY_ASSIGN(Statement clients, database_.prepare("SELECT name, disabled, mandatory_tags, created_ns FROM client ORDER BY name"));
  for (;;) {
    TRY_ASSIGN(const bool more, clients.step());
    if (!more) break;
    state.clients.push_back(read_client(clients));
  }
  TRY_ASSIGN(Statement tokens, database_.prepare("SELECT id, hash, user, scopes, note, created_ns, expires_ns, revoked_ns "
                                                 "FROM token ORDER BY id"));
  for (;;) {
    TRY_ASSIGN(const bool more, tokens.step());
    if (!more) break;
    TRY_ASSIGN(Token token, read_token(tokens));
    state.tokens.push_back(std::move(token));
  }
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
                                              : "SELECT sequence, client, record, hash FROM audit WHERE sequence > ?1 "
                                                "AND client = ?3 ORDER BY sequence LIMIT ?2"));
  rows.bind(1, after);
  rows.bind(2, limit);
  if (!client.empty()) rows.bind(3, client);
  for (;;) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return {};
    TRY(visit(read_row(rows)));
  }
}

Status GovernFile::begin() { return database_.execute("BEGIN IMMEDIATE"); }
Status GovernFile::commit() { return database_.execute("COMMIT"); }

void GovernFile::roll_back() {
  if (database_.in_transaction()) (void)database_.execute("ROLLBACK").ok();  // else the failure has done so
}

Status GovernFile::put(const User& user) {
  put_user_.bind(1, user.name);
  put_user_.bind(2, join(user.grants, format_grant));
  put_user_.bind(3, int64_t{user.disabled});
  put_user_.bind(4, user.created.ns());
  return put_user_.run();
}

Status GovernFile::put(const Client& client) {
  put_client_.bind(1, client.name);
  put_client_.bind(2, int64_t{client.disabled});
  put_client_.bind(3, join(client.mandatory_tags, plain));
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

Status GovernFile::append(const AuditRow& row) {
  append_.bind(1, row.sequence);
  append_.bind(2, row.client);
  append_.bind(3, row.record);
  append_.bind(4, row.hash);
  return append_.run();
}

}  // namespace stint
