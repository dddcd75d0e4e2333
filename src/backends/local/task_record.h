// What is kept on disk of a launched task, as JSON: the launch itself, that it started, and how it ended.
//
// One small file each, written once and renamed into place: a reader sees all of it or nothing. docs/formats.md draws them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"

namespace stint {

/// What of the machine a task has for itself. Folders lie where only root can pass, but for the home.
struct TaskRoom {
  std::string home;              ///< made for its user where it is missing; "" = the account's
  std::string temporary;         ///< folder whose `tmp` and `var` it sees as /tmp and /var/tmp, gone after it; "" = the machine's
  bool hides_processes = false;  ///< it sees its user's processes alone
  bool own_devices = false;      ///< its /dev has the usual files and these alone, below /dev
  std::vector<std::string> gpu_files, more_devices;
  bool filters_devices = false;  ///< and its cgroup lets it open no other GPU, by whatever file
  std::string device_group;      ///< likewise, on cgroup version 1: the folder of its group (device_group.h); empty = it has none
  bool operator==(const TaskRoom&) const = default;
};

/// What a keeper is told to do.
struct TaskPlan {
  Launch launch;
  std::string cgroup;    ///< folder to make for the task in the cgroup v2 tree; "" = none
  std::string log_base;  ///< `.out` and `.err` appended: where output goes for which the launch names no file
  TaskRoom room;
  int64_t most_processes = 0;  ///< threads count; 0 = not limited
  Bytes keep_free;             ///< of the disk with its output; below it nearly none of that is kept
  Bytes most_log;              ///< each of `.out` and `.err`; of more the newest half is kept; 0 = not limited
  bool operator==(const TaskPlan&) const = default;
};

/// When something happened, by both clocks of the machine: somebody may have set the wall clock since.
struct TaskMoment {
  Instant at;
  std::optional<Duration> since_boot;  ///< none: of a record that an older release wrote
  std::string boot_id;
};
/// Now.
TaskMoment this_moment();
/// The same on a clock that shows `now`. On another boot by the wall clock, which then is all there is.
Instant on_clock(const TaskMoment& moment, Instant now);

struct TaskStarted {
  TaskMoment when;
  int64_t pid = 0;  ///< of its first process, which leads its own session
  /// Of that process, in clock ticks since boot: with the pid and the boot's id never used again.
  int64_t start_ticks = 0;
};

struct TaskEnded {
  TaskMoment when;
  ExitStatus status;
  EndCause cause = EndCause::kItself;
  std::string detail;
  TaskUsage usage;
};

std::string to_json(const TaskPlan& plan);
std::string to_json(const TaskStarted& started);
/// At most kMostEndedBytes long: a long detail is cut.
std::string to_json(const TaskEnded& ended);
inline constexpr size_t kMostEndedBytes = 4096;

/// @param where  named in errors.
/// @return kInvalidInput when it is not such a record, lacks a part, or a part has the wrong type or is out of range.
Result<TaskPlan> parse_task_plan(std::string_view json, const std::string& where);
Result<TaskStarted> parse_task_started(std::string_view json, const std::string& where);
Result<TaskEnded> parse_task_ended(std::string_view json, const std::string& where);

/// What makes a launch impossible anywhere, or nothing: no command, a negative limit, a name that cannot be one.
Status check_launch(const Launch& launch);

}  // namespace stint
