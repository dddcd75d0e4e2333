#include "backends/local/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "backends/local/device_group.h"
#include "backends/local/process_tree.h"
#include "backends/local/task_process.h"
#include "backends/local/task_room.h"
#include "backends/output_order.h"
#include "base/counted.h"
#include "base/text.h"
#include "host/clock.h"
#include "host/file.h"

namespace stint {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRetryPauseMs = 1000;

Clock::time_point after(Duration d) {
  // A limit of centuries must not wrap around.
  constexpr Duration kLongest = Duration::hours(24 * 365 * 100);
  return Clock::now() + std::chrono::nanoseconds(std::clamp(d, Duration(), kLongest).count_ns());
}

Duration of_timeval(const timeval& t) { return Duration::seconds(t.tv_sec) + Duration::nanoseconds(t.tv_usec * 1000); }

/// What all children that were waited for used, and theirs.
TaskUsage usage_of_children() {
  rusage usage = {};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return {.cpu_time = of_timeval(usage.ru_utime) + of_timeval(usage.ru_stime), .peak_memory = Bytes::of(usage.ru_maxrss * 1024)};
}

class TaskKeeper {
 public:
  TaskKeeper(TaskFolder folder, TaskPlan plan)
      : folder_(std::move(folder)), plan_(std::move(plan)), cgroup_(plan_.cgroup), control_(kKeeperControl) {}

  int run() {
    reserve_room_for_the_end();
    watch_signals();
    if (const Status started = start(); !started.ok()) {
      cgroup_.remove();
      leave_room(plan_.room);
      write_end(
          {.when = this_moment(), .status = {.code = 127}, .cause = EndCause::kNotStarted, .detail = started.error().message});
      return 0;
    }
    if (plan_.launch.time_limit > Duration()) limit_at_ = after(plan_.launch.time_limit);
    while (!is_over())
      wait_for_something();
    end();
    return 0;
  }

 private:
  /// A disk that is full when the task ends must not take its end away: the room is set aside before it begins.
  void reserve_room_for_the_end() {
    end_file_ = Descriptor(::open(folder_.file("end.reserved").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (end_file_.valid()) (void)::posix_fallocate(end_file_.get(), 0, static_cast<off_t>(kMostEndedBytes));
  }

  void watch_signals() {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP})
      sigaddset(&watched, signal);
    ::sigprocmask(SIG_BLOCK, &watched, nullptr);
    signals_ = Descriptor(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
    ProcessTree::adopt_orphans();
  }

  Status start() {
    TRY(cgroup_.create(plan_.launch.cpu_milli, plan_.launch.memory, plan_.most_processes));
    if (const TaskRoom& room = plan_.room; cgroup_.present() && room.filters_devices)
      TRY(filter_devices(plan_.cgroup, device_numbers(all_gpu_files({}), {}), device_numbers(room.gpu_files, {})));
    if (const TaskRoom& room = plan_.room; !room.device_group.empty())
      TRY(make_device_group(room.device_group, device_numbers(all_gpu_files({}), {}), device_numbers(room.gpu_files, {})));
    TRY_ASSIGN(const pid_t leader, start_task_process(plan_, cgroup_, folder_.mark()));
    tree_.emplace(leader);
    OutputFiles files = output_files(plan_.log_base);
    if (!plan_.launch.output_path.empty()) files.output.clear();
    if (!plan_.launch.error_path.empty()) files.error.clear();
    order_.emplace(files);
    cap_.emplace(files, plan_.most_log, plan_.keep_free);
    order_->look();  // what it has printed before anybody watched
    const TaskStarted started{.when = this_moment(), .pid = leader, .start_ticks = start_ticks_of(leader).value_or(0)};
    const Status written = write_file_atomically(folder_.started_file(), to_json(started));
    if (written.ok()) return {};
    kill_everything();
    return written;
  }

  void wait_for_something() {
    const bool pauses = Clock::now() < look_at_;  // output grows all the time: it is looked at now and then
    std::array<pollfd, 3> fds = {pollfd{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                 pollfd{.fd = control_.get(), .events = POLLIN, .revents = 0},
                                 pollfd{.fd = pauses ? -1 : order_->descriptor(), .events = POLLIN, .revents = 0}};
    std::optional<Clock::time_point> next = kill_at_ ? kill_at_ : limit_at_;
    if (order_->descriptor() < 0) look_at_ = after(OutputOrder::kPause);
    if (pauses || order_->descriptor() < 0) next = next ? std::min(*next, look_at_) : look_at_;
    timespec pause = {};
    if (next) {
      const auto left = std::max(std::chrono::nanoseconds(0), std::chrono::nanoseconds(*next - Clock::now())).count();
      pause = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    }
    if (::ppoll(fds.data(), fds.size(), next ? &pause : nullptr, nullptr) > 0) {
      if (fds[0].revents != 0) take_signals();
      if (fds[1].revents != 0) take_requests();
      if (fds[2].revents != 0) {
        order_->look();
        cap_->hold();
        look_at_ = after(OutputOrder::kPause);
      }
    }
    if (order_->descriptor() < 0) cap_->hold();  // nothing tells when they grow
    const auto time = Clock::now();
    if (limit_at_ && !kill_at_ && time >= *limit_at_) ask_to_leave(plan_.launch.grace, EndCause::kTimeLimit);
  }

  void take_signals() {
    signalfd_siginfo info = {};
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      // The machine shuts down, or somebody wants this keeper gone: its task is to leave in order.
      if (info.ssi_signo != SIGCHLD) ask_to_leave(plan_.launch.grace, EndCause::kStopped);
    }
    tree_->look({});
  }

  void take_requests() {
    std::array<char, 512> piece = {};
    ssize_t n = 0;
    while ((n = ::read(control_.get(), piece.data(), piece.size())) > 0)
      request_.append(piece.data(), static_cast<size_t>(n));
    for (size_t end = 0; (end = request_.find('\n')) != std::string::npos; request_.erase(0, end + 1))
      take_request(std::string_view(request_).substr(0, end));
  }

  void take_request(std::string_view line) {
    const auto words = split(line, ' ');
    const auto value = words.size() == 2 ? parse_int(words[1]) : std::nullopt;
    if (!value) return;
    if (words[0] == "stop") ask_to_leave(Duration::nanoseconds(*value), EndCause::kStopped);
    if (words[0] == "signal") tree_->signal(static_cast<int>(*value));
  }

  void ask_to_leave(Duration grace, EndCause why) {
    const auto kill_at = after(grace);
    if (!kill_at_) {
      why_ = why;
      tree_->signal(SIGTERM);
    }
    kill_at_ = kill_at_ ? std::min(*kill_at_, kill_at) : kill_at;
  }

  /// By itself: when its first process has ended. On request: when all have, or the grace has.
  bool is_over() {
    if (kill_at_ && Clock::now() >= *kill_at_) return true;
    return kill_at_ ? tree_->all_ended({}) : tree_->leader_ended();
  }

  void kill_everything() {
    cgroup_.kill_all();
    status_ = tree_->kill_all({});
  }

  void end() {
    kill_everything();
    order_->finish();
    cap_->hold();
    TaskEnded ended{.when = this_moment(), .status = status_, .cause = why_, .detail = "", .usage = usage_of_children()};
    if (const int64_t kills = cgroup_.out_of_memory_kills(); kills > 0) {
      ended.cause = EndCause::kOutOfMemory;
      ended.detail =
          fmt::format("took more than its {} bytes of memory: {} ended by the kernel; submit it with a larger --memory",
                      plan_.launch.memory.count(), counted(kills, "process"));
    }
    cgroup_.remove();
    leave_room(plan_.room);
    write_end(ended);
  }

  void write_end(const TaskEnded& ended) {
    const std::string text = to_json(ended);
    // Into the reserved room first; where there was none, or it fails, until there is room again: an end must not be lost.
    if (end_file_.valid() && ::pwrite(end_file_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
        ::ftruncate(end_file_.get(), static_cast<off_t>(text.size())) == 0 && ::fsync(end_file_.get()) == 0 &&
        ::rename(folder_.file("end.reserved").c_str(), folder_.ended_file().c_str()) == 0)
      return;
    while (!write_file_atomically(folder_.ended_file(), text).ok() && ::access(folder_.path().c_str(), F_OK) == 0)
      ::poll(nullptr, 0, kRetryPauseMs);
  }

  TaskFolder folder_;
  TaskPlan plan_;
  TaskCgroup cgroup_;
  Descriptor control_;
  Descriptor signals_;
  Descriptor end_file_;
  std::optional<ProcessTree> tree_;   ///< once it has started
  std::optional<OutputOrder> order_;  ///< likewise
  std::optional<OutputCap> cap_;      ///< likewise
  Clock::time_point look_at_;         ///< at its output, and not before
  ExitStatus status_;
  EndCause why_ = EndCause::kItself;
  std::string request_;
  std::optional<Clock::time_point> limit_at_;
  std::optional<Clock::time_point> kill_at_;  ///< once it was asked to leave
};

Result<TaskPlan> read_plan(const TaskFolder& folder) {
  TRY_ASSIGN(const std::string bytes, read_all(folder.launch_file()));
  return parse_task_plan(bytes, folder.launch_file());
}

}  // namespace

std::string signal_request(int signal) { return fmt::format("signal {}\n", signal); }
std::string stop_request(Duration grace) { return fmt::format("stop {}\n", std::max<int64_t>(0, grace.count_ns())); }

int run_keeper(const std::string& path) {
  for (const int inherited : {kKeeperLock, kKeeperControl})
    if (::fcntl(inherited, F_SETFD, FD_CLOEXEC) != 0) {
      fmt::print(stderr, "stint keeper: is started by the daemon, not by hand\n");
      return 2;
    }
  ::close_range(kKeeperControl + 1, ~0U, 0);
  const TaskFolder folder(path);
  const auto claimed = folder.claim();
  if (!claimed.ok() || !*claimed) return 1;
  auto plan = read_plan(folder);
  if (plan.ok()) return TaskKeeper(folder, std::move(plan).value()).run();
  const TaskEnded ended{
      .when = this_moment(), .status = {.code = 127}, .cause = EndCause::kNotStarted, .detail = plan.error().message};
  return write_file_atomically(folder.ended_file(), to_json(ended)).ok() ? 0 : 1;
}

}  // namespace stint
