// A launched task's folder: what lies where, who holds its lock, and which processes are its own.
//
//   launch.json   what to run; the folder appears with it, whole
//   control       a named pipe: requests to the keeper, a line each
//   lock          held by the keeper as long as it lives
//   claimed       made once: whoever makes it may run the task, so that it never runs twice
//   started.json  its process exists
//   ended.json    how it ended, written before the lock is let go
#pragma once

#include <string>
#include <vector>

#include "backends/local/task_record.h"
#include "host/descriptor.h"

namespace stint {

class TaskFolder {
 public:
  explicit TaskFolder(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

  [[nodiscard]] std::string launch_file() const { return file("launch.json"); }
  [[nodiscard]] std::string started_file() const { return file("started.json"); }
  [[nodiscard]] std::string ended_file() const { return file("ended.json"); }

  /// Makes the folder with its plan and its control pipe, all or nothing. @return kConflict when there is one already.
  [[nodiscard]] Status create(const TaskPlan& plan) const;
  /// A descriptor that holds the lock; not valid while somebody else holds it.
  [[nodiscard]] Result<Descriptor> take_lock() const;
  /// Does a keeper live, or is one being started?
  [[nodiscard]] bool is_locked() const;
  /// True for the one caller ever that makes the claim.
  [[nodiscard]] Result<bool> claim() const;
  [[nodiscard]] bool is_claimed() const;
  /// For the keeper, which reads requests, and those who write them.
  [[nodiscard]] Result<Descriptor> open_control() const;
  /// @return kNotFound when no keeper listens.
  [[nodiscard]] Status tell_keeper(std::string_view line) const;

  /// none = not written.
  [[nodiscard]] Result<std::optional<TaskStarted>> started() const;
  [[nodiscard]] Result<std::optional<TaskEnded>> ended() const;

  /// Value of STINT_LAUNCH in the environment of all its processes.
  [[nodiscard]] const std::string& mark() const { return path_; }

 private:
  std::string path_;
};

/// In clock ticks since boot. @return none when there is no such process.
std::optional<int64_t> start_ticks_of(int64_t pid);
/// Where a process stands. @return none when there is no such process.
struct ProcessPlace {
  int64_t parent = 0;
  int64_t session = 0;
};
std::optional<ProcessPlace> place_of_process(int64_t pid);
/// In ascending order, those that have ended and were not waited for included.
std::vector<int64_t> children_of(int64_t pid);
/// Processes of a task whose keeper is gone: the session its first process led, and all that carry its mark.
std::vector<int64_t> processes_of(const TaskFolder& folder, const std::optional<TaskStarted>& started);

/// But this one: those whose environment had that variable with that value when they began. Those that have ended are left out.
std::vector<int64_t> processes_with(std::string_view variable, std::string_view value);

}  // namespace stint
