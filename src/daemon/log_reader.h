// Reads what tasks printed, on a thread of its own: a backend may have to ask another machine for it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "backends/backend.h"

namespace stint {

class LogReader {
 public:
  using Answer = std::function<void(Result<LogPiece>)>;

  /// @param backend  outlives it; nullptr = nothing was printed.
  explicit LogReader(const Backend* backend);
  /// What was asked is answered.
  ~LogReader();
  LogReader(const LogReader&) = delete;
  LogReader& operator=(const LogReader&) = delete;

  /// @param answer  called on the reader's thread; at once with kUnavailable where too many wait.
  void read(const LogQuery& query, Answer answer);

 private:
  void run();

  const Backend* backend_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<LogQuery, Answer>> asked_;  // guarded
  bool stopping_ = false;                          // guarded
  std::jthread thread_;
};

}  // namespace stint
