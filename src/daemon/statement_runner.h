// Writes each client's statement of a month: on demand, and by itself on the configured day of the month after.
//
// Like an audit it is a separate process, `stint statements` on the state folder's history.db. A daemon that did not run on that
// day writes them when it does. What fails is tried again after six hours.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "daemon/background_work.h"
#include "daemon/statement_book.h"
#include "daemon/statement_config.h"

namespace stint {

struct StatementRunnerOptions {
  std::string program;  ///< stint itself
  std::string history;  ///< path of the History
  std::string folder;   ///< of the StatementBook
  std::function<Instant()> clock;
};

class StatementRunner {
 public:
  using State = BackgroundWork::State;

  StatementRunner(StatementConfig config, StatementRunnerOptions options);

  // From any thread.

  /// @param month  "2026-10", one that has ended. @return kConflict when one runs, kInvalidInput for another month.
  Status begin(const std::string& month, std::string by);
  void reconfigure(StatementConfig config);
  [[nodiscard]] State state() const { return work_.state(); }
  [[nodiscard]] const StatementBook& book() const { return book_; }

 private:
  [[nodiscard]] std::optional<Instant> due(const State& state) const;
  Status write(const std::string& month, const std::atomic<bool>& stopping);
  [[nodiscard]] StatementConfig config() const;

  StatementRunnerOptions options_;
  StatementBook book_;
  mutable std::mutex lock_;
  StatementConfig config_;  // guarded
  BackgroundWork work_;     // last: its thread uses all of the above
};

}  // namespace stint
