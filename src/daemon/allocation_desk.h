// Answers what GET /allocation asks, from the state folder's history.db.
//
// Each answer is made by a separate process, `stint bill --format opencost`, so that a month of telemetry is read beside the daemon and
// not in it. One at a time; who asks while many wait is told to come again.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

struct AllocationQuestion {
  Interval window;
  std::string aggregate;  ///< keys as of `stint bill --by`
  std::optional<Duration> step;
  std::string idle = "left-out";                    ///< as of `stint bill --idle`
  std::optional<std::vector<std::string>> clients;  ///< only what is theirs; none = all
};

class AllocationDesk {
 public:
  /// On the desk's thread: keep it short.
  using Answer = std::function<void(Result<std::string>)>;

  /// @param program  stint itself. @param history  path of the History, which need not be there yet.
  AllocationDesk(std::string program, std::string history);
  /// Ends what runs; who waits hears that the daemon stops.
  ~AllocationDesk();
  AllocationDesk(const AllocationDesk&) = delete;
  AllocationDesk& operator=(const AllocationDesk&) = delete;

  /// From any thread. The answer is JSON; kUnavailable at once when too many wait.
  void ask(AllocationQuestion question, Answer answer);

 private:
  struct Waiting {
    AllocationQuestion question;
    Answer answer;
  };

  void run();
  [[nodiscard]] Result<std::string> answer_to(const AllocationQuestion& question) const;

  std::string program_;
  std::string history_;
  std::atomic<bool> stopping_ = false;
  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<Waiting> waiting_;  // guarded
  std::thread thread_;
};

}  // namespace stint
