#include "daemon/engine/launches.h"

#include <algorithm>
#include <limits>

#include "backends/local/mig_grants.h"
#include "base/text.h"
#include "daemon/api/job_groups.h"
#include "model/mig_ask.h"

namespace stint {
namespace {

/// The scheduler stops jobs at their limit; the backend does it where the scheduler does not run.
constexpr Duration kLimitMargin = Duration::minutes(1);

/// The interpreter of a script's first line with -c, and the script.
std::vector<std::string> command_of(const JobRequest& request) {
  if (!request.command.empty()) return request.command;
  std::vector<std::string> command;
  const std::string_view script = request.script;
  if (script.starts_with("#!")) {
    const std::string_view line =
        script.substr(2, script.find('\n') == std::string_view::npos ? script.npos : script.find('\n') - 2);
    for (const std::string_view word : split(line, ' '))
      if (!trim(word).empty()) command.emplace_back(trim(word));
  }
  if (command.empty()) command.emplace_back("/bin/sh");
  command.emplace_back("-c");
  command.push_back(request.script);
  if (request.arguments.empty()) return command;
  // A shell's $0 comes first; Python's sys.argv begins with what stands behind the script.
  if (command[command.size() - 3].find("python") == std::string::npos) command.push_back(name_shown(request));
  command.insert(command.end(), request.arguments.begin(), request.arguments.end());
  return command;
}

GangPlace gang_place_of(const JobBook& job, const std::string& client, const PlacedTask& placed, const std::string& master) {
  GangPlace gang;
  gang.world_size = 0;
  gang.local_world_size = 0;
  bool one_node = true;
  for (const PlacedTask& other : job.placed) {
    if (other.attempt != placed.attempt) continue;
    const bool before = other.task < placed.task;
    ++gang.world_size;
    gang.rank += before ? 1 : 0;
    if (other.place.node == placed.place.node) {
      ++gang.local_world_size;
      gang.local_rank += before ? 1 : 0;
    } else {
      one_node = false;
    }
  }
  if (!one_node) gang.master_address = master;
  constexpr int64_t kFirstPort = 20'000, kPorts = 20'000;
  // Jobs of one client are apart by their numbers; the daemon's own count would tell how much others run.
  Fnv1a print;
  print.update(client);
  const auto of_client = static_cast<int64_t>(print.digest() % uint64_t{kPorts});
  gang.master_port = static_cast<int32_t>(kFirstPort + (of_client + job.number * 7 + placed.attempt) % kPorts);
  return gang;
}

/// As much of the machine's memory as the task holds of its GPUs, or of its CPUs where that is more: one CPU at the least.
Bytes memory_share_of(const NodeSpec& node, int64_t gpu_milli, int64_t cpu_milli) {
  constexpr int64_t kMilli = 1'000;
  const auto part = [&](int64_t held, int64_t there) {
    return there <= 0 ? 0 : static_cast<int64_t>(Int128{node.memory.count()} * std::min(held, there) / there);
  };
  return Bytes::of(std::max(part(gpu_milli, node.gpus * kMilli), part(std::max(cpu_milli, kMilli), node.cpu_milli)));
}

}  // namespace

Launch launch_like(const JobRequest& r, int32_t task) {
  Launch launch;
  const JobRequest& needs = needs_of(r, task);
  for (int gpu = 0; gpu < std::min(needs.gpus, sched::kMaxGpusPerNode); ++gpu)
    launch.gpus.push_back({.index = gpu, .uuid = "", .mig_uuid = ""});
  if (!needs.mig_profile.empty()) launch.gpus = {{.index = kAnyGpu, .uuid = "", .mig_uuid = needs.mig_profile}};
  const bool part = needs.gpu_milli > 0 || needs.gpu_memory > Bytes() || !needs.mig_profile.empty();
  launch.tenancy = part ? Tenancy::kShared : Tenancy::kAlone;
  launch.gpu_milli = needs.gpu_milli;
  launch.cpu_milli = needs.cpu_milli;
  launch.memory = needs.memory;
  launch.command = command_of(r);
  launch.image = r.image;
  launch.environment = r.environment;
  launch.environment.emplace_back("STINT_JOB_NAME", r.name);
  if (const JobGroup* group = group_of(r, task)) launch.environment.emplace_back("STINT_GROUP", group->name);
  launch.queue = r.queue;
  launch.owner = fmt::format("{}/{}", client_of_queue(r.queue), r.user);
  launch.folder = r.folder;
  launch.output_path = r.output_path;
  launch.error_path = r.error_path;
  if (r.tasks > 1)
    launch.gang = GangPlace{
        .rank = 0, .world_size = r.tasks, .local_rank = 0, .local_world_size = 1, .master_address = {}, .master_port = 0};
  if (r.time_limit != sched::kUnlimited) launch.time_limit = r.time_limit + r.grace + kLimitMargin;
  launch.grace = r.grace;
  return launch;
}

std::vector<std::pair<std::string, std::string>> Launches::mps_limits(const JobBook& job, const PlacedTask& placed) const {
  const JobRequest& r = needs_of(*job.request, placed.task);
  if (r.gpu_milli == 0 && r.gpu_memory == Bytes()) return {};
  const int64_t milli = s_.costs.gpu_milli(job, placed);
  constexpr int64_t kMilliPerPercent = 10, kMebi = int64_t{1} << 20;
  const Bytes whole = s_.nodes[placed.place.node.index()].machine.node.gpu_memory;
  const auto part = static_cast<int64_t>(Int128{whole.count()} * milli / sched::kMilli);
  const int64_t memory = r.gpu_memory > Bytes() ? r.gpu_memory.count() : part;
  std::vector<std::pair<std::string, std::string>> limits = {
      {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", std::to_string(std::clamp<int64_t>(milli / kMilliPerPercent, 1, 100))}};
  // "0": of the devices that it sees, the only one.
  if (memory >= kMebi) limits.emplace_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", fmt::format("0={}M", memory / kMebi));
  return limits;
}

Launch Launches::launch_of(sched::JobId id, const PlacedTask& placed) const {
  const JobBook& job = s_.jobs[id.index()];
  const JobRequest& r = *job.request;
  const JobRequest& needs = needs_of(r, placed.task);
  Launch launch = launch_like(r, placed.task);
  launch.gpus.clear();
  launch.key = key_of(job, placed);
  launch.node = s_.nodes[placed.place.node.index()].machine.node.name;
  for (int gpu = 0; gpu < sched::kMaxGpusPerNode; ++gpu)
    if ((placed.place.gpus >> gpu & 1) != 0)
      launch.gpus.push_back({.index = gpu, .uuid = "", .mig_uuid = placed.place.mig_profile >= 0 ? needs.mig_profile : ""});
  // Of those that the machine has and keeps: whichever of its GPUs they are on.
  if (placed.place.gpus == 0)
    for (const MigAsk& ask : mig_asks_of(needs.mig_profile))
      launch.gpus.insert(launch.gpus.end(), static_cast<size_t>(ask.count),
                         GrantedGpu{.index = kAnyGpu, .uuid = "", .mig_uuid = ask.profile});
  launch.gpu_milli = placed.place.milli;
  launch.tenancy = placed.place.milli > 0 || !needs.mig_profile.empty() ? Tenancy::kShared : Tenancy::kAlone;
  launch.memory_share =
      memory_share_of(s_.nodes[placed.place.node.index()].machine.node, s_.costs.gpu_milli(job, placed), needs.cpu_milli);
  launch.environment.emplace_back("STINT_JOB", public_id(client_of(s_.fleet, job.queue), job.number, job.place_in_array()));
  if (job.array_first > 0) {
    launch.environment.emplace_back("STINT_ARRAY_ID", public_id(client_of(s_.fleet, job.queue), job.number - job.array_index));
    launch.environment.emplace_back("STINT_ARRAY_INDEX", std::to_string(job.array_index));
  }
  if (s_.launch_environment)
    for (auto& variable : s_.launch_environment(launch.key))
      if (std::ranges::find(r.environment, variable.first, &std::pair<std::string, std::string>::first) == r.environment.end())
        launch.environment.push_back(std::move(variable));
  for (auto& variable : mps_limits(job, placed))
    launch.environment.push_back(std::move(variable));
  launch.others_job = others_job_of(r);
  if (launch.gang) {
    const auto master = std::ranges::find(job.placed, placed.attempt, &PlacedTask::attempt);
    launch.gang =
        gang_place_of(job, client_of(s_.fleet, job.queue), placed, s_.nodes[master->place.node.index()].machine.node.name);
  }
  launch.simulated = SimulatedRun{.duration = r.simulated_duration > Duration() ? r.simulated_duration : Duration::minutes(1),
                                  .exit_code = 0,
                                  .leaving_time = {}};
  return launch;
}

Duration Launches::grace_of(const LaunchKey& key, const PlacedTask& placed, Instant at) const {
  const Duration promised = s_.jobs[find_job(s_.jobs, key.job).index()].request->grace;
  const std::optional<Instant> until = s_.nodes[placed.place.node.index()].until;
  return until ? std::clamp(*until - at, Duration(), promised) : promised;
}

}  // namespace stint
