#include "backends/local/task_record.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/clock.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRecordVersion = 1;
constexpr std::array kCauses = {EndCause::kItself, EndCause::kStopped, EndCause::kTimeLimit, EndCause::kOutOfMemory,
                                EndCause::kNotStarted};

std::string dump(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json json_of(const GangPlace& gang) {
  return {{"rank", gang.rank},
          {"world_size", gang.world_size},
          {"local_rank", gang.local_rank},
          {"local_world_size", gang.local_world_size},
          {"master_address", gang.master_address},
          {"master_port", gang.master_port}};
}

GangPlace gang_of(const Json& json) {
  return {.rank = json.at("rank").get<int32_t>(),
          .world_size = json.at("world_size").get<int32_t>(),
          .local_rank = json.at("local_rank").get<int32_t>(),
          .local_world_size = json.at("local_world_size").get<int32_t>(),
          .master_address = json.at("master_address").get<std::string>(),
          .master_port = json.at("master_port").get<int32_t>()};
}

Launch launch_of(const Json& json) {
  Launch launch;
  const auto key = parse_key(json.at("key").get<std::string>());
  if (!key) throw std::invalid_argument("key is not JOB.ATTEMPT.TASK");
  launch.key = *key;
  launch.node = json.at("node").get<std::string>();
  for (const Json& gpu : json.at("gpus"))
    launch.gpus.push_back({gpu.at("index").get<int>(), gpu.at("uuid").get<std::string>(), gpu.at("mig_uuid").get<std::string>()});
  launch.tenancy = json.at("shares_gpus").get<bool>() ? Tenancy::kShared : Tenancy::kAlone;
  launch.cpu_milli = json.at("cpu_milli").get<int64_t>();
  launch.memory = Bytes::of(json.at("memory_bytes").get<int64_t>());
  launch.command = json.at("command").get<std::vector<std::string>>();
  launch.script = json.at("script").get<std::string>();
  for (const Json& pair : json.at("environment"))
    launch.environment.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
  launch.folder = json.at("folder").get<std::string>();
  launch.output_path = json.at("output_path").get<std::string>();
  launch.error_path = json.at("error_path").get<std::string>();
  if (const Json& user = json.at("run_as"); !user.is_null())
    launch.run_as = RunAs{user.at("uid").get<uint32_t>(), user.at("gid").get<uint32_t>()};
  if (const Json& gang = json.at("gang"); !gang.is_null()) launch.gang = gang_of(gang);
  launch.time_limit = Duration::nanoseconds(json.at("time_limit_ns").get<int64_t>());
  launch.grace = Duration::nanoseconds(json.at("grace_ns").get<int64_t>());
  return launch;
}

Json json_of(const std::optional<Duration>& d) { return d ? Json(d->count_ns()) : Json(); }

TaskMoment moment_of(const Json& json) {
  TaskMoment moment{
      .at = Instant::from_ns(json.at("at_ns").get<int64_t>()), .since_boot = {}, .boot_id = json.value("boot_id", "")};
  const auto since = json.find("since_boot_ns");
  if (since != json.end() && !since->is_null()) moment.since_boot = Duration::nanoseconds(since->get<int64_t>());
  return moment;
}

/// Runs `read` on the parsed record; what the library throws becomes an error that names the file.
template <typename T, typename Read>
Result<T> parse(std::string_view text, const std::string& where, Read read) {
  try {
    const Json json = Json::parse(text);
    if (json.at("version").get<int>() != kRecordVersion)
      return invalid("{}: version {} where this program knows {}: it was written by another release", where,
                     json.at("version").dump(), kRecordVersion);
    return read(json);
  } catch (const std::exception& e) {
    return invalid("{}: is damaged: {}", where, excerpt(e.what(), 200));
  }
}

}  // namespace

TaskMoment this_moment() { return {.at = now(), .since_boot = since_boot(), .boot_id = boot_id()}; }

Instant on_clock(const TaskMoment& moment, Instant now) {
  if (!moment.since_boot || moment.boot_id != boot_id()) return moment.at;
  return now - std::max(since_boot() - *moment.since_boot, Duration());
}

std::string to_json(const TaskPlan& plan) {
  const Launch& l = plan.launch;
  Json gpus = Json::array();
  for (const GrantedGpu& gpu : l.gpus)
    gpus.push_back({{"index", gpu.index}, {"uuid", gpu.uuid}, {"mig_uuid", gpu.mig_uuid}});
  Json environment = Json::array();
  for (const auto& [name, value] : l.environment)
    environment.push_back(Json::array({name, value}));
  return dump({{"version", kRecordVersion},
               {"key", format_key(l.key)},
               {"node", l.node},
               {"gpus", std::move(gpus)},
               {"shares_gpus", l.tenancy == Tenancy::kShared},
               {"cpu_milli", l.cpu_milli},
               {"memory_bytes", l.memory.count()},
               {"command", l.command},
               {"script", l.script},
               {"environment", std::move(environment)},
               {"folder", l.folder},
               {"output_path", l.output_path},
               {"error_path", l.error_path},
               {"run_as", l.run_as ? Json{{"uid", l.run_as->uid}, {"gid", l.run_as->gid}} : Json()},
               {"gang", l.gang ? json_of(*l.gang) : Json()},
               {"time_limit_ns", l.time_limit.count_ns()},
               {"grace_ns", l.grace.count_ns()},
               {"cgroup", plan.cgroup},
               {"log_base", plan.log_base},
               {"room",
                {{"home", plan.room.home},
                 {"temporary", plan.room.temporary},
                 {"hides_processes", plan.room.hides_processes},
                 {"own_devices", plan.room.own_devices},
                 {"gpu_files", plan.room.gpu_files},
                 {"more_devices", plan.room.more_devices},
                 {"filters_devices", plan.room.filters_devices},
                 {"device_group", plan.room.device_group}}},
               {"most_processes", plan.most_processes},
               {"keep_free_bytes", plan.keep_free.count()},
               {"most_log_bytes", plan.most_log.count()}});
}

std::string to_json(const TaskStarted& started) {
  return dump({{"version", kRecordVersion},
               {"at_ns", started.when.at.ns()},
               {"since_boot_ns", json_of(started.when.since_boot)},
               {"pid", started.pid},
               {"start_ticks", started.start_ticks},
               {"boot_id", started.when.boot_id}});
}

std::string to_json(const TaskEnded& ended) {
  return dump({{"version", kRecordVersion},
               {"at_ns", ended.when.at.ns()},
               {"since_boot_ns", json_of(ended.when.since_boot)},
               {"boot_id", ended.when.boot_id},
               {"code", ended.status.code},
               {"signal", ended.status.signal},
               {"cause", std::string(name_of(ended.cause))},
               {"detail", excerpt(ended.detail, 300)},
               {"cpu_ns", ended.usage.cpu_time.count_ns()},
               {"peak_memory_bytes", ended.usage.peak_memory.count()}});
}

Result<TaskPlan> parse_task_plan(std::string_view text, const std::string& where) {
  return parse<TaskPlan>(text, where, [](const Json& json) -> Result<TaskPlan> {
    TaskPlan plan;
    plan.launch = launch_of(json);
    plan.cgroup = json.at("cgroup").get<std::string>();
    plan.log_base = json.at("log_base").get<std::string>();
    plan.most_processes = json.value("most_processes", int64_t{0});
    plan.most_log = Bytes::of(json.value("most_log_bytes", int64_t{0}));
    plan.keep_free = Bytes::of(json.value("keep_free_bytes", int64_t{0}));
    // Older releases gave tasks no room.
    if (const auto room = json.find("room"); room != json.end())
      plan.room = {.home = room->at("home").get<std::string>(),
                   .temporary = room->at("temporary").get<std::string>(),
                   .hides_processes = room->at("hides_processes").get<bool>(),
                   .own_devices = room->value("own_devices", false),
                   .gpu_files = room->value("gpu_files", std::vector<std::string>()),
                   .more_devices = room->value("more_devices", std::vector<std::string>()),
                   .filters_devices = room->value("filters_devices", false),
                   .device_group = room->value("device_group", std::string())};
    TRY(check_launch(plan.launch));
    return plan;
  });
}

Result<TaskStarted> parse_task_started(std::string_view text, const std::string& where) {
  return parse<TaskStarted>(text, where, [](const Json& json) -> Result<TaskStarted> {
    return TaskStarted{
        .when = moment_of(json), .pid = json.at("pid").get<int64_t>(), .start_ticks = json.at("start_ticks").get<int64_t>()};
  });
}

Result<TaskEnded> parse_task_ended(std::string_view text, const std::string& where) {
  return parse<TaskEnded>(text, where, [&](const Json& json) -> Result<TaskEnded> {
    const auto name = json.at("cause").get<std::string>();
    const auto cause = std::find_if(kCauses.begin(), kCauses.end(), [&](EndCause c) { return name_of(c) == name; });
    if (cause == kCauses.end()) return invalid("{}: is damaged: cause '{}'", where, excerpt(name));
    return TaskEnded{.when = moment_of(json),
                     .status = {.code = json.at("code").get<int>(), .signal = json.at("signal").get<int>()},
                     .cause = *cause,
                     .detail = json.at("detail").get<std::string>(),
                     .usage = {.cpu_time = Duration::nanoseconds(json.at("cpu_ns").get<int64_t>()),
                               .peak_memory = Bytes::of(json.at("peak_memory_bytes").get<int64_t>())}};
  });
}

Status check_launch(const Launch& launch) {
  const auto refuse = [&](std::string_view why) { return invalid("launch {}: {}", format_key(launch.key), why); };
  const auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (launch.key.job < 0 || launch.key.attempt < 0 || launch.key.task < 0) return refuse("a negative key");
  if (launch.command.empty() || launch.command[0].empty()) return refuse("no command: give a program to run");
  if (std::any_of(launch.command.begin(), launch.command.end(), has_nul)) return refuse("a NUL in the command");
  if (!launch.script.empty() && !launch.script.starts_with("#!"))
    return refuse("the script does not say what runs it: begin it with a line such as #!/bin/sh");
  for (const auto& [name, value] : launch.environment)
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value))
      return refuse(fmt::format("the environment variable '{}' cannot be set", excerpt(name)));
  for (const std::string* path : {&launch.folder, &launch.output_path, &launch.error_path})
    if (has_nul(*path) || (!path->empty() && path->front() != '/'))
      return refuse(fmt::format("the path '{}' must begin with /", excerpt(*path)));
  if (launch.cpu_milli < 0 || launch.memory < Bytes() || launch.time_limit < Duration() || launch.grace < Duration())
    return refuse("a limit below zero");
  return {};
}

}  // namespace stint
