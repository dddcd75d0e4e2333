// Audits what the daemon itself has recorded: on demand, and once in a while by itself.
//
// The audit is a process of its own, `stint audit` on the state folder's history.db, with what processors others leave: whatever it
// reads, replays or runs out of, jobs are scheduled as ever. Bills that were imported into that History are part of it. What it
// finds takes the place of the audit before (FindingBook).
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/time.h"
#include "daemon/audit_config.h"

namespace stint {

struct AuditRunnerOptions {
  std::string program;  ///< stint itself
  std::string history;  ///< path of the History
  std::function<Instant()> clock;
  /// Takes what the audit wrote. @return error: it is none.
  std::function<Status(std::string_view json)> take;
  std::optional<Instant> last;  ///< when the audit that is there was written
};

class AuditRunner {
 public:
  struct State {
    std::optional<Instant> running_since;
    std::optional<Instant> ended;  ///< of the last one
    std::string by;                ///< who asked for that which runs, else for the last; "daemon" = nobody, it was due
    std::string error;             ///< of the last one; empty = none
    std::optional<Instant> next;   ///< when one is due
  };

  AuditRunner(AuditConfig config, AuditRunnerOptions options);
  /// Ends the one that runs.
  ~AuditRunner();
  AuditRunner(const AuditRunner&) = delete;
  AuditRunner& operator=(const AuditRunner&) = delete;

  // From any thread.

  /// @return kConflict when one runs.
  Status begin(std::string by);
  void reconfigure(AuditConfig config);
  [[nodiscard]] State state() const;

 private:
  void run();
  Status audit(const AuditConfig& config);
  [[nodiscard]] std::optional<Instant> due() const;

  AuditRunnerOptions options_;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex lock_;
  std::condition_variable wake_;
  AuditConfig config_;                 // guarded
  State state_;                        // guarded
  std::optional<Instant> last_begun_;  // guarded; of those that came by themselves or on demand
  bool asked_ = false;                 // guarded
  std::thread thread_;
};

}  // namespace stint
