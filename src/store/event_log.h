// The event log: what the daemon was told and what happened to it, in order, durable before anything follows from it.
//
// One SQLite file in WAL mode with synchronous=FULL. Records are bytes of a kind, written in steps: a step is one
// transaction, so it is there whole or not at all, and whatever belongs to it (keys of commands, postings, rows of
// side streams such as the audit log) is there with it. Marks say what state a reader had reached at a step.
//
// After an error nothing can be said about that step until reopen() has looked: a full disk refuses it for certain, a
// failed sync may have kept it. Source: https://www.sqlite.org/wal.html and https://www.sqlite.org/lockingv3.html
#pragma once

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

/// A row of an append-only table beside the records, numbered from 1 within its stream.
struct SideRow {
  std::string stream;
  std::string payload;
};

/// Everything that becomes durable together.
struct LogStep {
  Instant at;  ///< not before the last step's
  std::vector<LogRecord> records;
  std::vector<LogKey> keys;
  std::vector<RunPosting> postings;
  std::vector<SideRow> side_rows;
};

/// State of a reader after `step`: two that have read the same steps have the same fingerprint.
struct LogMark {
  int64_t step = 0;
  uint64_t fingerprint = 0;
};

/// Postings of one client, or of all, summed.
struct PostingSum {
  std::string client;
  int64_t postings = 0;
  Money amount;
};

struct EventLogOptions {
  std::string vfs;   ///< SQLite's name of the file system to use; empty = the usual one
  bool sync = true;  ///< false, for simulations: a crash of the machine may take the last steps with it
};

/// For one thread at a time; one process per file (the daemon's lock sees to that).
class EventLog {
 public:
  /// @param path  made when it is absent. @return error for a file of a newer version, or one that is no event log.
  static Result<EventLog> open(const std::string& path, const EventLogOptions& options = {});
  EventLog(EventLog&&) noexcept;
  EventLog& operator=(EventLog&&) noexcept;
  ~EventLog();

  /// Returns when the step is on disk. @return its number; kConflict: a key is there already; kUnavailable: disk full or
  /// failing: nothing more can be appended before reopen().
  Result<int64_t> append(const LogStep& step);
  /// Looks again at what is there. A failed step may turn out to be; its records are then read like any others.
  Status reopen();

  // As of the last append, open or reopen.
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

  /// Calls visit(number, posting) for postings behind `after`, ascending.
  Status read_postings(int64_t after, const std::function<Status(int64_t, const RunPosting&)>& visit);
  /// By client, ascending; one currency each.
  Result<std::vector<PostingSum>> sum_postings();
  /// Calls visit(number, payload) for rows of a stream behind `after`, ascending, at most `limit`.
  Status read_side_rows(std::string_view stream, int64_t after, int64_t limit,
                        const std::function<Status(int64_t, std::string_view)>& visit);

 private:
  struct Impl;
  explicit EventLog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
