// What the daemon saw, kept as a History (store/history_file.h): `stint audit --history STATE/history.db` works on it.
//
// Samples wait in memory and are written every few minutes as one import: a kill takes those minutes with it, a full disk keeps
// them waiting, up to a bound, and stops no other. Each write's samples speak up to the write, so that writes add up.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "daemon/live/live_telemetry.h"
#include "store/history_file.h"

namespace stint {

class LiveHistory {
 public:
  struct Options {
    std::string path;
    std::string source;  ///< shown with the imports
    Duration retention = Duration::hours(400 * 24);
    size_t most_waiting = 4'000'000;  ///< samples, 16 bytes each
  };
  explicit LiveHistory(Options options);

  // From any thread.
  size_t series(const SeriesKey& key);
  void put(size_t series, const Sample& sample);
  [[nodiscard]] LiveHistoryState state() const;

  /// Tells runs one after the other: there may be more than memory should hold at once.
  using RunFeed = std::function<void(const std::function<void(const Run&)>& take)>;
  /// Writes what waits, with these machines and runs. One thread at a time.
  /// @param runs  asked at most once; empty: none
  void write(const std::vector<Node>& nodes, const RunFeed& runs, Instant now);

  static constexpr std::string_view kKind = "daemon";  ///< of its imports, and origin of its runs

 private:
  using Waiting = std::vector<std::vector<Sample>>;  // by series
  Status import(const Waiting& samples, const std::vector<Node>& nodes, const RunFeed& runs, Instant now);
  void put_back(Waiting samples);

  const Options options_;
  std::optional<int64_t> tidied_;  // UTC day on which the old was last taken out; of the thread that writes

  mutable std::mutex mutex_;
  std::map<SeriesKey, size_t> ids_;
  std::deque<SeriesKey> keys_;  // only grows: references to it stay good
  Waiting waiting_;
  LiveHistoryState state_;
};

}  // namespace stint
