// The event log in SQLite: one file in WAL mode, one connection.
#include <utility>

#include "store/event_log_impl.h"
#include "store/sqlite.h"

namespace stint {
namespace {

constexpr int64_t kSqliteVersion = 2;
constexpr int64_t kApplication = 0x5354'4c47;  // "STLG"

constexpr const char* kSqliteSchema = R"(
CREATE TABLE record(sequence INTEGER PRIMARY KEY, step INTEGER NOT NULL, at_ns INTEGER NOT NULL, kind INTEGER NOT NULL,
                    payload BLOB NOT NULL);
CREATE TABLE command_key(key TEXT PRIMARY KEY, request TEXT NOT NULL, answer INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE posting(number INTEGER PRIMARY KEY, step INTEGER NOT NULL, job INTEGER NOT NULL, attempt INTEGER NOT NULL,
                     task INTEGER NOT NULL, client TEXT NOT NULL, queue TEXT NOT NULL, node TEXT NOT NULL,
                     begin_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL, gpu_milli INTEGER NOT NULL,
                     amount_nanos INTEGER NOT NULL, currency TEXT NOT NULL,
                     UNIQUE(job, attempt, task, begin_ns));
CREATE TABLE side_row(stream TEXT NOT NULL, number INTEGER NOT NULL, step INTEGER NOT NULL, payload BLOB NOT NULL,
                      PRIMARY KEY(stream, number)) WITHOUT ROWID;
CREATE TABLE mark(step INTEGER PRIMARY KEY, fingerprint INTEGER NOT NULL);
)";

/// Since version 2.
constexpr const char* kSqliteSchema2 = R"(
CREATE TABLE snapshot(step INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, version INTEGER NOT NULL,
                      fingerprint INTEGER NOT NULL, checksum INTEGER NOT NULL, payload BLOB NOT NULL);
CREATE TABLE ended_job(id INTEGER PRIMARY KEY, queue TEXT NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL,
                       state INTEGER NOT NULL);
CREATE TABLE ended_job_text(id INTEGER PRIMARY KEY, payload BLOB NOT NULL);
)";

/// What of a snapshot's payload comes before that in its row. Without it an older program passes such a snapshot over, which does
/// no harm: its checksum is of the whole. So it needs no version.
constexpr const char* kParts = R"(
CREATE TABLE IF NOT EXISTS snapshot_part(step INTEGER NOT NULL, at INTEGER NOT NULL, payload BLOB NOT NULL, UNIQUE(step, at));
)";

Status check_file(Database& db) {
  TRY_ASSIGN(const int64_t application, db.integer("PRAGMA application_id"));
  TRY_ASSIGN(const int64_t version, db.integer("PRAGMA user_version"));
  TRY_ASSIGN(const int64_t tables, db.integer("SELECT count(*) FROM sqlite_schema"));
  if (application == 0 && tables == 0) {
    TRY(db.execute("BEGIN IMMEDIATE"));
    TRY(db.execute(kSqliteSchema));
    TRY(db.execute(kSqliteSchema2));
    TRY(db.execute(kParts));
    TRY(db.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kSqliteVersion)));
    return db.execute("COMMIT");
  }
  if (application != kApplication) return invalid("{}: is no event log of a Stint daemon: name another folder", db.path());
  if (version > kSqliteVersion)
    return invalid("{}: written by a newer Stint (version {} of the log, this one knows {}): use that", db.path(), version,
                   kSqliteVersion);
  if (version < 2) {
    TRY(db.execute("BEGIN IMMEDIATE"));
    TRY(db.execute(kSqliteSchema2));
    TRY(db.execute("PRAGMA user_version = 2"));
    TRY(db.execute("COMMIT"));
  }
  return db.execute(kParts);
}

class SqliteLog final : public EventLog::Impl {
 public:
  SqliteLog(std::string path, EventLogOptions options) : path_(std::move(path)), options_(std::move(options)) {}

  Status connect() override;
  Status write(const LogStep& what, int64_t step, int64_t sequence) override;
  bool roll_back() override { return !db_->in_transaction() || db_->execute("ROLLBACK").ok(); }
  [[nodiscard]] std::string name() const override { return path_; }
  Status read(int64_t after, const std::function<Status(const LoggedRecord&)>& visit) override;
  Result<std::optional<LogKey>> find_key(std::string_view key) override;
  Status put_mark(const LogMark& mark) override;
  Result<std::vector<LogMark>> marks() override;
  Status put_snapshot_part(int64_t step, int64_t at, std::string_view bytes) override;
  Status put_snapshot(const LogSnapshot& snapshot, std::string_view rest, int64_t checksum) override;
  Result<std::optional<LogSnapshot>> snapshot_before(int64_t step, int32_t version, int64_t& checksum) override;
  Result<std::optional<EndedJob>> ended_job(int64_t id) override;
  Status read_ended_jobs(const EndedJobFilter& filter, int64_t before,
                         const std::function<bool(const EndedJob&)>& visit) override;
  Status read_postings(int64_t after, const VisitPosting& visit) override;
  Result<std::optional<std::string>> last_side_row(std::string_view stream) override;
  Result<std::vector<PostingSum>> sum_postings() override;
  Status read_side_rows(std::string_view stream, int64_t after, int64_t limit,
                        const std::function<Status(int64_t, std::string_view)>& visit) override;

 private:
  Status write_postings(const LogStep& what, int64_t step);
  Status write_side_rows(const LogStep& what, int64_t step);
  Status write_ended_jobs(const LogStep& what);
  /// For reading, which may be asked for while the file cannot be opened.
  Result<Statement> prepare(std::string_view sql) {
    if (!db_) return make_error(ErrorCode::kUnavailable, "{}: cannot be opened", path_);
    return db_->prepare(sql);
  }

  std::string path_;
  EventLogOptions options_;
  std::optional<Database> db_;
  Statement add_record_, add_key_, add_posting_, add_side_row_, find_key_, add_mark_, add_ended_, add_ended_text_;
};

Status SqliteLog::connect() {
  for (Statement* statement :
       {&add_record_, &add_key_, &add_posting_, &add_side_row_, &find_key_, &add_mark_, &add_ended_, &add_ended_text_})
    *statement = Statement();  // before the connection goes
  db_.reset();
  TRY_ASSIGN(Database opened, Database::open(path_, DatabaseAccess::kCreate, Duration::seconds(2),
                                             options_.vfs.empty() ? nullptr : options_.vfs.c_str()));
  db_ = std::move(opened);
  TRY(
      db_->execute("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;"
                   "PRAGMA wal_autocheckpoint = 2000"));
  TRY(db_->execute(options_.sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = OFF"));
  TRY(check_file(*db_));
  TRY_ASSIGN(add_record_, db_->prepare("INSERT INTO record VALUES(?, ?, ?, ?, ?)"));
  TRY_ASSIGN(add_key_, db_->prepare("INSERT INTO command_key VALUES(?, ?, ?)"));
  TRY_ASSIGN(add_posting_, db_->prepare("INSERT INTO posting VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  TRY_ASSIGN(add_side_row_, db_->prepare("INSERT INTO side_row SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3 FROM side_row "
                                         "WHERE stream = ?1"));
  TRY_ASSIGN(find_key_, db_->prepare("SELECT request, answer FROM command_key WHERE key = ?"));
  TRY_ASSIGN(add_mark_, db_->prepare("INSERT OR REPLACE INTO mark VALUES(?, ?)"));
  TRY_ASSIGN(add_ended_, db_->prepare("INSERT INTO ended_job VALUES(?, ?, ?, ?, ?)"));
  TRY_ASSIGN(add_ended_text_, db_->prepare("INSERT INTO ended_job_text VALUES(?, ?)"));
  TRY_ASSIGN(Statement last, prepare("SELECT sequence, step, at_ns FROM record ORDER BY sequence DESC LIMIT 1"));
  TRY_ASSIGN(const bool any, last.step());
  last_sequence = any ? last.integer(0) : 0;
  last_step = any ? last.integer(1) : 0;
  last_at = any ? Instant::from_ns(last.integer(2)) : Instant();
  return {};
}

Status SqliteLog::write(const LogStep& what, int64_t step, int64_t sequence) {
  TRY(db_->execute("BEGIN IMMEDIATE"));
  for (const LogRecord& record : what.records) {
    add_record_.bind(1, ++sequence);
    add_record_.bind(2, step);
    add_record_.bind(3, what.at.ns());
    add_record_.bind(4, int64_t{record.kind});
    add_record_.bind_blob(5, record.payload);
    TRY(add_record_.run());
  }
  for (const LogKey& key : what.keys) {
    add_key_.bind(1, key.key);
    add_key_.bind(2, key.request);
    add_key_.bind(3, key.answer);
    TRY(add_key_.run());
  }
  TRY(write_postings(what, step));
  TRY(write_side_rows(what, step));
  TRY(write_ended_jobs(what));
  return db_->execute("COMMIT");
}

Status SqliteLog::write_postings(const LogStep& what, int64_t step) {
  for (const RunPosting& posting : what.postings) {
    add_posting_.bind(1, step);
    add_posting_.bind(2, posting.job);
    add_posting_.bind(3, int64_t{posting.attempt});
    add_posting_.bind(4, int64_t{posting.task});
    add_posting_.bind(5, posting.client);
    add_posting_.bind(6, posting.queue);
    add_posting_.bind(7, posting.node);
    add_posting_.bind(8, posting.when.begin.ns());
    add_posting_.bind(9, posting.when.end.ns());
    add_posting_.bind(10, posting.gpu_milli);
    add_posting_.bind(11, posting.amount.count_nanos());
    add_posting_.bind(12, posting.amount.currency().code());
    TRY(add_posting_.run());
  }
  return {};
}

Status SqliteLog::write_side_rows(const LogStep& what, int64_t step) {
  for (const SideRow& row : what.side_rows) {
    add_side_row_.bind(1, row.stream);
    add_side_row_.bind(2, step);
    add_side_row_.bind_blob(3, row.payload);
    TRY(add_side_row_.run());
  }
  for (const std::string& stream : what.renewed) {
    TRY_ASSIGN(Statement drop, prepare("DELETE FROM side_row WHERE stream = ? AND step < ?"));
    drop.bind(1, stream);
    drop.bind(2, step);
    TRY(drop.run());
  }
  return {};
}

Status SqliteLog::write_ended_jobs(const LogStep& what) {
  for (const EndedJob& job : what.ended_jobs) {
    add_ended_.bind(1, job.id);
    add_ended_.bind(2, job.queue);
    add_ended_.bind(3, job.user);
    add_ended_.bind(4, job.name);
    add_ended_.bind(5, int64_t{job.state});
    TRY(add_ended_.run());
    add_ended_text_.bind(1, job.id);
    add_ended_text_.bind_blob(2, job.payload);
    TRY(add_ended_text_.run());
  }
  return {};
}

Status SqliteLog::read(int64_t after, const std::function<Status(const LoggedRecord&)>& visit) {
  TRY_ASSIGN(Statement rows,
             prepare("SELECT sequence, step, at_ns, kind, payload FROM record WHERE sequence > ? ORDER BY sequence"));
  rows.bind(1, after);
  for (;;) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return {};
    TRY(visit({.sequence = rows.integer(0),
               .step = rows.integer(1),
               .at = Instant::from_ns(rows.integer(2)),
               .kind = static_cast<int32_t>(rows.integer(3)),
               .payload = rows.bytes(4)}));
  }
}

Result<std::optional<LogKey>> SqliteLog::find_key(std::string_view key) {
  if (!db_) return make_error(ErrorCode::kUnavailable, "{}: cannot be opened", path_);
  Statement& find = find_key_;
  find.bind(1, key);
  TRY_ASSIGN(const bool found, find.step());
  std::optional<LogKey> answer;
  if (found) answer = LogKey{std::string(key), std::string(find.bytes(0)), find.integer(1)};
  find.reset();
  return answer;
}

Status SqliteLog::put_mark(const LogMark& mark) {
  add_mark_.bind(1, mark.step);
  add_mark_.bind(2, static_cast<int64_t>(mark.fingerprint));
  TRY(add_mark_.run());
  return db_->execute(
      fmt::format("DELETE FROM mark WHERE step NOT IN (SELECT step FROM mark ORDER BY step DESC LIMIT {})", kMarksKept));
}

Result<std::vector<LogMark>> SqliteLog::marks() {
  std::vector<LogMark> marks;
  TRY_ASSIGN(Statement rows, prepare("SELECT step, fingerprint FROM mark ORDER BY step"));
  for (;;) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return marks;
    marks.push_back({rows.integer(0), static_cast<uint64_t>(rows.integer(1))});
  }
}

Status SqliteLog::put_snapshot_part(int64_t step, int64_t at, std::string_view bytes) {
  TRY_ASSIGN(Statement add, prepare("INSERT OR REPLACE INTO snapshot_part VALUES(?, ?, ?)"));
  add.bind(1, step);
  add.bind(2, at);
  add.bind_blob(3, bytes);
  TRY_ASSIGN(Statement drop, prepare("DELETE FROM snapshot_part WHERE rowid IN (SELECT rowid FROM snapshot_part "
                                     "WHERE step <> ? AND step NOT IN (SELECT step FROM snapshot) LIMIT ?)"));
  drop.bind(1, step);
  drop.bind(2, kPartsDropped);
  TRY(db_->execute("BEGIN IMMEDIATE"));
  Status done = drop.run();
  if (done.ok()) done = add.run();
  if (done.ok()) done = db_->execute("COMMIT");
  if (!done.ok()) (void)roll_back();
  return done;
}

Status SqliteLog::put_snapshot(const LogSnapshot& snapshot, std::string_view rest, int64_t checksum) {
  TRY_ASSIGN(Statement add, prepare("INSERT OR REPLACE INTO snapshot VALUES(?, ?, ?, ?, ?, ?)"));
  add.bind(1, snapshot.step);
  add.bind(2, snapshot.sequence);
  add.bind(3, int64_t{snapshot.version});
  add.bind(4, static_cast<int64_t>(snapshot.fingerprint));
  add.bind(5, checksum);
  add.bind_blob(6, rest);
  TRY(add.run());
  return db_->execute(fmt::format(
      "DELETE FROM snapshot WHERE step NOT IN (SELECT step FROM snapshot ORDER BY step DESC LIMIT {})", kSnapshotsKept));
}

Result<std::optional<LogSnapshot>> SqliteLog::snapshot_before(int64_t step, int32_t version, int64_t& checksum) {
  TRY_ASSIGN(Statement find, prepare("SELECT step, sequence, version, fingerprint, checksum, payload FROM snapshot "
                                     "WHERE step < ? AND version = ? ORDER BY step DESC LIMIT 1"));
  find.bind(1, step);
  find.bind(2, int64_t{version});
  TRY_ASSIGN(const bool found, find.step());
  if (!found) return std::optional<LogSnapshot>();
  checksum = find.integer(4);
  LogSnapshot snapshot{.step = find.integer(0),
                       .sequence = find.integer(1),
                       .version = static_cast<int32_t>(find.integer(2)),
                       .fingerprint = static_cast<uint64_t>(find.integer(3)),
                       .payload = ""};
  TRY_ASSIGN(Statement parts, prepare("SELECT payload FROM snapshot_part WHERE step = ? ORDER BY at"));
  parts.bind(1, snapshot.step);
  for (;;) {
    TRY_ASSIGN(const bool part, parts.step());
    if (!part) break;
    snapshot.payload += parts.bytes(0);
  }
  snapshot.payload += find.bytes(5);
  return std::optional(std::move(snapshot));
}

Result<std::optional<EndedJob>> SqliteLog::ended_job(int64_t id) {
  std::optional<EndedJob> job;
  TRY(read_ended_jobs({}, id + 1, [&](const EndedJob& found) {
    if (found.id == id) job = found;
    return false;
  }));
  return job;
}

Status SqliteLog::read_ended_jobs(const EndedJobFilter& filter, int64_t before,
                                  const std::function<bool(const EndedJob&)>& visit) {
  // A path's descendants are those that begin with it and '/'; '0' is the character behind that.
  TRY_ASSIGN(Statement rows,
             prepare("SELECT id, queue, user, name, state, payload FROM ended_job JOIN ended_job_text USING (id) WHERE id < ?1 "
                     "AND (?2 = '' OR queue = ?2 OR (queue > ?2 || '/' AND queue < ?2 || '0')) AND (?3 = '' OR user = ?3) "
                     "AND (?4 = '' OR name = ?4) AND (?5 < 0 OR state = ?5) ORDER BY id DESC"));
  rows.bind(1, before);
  rows.bind(2, filter.queue);
  rows.bind(3, filter.user);
  rows.bind(4, filter.name);
  rows.bind(5, int64_t{filter.state.value_or(-1)});
  for (;;) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return {};
    if (!visit({.id = rows.integer(0),
                .queue = std::string(rows.bytes(1)),
                .user = std::string(rows.bytes(2)),
                .name = std::string(rows.bytes(3)),
                .state = static_cast<int32_t>(rows.integer(4)),
                .payload = std::string(rows.bytes(5))}))
      return {};
  }
}

Result<std::optional<std::string>> SqliteLog::last_side_row(std::string_view stream) {
  TRY_ASSIGN(Statement row, prepare("SELECT payload FROM side_row WHERE stream = ? ORDER BY number DESC LIMIT 1"));
  row.bind(1, stream);
  TRY_ASSIGN(const bool any, row.step());
  return any ? std::optional(std::string(row.bytes(0))) : std::nullopt;
}

Status SqliteLog::read_postings(int64_t after, const VisitPosting& visit) {
  TRY_ASSIGN(Statement rows, prepare("SELECT number, job, attempt, task, client, queue, node, begin_ns, end_ns, gpu_milli, "
                                     "amount_nanos, currency, step FROM posting WHERE number > ? ORDER BY number"));
  rows.bind(1, after);
  for (;;) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return {};
    TRY_ASSIGN(const Currency currency, Currency::parse(rows.bytes(11)));
    TRY(visit(rows.integer(0), rows.integer(12),
              {.job = rows.integer(1),
               .attempt = static_cast<int32_t>(rows.integer(2)),
               .task = static_cast<int32_t>(rows.integer(3)),
               .client = std::string(rows.bytes(4)),
               .queue = std::string(rows.bytes(5)),
               .node = std::string(rows.bytes(6)),
               .when = {Instant::from_ns(rows.integer(7)), Instant::from_ns(rows.integer(8))},
               .gpu_milli = rows.integer(9),
               .amount = Money::nanos(rows.integer(10), currency)}));
  }
}

Result<std::vector<PostingSum>> SqliteLog::sum_postings() {
  std::vector<PostingSum> sums;
  TRY_ASSIGN(Statement rows, prepare("SELECT client, currency, count(*), sum(amount_nanos) FROM posting "
                                     "GROUP BY client, currency ORDER BY client, currency"));
  for (;;) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return sums;
    TRY_ASSIGN(const Currency currency, Currency::parse(rows.bytes(1)));
    sums.push_back({std::string(rows.bytes(0)), rows.integer(2), Money::nanos(rows.integer(3), currency)});
  }
}

Status SqliteLog::read_side_rows(std::string_view stream, int64_t after, int64_t limit,
                                 const std::function<Status(int64_t, std::string_view)>& visit) {
  TRY_ASSIGN(Statement rows,
             prepare("SELECT number, payload FROM side_row WHERE stream = ? AND number > ? ORDER BY number LIMIT ?"));
  rows.bind(1, stream);
  rows.bind(2, after);
  rows.bind(3, limit);
  for (;;) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return {};
    TRY(visit(rows.integer(0), rows.bytes(1)));
  }
}

}  // namespace

bool is_event_log(const std::string& path) {
  auto db = Database::open(path, DatabaseAccess::kReadOnly, Duration::seconds(2));
  if (!db) return false;
  const auto application = db->integer("PRAGMA application_id");
  return application.ok() && *application == kApplication;
}

std::unique_ptr<EventLog::Impl> make_sqlite_log(std::string path, const EventLogOptions& options) {
  return std::make_unique<SqliteLog>(std::move(path), options);
}

}  // namespace stint
