// What a store of the event log must do: SQLite in event_log_sqlite.cc, PostgreSQL in event_log_postgres.cc.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/event_log.h"
#include "store/posting_chain.h"

namespace stint {

struct EventLog::Impl {
  virtual ~Impl() = default;

  /// Connects, anew where it was; makes or upgrades the tables; sets what follows below.
  virtual Status connect() = 0;
  /// One transaction. @param sequence  of the last record before.
  virtual Status write(const LogStep& what, int64_t step, int64_t sequence) = 0;
  /// After a failed write. @return false: what is there is not known.
  virtual bool roll_back() = 0;
  /// For messages.
  [[nodiscard]] virtual std::string name() const = 0;

  /// As EventLog's. A store that cannot be followed is always its one daemon's.
  virtual Status refresh() { return {}; }
  virtual Result<bool> is_led() { return true; }
  virtual Result<bool> take_over() { return true; }
  virtual Status let_go() { return {}; }
  [[nodiscard]] virtual bool follows() const { return false; }
  [[nodiscard]] virtual std::shared_ptr<const std::atomic<int64_t>> epoch() const { return nullptr; }

  // As EventLog's; in what writes nothing has failed before.
  virtual Status read(int64_t after, const std::function<Status(const LoggedRecord&)>& visit) = 0;
  virtual Result<std::optional<LogKey>> find_key(std::string_view key) = 0;
  virtual Status put_mark(const LogMark& mark) = 0;
  virtual Result<std::vector<LogMark>> marks() = 0;
  /// Bytes of a snapshot's payload from `at` on; also drops some of those that no snapshot has any more.
  virtual Status put_snapshot_part(int64_t step, int64_t at, std::string_view bytes) = 0;
  /// @param rest  of its payload: what is before it has been put in parts.
  virtual Status put_snapshot(const LogSnapshot& snapshot, std::string_view rest, int64_t checksum) = 0;
  /// With its whole payload. @param checksum  as it was put.
  virtual Result<std::optional<LogSnapshot>> snapshot_before(int64_t step, int32_t version, int64_t& checksum) = 0;
  virtual Result<std::optional<EndedJob>> ended_job(int64_t id) = 0;
  virtual Status read_ended_jobs(const EndedJobFilter& filter, int64_t before,
                                 const std::function<bool(const EndedJob&)>& visit) = 0;
  /// visit(number, step, posting)
  using VisitPosting = std::function<Status(int64_t, int64_t, const RunPosting&)>;
  virtual Status read_postings(int64_t after, const VisitPosting& visit) = 0;
  virtual Result<std::optional<std::string>> last_side_row(std::string_view stream) = 0;
  virtual Result<std::vector<PostingSum>> sum_postings() = 0;
  virtual Status read_side_rows(std::string_view stream, int64_t after, int64_t limit,
                                const std::function<Status(int64_t, std::string_view)>& visit) = 0;

  [[nodiscard]] Status check_whole() const;
  /// The link of the step's postings. A log without links: of all postings before as well.
  Result<PostingLink> next_link(const LogStep& step, int64_t number);

  int64_t last_step = 0;
  int64_t last_sequence = 0;
  Instant last_at;
  std::optional<std::string> chain_head;  ///< hash of the last link of postings; none = not known
  bool failed = false;                    ///< the last append: what is there is not known
};

inline constexpr int64_t kMarksKept = 4;
inline constexpr int64_t kSnapshotsKept = 2;
/// As parts are put, so many of an old snapshot's go: a bit more than come, that they do not pile up.
inline constexpr int64_t kPartsDropped = 2;

std::unique_ptr<EventLog::Impl> make_sqlite_log(std::string path, const EventLogOptions& options);
std::unique_ptr<EventLog::Impl> make_postgres_log(std::string url, const EventLogOptions& options);

}  // namespace stint
