// What the backend is told, and what it tells. A launch is ordered again after a restart, and when no answer comes: the backend starts
// it once.
#include <algorithm>
#include <iterator>
#include <limits>

#include "backends/local/mig_grants.h"
#include "base/check.h"
#include "base/text.h"
#include "daemon/engine/engine_impl.h"
#include "model/mig_ask.h"

namespace stint {
namespace {

/// A launch that cannot begin now, as on a GPU that is not clear, is tried for so long; then it counts as lost.
constexpr Duration kOrderPatience = Duration::minutes(2);
/// The scheduler stops jobs at their limit; the backend does it where the scheduler does not run.
constexpr Duration kLimitMargin = Duration::minutes(1);
constexpr int kShellNotFound = 127;
/// What runs is compared with what should so often.
constexpr Duration kCompareEvery = Duration::minutes(1);

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

const PlacedTask* Engine::Impl::find_placed(const LaunchKey& key) const {
  const sched::JobId job = find(key.job);
  if (!job.valid()) return nullptr;
  const std::vector<PlacedTask>& placed = jobs[job.index()].placed;
  const auto at =
      std::ranges::find_if(placed, [&](const PlacedTask& t) { return t.task == key.task && t.attempt == key.attempt; });
  return at == placed.end() ? nullptr : &*at;
}

/// What holds a task to its part of a GPU where that is shared out by MPS; without an MPS server no process reads it.
/// Source: NVIDIA, Multi-Process Service, CUDA_MPS_ACTIVE_THREAD_PERCENTAGE and CUDA_MPS_PINNED_DEVICE_MEM_LIMIT.
std::vector<std::pair<std::string, std::string>> Engine::Impl::mps_limits(const JobBook& job, const sched::Place& place) const {
  const JobRequest& r = *job.request;
  if (r.gpu_milli == 0 && r.gpu_memory == Bytes()) return {};
  const int64_t milli = gpu_milli(job, place);
  constexpr int64_t kMilliPerPercent = 10, kMebi = int64_t{1} << 20;
  const Bytes whole = nodes[place.node.index()].machine.node.gpu_memory;
  const auto part = static_cast<int64_t>(Int128{whole.count()} * milli / sched::kMilli);
  const int64_t memory = r.gpu_memory > Bytes() ? r.gpu_memory.count() : part;
  std::vector<std::pair<std::string, std::string>> limits = {
      {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", std::to_string(std::clamp<int64_t>(milli / kMilliPerPercent, 1, 100))}};
  // "0": of the devices that it sees, the only one.
  if (memory >= kMebi) limits.emplace_back("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", fmt::format("0={}M", memory / kMebi));
  return limits;
}

Launch launch_like(const JobRequest& r) {
  Launch launch;
  for (int gpu = 0; gpu < std::min(r.gpus, sched::kMaxGpusPerNode); ++gpu)
    launch.gpus.push_back({.index = gpu, .uuid = "", .mig_uuid = ""});
  if (!r.mig_profile.empty()) launch.gpus = {{.index = kAnyGpu, .uuid = "", .mig_uuid = r.mig_profile}};
  const bool part = r.gpu_milli > 0 || r.gpu_memory > Bytes() || !r.mig_profile.empty();
  launch.tenancy = part ? Tenancy::kShared : Tenancy::kAlone;
  launch.cpu_milli = r.cpu_milli;
  launch.memory = r.memory;
  launch.command = command_of(r);
  launch.image = r.image;
  launch.environment = r.environment;
  launch.environment.emplace_back("STINT_JOB_NAME", r.name);
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

Launch Engine::Impl::launch_of(sched::JobId id, const PlacedTask& placed) const {
  const JobBook& job = jobs[id.index()];
  const JobRequest& r = *job.request;
  Launch launch = launch_like(r);
  launch.gpus.clear();
  launch.key = key_of(id, placed);
  launch.node = nodes[placed.place.node.index()].machine.node.name;
  for (int gpu = 0; gpu < sched::kMaxGpusPerNode; ++gpu)
    if ((placed.place.gpus >> gpu & 1) != 0)
      launch.gpus.push_back({.index = gpu, .uuid = "", .mig_uuid = placed.place.mig_profile >= 0 ? r.mig_profile : ""});
  // Of those that the machine has and keeps: whichever of its GPUs they are on.
  if (placed.place.gpus == 0)
    for (const MigAsk& ask : mig_asks_of(r.mig_profile))
      launch.gpus.insert(launch.gpus.end(), static_cast<size_t>(ask.count),
                         GrantedGpu{.index = kAnyGpu, .uuid = "", .mig_uuid = ask.profile});
  launch.tenancy = placed.place.milli > 0 || !r.mig_profile.empty() ? Tenancy::kShared : Tenancy::kAlone;
  launch.memory_share = memory_share_of(nodes[placed.place.node.index()].machine.node, gpu_milli(job, placed.place), r.cpu_milli);
  launch.environment.emplace_back("STINT_JOB", public_id(client_of(job.queue), job.number, job.place_in_array()));
  if (job.array_first > 0) {
    launch.environment.emplace_back("STINT_ARRAY_ID", public_id(client_of(job.queue), job.number - job.array_index));
    launch.environment.emplace_back("STINT_ARRAY_INDEX", std::to_string(job.array_index));
  }
  if (options.launch_environment)
    for (auto& variable : options.launch_environment(launch.key))
      if (std::ranges::find(r.environment, variable.first, &std::pair<std::string, std::string>::first) == r.environment.end())
        launch.environment.push_back(std::move(variable));
  for (auto& variable : mps_limits(job, placed.place))
    launch.environment.push_back(std::move(variable));
  launch.others_job = others_job_of(r);
  if (launch.gang) {
    const auto master = std::ranges::find(job.placed, placed.attempt, &PlacedTask::attempt);
    launch.gang = gang_place_of(job, client_of(job.queue), placed, nodes[master->place.node.index()].machine.node.name);
  }
  launch.simulated = SimulatedRun{.duration = r.simulated_duration > Duration() ? r.simulated_duration : Duration::minutes(1),
                                  .exit_code = 0,
                                  .leaving_time = {}};
  return launch;
}

bool Engine::Impl::concerns_us(const Report& report) const {
  if (report.kind == ReportKind::kStarted) return false;
  const PlacedTask* placed = find_placed(report.key);
  if (placed == nullptr || placed->ended) return false;
  return std::ranges::none_of(staged, [&](const Record& r) {
    return (r.kind == RecordKind::kEnded || r.kind == RecordKind::kLost) && r.report.key == report.key;
  });
}

void Engine::Impl::stage_report(const Report& report) {
  desk.answered(report);
  hindered.erase(report.key);
  const PlacedTask* placed = find_placed(report.key);
  const bool is_over = placed == nullptr || placed->ended;
  if (report.kind == ReportKind::kStarted) {
    if (is_over) desk.want(report.key, LaunchWish::kKill);  // its order came late
    return;
  }
  if (!concerns_us(report)) {
    // Recorded before, and told again because it was not confirmed.
    if (is_over) desk.forget(report.key);
    return;
  }
  Record record;
  record.kind = report.kind == ReportKind::kLost ? RecordKind::kLost : RecordKind::kEnded;
  record.report = report;
  record.done = placed->leaving && report.kind == ReportKind::kEnded && report.cause == EndCause::kItself &&
                report.status.code == 0 && report.status.signal == 0;
  staged.push_back(std::move(record));
}

/// A launch that cannot begin now is tried for a while, and then counts as lost.
void Engine::Impl::take_refusal(const Refusal& refusal, Instant at) {
  // A task that is not known has left, or was never there; one that still runs is asked for again by compare().
  if (refusal.order != OrderKind::kStart) return;
  const bool later = refusal.kind == RefusalKind::kNotNow;
  if (later && desk.refused(refusal.key, at) < kOrderPatience)
    return hindered.insert_or_assign(refusal.key, refusal.detail), void();
  desk.drop(refusal.key);
  Report report{.kind = later ? ReportKind::kLost : ReportKind::kEnded, .key = refusal.key, .at = at, .status = {}};
  report.status.code = kShellNotFound;
  report.cause = EndCause::kNotStarted;
  report.detail = refusal.detail;
  if (concerns_us(report)) stage_report(report);
}

void Engine::Impl::hear_of_launch(const LaunchNote& launch) {
  const PlacedTask* placed = find_placed(launch.key);
  if (launch.text.empty() || placed == nullptr || placed->ended)
    hindered.erase(launch.key);
  else
    hindered.insert_or_assign(launch.key, launch.text);
}

/// A line for each task that was to begin and has not.
std::string Engine::Impl::text_of_hindrances(sched::JobId id) const {
  constexpr int kMostShown = 4;
  std::string text;
  int shown = 0;
  for (const PlacedTask& placed : jobs[id.index()].placed) {
    const auto found = hindered.find(key_of(id, placed));
    if (found == hindered.end() || ++shown > kMostShown) continue;
    text += fmt::format("  task {} has not begun on {}: {}\n", placed.task, nodes[placed.place.node.index()].machine.node.name,
                        found->second);
  }
  if (shown > kMostShown) text += fmt::format("  and {} more\n", shown - kMostShown);
  return text;
}

/// All that the backend has to tell; the first time that it knows everything, what is there is compared with what should be.
void Engine::Impl::hear(Instant at) {
  std::vector<MachineReport> machines;
  for (BackendEvent& event : backend->drain(at)) {
    if (const auto* report = std::get_if<Report>(&event)) stage_report(*report);
    if (const auto* refusal = std::get_if<Refusal>(&event)) take_refusal(*refusal, at);
    if (auto* machine = std::get_if<MachineReport>(&event)) machines.push_back(std::move(*machine));
    if (const auto* launch = std::get_if<LaunchNote>(&event)) hear_of_launch(*launch);
    if (auto* job = std::get_if<OthersJob>(&event)) others_heard.push_back(std::move(*job));
    if (auto* there = std::get_if<OthersThere>(&event)) others_there = std::move(*there);
    if (const auto* note = std::get_if<BackendNote>(&event)) {
      EventView said{.kind = "engine.note"};
      said.detail = note->text;
      Record notice;
      notice.kind = RecordKind::kNotice;
      notice.notice = std::move(said);
      staged.push_back(std::move(notice));
    }
  }
  const bool first = !reconciled && backend->is_ready();
  hear_of_machines(at, std::move(machines), first);
  if (first) take_stock(at);
  if (read_only) return;
  for (const OthersJob& job : std::exchange(others_heard, {}))
    hear_of_others(job);
  if (reconciled && others_there) miss_others(*std::exchange(others_there, std::nullopt));
}

void Engine::Impl::poll(Instant at) {
  if (!options.carry_out) return;
  hear(at);
  if (!strangers.empty()) {
    const std::vector<LaunchKey> running = backend->running();
    std::erase_if(strangers, [&](const LaunchKey& key) { return !std::ranges::binary_search(running, key); });
  }
  compare(at);
  carry_out(at);
  look_at_approvals(at);
}

/// As long as it was promised, but not beyond the end of its machine.
Duration Engine::Impl::grace_of(const LaunchKey& key, const PlacedTask& placed, Instant at) const {
  const Duration promised = jobs[find(key.job).index()].request->grace;
  const std::optional<Instant> until = nodes[placed.place.node.index()].until;
  return until ? std::clamp(*until - at, Duration(), promised) : promised;
}

/// Stops first: what they free is what starts need.
void Engine::Impl::carry_out(Instant at) {
  if (!options.carry_out) return desk.clear();
  std::vector<Order> orders;
  for (std::string& name : std::exchange(dismissed, {}))
    orders.push_back(
        {.kind = OrderKind::kDismiss, .key = {}, .at = at, .launch = {}, .others_job = std::move(name), .grace = {}});
  for (const LaunchKey& key : desk.take_forgotten())
    orders.push_back({.kind = OrderKind::kForget, .key = key, .at = at, .launch = {}, .grace = {}});
  std::vector<Order> starts;
  for (const auto& [key, wish] : desk.due(at, reconciled && strangers.empty())) {
    const PlacedTask* placed = find_placed(key);
    if (wish == LaunchWish::kStart) {
      if (placed == nullptr || placed->ended || placed->leaving) {
        desk.drop(key);
        continue;
      }
      starts.push_back({.kind = OrderKind::kStart,
                        .key = key,
                        .at = placed->started,
                        .launch = launch_of(find(key.job), *placed),
                        .grace = {}});
      desk.told(key, at, {});
      continue;
    }
    const Duration grace = wish == LaunchWish::kKill || placed == nullptr ? Duration() : grace_of(key, *placed, at);
    orders.push_back({.kind = OrderKind::kStop, .key = key, .at = at, .launch = {}, .grace = grace});
    desk.told(key, at, grace);
  }
  std::ranges::move(starts, std::back_inserter(orders));
  if (!orders.empty()) backend->submit(std::move(orders));
}

/// After recovery: every launch that should be there is ordered again, whatever else runs is stopped. Where the backend has to look
/// first, this is done when it has.
void Engine::Impl::reconcile(Instant at) {
  reconciled = false;
  strangers.clear();
  if (options.carry_out) hear(at);
}

void Engine::Impl::take_stock(Instant at) {
  reconciled = true;
  compared_at = at;
  index_others();
  for (const LaunchKey& key : backend->running())
    if (const PlacedTask* placed = find_placed(key); placed == nullptr || placed->ended) {
      strangers.push_back(key);
      ++recovery.strangers_stopped;
      desk.want(key, LaunchWish::kKill);
    }
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    const sched::JobId id(j);
    for (const PlacedTask& placed : jobs[j].placed) {
      if (placed.ended) continue;
      const bool stops = placed.leaving || jobs[j].failing;
      desk.want(key_of(id, placed), stops ? LaunchWish::kStop : LaunchWish::kStart);
      recovery.launches_repeated += stops ? 0 : 1;
    }
  }
}

/// What was told and got lost on its way is asked for again.
void Engine::Impl::compare(Instant at) {
  if (!reconciled || at - compared_at < kCompareEvery) return;
  compared_at = at;
  index_others();
  for (const auto& [name, job] : std::exchange(kept_out, {}))
    others_heard.push_back(job);
  const std::vector<LaunchKey> running = backend->running();
  for (const LaunchKey& key : running)
    if (const PlacedTask* placed = find_placed(key); placed == nullptr || placed->ended) desk.want(key, LaunchWish::kKill);
  for (uint32_t j = 0; j < jobs.size(); ++j)
    for (const PlacedTask& placed : jobs[j].placed) {
      const LaunchKey key = key_of(sched::JobId(j), placed);
      if (placed.ended || desk.has(key) || std::ranges::binary_search(running, key)) continue;
      if (!concerns_us({.kind = ReportKind::kEnded, .key = key})) continue;  // its end is staged
      desk.want(key, placed.leaving || jobs[j].failing ? LaunchWish::kStop : LaunchWish::kStart);
    }
}

}  // namespace stint
