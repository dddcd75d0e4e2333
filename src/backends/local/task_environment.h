// The environment a task finds: little of the machine's, nothing of the daemon's, its GPUs and its place in the gang.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"

namespace stint {

/// Who a task runs as, as the system's user table tells it.
struct TaskUser {
  std::string name;
  std::string home;
  std::string shell;
};

/// `NAME=value`, in order of names; what the launch sets wins over what Stint sets, except the GPUs it may see.
/// Set: PATH, HOME, USER, LOGNAME, SHELL; CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER, NVIDIA_VISIBLE_DEVICES; STINT_JOB,
/// STINT_ATTEMPT, STINT_TASK, STINT_NODE, STINT_LAUNCH (`mark`); for a gang MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE,
/// LOCAL_RANK, LOCAL_WORLD_SIZE.
/// Source: CUDA C++ Programming Guide, "CUDA Environment Variables"; PyTorch, torchrun, "Environment Variables".
std::vector<std::string> environment_of(const Launch& launch, const TaskUser& user, const std::string& mark);

/// The value of CUDA_VISIBLE_DEVICES: UUIDs where all are known, else indices; "-1" = none.
std::string visible_devices(const std::vector<GrantedGpu>& gpus);

}  // namespace stint
