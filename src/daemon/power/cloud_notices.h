// The notices of the cloud that this machine is of, heard by the daemon: the machine takes no more work, and what runs leaves in time.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "backends/supervise/machine_notices.h"
#include "daemon/service.h"

namespace stint {

class CloudNotices {
 public:
  /// @param service  outlives it. @param node  what this machine is called in the configuration.
  CloudNotices(Service& service, std::string node, CloudProvider cloud, std::unique_ptr<NoticeLook> look);
  CloudNotices(const CloudNotices&) = delete;
  CloudNotices& operator=(const CloudNotices&) = delete;
  /// Waits for a look that is under way: 15 s at most.
  ~CloudNotices();

  [[nodiscard]] const std::string& node() const { return node_; }

 private:
  void watch();
  /// @return false = it is to end.
  bool wait(Duration pause);
  void hear(const NoticeNews& news, const NoticeNews& before);

  Service& service_;
  const std::string node_;
  const CloudProvider cloud_;
  const std::unique_ptr<NoticeLook> look_;
  std::optional<MachineReport> in_force_;  ///< of the thread alone
  std::mutex mutex_;
  std::condition_variable wakes_;
  bool stopped_ = false;  ///< guarded
  std::thread thread_;
};

}  // namespace stint
