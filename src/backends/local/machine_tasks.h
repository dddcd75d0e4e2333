// What is asked about the tasks of this machine beside orders: what they printed, and which process is whose. Answered by who may look:
// this process itself, or the privileged starter (starter/starter_backend.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/local/kept_logs.h"

namespace stint {

/// Whose a process is.
struct ProcessOwner {
  std::optional<LaunchKey> launch;  ///< none: foreign, or gone
  std::string account;              ///< "CLIENT/USER" where its account is one that jobs have; else ""
};

/// From any thread.
class MachineTasks {
 public:
  virtual ~MachineTasks() = default;
  [[nodiscard]] virtual std::vector<KeptLog> kept_logs() = 0;
  virtual Status cut_log(const LaunchKey& key) = 0;
  virtual Status shorten_log(const LaunchKey& key, Bytes most) = 0;
  [[nodiscard]] virtual ProcessOwner owner_of(int64_t pid) = 0;
};

/// This process looks itself. @param state_folder  of the LocalBackend. @param accounts_file  of jobs (account_book.h); "" = they have none
/// of their own
std::unique_ptr<MachineTasks> look_at_tasks(std::string state_folder, std::string accounts_file);

}  // namespace stint
