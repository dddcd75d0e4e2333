// Audits what the daemon itself has recorded: on demand, and once in a while by itself.
//
// The audit is a separate process, `stint audit` on the state folder's history.db, with what processors others leave: whatever it
// reads, replays or runs out of, jobs are scheduled as ever. Bills that were imported into that History are part of it. What it
// finds takes the place of the audit before (FindingBook).
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "daemon/background_work.h"
#include "daemon/identity/audit_config.h"

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
  using State = BackgroundWork::State;

  AuditRunner(AuditConfig config, AuditRunnerOptions options);

  // From any thread.

  /// @return kConflict when one runs.
  Status begin(std::string by) { return work_.begin(std::move(by)); }
  void reconfigure(AuditConfig config);
  [[nodiscard]] State state() const { return work_.state(); }

 private:
  Status audit(const std::atomic<bool>& stopping);
  [[nodiscard]] AuditConfig config() const;

  AuditRunnerOptions options_;
  Instant made_;
  mutable std::mutex lock_;
  AuditConfig config_;   // guarded
  BackgroundWork work_;  // last: its thread uses all of the above
};

}  // namespace stint
