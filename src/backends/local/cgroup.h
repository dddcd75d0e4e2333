// A separate cgroup (version 2) for each task: limits that hold for all it starts, and an end that reaches all of it.
//
// Source: Linux kernel documentation, admin-guide/cgroup-v2.rst.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace stint {

/// A folder of the cgroup v2 tree under which tasks get theirs.
struct CgroupTree {
  std::string folder;
  bool limits_cpu = false;
  bool limits_memory = false;
  bool limits_processes = false;

  /// Makes the folder where it is missing and hands its controllers down, as far as this user may. When this process is in the
  /// folder above, as a service that systemd delegates to is, it moves to `daemon` there: groups with processes hand nothing down.
  /// @return kUnavailable with the remedy when there is no cgroup v2 tree there, or it is not ours to write.
  static Result<CgroupTree> open(const std::string& folder);
};

class TaskCgroup {
 public:
  /// @param folder  "" = there is none: everything below does nothing.
  explicit TaskCgroup(std::string folder) : folder_(std::move(folder)) {}
  [[nodiscard]] bool present() const { return !folder_.empty(); }

  /// Limits of 0 are not set; those the tree has no controller for are passed over.
  Status create(int64_t cpu_milli, Bytes memory, int64_t processes) const;
  /// Has it a memory controller? Then create() has set the limit.
  [[nodiscard]] bool limits_memory() const;
  [[nodiscard]] bool limits_processes() const;
  /// The calling process, and what it starts from then on, belongs to it.
  [[nodiscard]] bool enter() const;
  void kill_all() const;
  [[nodiscard]] std::vector<int64_t> processes() const;
  /// Processes the kernel ended for want of memory.
  [[nodiscard]] int64_t out_of_memory_kills() const;
  /// Once it is empty.
  void remove() const;

 private:
  std::string folder_;
};

}  // namespace stint
