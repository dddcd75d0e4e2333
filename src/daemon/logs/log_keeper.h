// Keeps what jobs printed within its bounds (log_rules.h): looks every few seconds what there is, asks the engine whose it is and
// which jobs have ended, takes away what is too old or too much, and says so in the audit log of the client.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/local/machine_tasks.h"
#include "daemon/identity/governor.h"
#include "daemon/logs/log_shortening.h"
#include "daemon/service.h"
#include "host/recurring.h"

namespace stint {

struct LogKeeperOptions {
  std::shared_ptr<MachineTasks> tasks;  ///< of which the logs are
  std::function<Instant()> clock;       ///< for the audit log
  /// Called, on the keeper's thread, with what keeps it from its work, once each time that changes; {} = it is not said.
  std::function<void(const std::string& problem)> say = {};
  Duration pause = Duration::seconds(2);  ///< between two looks; longer where a look takes long
};

class LogKeeper {
 public:
  /// Looks from now on. @param service, governor  outlive it.
  LogKeeper(Service& service, Governor& governor, LogKeeperOptions options, LogRules rules);
  ~LogKeeper();
  LogKeeper(const LogKeeper&) = delete;
  LogKeeper& operator=(const LogKeeper&) = delete;

  // From any thread.
  void set_rules(LogRules rules);
  [[nodiscard]] LogRules rules() const;
  /// As of the last look, behind what it took away.
  [[nodiscard]] LogDiskUses uses() const;
  /// Taken away since the start, by client.
  [[nodiscard]] std::map<std::string, Bytes, std::less<>> taken_away() const;

 private:
  /// What the engine says of a job; what has ended stays so.
  struct Known {
    std::string client, user, name;
    std::optional<Instant> ended;
  };
  using KeysOfJobs = std::map<int64_t, std::vector<KeptLog>>;
  Duration look();
  void learn(const KeysOfJobs& jobs);
  void cut(const std::vector<JobLog>& logs, const KeysOfJobs& jobs);
  void tell(const std::vector<JobLog>& logs, const std::vector<LogShortening>& cuts);
  void problem(const std::string& text);

  Service& service_;
  Governor& governor_;
  LogKeeperOptions options_;
  std::map<int64_t, Known> known_;        // the thread's alone
  std::map<int64_t, Instant> shortened_;  // likewise: jobs that run, and when the audit log was told of them last
  std::string problem_;                   // likewise
  mutable std::mutex mutex_;
  LogRules rules_;                                        // guarded
  LogDiskUses uses_;                                      // guarded
  std::map<std::string, Bytes, std::less<>> taken_away_;  // guarded
  Recurring looks_;                                       // last: it uses all of the above
};

}  // namespace stint
