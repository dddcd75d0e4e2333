// Work that the daemon does in the background: on demand, and when it is due. One at a time, on its own thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

struct BackgroundState {
  std::optional<Instant> running_since;
  std::optional<Instant> begun;  ///< the last one, or that which runs
  std::optional<Instant> ended;  ///< the last one
  std::string by;                ///< who asked for that which runs, else for the last; "daemon": it was due
  std::string error;             ///< of the last one; empty = none
  std::optional<Instant> next;   ///< when one is due
};

class BackgroundWork {
 public:
  using State = BackgroundState;
  struct Options {
    std::string name;  ///< for the message that one runs: "an audit"
    std::function<Instant()> clock;
    /// When the next is due; none = on demand only. Asked at least once a minute, as clocks are set; must not call back.
    std::function<std::optional<Instant>(const State&)> due;
    /// Does it. @param wish  as it was given to begin(); empty = it is due. @param stopping  true: end soon.
    std::function<Status(const std::string& wish, const std::atomic<bool>& stopping)> work;
    std::optional<Instant> last;  ///< when the last one before this start ended
  };

  explicit BackgroundWork(Options options);
  /// Ends the one that runs.
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // From any thread.

  /// @return kConflict when one runs.
  Status begin(std::string by, std::string wish = "");
  /// What is due may have changed.
  void look_again();
  [[nodiscard]] State state() const;

 private:
  void run();

  Options options_;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex lock_;
  std::condition_variable wake_;
  State state_;                      // guarded
  std::optional<std::string> wish_;  // guarded; of one that was asked for and has not begun
  std::thread thread_;
};

/// The output of another stint at the lowest priority. @param command  program and arguments. @param name  "the audit"
/// @return kUnavailable with the last line that it printed as an error, when it ends with another code than 0.
Result<std::string> output_in_background(const std::vector<std::string>& command, const std::string& name,
                                         const std::atomic<bool>& stopping);

}  // namespace stint
