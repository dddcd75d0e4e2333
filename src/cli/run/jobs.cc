// stint queue, show, why, cancel, hold, release and logs: the daemon's jobs.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/counted.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "report/table.h"
#include "report/utf8.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

std::string gpus_of(int64_t milli) {
  return milli % 1000 == 0 ? std::to_string(milli / 1000) : fmt::format("{:.3f}", static_cast<double>(milli) / 1e3);
}

/// "1 GPU", "0.250 GPUs".
std::string gpu_count(int64_t milli) { return gpus_of(milli) + (milli == 1000 ? " GPU" : " GPUs"); }

/// For a column of GPUs: how many, else what part of one it waits for.
std::string gpus_or_part(const Json& job) {
  const auto milli = job["gpu_milli"].get<int64_t>();
  return milli == 0 && !text_of(job["gpu_part"]).empty() ? text_of(job["gpu_part"]) : gpus_of(milli);
}

/// What it asks for: "2 GPUs", "18 GiB of a GPU".
std::string asked_of(const Json& job) {
  const std::string part = text_of(job["gpu_part"]);
  return part.empty() ? gpu_count(job["gpu_milli"].get<int64_t>()) : part;
}

/// "trainers: 4 tasks of 8 GPUs, H100-80GB, all in one rack".
std::string group_text(const Json& group) {
  std::string text = text_of(group["name"]);
  const auto field = [&](const char* name) { return group.contains(name) ? text_of(group[name]) : std::string(); };
  if (const std::string within = field("within"); !within.empty()) text += " within " + within;
  if (group.contains("tasks")) {
    text += fmt::format(": {} of {}", counted(group["tasks"].get<int64_t>(), "task"), asked_of(group));
    for (const Json& model : group["gpu_models"])
      text += fmt::format("{}{}", &model == &group["gpu_models"].front() ? ", " : " or ", text_of(model));
    if (group["min_tasks"] != group["tasks"]) text += fmt::format(", at least {} of them", text_of(group["min_tasks"]));
  }
  if (const std::string level = field("required_topology"); !level.empty()) text += ", all in one " + level;
  if (const std::string level = field("preferred_topology"); !level.empty()) text += ", if it fits in one " + level;
  return text;
}

/// A time in a sentence.
std::string utc_of(const Json& time) { return time.is_null() ? "" : time_of(time) + " UTC"; }

std::string nodes_of(const Json& job) {
  std::vector<std::string> names;
  for (const Json& task : job["placed"])
    if (const std::string name = text_of(task["node"]); std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  return fmt::format("{}", fmt::join(names, ","));
}

/// Of an array as a whole how its jobs stand: "3 running, 5 waiting"; else the job's state.
std::string state_of(const Json& job) {
  if (!job.contains("array") || !job["array"].contains("jobs")) return text_of(job["state"]);
  std::string text;
  for (const auto& [state, jobs] : job["array"]["jobs"].items())
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", jobs.get<int64_t>(), state);
  return text;
}

bool is_array(const Json& job) { return job.contains("array") && !job["array"].contains("index"); }

/// "job agency-17", "array agency-17".
std::string title_of(const Json& job) { return fmt::format("{} {}", is_array(job) ? "array" : "job", text_of(job["id"])); }

Tone tone_of_state(const std::string& state) {
  if (state == "running" || state == "succeeded") return Tone::kGood;
  if (state == "waiting" || state == "on-hold" || state == "needs-approval" || state == "leaving") return Tone::kPlain;
  return state == "cancelled" || state == "skipped" || state == "stopped" ? Tone::kMuted : Tone::kBad;
}

struct QueueOptions {
  ClientOptions daemon;
  std::string state, queue, user, name;
  int limit = 100;
  std::string cursor, array;
  bool queues = false, members = false;
};

Status show_queues(DaemonClient& client, const QueueOptions& options) {
  TRY_ASSIGN(const Json body, client.get("/v1/queues"));
  if (options.daemon.json) return print_json(body);
  Table table({{"queue"},
               {"waiting", Align::kRight},
               {"running", Align::kRight},
               {"GPUs held", Align::kRight},
               {"guaranteed", Align::kRight, 0, 2},
               {"limit", Align::kRight, 0, 2},
               {"cost", Align::kRight},
               {"budget spent", Align::kRight, 0, 1},
               {"budget", Align::kRight, 0, 1}});
  const auto milli = [](const Json& value) { return value.is_null() ? "" : gpus_of(value.get<int64_t>()); };
  for (const Json& queue : body["queues"])
    table.add_row({text_of(queue["path"]), text_of(queue["waiting"]), text_of(queue["running"]), milli(queue["held_gpu_milli"]),
                   milli(queue["deserved_gpu_milli"]), milli(queue["limit_gpu_milli"]), money_of(queue["cost"]),
                   money_of(queue["budget_spent"]), money_of(queue["budget"])});
  return write_output("", table.render(screen_of_stdout()));
}

Status show_queue(DaemonClient& client, const QueueOptions& options) {
  if (options.queues) return show_queues(client, options);
  TRY_ASSIGN(const Json body,
             client.get(with_query("/v1/jobs", {{"state", options.state == "all"                             ? ""
                                                          : !options.state.empty() || !options.array.empty() ? options.state
                                                                                                             : "active"},
                                                {"queue", options.queue},
                                                {"user", options.user},
                                                {"name", options.name},
                                                {"array", options.array},
                                                {"arrays", options.members || !options.array.empty() ? "" : "as-one"},
                                                {"limit", std::to_string(options.limit)},
                                                {"cursor", options.cursor}})));
  if (options.daemon.json) return print_json(body);
  Table table({{"id"},
               {"name", Align::kLeft, 28},
               {"queue", Align::kLeft, 28, 1},
               {"user", Align::kLeft, 16, 3},
               {"state", Align::kLeft, 32},
               {"GPUs", Align::kRight},
               {"submitted (UTC)", Align::kLeft, 0, 4},
               {"on", Align::kLeft, 30, 2},
               {"cost", Align::kRight}});
  for (const Json& job : body["jobs"]) {
    const std::string state = text_of(job["state"]);
    table.add_row({text_of(job["id"]), text_of(job["name"]), text_of(job["queue"]), text_of(job["user"]), state_of(job),
                   gpus_or_part(job), time_of(job["submitted"]), nodes_of(job), money_of(job["cost"])});
    table.tone_cell(4, tone_of_state(state));
  }
  if (!body["next"].is_null()) tell("there are more: add --cursor {}, or --limit up to 1000\n", text_of(body["next"]));
  return write_output("", table.empty() ? "no jobs\n" : table.render(screen_of_stdout()));
}

struct JobOptions {
  ClientOptions daemon;
  std::vector<std::string> ids;
};

std::string path_of(const std::string& id, std::string_view what = "") {
  return fmt::format("/v1/jobs/{}{}{}", escape_url(id), what.empty() ? "" : "/", what);
}

std::string job_text(const Json& job) {
  std::string out = fmt::format("{} {}: {}\n", title_of(job), text_of(job["name"]), state_of(job));
  const auto line = [&out](std::string_view name, const std::string& value) {
    if (!value.empty()) out += fmt::format("  {:<12} {}\n", name, value);
  };
  line("queue", text_of(job["queue"]));
  line("user", text_of(job["user"]));
  line("command", text_of(job["command"]));
  if (is_array(job))
    line("jobs", fmt::format("{0}, from {1}_0 on: `stint queue --array {1}` lists them", text_of(job["array"]["size"]),
                             text_of(job["id"])));
  line(is_array(job) ? "still wants" : "asks for",
       fmt::format("{} in {}, priority {}", asked_of(job),
                   counted(job["tasks"].get<int64_t>(), "task") + (is_array(job) ? " each" : ""), text_of(job["priority"])));
  for (const Json& group : job.value("groups", Json::array()))
    line("group", group_text(group));
  if (job.contains("max_slowdown_percent"))
    line("bears", fmt::format("{} % longer for its neighbours on the GPU", text_of(job["max_slowdown_percent"])));
  line("reason", text_of(job["reason"]));
  if (job.contains("approval")) {
    const Json& approval = job["approval"];
    const std::string by = text_of(approval["by"]), reason = text_of(approval["reason"]);
    line("approval", by.empty() ? "needed: " + text_of(approval["why"])
                                : fmt::format("{} by {} at {}{}{}", approval["approved"].get<bool>() ? "given" : "refused", by,
                                              utc_of(approval["decided"]), reason.empty() ? "" : ": ", reason));
  }
  line("submitted", utc_of(job["submitted"]));
  line("started", utc_of(job["started"]));
  line("ended", utc_of(job["ended"]));
  line("deadline", utc_of(job["deadline"]));
  line("cost", fmt::format("{} for {:.3f} GPU-hours, {}, {}", money_of(job["cost"]), job["gpu_hours"].get<double>(),
                           counted(job["starts"].get<int64_t>(), "start"), counted(job["failures"].get<int64_t>(), "failure")));
  if (is_array(job)) line("runs", job["placed"].empty() ? "" : "on " + nodes_of(job));
  for (const Json& task : is_array(job) ? Json::array() : job["placed"])
    line("runs", fmt::format("task {} on {}, GPUs {}", text_of(task["task"]), text_of(task["node"]), task["gpus"].dump()));
  for (const Json& end : job["ends"])
    line("ended", fmt::format("task {} on {} at {}: {}{}{}", text_of(end["task"]), text_of(end["node"]), utc_of(end["ended"]),
                              end["signal"].get<int>() != 0 ? fmt::format("signal {}", end["signal"].get<int>())
                                                            : fmt::format("exit code {}", end["exit_code"].get<int>()),
                              text_of(end["detail"]).empty() ? "" : ", ", text_of(end["detail"])));
  if (job.contains("last_output")) {
    out += fmt::format("  last output (`stint logs {}` has all)\n", text_of(job["id"]));
    std::string lines = job["last_output"].get<std::string>();
    if (lines.ends_with('\n')) lines.pop_back();
    for (const std::string_view printed : split(lines, '\n'))
      out += fmt::format("    {}\n", printable(printed));
  }
  return out;
}

Status show_jobs(DaemonClient& client, const JobOptions& options) {
  for (const std::string& id : options.ids) {
    TRY_ASSIGN(const Json job, client.get(path_of(id)));
    TRY(options.daemon.json ? print_json(job) : write_text(job_text(job)));
  }
  return {};
}

Status explain_jobs(DaemonClient& client, const JobOptions& options) {
  for (const std::string& id : options.ids) {
    TRY_ASSIGN(const Json why, client.get(path_of(id, "why")));
    std::string text = text_of(why["text"]);
    if (!text.ends_with('\n')) text += '\n';
    TRY(options.daemon.json ? print_json(why) : write_text(text));
  }
  return {};
}

/// Each of them, also after one that was refused.
ExitCode control_jobs(const JobOptions& options, const std::string& what) {
  auto client = DaemonClient::create(options.daemon);
  if (!client.ok()) return fail(client.error().message);
  ExitCode code = ExitCode::kOk;
  for (const std::string& id : options.ids) {
    const Result<Json> job = client->send("POST", path_of(id, what), nullptr);
    if (!job.ok()) {
      code = fail(job.error().message);
      if (job.error().code == ErrorCode::kUnavailable) return code;
    } else if (options.daemon.json) {
      (void)print_json(*job).ok();
    } else {
      const bool goes_on = what == "hold" && text_of((*job)["state"]) == "running";
      say("{}: {}{}\n", title_of(*job), state_of(*job),
          goes_on ? "; what runs goes on, and is held where it would wait again" : "");
    }
  }
  return code;
}

struct LogOptions {
  ClientOptions daemon;
  std::string id;
  int task = 0;
  int attempt = -1;
  bool output = false, error = false;  ///< alone
  bool follow = false;
  int64_t tail = 0;
};

/// A task that could not be started prints nothing: its end says why.
void say_why_nothing_was_printed(DaemonClient& client, const LogOptions& options) {
  const Result<Json> job = client.get(path_of(options.id));
  if (!job.ok()) return;
  std::string why;
  for (const Json& end : (*job)["ends"])
    if (end["task"] == options.task && (options.attempt < 0 || end["attempt"] == options.attempt)) why = text_of(end["detail"]);
  if (!why.empty()) fmt::print(stderr, "stint: nothing was printed: {}\n", printable(why));
}

Status show_logs(DaemonClient& client, const LogOptions& options) {
  bool printed = false;
  std::string offset = options.tail > 0 ? std::to_string(-options.tail) : "0";
  std::string attempt = options.attempt < 0 ? "" : std::to_string(options.attempt);
  for (;;) {
    TRY_ASSIGN(const HttpResponse piece,
               client.raw({.url = with_query(path_of(options.id, "logs"), {{"stream", options.error    ? "error"
                                                                                      : options.output ? "output"
                                                                                                       : "both"},
                                                                           {"task", std::to_string(options.task)},
                                                                           {"attempt", attempt},
                                                                           {"offset", offset}})}));
    const std::string* from = piece.header("stint-log-offset");
    const int64_t begins = from == nullptr ? 0 : parse_int(*from).value_or(0), asked = parse_int(offset).value_or(0);
    const std::string* told = piece.header("stint-log-gone");
    // An older daemon says nothing of it.
    const int64_t gone = told == nullptr ? (asked >= 0 ? begins - asked : 0) : parse_int(*told).value_or(0);
    if (gone > 0 && !piece.body.empty())
      fmt::print(stderr,
                 "stint: {} bytes before this are gone: the daemon keeps the newest of a log (--job-log-limit, job_logs, its "
                 "client's quota)\n",
                 gone);
    else if (gone > 0)
      fmt::print(stderr,
                 "stint: {} bytes that it printed are gone: logs of ended jobs stay as long as job_logs and their client's quota "
                 "let them (docs/operations.md#logs)\n",
                 gone);
    TRY(write_output("", piece.body));
    printed = printed || !piece.body.empty() || begins > 0;
    const std::string* next = piece.header("stint-log-next");
    const std::string* complete = piece.header("stint-log-complete");
    if (next == nullptr || complete == nullptr) return invalid("the server's answer is no log: is it a Stint daemon?");
    if (*complete == "true" && !printed) say_why_nothing_was_printed(client, options);
    if (*complete == "true" || (piece.body.empty() && !options.follow)) return {};
    offset = *next;
    if (piece.body.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(500));
  }
}

void add_queue(Command& app, Action& action) {
  auto options = std::make_shared<QueueOptions>();
  Command* command =
      add_client_command(app, action, options, "queue", "The daemon's jobs: what waits and what runs; or its queues", show_queue);
  command->add_option("--state", options->state,
                      "active, ended, all, or one state such as failed; else active, of one array all");
  command->add_option("--queue", options->queue, "of this queue and those below");
  command->add_option("--user", options->user, "of this user");
  command->add_option("--name", options->name, "of this name");
  command->add_option("--limit", options->limit, "at most so many")->check(in_range(1, 1000))->capture_default_str();
  command->add_option("--cursor", options->cursor, "go on where the page before ended");
  Option* array = command->add_option("--array", options->array, "jobs of this array")->type_name("JOB");
  command->add_flag("--members", options->members, "each job of an array in a line; else one line says how they stand")
      ->excludes(array);
  command->add_flag("--queues", options->queues, "queues with their use and their money, in place of jobs");
  command->footer("Example: stint queue --state failed --queue agency");
}

void add_ids(Command* command, JobOptions& options) {
  command
      ->add_option("job", options.ids,
                   "ids of jobs: agency-17, or 17 where you see one client alone; an array's id for all of it, agency-17_3 for "
                   "one of its jobs")
      ->required();
}

void add_view(Command& app, Action& action, const char* name, const char* help, Status (*run)(DaemonClient&, const JobOptions&)) {
  const auto options = std::make_shared<JobOptions>();
  Command* command = add_client_command(app, action, options, name, help, run);
  add_ids(command, *options);
  command->footer(fmt::format("Example: stint {} agency-17", name));
}

void add_control(Command& app, Action& action, const char* name, const char* help) {
  Command* command = app.add_subcommand(name, help);
  const auto options = std::make_shared<JobOptions>();
  add_ids(command, *options);
  add_client_options(*command, options->daemon);
  options->daemon.tells_of_job = std::string_view(name) == "checkpoint";
  command->footer(fmt::format("Example: stint {} agency-17 agency-18", name));
  command->callback([options, name, &action] { action = [options, name] { return control_jobs(*options, name); }; });
}

void add_logs(Command& app, Action& action) {
  auto options = std::make_shared<LogOptions>();
  Command* command = add_client_command(app, action, options, "logs", "What a job prints", show_logs);
  command->add_option("job", options->id, "job id")->required();
  command->add_option("--task", options->task, "of a gang; 0 = the first")->capture_default_str();
  command->add_option("--attempt", options->attempt, "else the newest");
  Option* output =
      command->add_flag("--stdout", options->output, "its output alone; else output and errors in the order in which they came");
  command->add_flag("--stderr,--error", options->error, "its errors alone")->excludes(output);
  command->add_flag("-f,--follow", options->follow, "go on until the job ends");
  command->add_option("--tail-bytes", options->tail, "the last so many bytes")->check(positive_number());
  command->remove_option("--json");  // what a job prints is printed as it is
  command->footer("Example: stint logs -f agency-17");
}

}  // namespace

void add_job_commands(Command& app, Action& action) {
  add_queue(app, action);
  add_view(app, action, "show", "All about a job", show_jobs);
  add_view(app, action, "why", "Why a job waits, what would start it, and what that costs", explain_jobs);
  add_control(app, action, "cancel", "Ends a job, or takes it out of the queue");
  add_control(app, action, "hold", "Keeps a job from starting");
  add_control(app, action, "release", "Lets a held job start");
  add_control(app, action, "checkpoint", "Says that a job has saved its work: less is lost when it is stopped");
  add_logs(app, action);
}

}  // namespace stint
