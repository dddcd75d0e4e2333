#include "daemon/standby.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/counted.h"
#include "host/clock.h"
#include "host/process.h"

namespace stint {
namespace {

using Steady = std::chrono::steady_clock;

constexpr Duration kLongestFence = Duration::minutes(5);
constexpr std::chrono::milliseconds kBetweenLooks(200);

std::string running(const Engine& engine) {
  return counted(engine.overview().running, "job of this log runs", "jobs of this log run");
}

Error gave_up() { return make_error(ErrorCode::kUnavailable, "stopped while standing by"); }

/// @return why it is not certain that the tasks of that machine have ended.
Status fence(const TaskHost& host, const std::string& program) {
  const auto ran = run_command({program, host.name, host.machine}, kLongestFence);
  if (!ran.ok()) return make_error(ErrorCode::kUnavailable, "--fence {} {}: {}", program, host.name, ran.error().message);
  if (ran->status.shell_code() != 0)
    return make_error(ErrorCode::kUnavailable, "--fence {} {}: exit code {}: what runs on {} may still run", program, host.name,
                      ran->status.shell_code(), host.name);
  return {};
}

/// Why a daemon may not go on with these tasks; "" = it may, or a fence can see to that.
std::string hindrance(const Engine& engine, const std::optional<TaskHost>& recorded, const StandbyRules& rules) {
  if (!engine.runs_jobs()) return {};
  switch (sight_of(recorded, *rules.here)) {
    case TaskSight::kOurs: return {};
    case TaskSight::kNotSaid:
      if (rules.has_run) return {};
      return fmt::format(
          "{}, and it does not say on which machine: start the daemon that ran them once more, with its state "
          "folder",
          running(engine));
    case TaskSight::kOtherFolder:
      return fmt::format("{} on this machine below {}: start the daemon with --state {}", running(engine), recorded->folder,
                         recorded->folder);
    case TaskSight::kOtherMachine:
      if (!rules.fence.empty()) return {};
      return fmt::format(
          "{}, maybe still on {} (below {}): start the daemon there, or give --fence PROGRAM, which makes certain "
          "that they do not",
          running(engine), recorded->name, recorded->folder);
  }
  return {};
}

bool is_elsewhere(const std::optional<TaskHost>& recorded, const StandbyRules& rules) {
  return rules.here && recorded && sight_of(recorded, *rules.here) == TaskSight::kOtherMachine;
}

/// How it stands with one that waits.
class Waiting {
 public:
  Waiting(EventLog& log, Engine& engine, const StandbyRules& rules) : log_(log), engine_(engine), rules_(rules) {}

  /// @return why tasks are lost, once the log is this one's; none = not yet, see news().
  Result<std::optional<std::string>> look() {
    const Status looked = reached_ ? log_.refresh() : log_.reopen();
    reached_ = looked.ok();
    if (!looked.ok()) return wait(looked.error().message);
    TRY(engine_.read_on());
    const Result<bool> led = log_.is_led();
    if (!led.ok()) return lose(led.error());
    if (*led) {
      free_since_.reset();
      return wait("standing by: another daemon is active");
    }
    if (!free_since_) free_since_ = Steady::now();
    const Result<std::optional<TaskHost>> recorded = task_host_of(log_);
    if (!recorded.ok()) return lose(recorded.error());
    if (rules_.here)
      if (const std::string why = hindrance(engine_, *recorded, rules_); !why.empty()) return wait("standing by: " + why);
    if (const Status held = rules_.hold_folder(); !held.ok()) return wait("standing by: " + held.error().message);
    if (is_elsewhere(*recorded, rules_) && Steady::now() - *free_since_ < std::chrono::nanoseconds(rules_.patience.count_ns()))
      return wait(fmt::format("standing by: the daemon of {} is away", (*recorded)->name));
    const Result<bool> taken = log_.take_over();
    if (!taken.ok()) return lose(taken.error());
    if (!*taken) return wait("standing by: another daemon is active");
    TRY(engine_.read_on());
    // What the other one wrote last counts.
    const Result<std::string> lost = find_tasks(log_, engine_, rules_);
    if (lost.ok()) return std::optional(*lost);
    free_since_.reset();
    if (const Status let = log_.let_go(); !let.ok()) return lose(let.error());
    return wait("standing by: " + lost.error().message);
  }
  [[nodiscard]] const std::string& news() const { return news_; }

 private:
  Result<std::optional<std::string>> wait(std::string news) {
    news_ = std::move(news);
    return std::optional<std::string>();
  }
  Result<std::optional<std::string>> lose(const Error& error) {
    reached_ = false;
    return wait(error.message);
  }

  EventLog& log_;
  Engine& engine_;
  const StandbyRules& rules_;
  bool reached_ = true;
  std::optional<Steady::time_point> free_since_;  ///< no daemon is active
  std::string news_;
};

}  // namespace

Result<std::optional<TaskHost>> task_host_of(EventLog& log) {
  std::optional<TaskHost> host;
  TRY(log.read_side_rows(kTaskHostStream, 0, 1, [&](int64_t, std::string_view row) -> Status {
    TRY_ASSIGN(host, parse_task_host(row));
    return {};
  }));
  return host;
}

Result<std::string> stand_by(EventLog& log, Engine& engine, const StandbyRules& rules) {
  Waiting waiting(log, engine, rules);
  std::string said;
  for (;;) {
    TRY_ASSIGN(std::optional<std::string> lost, waiting.look());
    if (lost) return std::move(*lost);
    const bool is_news = waiting.news() != said;
    said = waiting.news();
    if (!rules.keep_waiting)
      std::this_thread::sleep_for(kBetweenLooks);
    else if (!rules.keep_waiting(is_news ? said : std::string()))
      return gave_up();
  }
}

Result<std::string> find_tasks(EventLog& log, const Engine& engine, const StandbyRules& rules) {
  if (!rules.here || !engine.runs_jobs()) return std::string();
  TRY_ASSIGN(const std::optional<TaskHost> recorded, task_host_of(log));
  if (const std::string why = hindrance(engine, recorded, rules); !why.empty())
    return make_error(ErrorCode::kConflict, "{}", why);
  if (!is_elsewhere(recorded, rules)) return std::string();
  TRY(fence(*recorded, rules.fence));
  return fmt::format("the daemon of {} is gone, and its machine was fenced", recorded->name);
}

Status end_leftovers(Backend& backend, const std::function<bool(const std::string&)>& keep_waiting) {
  for (bool told = false;;) {
    const Instant at = now();
    std::vector<Order> orders;
    for (const BackendEvent& event : backend.drain(at)) {
      const auto* report = std::get_if<Report>(&event);
      if (report != nullptr && report->kind != ReportKind::kStarted)
        orders.push_back({.kind = OrderKind::kForget, .key = report->key, .at = at, .launch = {}, .grace = {}});
    }
    const std::vector<LaunchKey> running = backend.running();
    for (const LaunchKey& key : running)
      orders.push_back({.kind = OrderKind::kStop, .key = key, .at = at, .launch = {}, .grace = {}});
    const bool over = backend.is_ready() && running.empty() && orders.empty();
    if (!orders.empty()) backend.submit(std::move(orders));
    if (over) return {};
    const std::string news = running.empty() || std::exchange(told, true)
                                 ? ""
                                 : fmt::format("stopping {} that the log has given up", counted(std::ssize(running), "task"));
    if (keep_waiting && !keep_waiting(news)) return gave_up();
    if (!keep_waiting) std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace stint
