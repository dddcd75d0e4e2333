#include "store/event_log.h"

#include <utility>

#include "store/sqlite.h"

namespace stint {
namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kApplication = 0x5354'4c47;  // "STLG"
constexpr int64_t kMarksKept = 4;

constexpr const char* kSchema = R"(
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

/// The errors of a History speak of imports; these speak of the log.
Error about_log(const Error& error) {
  if (error.code == ErrorCode::kConflict || error.code == ErrorCode::kInvalidInput) return error;
  return make_error(error.code, "event log: {}", error.message);
}

Status check_file(Database& db) {
  TRY_ASSIGN(const int64_t application, db.integer("PRAGMA application_id"));
  TRY_ASSIGN(const int64_t version, db.integer("PRAGMA user_version"));
  TRY_ASSIGN(const int64_t tables, db.integer("SELECT count(*) FROM sqlite_schema"));
  if (application == 0 && tables == 0) {
    TRY(db.execute("BEGIN IMMEDIATE"));
    TRY(db.execute(kSchema));
    TRY(db.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kVersion)));
    return db.execute("COMMIT");
  }
  if (application != kApplication) return invalid("{}: is no event log of a Stint daemon: name another folder", db.path());
  if (version > kVersion)
    return invalid("{}: written by a newer Stint (version {} of the log, this one knows {}): use that", db.path(), version,
                   kVersion);
  return {};
}

}  // namespace

struct EventLog::Impl {
  Impl(std::string file, EventLogOptions log_options) : path(std::move(file)), options(std::move(log_options)) {}

  Status connect();
  Status write(const LogStep& what, int64_t step, int64_t sequence);
  Status write_postings(const LogStep& what, int64_t step);
  Status write_side_rows(const LogStep& what, int64_t step);

  std::string path;
  EventLogOptions options;
  std::optional<Database> db;
  Statement add_record, add_key, add_posting, add_side_row, find_key, add_mark;
  int64_t last_step = 0;
  int64_t last_sequence = 0;
  Instant last_at;
  bool failed = false;  // the last append: what is there is not known
};

Status EventLog::Impl::connect() {
  for (Statement* statement : {&add_record, &add_key, &add_posting, &add_side_row, &find_key, &add_mark})
    *statement = Statement();  // before the connection goes
  db.reset();
  TRY_ASSIGN(Database opened, Database::open(path, DatabaseAccess::kCreate, Duration::seconds(2),
                                             options.vfs.empty() ? nullptr : options.vfs.c_str()));
  db = std::move(opened);
  TRY(
      db->execute("PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;"
                  "PRAGMA wal_autocheckpoint = 2000"));
  TRY(db->execute(options.sync ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = OFF"));
  TRY(check_file(*db));
  TRY_ASSIGN(add_record, db->prepare("INSERT INTO record VALUES(?, ?, ?, ?, ?)"));
  TRY_ASSIGN(add_key, db->prepare("INSERT INTO command_key VALUES(?, ?, ?)"));
  TRY_ASSIGN(add_posting, db->prepare("INSERT INTO posting VALUES(NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  TRY_ASSIGN(add_side_row, db->prepare("INSERT INTO side_row SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3 FROM side_row "
                                       "WHERE stream = ?1"));
  TRY_ASSIGN(find_key, db->prepare("SELECT request, answer FROM command_key WHERE key = ?"));
  TRY_ASSIGN(add_mark, db->prepare("INSERT OR REPLACE INTO mark VALUES(?, ?)"));
  TRY_ASSIGN(Statement last, db->prepare("SELECT sequence, step, at_ns FROM record ORDER BY sequence DESC LIMIT 1"));
  TRY_ASSIGN(const bool any, last.step());
  last_sequence = any ? last.integer(0) : 0;
  last_step = any ? last.integer(1) : 0;
  last_at = any ? Instant::from_ns(last.integer(2)) : Instant();
  failed = false;
  return {};
}

Status EventLog::Impl::write(const LogStep& what, int64_t step, int64_t sequence) {
  TRY(db->execute("BEGIN IMMEDIATE"));
  for (const LogRecord& record : what.records) {
    add_record.bind(1, ++sequence);
    add_record.bind(2, step);
    add_record.bind(3, what.at.ns());
    add_record.bind(4, int64_t{record.kind});
    add_record.bind_blob(5, record.payload);
    TRY(add_record.run());
  }
  for (const LogKey& key : what.keys) {
    add_key.bind(1, key.key);
    add_key.bind(2, key.request);
    add_key.bind(3, key.answer);
    TRY(add_key.run());
  }
  TRY(write_postings(what, step));
  TRY(write_side_rows(what, step));
  return db->execute("COMMIT");
}

Status EventLog::Impl::write_postings(const LogStep& what, int64_t step) {
  for (const RunPosting& posting : what.postings) {
    add_posting.bind(1, step);
    add_posting.bind(2, posting.job);
    add_posting.bind(3, int64_t{posting.attempt});
    add_posting.bind(4, int64_t{posting.task});
    add_posting.bind(5, posting.client);
    add_posting.bind(6, posting.queue);
    add_posting.bind(7, posting.node);
    add_posting.bind(8, posting.when.begin.ns());
    add_posting.bind(9, posting.when.end.ns());
    add_posting.bind(10, posting.gpu_milli);
    add_posting.bind(11, posting.amount.count_nanos());
    add_posting.bind(12, posting.amount.currency().code());
    TRY(add_posting.run());
  }
  return {};
}

Status EventLog::Impl::write_side_rows(const LogStep& what, int64_t step) {
  for (const SideRow& row : what.side_rows) {
    add_side_row.bind(1, row.stream);
    add_side_row.bind(2, step);
    add_side_row.bind_blob(3, row.payload);
    TRY(add_side_row.run());
  }
  return {};
}

EventLog::EventLog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EventLog::EventLog(EventLog&&) noexcept = default;
EventLog& EventLog::operator=(EventLog&&) noexcept = default;
EventLog::~EventLog() = default;

Result<EventLog> EventLog::open(const std::string& path, const EventLogOptions& options) {
  EventLog log(std::make_unique<Impl>(path, options));
  if (const Status connected = log.impl_->connect(); !connected.ok()) return about_log(connected.error());
  return log;
}

Result<int64_t> EventLog::append(const LogStep& step) {
  Impl& s = *impl_;
  CHECK(!step.records.empty(), "a step without records");
  CHECK(step.at >= s.last_at, "time goes back in the log, from {} to {}", format_utc(s.last_at), format_utc(step.at));
  if (s.failed) return make_error(ErrorCode::kUnavailable, "{}: not written to since an error; reopen it", s.path);
  if (const Status written = s.write(step, s.last_step + 1, s.last_sequence); !written.ok()) {
    // A conflict is the caller's; anything else leaves open what is on disk.
    s.failed = written.error().code != ErrorCode::kConflict;
    if (s.db->in_transaction() && !s.db->execute("ROLLBACK").ok()) s.failed = true;
    return about_log(written.error());
  }
  s.last_sequence += static_cast<int64_t>(step.records.size());
  s.last_at = step.at;
  return ++s.last_step;
}

Status EventLog::reopen() {
  if (const Status connected = impl_->connect(); !connected.ok()) {
    impl_->failed = true;
    return about_log(connected.error());
  }
  return {};
}

int64_t EventLog::last_step() const { return impl_->last_step; }
int64_t EventLog::last_sequence() const { return impl_->last_sequence; }
Instant EventLog::last_at() const { return impl_->last_at; }

Status EventLog::read(int64_t after, const std::function<Status(const LoggedRecord&)>& visit) {
  TRY_ASSIGN(Statement rows,
             impl_->db->prepare("SELECT sequence, step, at_ns, kind, payload FROM record WHERE sequence > ? ORDER BY sequence"));
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

Result<std::optional<LogKey>> EventLog::find_key(std::string_view key) {
  Statement& find = impl_->find_key;
  find.bind(1, key);
  TRY_ASSIGN(const bool found, find.step());
  std::optional<LogKey> answer;
  if (found) answer = LogKey{std::string(key), std::string(find.bytes(0)), find.integer(1)};
  find.reset();
  return answer;
}

Status EventLog::put_mark(const LogMark& mark) {
  Impl& s = *impl_;
  if (s.failed) return make_error(ErrorCode::kUnavailable, "{}: not written to since an error; reopen it", s.path);
  s.add_mark.bind(1, mark.step);
  s.add_mark.bind(2, static_cast<int64_t>(mark.fingerprint));
  TRY(s.add_mark.run());
  return s.db->execute(
      fmt::format("DELETE FROM mark WHERE step NOT IN (SELECT step FROM mark ORDER BY step DESC LIMIT {})", kMarksKept));
}

Result<std::vector<LogMark>> EventLog::marks() {
  std::vector<LogMark> marks;
  TRY_ASSIGN(Statement rows, impl_->db->prepare("SELECT step, fingerprint FROM mark ORDER BY step"));
  for (;;) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return marks;
    marks.push_back({rows.integer(0), static_cast<uint64_t>(rows.integer(1))});
  }
}

Status EventLog::read_postings(int64_t after, const std::function<Status(int64_t, const RunPosting&)>& visit) {
  TRY_ASSIGN(Statement rows,
             impl_->db->prepare("SELECT number, job, attempt, task, client, queue, node, begin_ns, end_ns, gpu_milli, "
                                "amount_nanos, currency FROM posting WHERE number > ? ORDER BY number"));
  rows.bind(1, after);
  for (;;) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return {};
    TRY_ASSIGN(const Currency currency, Currency::parse(rows.bytes(11)));
    TRY(visit(rows.integer(0), {.job = rows.integer(1),
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

Result<std::vector<PostingSum>> EventLog::sum_postings() {
  std::vector<PostingSum> sums;
  TRY_ASSIGN(Statement rows, impl_->db->prepare("SELECT client, currency, count(*), sum(amount_nanos) FROM posting "
                                                "GROUP BY client, currency ORDER BY client, currency"));
  for (;;) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return sums;
    TRY_ASSIGN(const Currency currency, Currency::parse(rows.bytes(1)));
    sums.push_back({std::string(rows.bytes(0)), rows.integer(2), Money::nanos(rows.integer(3), currency)});
  }
}

Status EventLog::read_side_rows(std::string_view stream, int64_t after, int64_t limit,
                                const std::function<Status(int64_t, std::string_view)>& visit) {
  TRY_ASSIGN(Statement rows,
             impl_->db->prepare("SELECT number, payload FROM side_row WHERE stream = ? AND number > ? ORDER BY number LIMIT ?"));
  rows.bind(1, stream);
  rows.bind(2, after);
  rows.bind(3, limit);
  for (;;) {
    TRY_ASSIGN(const bool more, rows.step());
    if (!more) return {};
    TRY(visit(rows.integer(0), rows.bytes(1)));
  }
}

}  // namespace stint
