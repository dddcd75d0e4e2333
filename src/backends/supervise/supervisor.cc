#include "backends/supervise/supervisor.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>
#include <utility>

#include "backends/local/process_tree.h"
#include "backends/local/task_folder.h"
#include "backends/supervise/restore_point.h"
#include "backends/supervise/supervised_command.h"
#include "backends/supervise/supervisor_log.h"
#include "backends/supervise/worker_process.h"
#include "base/counted.h"
#include "host/clock.h"
#include "host/file.h"

namespace stint {
namespace {

namespace fs = std::filesystem;
using Phase = SupervisorPolicy::Phase;

constexpr std::array kPassedOn = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr std::string_view kStateName = ".stint-run.json";
constexpr std::string_view kReadyName = ".stint-ready";
/// Of all processes of the command: the folder it saves into.
constexpr std::string_view kRunMark = "STINT_RUN";
constexpr std::chrono::seconds kLeftoversEnd(10);
// A worker's answer arrives without its own signal while its process lives on for a moment.
constexpr Duration kWorkerPause = Duration::milliseconds(20);

/// The wall clock at the start and what has passed since: a clock that is set back or forth changes no pause.
class SteadyTime {
 public:
  [[nodiscard]] Instant operator()() const {
    return wall_ + Duration::nanoseconds(std::chrono::nanoseconds(std::chrono::steady_clock::now() - steady_).count());
  }

 private:
  Instant wall_ = now();
  std::chrono::steady_clock::time_point steady_ = std::chrono::steady_clock::now();
};

std::string seconds(Duration d) { return fmt::format("{:.1f}", d.to_seconds()); }

std::string end_text(ExitStatus status) {
  return status.signal != 0 ? fmt::format("by signal {}", status.signal) : fmt::format("with exit code {}", status.code);
}

class Supervisor {
 public:
  explicit Supervisor(const SupervisorOptions& options)
      : options_(options), log_(options.events_file), began_(time_()), policy_(options.limits, began_) {}

  Result<ExitStatus> run() {
    watch_signals();
    if (saves()) TRY(open_folder());
    while (policy_.phase() != Phase::kDone || !finished()) {
      if (policy_.phase() == Phase::kWaiting) TRY(prepare_start());
      look_after_workers();
      if (saves()) look_now_and_then();
      if (policy_.alert_due(time_())) alert();
      if (policy_.phase() == Phase::kLeaving && time_() >= policy_.kill_at()) command_ended();
      wait_for_something();
    }
    conclude();
    return policy_.last_end();
  }

 private:
  [[nodiscard]] bool saves() const { return !options_.checkpoint_folder.empty(); }
  [[nodiscard]] std::string state_path(const std::string& folder) const { return folder + "/" + std::string(kStateName); }

  void watch_signals() {
    sigemptyset(&watched_);
    sigaddset(&watched_, SIGCHLD);
    for (const int signal : kPassedOn)
      sigaddset(&watched_, signal);
    ::sigprocmask(SIG_BLOCK, &watched_, nullptr);
    ProcessTree::adopt_orphans();
  }

  Status open_folder() {
    std::error_code failed;
    fs::create_directories(options_.checkpoint_folder, failed);
    const std::string path = options_.checkpoint_folder + "/.stint-run.lock";
    lock_ = Descriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!lock_.valid())
      return make_error(ErrorCode::kUnavailable, "{}: cannot be written: {}", options_.checkpoint_folder, std::strerror(errno));
    if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
      return make_error(ErrorCode::kConflict, "{}: another stint run looks after this folder: give each its own",
                        options_.checkpoint_folder);
    mark_ = fs::weakly_canonical(options_.checkpoint_folder, failed).string();
    TRY(end_leftovers());
    // What is known here, or, on a new machine, beside the copies.
    for (const std::string& folder : {options_.checkpoint_folder, options_.copy_to}) {
      const auto bytes = folder.empty() ? Result<std::string>(Error{}) : read_all(state_path(folder));
      if (!bytes.ok()) continue;
      anything_known_ = true;
      auto state = parse_supervisor_state(*bytes, state_path(folder));
      if (state.ok()) {
        state_ = std::move(state).value();
        break;
      }
      log_.tell(time_(), "note", state.error().message);
    }
    return {};
  }

  /// The folder is ours alone now. Processes of a command that an earlier stint run began there, which was killed, would go on
  /// beside the next one: only the command's first process ends with it.
  Status end_leftovers() {
    const auto left = [this] { return processes_with(kRunMark, mark_); };
    std::vector<int64_t> found = left();
    if (found.empty()) return {};
    const size_t many = found.size();
    const auto until = std::chrono::steady_clock::now() + kLeftoversEnd;
    for (; !found.empty() && std::chrono::steady_clock::now() < until; found = left()) {
      for (const int64_t pid : found)
        ::kill(static_cast<pid_t>(pid), SIGKILL);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    if (!found.empty())
      return make_error(ErrorCode::kConflict, "{}: process {} of an earlier stint run is still at work here: end it first",
                        options_.checkpoint_folder, found.front());
    log_.tell(time_(), "ended_leftovers",
              fmt::format("{} of an earlier run that was killed {} ended", counted(many, "process", "processes"),
                          many == 1 ? "is" : "are"));
    return {};
  }

  void save_state() {
    if (!saves()) return;
    const Status written = write_file_atomically(state_path(options_.checkpoint_folder), to_json(state_));
    if (!written.ok() && !state_failed_) log_.tell(time_(), "note", written.error().message);
    state_failed_ = !written.ok();
  }

  // ---- starting -----------------------------------------------------------------------------------------------------

  /// Chooses where to go on from while the pause lasts, then starts.
  Status prepare_start() {
    if (saves() && !chosen_ && !chooser_) {
      const Unproven unproven = anything_known_ ? Unproven::kRefused : Unproven::kTaken;
      TRY_ASSIGN(auto worker, WorkerProcess::start([this, unproven] {
                   return to_json(choose_restore_point(options_.checkpoint_folder, options_.copy_to, state_, unproven));
                 }));
      chooser_.emplace(std::move(worker));
    }
    if (chooser_)
      if (auto answer = chooser_->poll()) {
        chooser_.reset();
        TRY_ASSIGN(const std::string json, std::move(*answer));
        TRY_ASSIGN(chosen_, parse_restore_point(json));
        take_choice();
      }
    if (time_() < policy_.restart_at() || (saves() && !chosen_)) return {};
    return start();
  }

  void take_choice() {
    anything_known_ = true;
    for (const auto& [name, why] : chosen_->passed_over) {
      state_.remove(name);
      log_.tell(time_(), "passed_over", fmt::format("{} is passed over: {}", name, why), {{"checkpoint", name}});
    }
    if (failed_at_) {
      const Instant saved_at = chosen_->chosen ? std::max(chosen_->chosen->saved_at, started_at_) : started_at_;
      state_.lost.add(std::max(Duration(), *failed_at_ - saved_at));
      failed_at_.reset();
    }
    if (!chosen_->chosen) return;
    state_.add(*chosen_->chosen);
    last_good_at_.reset();
    point_at(chosen_->chosen->name);
    if (chosen_->fetched)
      log_.tell(time_(), "fetched", fmt::format("{} is copied back from {}", chosen_->chosen->name, options_.copy_to),
                {{"checkpoint", chosen_->chosen->name}});
  }

  Status start() {
    const std::string from =
        chosen_ && chosen_->chosen ? options_.checkpoint_folder + "/" + chosen_->chosen->name : std::string();
    std::error_code ignored;
    if (saves()) fs::remove(ready_file(), ignored);
    const auto leader =
        start_supervised(options_.command, {{std::string(kRunMark), mark_},
                                            {"STINT_CHECKPOINT_DIR", options_.checkpoint_folder},
                                            {"STINT_RESTORE_FROM", from},
                                            {"STINT_READY_FILE", saves() ? ready_file() : std::string()},
                                            {"STINT_START", std::to_string(policy_.starts())},
                                            {"STINT_NOTICE_SECONDS", std::to_string(options_.limits.notice.whole_seconds())}});
    if (!leader.ok()) return leader.error();
    started_at_ = time_();
    policy_.started(started_at_);
    tree_.emplace(*leader);
    chosen_.reset();
    waits_for_ready_ = saves();
    ++state_.starts;
    log_.tell(started_at_, "start",
              from.empty() ? fmt::format("{} starts from the beginning", options_.command[0])
                           : fmt::format("{} starts from {}", options_.command[0], from),
              {{"from", from}});
    save_state();
    return {};
  }

  [[nodiscard]] std::string ready_file() const { return options_.checkpoint_folder + "/" + std::string(kReadyName); }

  // ---- waiting ------------------------------------------------------------------------------------------------------

  [[nodiscard]] std::vector<pid_t> workers() const {
    std::vector<pid_t> pids;
    for (const auto* worker : {&chooser_, &examiner_, &copier_})
      if (worker->has_value()) pids.push_back((*worker)->pid());
    return pids;
  }

  void wait_for_something() {
    if (policy_.phase() == Phase::kDone && workers().empty()) return;
    const Instant time = time_();
    Instant until = time + options_.look_every;
    if (!workers().empty()) until = std::min(until, time + kWorkerPause);
    if (policy_.phase() == Phase::kWaiting) until = std::min(until, policy_.restart_at());
    if (policy_.phase() == Phase::kLeaving) until = std::min(until, policy_.kill_at());
    const int64_t ns = std::max<int64_t>(1'000'000, (until - time).count_ns());
    const timespec pause = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    const int signal = ::sigtimedwait(&watched_, nullptr, &pause);
    if (signal == SIGCHLD && tree_) {
      tree_->look(workers());
      const bool over = policy_.phase() == Phase::kLeaving ? tree_->all_ended(workers()) : tree_->leader_ended();
      if (over) command_ended();
    } else if (signal > 0 && signal != SIGCHLD) {
      notice(signal);
    }
  }

  void notice(int signal) {
    const bool first = policy_.phase() == Phase::kRunning;
    if (tree_) tree_->signal(signal);
    policy_.notice(time_(), options_.copy_to.empty() ? Duration() : state_.copying.mean() * 2);
    if (!first) return;
    log_.tell(time_(), "notice",
              fmt::format("signal {}: passed on; {} s to save and end", signal, seconds(policy_.kill_at() - time_())),
              {{"signal", std::to_string(signal)}});
  }

  void command_ended() {
    const bool forced = !tree_->leader_ended();
    const ExitStatus how = tree_->kill_all(workers());
    tree_.reset();
    const Instant time = time_();
    left_in_order_ = !forced && how.signal == 0 && (how.code == 0 || policy_.phase() == Phase::kLeaving);
    if (policy_.phase() == Phase::kRunning && how.shell_code() != 0) failed_at_ = time;
    policy_.ended(time, how);
    log_.tell(time, "end",
              policy_.phase() == Phase::kDone ? fmt::format("{} ended {}", options_.command[0], end_text(how))
                                              : fmt::format("{} ended {}: starts again in {} s", options_.command[0],
                                                            end_text(how), seconds(policy_.restart_at() - time)),
              {{"code", std::to_string(how.code)}, {"signal", std::to_string(how.signal)}});
    // What is being proven may change under the worker's eyes no more, and the choice of where to go on begins anew.
    if (policy_.phase() == Phase::kWaiting) examiner_.reset();
    chosen_.reset();
    save_state();
  }

  void alert() {
    ++state_.alerts;
    log_.tell(time_(), "alert",
              fmt::format("ALERT: no good checkpoint for {}: a failure now loses all since",
                          format_hours(options_.limits.alert_after)));
    save_state();
  }

  static std::string format_hours(Duration d) { return fmt::format("{:.1f} h", d.to_hours()); }

  // ---- checkpoints --------------------------------------------------------------------------------------------------

  void look_now_and_then() {
    look_at_ready_file();
    if (examiner_ || policy_.phase() == Phase::kWaiting || time_() < next_look_) return;
    next_look_ = time_() + options_.look_every;
    look_for_checkpoint();
  }

  /// Begins to prove the newest one that is not known. @return false when there is none, or not yet.
  bool look_for_checkpoint() {
    const auto listed = list_checkpoints(options_.checkpoint_folder);
    if (!listed.ok()) return false;
    for (const Checkpoint& c : *listed) {
      if (state_.find(c) != nullptr) return false;  // older ones are of no interest
      if (rejected_[c.name] == c.signature() || !is_settled(c)) continue;
      examine(c);
      return examiner_.has_value();
    }
    return false;
  }

  /// May its reading begin? With a list at once; without one, when it has not changed for long enough.
  bool is_settled(const Checkpoint& c) {
    if (c.has_list || (policy_.phase() == Phase::kDone && left_in_order_)) return true;
    const std::string signature = c.signature();
    auto& [seen, since] = sightings_[c.name];
    if (seen != signature) {
      seen = signature;
      since = time_();
    }
    return policy_.phase() != Phase::kDone && time_() - since >= options_.settled_after;
  }

  void examine(const Checkpoint& c) {
    examined_ = c;
    auto worker = WorkerProcess::start([this] {
      const auto digest = digest_of(options_.checkpoint_folder, examined_);
      return digest.ok() ? "+" + *digest : "-" + digest.error().message;
    });
    if (worker.ok()) examiner_.emplace(std::move(worker).value());
  }

  void look_after_workers() {
    if (examiner_)
      if (auto answer = examiner_->poll()) {
        examiner_.reset();
        sightings_.erase(examined_.name);
        if (answer->ok() && (**answer).starts_with('+'))
          found_good((**answer).substr(1));
        else
          rejected_[examined_.name] = examined_.signature();
      }
    if (copier_)
      if (auto answer = copier_->poll()) {
        copier_.reset();
        copied(answer->ok() ? **answer : answer->error().message);
      }
    if (!copier_ && !options_.copy_to.empty()) start_copy();
  }

  void found_good(const std::string& digest) {
    const Instant time = time_();
    rejected_.erase(examined_.name);
    if (examined_.born && examined_.modified > *examined_.born) state_.saving.add(examined_.modified - *examined_.born);
    if (last_good_at_) state_.interval.add(time - *last_good_at_);
    last_good_at_ = time;
    // A command that saves the same again each time it starts does not get on.
    const bool is_new = std::none_of(state_.checkpoints.begin(), state_.checkpoints.end(),
                                     [&](const KnownCheckpoint& k) { return k.digest == digest; });
    state_.add({.name = examined_.name, .signature = examined_.signature(), .digest = digest, .saved_at = examined_.modified});
    if (is_new) policy_.good_checkpoint(time);
    point_at(examined_.name);
    log_.tell(time, "checkpoint", fmt::format("{} is good: {} bytes", examined_.name, examined_.size.count()),
              {{"checkpoint", examined_.name}, {"sha256", digest}});
    save_state();
  }

  void point_at(const std::string& name) {
    const Status pointed = point_latest_at(options_.checkpoint_folder, name);
    if (!pointed.ok() && !pointing_failed_) log_.tell(time_(), "note", pointed.error().message);
    pointing_failed_ = !pointed.ok();
  }

  void look_at_ready_file() {
    std::error_code failed;
    if (!waits_for_ready_ || !fs::exists(ready_file(), failed)) return;
    waits_for_ready_ = false;
    state_.loading.add(time_() - started_at_);
    save_state();
  }

  // ---- copies -------------------------------------------------------------------------------------------------------

  /// The newest good one, if it is not there yet; older ones are passed over.
  void start_copy() {
    if (!saves() || state_.checkpoints.empty() || state_.checkpoints.back().copied || time_() < next_copy_) return;
    const auto listed = list_checkpoints(options_.checkpoint_folder);
    if (!listed.ok()) return;
    const KnownCheckpoint& newest = state_.checkpoints.back();
    const auto found = std::find_if(listed->begin(), listed->end(), [&](const Checkpoint& c) { return c.name == newest.name; });
    if (found == listed->end() || found->signature() != newest.signature) return;
    copied_ = newest;
    copy_began_ = time_();
    SupervisorState then = state_;
    then.checkpoints.back().copied = true;
    auto worker = WorkerProcess::start([this, what = *found, then] {
      CopyOptions copy;
      // With the end of the machine in sight a rate would only lose the copy.
      if (policy_.phase() == Phase::kRunning) copy.bytes_per_second = options_.copy_bytes_per_second;
      copy.sleep = [](Duration d) { std::this_thread::sleep_for(std::chrono::nanoseconds(d.count_ns())); };
      if (const Status done = copy_checkpoint(options_.checkpoint_folder, what, copied_.digest, options_.copy_to, copy);
          !done.ok())
        return done.error().message;
      if (const Status done = point_latest_at(options_.copy_to, what.name); !done.ok()) return done.error().message;
      const Status done = write_file_atomically(state_path(options_.copy_to), to_json(then));
      return done.ok() ? std::string() : done.error().message;
    });
    if (worker.ok()) copier_.emplace(std::move(worker).value());
  }

  void copied(const std::string& failure) {
    const Instant time = time_();
    if (!failure.empty()) {
      ++copy_failures_;
      next_copy_ = time + std::max(options_.look_every, options_.limits.first_pause);
      log_.tell(time, "copy_failed", fmt::format("{} is not copied: {}", copied_.name, failure), {{"checkpoint", copied_.name}});
      return;
    }
    copy_failures_ = 0;
    state_.copying.add(time - copy_began_);
    for (KnownCheckpoint& k : state_.checkpoints)
      if (k.name == copied_.name && k.signature == copied_.signature) k.copied = true;
    log_.tell(time, "copied",
              fmt::format("{} is copied to {} in {} s", copied_.name, options_.copy_to, seconds(time - copy_began_)),
              {{"checkpoint", copied_.name}});
    save_state();
  }

  // ---- the end ------------------------------------------------------------------------------------------------------

  /// After the command: is what it saved last proven and copied, or is there no time or hope left for it?
  bool finished() {
    if (!saves()) return true;
    if (const auto gone_at = policy_.gone_at(); gone_at && time_() >= *gone_at) return true;
    if (examiner_) return false;
    // What was cut short by its being written then may be whole now.
    if (!std::exchange(last_looked_, true)) rejected_.clear();
    if (look_for_checkpoint() || copier_) return false;
    if (options_.copy_to.empty() || state_.checkpoints.empty() || state_.checkpoints.back().copied) return true;
    constexpr int kPatience = 3;
    if (copy_failures_ >= kPatience) return true;
    start_copy();
    return !copier_ && copy_failures_ == 0;
  }

  void conclude() {
    const Duration took = time_() - began_;
    state_.supervised += took;
    save_state();
    std::string text = fmt::format("{} s, started {}", seconds(took), counted(policy_.starts(), "time"));
    SupervisorLog::Fields fields = {{"seconds", seconds(took)}, {"starts", std::to_string(policy_.starts())}};
    if (saves() && state_.lost.count > 0) text += fmt::format(", {} s of work lost so far in all", seconds(state_.lost.total));
    if (options_.price) {
      const Money cost = options_.price->over(took);
      text += fmt::format(", {}", cost.to_text(4));
      fields.emplace_back("cost", cost.to_decimal());
      fields.emplace_back("currency", std::string(cost.currency().code()));
    }
    log_.tell(time_(), "done", text, fields);
  }

  const SupervisorOptions& options_;
  SteadyTime time_;
  SupervisorLog log_;
  Instant began_;
  SupervisorPolicy policy_;
  SupervisorState state_;
  bool anything_known_ = false;
  bool state_failed_ = false;
  bool pointing_failed_ = false;
  Descriptor lock_;
  std::string mark_;  // value of kRunMark: the folder, absolute
  sigset_t watched_ = {};

  std::optional<ProcessTree> tree_;
  Instant started_at_;
  std::optional<Instant> failed_at_;  ///< a bad end whose loss is not known yet
  bool waits_for_ready_ = false;
  bool left_in_order_ = false;  ///< what it saved last is complete, as far as it is up to the command

  std::optional<WorkerProcess> chooser_;
  std::optional<RestorePoint> chosen_;

  std::optional<WorkerProcess> examiner_;
  Checkpoint examined_;
  Instant next_look_;
  std::optional<Instant> last_good_at_;
  std::map<std::string, std::pair<std::string, Instant>> sightings_;  ///< signature, and since when it is that
  std::map<std::string, std::string> rejected_;                       ///< signature that proved bad

  std::optional<WorkerProcess> copier_;
  KnownCheckpoint copied_;
  Instant copy_began_;
  Instant next_copy_;
  int copy_failures_ = 0;
  bool last_looked_ = false;
};

}  // namespace

Result<ExitStatus> supervise(const SupervisorOptions& options) { return Supervisor(options).run(); }

}  // namespace stint
