#include "backends/local/task_environment.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace stint {

std::string visible_devices(const std::vector<GrantedGpu>& gpus) {
  // CUDA stops reading at the first device it does not know: -1 hides all. An empty value is read as "not set" by some.
  if (gpus.empty()) return "-1";
  // UUIDs and indices do not mix in one list.
  const bool all_have_names =
      std::all_of(gpus.begin(), gpus.end(), [](const GrantedGpu& g) { return !g.mig_uuid.empty() || !g.uuid.empty(); });
  std::vector<std::string> names;
  for (const GrantedGpu& gpu : gpus)
    names.push_back(!gpu.mig_uuid.empty() ? gpu.mig_uuid : all_have_names ? gpu.uuid : std::to_string(gpu.index));
  return fmt::format("{}", fmt::join(names, ","));
}

std::vector<std::string> environment_of(const Launch& launch, const TaskUser& user, const std::string& mark) {
  std::map<std::string, std::string> set = {
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"HOME", user.home.empty() ? "/" : user.home},
      {"SHELL", user.shell.empty() ? "/bin/sh" : user.shell},
      {"USER", user.name},
      {"LOGNAME", user.name},
      {"STINT_NODE", launch.node},
  };
  if (launch.gang) {
    const GangPlace& gang = *launch.gang;
    set["MASTER_ADDR"] = gang.master_address.empty() ? "127.0.0.1" : gang.master_address;
    if (gang.master_port > 0) set["MASTER_PORT"] = std::to_string(gang.master_port);
    set["RANK"] = std::to_string(gang.rank);
    set["WORLD_SIZE"] = std::to_string(gang.world_size);
    set["LOCAL_RANK"] = std::to_string(gang.local_rank);
    set["LOCAL_WORLD_SIZE"] = std::to_string(gang.local_world_size);
  }
  for (const auto& [name, value] : launch.environment)
    set[name] = value;
  const std::string devices = visible_devices(launch.gpus);
  set["CUDA_VISIBLE_DEVICES"] = devices;
  set["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";  // NVML's order
  set["NVIDIA_VISIBLE_DEVICES"] = launch.gpus.empty() ? "void" : devices;
  set.try_emplace("STINT_JOB", std::to_string(launch.key.job));  // a daemon says what its users call it
  set["STINT_ATTEMPT"] = std::to_string(launch.key.attempt);
  set["STINT_TASK"] = std::to_string(launch.key.task);
  set["STINT_LAUNCH"] = mark;
  std::vector<std::string> lines;
  for (const auto& [name, value] : set)
    lines.push_back(fmt::format("{}={}", name, value));
  return lines;
}

}  // namespace stint
