#include "backends/local/machine_tasks.h"

#include <sys/stat.h>

#include <mutex>

#include "backends/local/account_book.h"
#include "backends/local/task_owner.h"

namespace stint {
namespace {

class TasksHere final : public MachineTasks {
 public:
  TasksHere(std::string state_folder, std::string accounts_file)
      : logs_(state_folder + "/logs"), accounts_file_(std::move(accounts_file)), owners_(std::move(state_folder)) {}

  std::vector<KeptLog> kept_logs() override { return stint::kept_logs(logs_); }
  Status cut_log(const LaunchKey& key) override { return stint::cut_log(logs_, key); }
  Status shorten_log(const LaunchKey& key, Bytes most) override { return stint::shorten_log(logs_, key, most); }

  ProcessOwner owner_of(int64_t pid) override {
    const std::lock_guard lock(mutex_);
    return {.launch = owners_.owner_of(pid), .account = account_of(pid)};
  }

 private:
  [[nodiscard]] std::string account_of(int64_t pid) const {
    struct stat info = {};
    if (accounts_file_.empty() || ::stat(fmt::format("/proc/{}", pid).c_str(), &info) != 0) return "";
    if (const auto book = AccountBook::open(accounts_file_, {}); book.ok())
      for (const auto& [owner, uid] : book->accounts())
        if (uid == info.st_uid) return owner;
    return "";
  }

  std::string logs_;
  std::string accounts_file_;
  std::mutex mutex_;
  TaskOwners owners_;  // guarded
};

}  // namespace

std::unique_ptr<MachineTasks> look_at_tasks(std::string state_folder, std::string accounts_file) {
  return std::make_unique<TasksHere>(std::move(state_folder), std::move(accounts_file));
}

}  // namespace stint
