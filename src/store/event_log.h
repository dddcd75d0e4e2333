// The event log: what the daemon was told and what happened to it, in order, durable before anything follows from it.
//
// One SQLite file in WAL mode with synchronous=FULL, or a PostgreSQL database, which daemons on other machines can follow: one
// is active, and when it is gone one of the others takes over. Records are bytes of a kind, written in steps: a step is one
// transaction, so it is there whole or not at all, and whatever belongs to it (keys of commands, postings, rows of
// side streams such as the audit log) is there with it. Marks say what state a reader had reached at a step.
//
// After an error nothing can be said about that step until reopen() has looked: a full disk refuses it for certain, a
// failed sync may have kept it. Source: https://www.sqlite.org/wal.html and https://www.sqlite.org/lockingv3.html
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"

namespace stint {

/// Something that was told to the daemon or happened to it.
struct LogRecord {
  int32_t kind = 0;
  std::string payload;
};

/// A record as it is read.
struct LoggedRecord {
  int64_t sequence = 0;  ///< from 1, without gaps
  int64_t step = 0;      ///< from 1; records of one step are of one instant
  Instant at;            ///< never before those above
  int32_t kind = 0;
  std::string_view payload;
};

/// A command that must not be carried out twice: the same key with the same request has the same answer.
struct LogKey {
  std::string key;
  std::string request;  ///< a digest of what was asked
  int64_t answer = 0;   ///< the id it was answered with
  bool operator==(const LogKey&) const = default;
};

/// What one run of a task cost, and who pays.
struct RunPosting {
  int64_t job = 0;
  int32_t attempt = 0;
  int32_t task = 0;
  std::string client;
  std::string queue;
  std::string node;
  Interval when;
  int64_t gpu_milli = 0;  ///< held meanwhile
  Money amount;
  bool operator==(const RunPosting&) const = default;
};

/// A row of a table beside the records, numbered upward from 1 within its stream.
struct SideRow {
  std::string stream;
  std::string payload;
};

/// A job that has ended for good and has left the daemon's memory: from here on it is looked up here.
struct EndedJob {
  int64_t id = 0;
  std::string queue;  ///< a path: "agency/vision"
  std::string user;
  std::string name;
  int32_t state = 0;  ///< a number of the daemon's
  std::string payload;
  bool operator==(const EndedJob&) const = default;
};

/// Which of them; what is empty does not matter.
struct EndedJobFilter {
  std::string queue;  ///< it and all below it
  std::string user;
  std::string name;
  std::optional<int32_t> state;
};

/// Everything that becomes durable together.
struct LogStep {
  Instant at;  ///< not before the last step's
  std::vector<LogRecord> records;
  std::vector<LogKey> keys;
  std::vector<RunPosting> postings;
  std::vector<SideRow> side_rows;
  std::vector<std::string> renewed;  ///< side streams whose rows of earlier steps go: those of this one stand for them
  std::vector<EndedJob> ended_jobs;
};

/// State of a reader after `step`: two that have read the same steps have the same fingerprint.
struct LogMark {
  int64_t step = 0;
  uint64_t fingerprint = 0;
};

/// All that a reader knows after `step`, so that the next one need not read the records up to there.
struct LogSnapshot {
  int64_t step = 0;
  int64_t sequence = 0;  ///< of the last record it has taken in
  int32_t version = 0;   ///< of what the payload is; another is never given out
  uint64_t fingerprint = 0;
  std::string payload;
};

/// Postings of one client, or of all, summed.
struct PostingSum {
  std::string client;
  int64_t postings = 0;
  Money amount;
};

/// What stands in the postings against what the daemon wrote (store/posting_chain.h).
struct PostingCheck {
  int64_t postings = 0;
  int64_t unchained = 0;  ///< of a log that an older release wrote, and this one has not added to: nothing proves them
  std::string head;       ///< the last hash: note it elsewhere, and later see that it is still there; "" = none
  std::vector<std::string> problems;  ///< a sentence each; empty = as written
};

struct EventLogOptions {
  std::string vfs;   ///< SQLite's name of the file system to use; empty = the usual one
  bool sync = true;  ///< false, for simulations: a crash of the machine may take the last steps with it
  /// PostgreSQL: only reads what the active daemon writes, until take_over().
  bool follow = false;
  /// PostgreSQL: once another daemon has taken over, reopen() does not take the log back, and says kConflict.
  bool yields = false;
};

/// "postgresql://…": a log in PostgreSQL; anything else is the path of a file.
inline bool is_database_url(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

/// Whether there is such a file and it is a daemon's event log.
bool is_event_log(const std::string& path);

/// For one thread at a time. One process writes: of a file the daemon's lock sees to that, of a database its own.
class EventLog {
 public:
  /// @param place  a path, made when it is absent, or the URL of a database.
  /// @return error for a log of a newer version, or what is no event log; kUnavailable: cannot be reached, or another daemon is
  /// active on it; kConflict: another one is that has taken it over from this object.
  static Result<EventLog> open(const std::string& place, const EventLogOptions& options = {});
  EventLog(EventLog&&) noexcept;
  EventLog& operator=(EventLog&&) noexcept;
  ~EventLog();

  /// Returns when the step is on disk. @return its number; kConflict: a key is there already; kUnavailable: disk full or
  /// failing: nothing more can be appended before reopen().
  Result<int64_t> append(const LogStep& step);
  /// Looks again at what is there. A failed step may turn out to be; its records are then read like any others.
  Status reopen();

  /// Of one that follows: looks how far the active one has written. What fails may be tried again after reopen().
  Status refresh();
  /// Is there an active one? Of one that is itself: true.
  Result<bool> is_led();
  /// Becomes the active one. @return false: another one is.
  Result<bool> take_over();
  /// Follows again, so that another one can become the active one.
  Status let_go();
  /// PostgreSQL: the number of this daemon's turn, for what else it writes there (store/govern_postgres.h). May be read by any
  /// thread, and outlives the log; nullptr for a file.
  [[nodiscard]] std::shared_ptr<const std::atomic<int64_t>> epoch() const;

  // As of the last append, open, reopen or refresh.
  [[nodiscard]] int64_t last_step() const;
  [[nodiscard]] int64_t last_sequence() const;
  [[nodiscard]] Instant last_at() const;

  /// Calls visit(record) for all records behind sequence `after`, in order, until it returns an error, which is then returned.
  /// A payload lives until visit returns.
  Status read(int64_t after, const std::function<Status(const LoggedRecord&)>& visit);

  Result<std::optional<LogKey>> find_key(std::string_view key);

  /// Durable like a step. Older marks than the last few are dropped.
  Status put_mark(const LogMark& mark);
  /// Ascending by step.
  Result<std::vector<LogMark>> marks();

  /// Durable like a step. Older ones than the last two are dropped.
  Status put_snapshot(const LogSnapshot& snapshot);
  /// The same bit by bit, so that steps can be appended meanwhile: writes the next part of at most half a MiB.
  /// @param written  bytes of the payload that are written; 0 at first. It counts as put once that is all of them.
  Status put_snapshot_part(const LogSnapshot& snapshot, size_t& written);
  /// The newest of that version before `step`; one whose bytes are not those that were written is passed over.
  Result<std::optional<LogSnapshot>> snapshot_before(int64_t step, int32_t version);

  Result<std::optional<EndedJob>> ended_job(int64_t id);
  /// Calls visit(job) for those with an id below `before`, the newest first, until it returns false.
  Status read_ended_jobs(const EndedJobFilter& filter, int64_t before, const std::function<bool(const EndedJob&)>& visit);

  /// Calls visit(number, posting) for postings behind `after`, ascending.
  Status read_postings(int64_t after, const std::function<Status(int64_t, const RunPosting&)>& visit);
  /// Whether postings are as they were written. May be asked for while another process goes on writing.
  Result<PostingCheck> check_postings();
  /// By client, ascending; one currency each.
  Result<std::vector<PostingSum>> sum_postings();
  /// Calls visit(number, payload) for rows of a stream behind `after`, ascending, at most `limit`.
  Status read_side_rows(std::string_view stream, int64_t after, int64_t limit,
                        const std::function<Status(int64_t, std::string_view)>& visit);

  struct Impl;  ///< of the kinds of store

 private:
  explicit EventLog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
