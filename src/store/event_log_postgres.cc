// The event log in PostgreSQL: one connection, each step one pipeline, which is one transaction and one journey (store/postgres.h).
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "store/event_log_impl.h"
#include "store/postgres.h"

namespace stint {
namespace {

constexpr int64_t kPostgresVersion = 2;  // from 2 on users, tokens and the audit log are beside it (govern_postgres.cc)
constexpr int kTriesForLock = 20;
constexpr std::chrono::milliseconds kBetweenTries(100);

constexpr const char* kPostgresSchema = R"(
CREATE SCHEMA IF NOT EXISTS stint_log;
SET search_path TO stint_log;
CREATE TABLE IF NOT EXISTS about(version bigint NOT NULL, epoch bigint NOT NULL);
INSERT INTO about SELECT 1, 0 WHERE NOT EXISTS (SELECT 1 FROM about);
CREATE TABLE IF NOT EXISTS record(sequence bigint PRIMARY KEY, step bigint NOT NULL, at_ns bigint NOT NULL,
                                  kind bigint NOT NULL, payload bytea NOT NULL);
CREATE TABLE IF NOT EXISTS command_key(key text PRIMARY KEY, request text NOT NULL, answer bigint NOT NULL);
CREATE TABLE IF NOT EXISTS posting(number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, step bigint NOT NULL,
                                   job bigint NOT NULL, attempt bigint NOT NULL, task bigint NOT NULL, client text NOT NULL,
                                   queue text NOT NULL, node text NOT NULL, begin_ns bigint NOT NULL, end_ns bigint NOT NULL,
                                   gpu_milli bigint NOT NULL, amount_nanos bigint NOT NULL, currency text NOT NULL,
                                   UNIQUE(job, attempt, task, begin_ns));
CREATE TABLE IF NOT EXISTS side_row(stream text NOT NULL, number bigint NOT NULL, step bigint NOT NULL, payload bytea NOT NULL,
                                    PRIMARY KEY(stream, number));
CREATE TABLE IF NOT EXISTS mark(step bigint PRIMARY KEY, fingerprint bigint NOT NULL);
CREATE TABLE IF NOT EXISTS snapshot(step bigint PRIMARY KEY, sequence bigint NOT NULL, version bigint NOT NULL,
                                    fingerprint bigint NOT NULL, checksum bigint NOT NULL, payload bytea NOT NULL);
CREATE TABLE IF NOT EXISTS snapshot_part(step bigint NOT NULL, at bigint NOT NULL, payload bytea NOT NULL, PRIMARY KEY(step, at));
CREATE TABLE IF NOT EXISTS ended_job(id bigint PRIMARY KEY, queue text COLLATE "C" NOT NULL, owner text NOT NULL,
                                     name text NOT NULL, state bigint NOT NULL, payload bytea NOT NULL);
)";

using Parameters = PostgresValues;
using Rows = PostgresRows;

class PostgresLog final : public EventLog::Impl {
 public:
  PostgresLog(std::string url, const EventLogOptions& options)
      : url_(std::move(url)), follows_(options.follow), yields_(options.yields) {}

  Status connect() override;
  Status write(const LogStep& what, int64_t step, int64_t sequence) override;
  bool roll_back() override { return connection_.idle(); }
  [[nodiscard]] std::string name() const override { return "PostgreSQL"; }
  Status refresh() override;
  Result<bool> is_led() override;
  Result<bool> take_over() override;
  Status let_go() override;
  [[nodiscard]] bool follows() const override { return follows_; }
  [[nodiscard]] std::shared_ptr<const std::atomic<int64_t>> epoch() const override { return epoch_; }
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
  Result<Rows> query(const char* sql, const Parameters& parameters = {}) { return connection_.query(sql, parameters); }
  Status make_tables();
  /// All of it, or nothing, and only while the epoch is ours.
  Status transaction(const std::vector<PostgresStatement>& statements);

  std::string url_;
  bool follows_, yields_;
  /// Ours while we hold the lock.
  std::shared_ptr<std::atomic<int64_t>> epoch_ = std::make_shared<std::atomic<int64_t>>(0);
  PostgresConnection connection_;
};

Status PostgresLog::make_tables() {
  TRY(connection_.execute("BEGIN"));
  TRY(query("SELECT pg_advisory_xact_lock($1)", Parameters().number(kPostgresTablesLock)));
  TRY(connection_.execute(kPostgresSchema));
  TRY(connection_.execute("COMMIT"));
  TRY_ASSIGN(const Rows about, query("SELECT version FROM about"));
  if (about.count() != 1 || about.integer(0, 0) > kPostgresVersion)
    return invalid("PostgreSQL: the log is of a newer Stint (version {}, this one knows {}): use that",
                   about.count() > 0 ? about.integer(0, 0) : 0, kPostgresVersion);
  return {};
}

Status PostgresLog::connect() {
  TRY(connection_.connect(url_));
  TRY(make_tables());
  if (follows_) return refresh();
  // The server gives back the lock of a daemon that has just ended a moment after its connection goes.
  const int64_t before = *epoch_;
  TRY_ASSIGN(bool taken, take_over());
  for (int tried = 0; !taken && tried < kTriesForLock; ++tried) {
    std::this_thread::sleep_for(kBetweenTries);
    TRY_ASSIGN(taken, take_over());
  }
  TRY_ASSIGN(const Rows about, query("SELECT epoch FROM about"));
  if (before > 0 && about.integer(0, 0) != before + (taken ? 1 : 0) && (yields_ || !taken)) {
    connection_.close();
    *epoch_ = before;
    return make_error(ErrorCode::kConflict, "PostgreSQL: another daemon has taken over this log");
  }
  if (taken) return {};
  return make_error(ErrorCode::kUnavailable,
                    "PostgreSQL: another daemon is active on this log: stop it, or start this one with --standby");
}

Result<bool> PostgresLog::is_led() {
  // A lock of one 64-bit key: its halves, and 1 (pg_locks).
  TRY_ASSIGN(const Rows held, query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND "
                                    "classid = 0 AND objid::bigint = $1 AND "
                                    "database = (SELECT oid FROM pg_database WHERE datname = current_database())",
                                    Parameters().number(kPostgresLock)));
  return held.integer(0, 0) > 0;
}

Status PostgresLog::let_go() {
  follows_ = true;
  return connection_.execute("SELECT pg_advisory_unlock_all()");
}

Result<bool> PostgresLog::take_over() {
  TRY_ASSIGN(const Rows locked, query("SELECT pg_try_advisory_lock($1)::int::bigint", Parameters().number(kPostgresLock)));
  if (locked.integer(0, 0) == 0) return false;
  TRY_ASSIGN(const Rows raised, query("UPDATE about SET epoch = epoch + 1 RETURNING epoch"));
  *epoch_ = raised.integer(0, 0);
  TRY(refresh());
  follows_ = false;
  return true;
}

Status PostgresLog::refresh() {
  TRY_ASSIGN(const Rows last, query("SELECT sequence, step, at_ns FROM record ORDER BY sequence DESC LIMIT 1"));
  const bool any = last.count() > 0;
  last_sequence = any ? last.integer(0, 0) : 0;
  last_step = any ? last.integer(0, 1) : 0;
  last_at = any ? Instant::from_ns(last.integer(0, 2)) : Instant();
  return {};
}

Status PostgresLog::transaction(const std::vector<PostgresStatement>& statements) {
  return connection_.transaction(*epoch_, statements, [](const Rows& refused) -> std::optional<Error> {
    if (refused.field(PG_DIAG_SQLSTATE) != "23505" || refused.field(PG_DIAG_TABLE_NAME) == "record") return std::nullopt;
    return make_error(ErrorCode::kConflict, "event log: {}", refused.field(PG_DIAG_MESSAGE_DETAIL));
  });
}

Status PostgresLog::write(const LogStep& what, int64_t step, int64_t sequence) {
  std::vector<PostgresStatement> all;
  for (const LogRecord& r : what.records)
    all.push_back({"INSERT INTO record VALUES($1, $2, $3, $4, $5)",
                   Parameters().number(++sequence).number(step).number(what.at.ns()).number(r.kind).bytes(r.payload)});
  for (const LogKey& k : what.keys)
    all.push_back({"INSERT INTO command_key VALUES($1, $2, $3)", Parameters().text(k.key).text(k.request).number(k.answer)});
  for (const RunPosting& p : what.postings)
    all.push_back(
        {"INSERT INTO posting(step, job, attempt, task, client, queue, node, begin_ns, end_ns, gpu_milli, amount_nanos, "
         "currency) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
         Parameters()
             .number(step)
             .number(p.job)
             .number(p.attempt)
             .number(p.task)
             .text(p.client)
             .text(p.queue)
             .text(p.node)
             .number(p.when.begin.ns())
             .number(p.when.end.ns())
             .number(p.gpu_milli)
             .number(p.amount.count_nanos())
             .text(p.amount.currency().code())});
  for (const SideRow& row : what.side_rows)
    all.push_back({"INSERT INTO side_row SELECT $1, coalesce(max(number), 0) + 1, $2, $3 FROM side_row WHERE stream = $1",
                   Parameters().text(row.stream).number(step).bytes(row.payload)});
  for (const std::string& stream : what.renewed)
    all.push_back({"DELETE FROM side_row WHERE stream = $1 AND step < $2", Parameters().text(stream).number(step)});
  for (const EndedJob& job : what.ended_jobs)
    all.push_back(
        {"INSERT INTO ended_job VALUES($1, $2, $3, $4, $5, $6)",
         Parameters().number(job.id).text(job.queue).text(job.user).text(job.name).number(job.state).bytes(job.payload)});
  return transaction(all);
}

Status PostgresLog::put_mark(const LogMark& mark) {
  return transaction({{"INSERT INTO mark VALUES($1, $2) ON CONFLICT (step) DO UPDATE SET fingerprint = excluded.fingerprint",
                       Parameters().number(mark.step).number(static_cast<int64_t>(mark.fingerprint))},
                      {"DELETE FROM mark WHERE step NOT IN (SELECT step FROM mark ORDER BY step DESC LIMIT $1)",
                       Parameters().number(kMarksKept)}});
}

Status PostgresLog::put_snapshot_part(int64_t step, int64_t at, std::string_view bytes) {
  return transaction({{"DELETE FROM snapshot_part WHERE step = $1 AND at = $2", Parameters().number(step).number(at)},
                      {"DELETE FROM snapshot_part WHERE (step, at) IN (SELECT step, at FROM snapshot_part WHERE step <> $1 AND "
                       "step NOT IN (SELECT step FROM snapshot) LIMIT $2)",
                       Parameters().number(step).number(kPartsDropped)},
                      {"INSERT INTO snapshot_part VALUES($1, $2, $3)", Parameters().number(step).number(at).bytes(bytes)}});
}

Status PostgresLog::put_snapshot(const LogSnapshot& snapshot, std::string_view rest, int64_t checksum) {
  return transaction(
      {{"DELETE FROM snapshot WHERE step = $1", Parameters().number(snapshot.step)},
       {"INSERT INTO snapshot VALUES($1, $2, $3, $4, $5, $6)", Parameters()
                                                                   .number(snapshot.step)
                                                                   .number(snapshot.sequence)
                                                                   .number(snapshot.version)
                                                                   .number(static_cast<int64_t>(snapshot.fingerprint))
                                                                   .number(checksum)
                                                                   .bytes(rest)},
       {"DELETE FROM snapshot WHERE step NOT IN (SELECT step FROM snapshot ORDER BY step DESC LIMIT $1)",
        Parameters().number(kSnapshotsKept)}});
}

Status PostgresLog::read(int64_t after, const std::function<Status(const LoggedRecord&)>& visit) {
  constexpr int64_t kPage = 5'000;
  for (;;) {
    TRY_ASSIGN(const Rows rows, query("SELECT sequence, step, at_ns, kind, payload FROM record WHERE sequence > $1 AND "
                                      "sequence <= $2 ORDER BY sequence LIMIT $3",
                                      Parameters().number(after).number(last_sequence).number(kPage)));
    for (int i = 0; i < rows.count(); ++i) {
      after = rows.integer(i, 0);
      TRY(visit({.sequence = after,
                 .step = rows.integer(i, 1),
                 .at = Instant::from_ns(rows.integer(i, 2)),
                 .kind = static_cast<int32_t>(rows.integer(i, 3)),
                 .payload = rows.bytes(i, 4)}));
    }
    if (rows.count() < kPage) return {};
  }
}

Result<std::optional<LogKey>> PostgresLog::find_key(std::string_view key) {
  TRY_ASSIGN(const Rows rows, query("SELECT request, answer FROM command_key WHERE key = $1", Parameters().text(key)));
  if (rows.count() == 0) return std::optional<LogKey>();
  return std::optional(LogKey{std::string(key), std::string(rows.bytes(0, 0)), rows.integer(0, 1)});
}

Result<std::vector<LogMark>> PostgresLog::marks() {
  TRY_ASSIGN(const Rows rows, query("SELECT step, fingerprint FROM mark ORDER BY step"));
  std::vector<LogMark> marks;
  for (int i = 0; i < rows.count(); ++i)
    marks.push_back({rows.integer(i, 0), static_cast<uint64_t>(rows.integer(i, 1))});
  return marks;
}

Result<std::optional<LogSnapshot>> PostgresLog::snapshot_before(int64_t step, int32_t version, int64_t& checksum) {
  TRY_ASSIGN(const Rows rows, query("SELECT step, sequence, version, fingerprint, checksum, payload FROM snapshot "
                                    "WHERE step < $1 AND version = $2 ORDER BY step DESC LIMIT 1",
                                    Parameters().number(step).number(version)));
  if (rows.count() == 0) return std::optional<LogSnapshot>();
  checksum = rows.integer(0, 4);
  LogSnapshot snapshot{.step = rows.integer(0, 0),
                       .sequence = rows.integer(0, 1),
                       .version = static_cast<int32_t>(rows.integer(0, 2)),
                       .fingerprint = static_cast<uint64_t>(rows.integer(0, 3)),
                       .payload = ""};
  TRY_ASSIGN(const Rows parts,
             query("SELECT payload FROM snapshot_part WHERE step = $1 ORDER BY at", Parameters().number(snapshot.step)));
  for (int i = 0; i < parts.count(); ++i)
    snapshot.payload += parts.bytes(i, 0);
  snapshot.payload += rows.bytes(0, 5);
  return std::optional(std::move(snapshot));
}

Result<std::optional<EndedJob>> PostgresLog::ended_job(int64_t id) {
  std::optional<EndedJob> job;
  TRY(read_ended_jobs({}, id + 1, [&](const EndedJob& found) {
    if (found.id == id) job = found;
    return false;
  }));
  return job;
}

Status PostgresLog::read_ended_jobs(const EndedJobFilter& filter, int64_t before,
                                    const std::function<bool(const EndedJob&)>& visit) {
  constexpr int64_t kPage = 100;
  for (;;) {
    // A path's descendants are those that begin with it and '/'; '0' is the character behind that.
    TRY_ASSIGN(const Rows rows,
               query("SELECT id, queue, owner, name, state, payload FROM ended_job WHERE id < $1 AND "
                     "($2 = '' OR queue = $2 OR (queue > $2 || '/' AND queue < $2 || '0')) AND ($3 = '' OR owner = $3) AND "
                     "($4 = '' OR name = $4) AND ($5 < 0 OR state = $5) ORDER BY id DESC LIMIT $6",
                     Parameters()
                         .number(before)
                         .text(filter.queue)
                         .text(filter.user)
                         .text(filter.name)
                         .number(filter.state.value_or(-1))
                         .number(kPage)));
    for (int i = 0; i < rows.count(); ++i) {
      before = rows.integer(i, 0);
      if (!visit({.id = before,
                  .queue = std::string(rows.bytes(i, 1)),
                  .user = std::string(rows.bytes(i, 2)),
                  .name = std::string(rows.bytes(i, 3)),
                  .state = static_cast<int32_t>(rows.integer(i, 4)),
                  .payload = std::string(rows.bytes(i, 5))}))
        return {};
    }
    if (rows.count() < kPage) return {};
  }
}

Result<std::optional<std::string>> PostgresLog::last_side_row(std::string_view stream) {
  TRY_ASSIGN(const Rows rows,
             query("SELECT payload FROM side_row WHERE stream = $1 ORDER BY number DESC LIMIT 1", Parameters().text(stream)));
  return rows.count() > 0 ? std::optional(std::string(rows.bytes(0, 0))) : std::nullopt;
}

Status PostgresLog::read_postings(int64_t after, const VisitPosting& visit) {
  constexpr int64_t kPage = 5'000;
  for (;;) {
    TRY_ASSIGN(const Rows rows, query("SELECT number, job, attempt, task, client, queue, node, begin_ns, end_ns, gpu_milli, "
                                      "amount_nanos, currency, step FROM posting WHERE number > $1 ORDER BY number LIMIT $2",
                                      Parameters().number(after).number(kPage)));
    for (int i = 0; i < rows.count(); ++i) {
      after = rows.integer(i, 0);
      TRY_ASSIGN(const Currency currency, Currency::parse(rows.bytes(i, 11)));
      TRY(visit(after, rows.integer(i, 12),
                {.job = rows.integer(i, 1),
                 .attempt = static_cast<int32_t>(rows.integer(i, 2)),
                 .task = static_cast<int32_t>(rows.integer(i, 3)),
                 .client = std::string(rows.bytes(i, 4)),
                 .queue = std::string(rows.bytes(i, 5)),
                 .node = std::string(rows.bytes(i, 6)),
                 .when = {Instant::from_ns(rows.integer(i, 7)), Instant::from_ns(rows.integer(i, 8))},
                 .gpu_milli = rows.integer(i, 9),
                 .amount = Money::nanos(rows.integer(i, 10), currency)}));
    }
    if (rows.count() < kPage) return {};
  }
}

Result<std::vector<PostingSum>> PostgresLog::sum_postings() {
  TRY_ASSIGN(const Rows rows, query("SELECT client, currency, count(*), sum(amount_nanos)::bigint FROM posting "
                                    "GROUP BY client, currency ORDER BY client COLLATE \"C\", currency"));
  std::vector<PostingSum> sums;
  for (int i = 0; i < rows.count(); ++i) {
    TRY_ASSIGN(const Currency currency, Currency::parse(rows.bytes(i, 1)));
    sums.push_back({std::string(rows.bytes(i, 0)), rows.integer(i, 2), Money::nanos(rows.integer(i, 3), currency)});
  }
  return sums;
}

Status PostgresLog::read_side_rows(std::string_view stream, int64_t after, int64_t limit,
                                   const std::function<Status(int64_t, std::string_view)>& visit) {
  TRY_ASSIGN(const Rows rows,
             query("SELECT number, payload FROM side_row WHERE stream = $1 AND number > $2 ORDER BY number LIMIT $3",
                   Parameters().text(stream).number(after).number(limit)));
  for (int i = 0; i < rows.count(); ++i)
    TRY(visit(rows.integer(i, 0), rows.bytes(i, 1)));
  return {};
}

}  // namespace

std::unique_ptr<EventLog::Impl> make_postgres_log(std::string url, const EventLogOptions& options) {
  return std::make_unique<PostgresLog>(std::move(url), options);
}

}  // namespace stint
