// What the backend is told, and what it tells. A launch is ordered again after a restart: the backend starts it once.
#include <algorithm>
#include <limits>

#include "backends/mig_grants.h"
#include "base/check.h"
#include "base/text.h"
#include "daemon/engine_impl.h"

namespace stint {
namespace {

/// A launch that cannot begin now, as on a GPU that is not clear, is tried for so long; then it counts as lost.
constexpr Duration kOrderPatience = Duration::minutes(2);
/// The scheduler stops jobs at their limit; the backend does it where the scheduler does not run.
constexpr Duration kLimitMargin = Duration::minutes(1);
constexpr int kShellNotFound = 127;

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

}  // namespace

const PlacedTask* Engine::Impl::find_placed(const LaunchKey& key) const {
  const sched::JobId job = find(key.job);
  if (!job.valid()) return nullptr;
  const std::vector<PlacedTask>& placed = jobs[job.index()].placed;
  const auto at =
      std::ranges::find_if(placed, [&](const PlacedTask& t) { return t.task == key.task && t.attempt == key.attempt; });
  return at == placed.end() ? nullptr : &*at;
}

Launch Engine::Impl::launch_of(sched::JobId id, const PlacedTask& placed) const {
  const JobBook& job = jobs[id.index()];
  const JobRequest& r = *job.request;
  Launch launch;
  launch.key = key_of(id, placed);
  launch.node = nodes[placed.place.node.index()].machine.node.name;
  for (int gpu = 0; gpu < sched::kMaxGpusPerNode; ++gpu)
    if ((placed.place.gpus >> gpu & 1) != 0)
      launch.gpus.push_back({.index = gpu, .uuid = "", .mig_uuid = placed.place.mig_profile >= 0 ? r.mig_profile : ""});
  // One of those that the machine has and keeps: whichever of its GPUs it is on.
  if (placed.place.gpus == 0 && !r.mig_profile.empty())
    launch.gpus.push_back({.index = kAnyGpu, .uuid = "", .mig_uuid = r.mig_profile});
  launch.tenancy = placed.place.milli > 0 || !r.mig_profile.empty() ? Tenancy::kShared : Tenancy::kAlone;
  launch.cpu_milli = r.cpu_milli;
  launch.memory = r.memory;
  launch.command = command_of(r);
  launch.environment = r.environment;
  launch.environment.emplace_back("STINT_JOB", public_id(client_of(job.queue), job.number, job.place_in_array()));
  launch.environment.emplace_back("STINT_JOB_NAME", r.name);
  if (job.array_first > 0) {
    launch.environment.emplace_back("STINT_ARRAY_ID", public_id(client_of(job.queue), job.number - job.array_index));
    launch.environment.emplace_back("STINT_ARRAY_INDEX", std::to_string(job.array_index));
  }
  launch.owner = fmt::format("{}/{}", client_of(job.queue), r.user);
  launch.folder = r.folder;
  launch.output_path = r.output_path;
  launch.error_path = r.error_path;
  if (r.tasks > 1) {
    const auto master = std::ranges::find(job.placed, placed.attempt, &PlacedTask::attempt);
    launch.gang = gang_place_of(job, client_of(job.queue), placed, nodes[master->place.node.index()].machine.node.name);
  }
  if (r.time_limit != sched::kUnlimited) launch.time_limit = r.time_limit + r.grace + kLimitMargin;
  launch.grace = r.grace;
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
  if (report.kind == ReportKind::kStarted) return;
  if (!concerns_us(report)) {
    // Recorded before, and told again because it was not confirmed.
    if (find_placed(report.key) == nullptr || find_placed(report.key)->ended) (void)backend.forget(report.key);
    return;
  }
  Record record;
  record.kind = report.kind == ReportKind::kLost ? RecordKind::kLost : RecordKind::kEnded;
  record.report = report;
  staged.push_back(std::move(record));
}

void Engine::Impl::poll(Instant at) {
  if (!options.carry_out) return;
  for (const Report& report : backend.poll(at))
    stage_report(report);
  hear_of_machines(at, false);
  if (!strangers.empty()) {
    const std::vector<LaunchKey> running = backend.running();
    std::erase_if(strangers, [&](const LaunchKey& key) { return !std::ranges::binary_search(running, key); });
  }
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
  if (!options.carry_out) return orders.clear();
  for (const LaunchKey& key : to_forget)
    (void)backend.forget(key);  // not known there: never started, or forgotten before
  to_forget.clear();
  std::erase_if(orders, [&](const Order& order) {
    if (order.kind == Order::Kind::kStart) return false;
    const PlacedTask* placed = find_placed(order.key);
    const Duration grace = order.kind == Order::Kind::kKill || placed == nullptr ? Duration() : grace_of(order.key, *placed, at);
    const Status told = backend.stop(order.key, grace, at);
    // Never started: it has left as soon as it is told to. Its own start may still wait in `orders`.
    if (!told.ok() && told.error().code == ErrorCode::kNotFound && placed != nullptr) {
      Report report{.kind = ReportKind::kEnded, .key = order.key, .at = at, .status = {}, .cause = EndCause::kStopped};
      report.status.signal = 15;
      report.detail = "stopped before it began";
      stage_report(report);
    }
    return true;
  });
  if (!strangers.empty()) return;
  std::erase_if(orders, [&](Order& order) { return start(order, at); });
}

/// @return false: to be tried again.
bool Engine::Impl::start(Order& order, Instant at) {
  const PlacedTask* placed = find_placed(order.key);
  if (placed == nullptr || placed->ended || placed->leaving) return true;
  const Status started = backend.start(launch_of(find(order.key.job), *placed), placed->started);
  if (started.ok()) return true;
  const bool later = started.error().code == ErrorCode::kUnavailable;
  if (order.first_tried == sched::kNever) order.first_tried = at;
  if (later && at - order.first_tried < kOrderPatience) return false;
  Report report{.kind = later ? ReportKind::kLost : ReportKind::kEnded, .key = order.key, .at = at, .status = {}};
  report.status.code = kShellNotFound;
  report.cause = EndCause::kNotStarted;
  report.detail = started.error().message;
  stage_report(report);
  return true;
}

/// After recovery: every launch that should be there is ordered again, whatever else runs is stopped.
void Engine::Impl::reconcile(Instant at) {
  if (!options.carry_out) return;
  for (const Report& report : backend.poll(at))
    stage_report(report);
  hear_of_machines(at, true);
  for (const LaunchKey& key : backend.running())
    if (const PlacedTask* placed = find_placed(key); placed == nullptr || placed->ended) {
      strangers.push_back(key);
      ++recovery.strangers_stopped;
      (void)backend.stop(key, Duration(), at);
    }
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    const sched::JobId id(j);
    for (const PlacedTask& placed : jobs[j].placed) {
      if (placed.ended) continue;
      const bool stops = placed.leaving || jobs[j].failing;
      orders.push_back({.kind = stops ? Order::Kind::kStop : Order::Kind::kStart, .key = key_of(id, placed)});
      recovery.launches_repeated += stops ? 0 : 1;
    }
  }
}

}  // namespace stint
