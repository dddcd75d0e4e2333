// Which launched task does a process of this machine belong to? For what runs on a GPU and is known by its number alone.
//
// Best first: the session a task's first process leads; a process above it in that session (it has left the session but not
// its parents); the mark in its environment (it has left both). What is none of a task's is foreign.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "backends/backend.h"

namespace stint {

/// For one thread at a time.
class TaskOwners {
 public:
  /// @param state_folder  of the LocalBackend whose tasks are meant.
  explicit TaskOwners(std::string state_folder) : state_folder_(std::move(state_folder)) {}

  /// @return none: foreign, gone, or of another user whose processes cannot be looked into.
  std::optional<LaunchKey> owner_of(int64_t pid);

 private:
  struct Leader {
    LaunchKey key;
    int64_t start_ticks = 0;
  };
  void read_leaders();
  [[nodiscard]] std::optional<LaunchKey> leads(int64_t pid) const;

  std::string state_folder_;
  std::map<std::string, int64_t> known_;  ///< folder of a task that has started → its first process
  std::map<int64_t, Leader> leaders_;     ///< by that process
};

/// The program's name as the kernel has it: at most 15 bytes; empty when the process is gone.
std::string program_of(int64_t pid);

}  // namespace stint
