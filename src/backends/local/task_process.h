// The first process of a task: forked by its keeper, leader of its own session, another user where asked.
#pragma once

#include <sys/types.h>

#include "backends/local/cgroup.h"
#include "backends/local/task_record.h"

namespace stint {

/// Starts the plan's command. For a process without threads: it forks and does much in the child before exec.
///
/// The child leaves every privilege before it opens the files named by the launch, runs its program and looks for its
/// folder; it dies with its keeper. Without a memory controller its data segment is limited (RLIMIT_DATA), per process.
/// @return the pid once the program runs; kNotFound or kUnavailable with the step that failed.
Result<pid_t> start_task_process(const TaskPlan& plan, const TaskCgroup& cgroup, const std::string& mark);

}  // namespace stint
