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
#include "backends/supervise/leftovers.h"
#include "backends/supervise/machine_notices.h"
#include "backends/supervise/notice_fit.h"
#include "backends/supervise/restore_point.h"
#include "backends/supervise/steady_time.h"
#include "backends/supervise/supervised_command.h"
#include "backends/supervise/supervisor_log.h"
#include "backends/supervise/worker_process.h"
#include "base/counted.h"
#include "host/file.h"
#include "host/secret.h"

namespace stint {
namespace {

namespace fs = std::filesystem;
using Phase = SupervisorPolicy::Phase;

constexpr std::array kPassedOn = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr std::string_view kReadyName = ".stint-ready";
// A worker's answer arrives without its own signal while its process lives on for a moment.
constexpr Duration kWorkerPause = Duration::milliseconds(20);
// A cloud that says so long before lets the command work until then.
constexpr Duration kShortestLead = Duration::minutes(2);

std::string seconds(Duration d) { return fmt::format("{:.1f}", d.to_seconds()); }

std::string end_text(ExitStatus status) {
  return status.signal != 0 ? fmt::format("by signal {}", status.signal) : fmt::format("with exit code {}", status.code);
}

class Supervisor {
 public:
  explicit Supervisor(const SupervisorOptions& options)
      : options_(options),
        log_(options.events_file),
        began_(time_()),
        policy_(options.limits, began_),
        notices_(options.cloud, log_) {}

  Result<ExitStatus> run() {
    watch_signals();
    if (saves()) TRY(open_folder());
    while (policy_.phase() != Phase::kDone || !finished()) {
      if (policy_.phase() == Phase::kWaiting) TRY(prepare_start());
      look_after_workers();
      hear_notices();
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
    for (const std::string& folder : {options_.checkpoint_folder, options_.copies.is_store() ? "" : options_.copies.to}) {
      const auto bytes = folder.empty() ? Result<std::string>(Error{}) : read_all(state_path_in(folder));
      if (bytes.ok() && take_state(*bytes, state_path_in(folder))) break;
    }
    if (state_.copies.to != options_.copies.to) forget_copies();
    hold_.position = state_.copies;
    hold_.run = random_hex(8);
    return {};
  }

  bool take_state(const std::string& json, const std::string& where) {
    anything_known_ = true;
    auto state = parse_supervisor_state(json, where);
    if (state.ok())
      state_ = std::move(state).value();
    else
      log_.tell(time_(), "note", state.error().message);
    return state.ok();
  }

  /// They are elsewhere: nothing is known of those here. A record of an earlier release does not say where they are.
  void forget_copies() {
    if (!state_.copies.to.empty() || options_.copies.is_store())
      for (KnownCheckpoint& k : state_.checkpoints)
        k.copied = false;
    state_.copies = {.to = options_.copies.to};
  }

  Status end_leftovers() {
    TRY_ASSIGN(const size_t many, end_leftovers_of(mark_, options_.checkpoint_folder));
    if (many > 0)
      log_.tell(time_(), "ended_leftovers",
                fmt::format("{} of an earlier run that was killed {} ended", counted(many, "process", "processes"),
                            many == 1 ? "is" : "are"));
    return {};
  }

  void save_state() {
    if (!saves()) return;
    const Status written = write_file_atomically(state_path_in(options_.checkpoint_folder), to_json(state_));
    if (!written.ok() && !state_failed_) log_.tell(time_(), "note", written.error().message);
    state_failed_ = !written.ok();
  }

  // ---- starting -----------------------------------------------------------------------------------------------------

  /// Chooses where to go on from while the pause lasts, then starts.
  Status prepare_start() {
    if (saves() && !chosen_ && !chooser_ && time_() >= next_choice_) {
      if (!is_claimed()) copier_.reset();
      const Unproven unproven = anything_known_ ? Unproven::kRefused : Unproven::kTaken;
      TRY_ASSIGN(auto worker, WorkerProcess::start([this, unproven] {
                   return to_json(choose_restore_point(options_.checkpoint_folder, options_.copies, hold_, state_, unproven));
                 }));
      chooser_.emplace(std::move(worker));
    }
    if (chooser_)
      if (auto answer = chooser_->poll()) {
        chooser_.reset();
        TRY_ASSIGN(const std::string json, std::move(*answer));
        TRY_ASSIGN(RestorePoint point, parse_restore_point(json));
        TRY_ASSIGN(const bool is_final, judge_copies(point));
        if (is_final) {
          chosen_ = std::move(point);
          take_choice();
        }
      }
    if (time_() < policy_.restart_at() || (saves() && !chosen_)) return {};
    return start();
  }

  /// @return false = it is to be chosen again after a pause: the copies cannot be reached, and there is none here to go on from.
  Result<bool> judge_copies(const RestorePoint& point) {
    take_hold(point.hold, point.notes);
    if (point.unreachable.empty()) return true;
    // A mistake of the command line is told before it costs anything.
    if (point.hopeless && policy_.starts() == 0) return invalid("{}", point.unreachable);
    const Instant time = time_();
    if (!unreachable_since_) unreachable_since_ = time;
    if (!point.chosen && options_.copies.is_store() && time - *unreachable_since_ < options_.limits.longest_pause) {
      next_choice_ = time + options_.limits.first_pause;
      log_.tell(time, "copies_unreachable",
                fmt::format("{}; tried again in {} s, until {} s have passed: where to go on from is not known",
                            point.unreachable, seconds(options_.limits.first_pause), seconds(options_.limits.longest_pause)));
      return false;
    }
    log_.tell(
        time, "copies_unreachable",
        fmt::format("{}; goes on {}", point.unreachable, point.chosen ? "with what is here" : "WITHOUT knowing what is there"));
    return true;
  }

  /// Is a place in a store ours? Two workers must not claim it side by side, as two runs do.
  [[nodiscard]] bool is_claimed() const { return !options_.copies.is_store() || hold_.claimed; }

  /// Of two workers that were at work side by side the later answer may know less.
  void take_hold(const CheckpointCopies::Hold& hold, const std::vector<std::string>& notes) {
    if (hold.position.last >= hold_.position.last) {
      hold_.position = hold.position;
      hold_.unread = hold.unread;
    }
    hold_.claimed |= hold.claimed;
    hold_.lost |= hold.lost;
    state_.copies = hold_.position;
    if (!options_.copies.is_store()) state_.copies.to = options_.copies.to;
    for (const std::string& note : notes)
      log_.tell(time_(), "note", note);
  }

  void take_choice() {
    if (!anything_known_ && !chosen_->state.empty()) {
      (void)take_state(chosen_->state, options_.copies.to);
      state_.copies = hold_.position;
    }
    anything_known_ = true;
    const auto tell_passed_over = [this](const std::string& name, const std::string& why) {
      log_.tell(time_(), "passed_over", fmt::format("{} is passed over: {}", name, why), {{"checkpoint", name}});
    };
    for (const auto& [name, why] : chosen_->passed_over) {
      state_.remove(name);
      tell_passed_over(name, why);
    }
    // Of copies that are not needed only our own disk is asked.
    if (chosen_->fetched || !chosen_->chosen)
      for (const auto& [name, why] : chosen_->copies_passed_over)
        tell_passed_over(name, why);
    if (failed_at_) {
      const Instant saved_at = chosen_->chosen ? std::max(chosen_->chosen->saved_at, started_at_) : started_at_;
      state_.lost.add(std::max(Duration(), *failed_at_ - saved_at));
      failed_at_.reset();
    }
    if (chosen_->chosen) state_.add(*chosen_->chosen);
    if (options_.copies.is_store() && chosen_->listed)
      for (KnownCheckpoint& k : state_.checkpoints)
        k.copied = std::find(chosen_->digests.begin(), chosen_->digests.end(), k.digest) != chosen_->digests.end();
    if (!chosen_->chosen) return;
    last_good_at_.reset();
    point_at(chosen_->chosen->name);
    if (chosen_->fetched)
      log_.tell(time_(), "fetched", fmt::format("{} is copied back from {}", chosen_->chosen->name, options_.copies.to),
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

  /// @param watcher  with the one that waits for notices, all its life?
  enum class Watcher : uint8_t { kWith, kWithout };
  [[nodiscard]] std::vector<pid_t> workers(Watcher watcher = Watcher::kWith) const {
    std::vector<pid_t> pids;
    if (const auto pid = notices_.watcher(); pid && watcher == Watcher::kWith) pids.push_back(*pid);
    for (const auto* worker : {&chooser_, &examiner_, &copier_})
      if (worker->has_value()) pids.push_back((*worker)->pid());
    return pids;
  }

  void wait_for_something() {
    const bool at_work = !workers(Watcher::kWithout).empty();
    if (policy_.phase() == Phase::kDone && !at_work) return;
    const Instant time = time_();
    Instant until = time + options_.look_every;
    if (at_work) until = std::min(until, time + kWorkerPause);
    if (policy_.phase() == Phase::kWaiting) until = std::min(until, policy_.restart_at());
    if (policy_.phase() == Phase::kLeaving) until = std::min(until, policy_.kill_at());
    if (const auto due = notices_.due_at(lead())) until = std::min(until, *due);
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

  /// How long before its end the machine's command hears of it, where its cloud says so long before.
  [[nodiscard]] Duration lead() const {
    const Duration needed = (state_.saving.mean() + state_.copying.mean()) * 2;
    return std::max({options_.limits.notice, kShortestLead, needed});
  }

  void hear_notices() {
    if (const auto leave = notices_.step(time_(), lead()))
      notice(SIGTERM, leave->left, fmt::format("{}: SIGTERM is sent", leave->why), leave->fields);
    // Whom a person told to leave leaves.
    if (notices_.take_withdrawn() && !told_by_signal_) policy_.stay();
  }

  void notice(int signal) {
    told_by_signal_ = true;
    notice(signal, options_.limits.notice, fmt::format("signal {}: passed on", signal), {});
  }

  void notice(int signal, Duration left, const std::string& why, SupervisorLog::Fields fields) {
    const bool first = policy_.phase() == Phase::kRunning;
    if (tree_) tree_->signal(signal);
    policy_.notice(time_(), {.left = left, .reserve = options_.copies.exists() ? state_.copying.mean() * 2 : Duration()});
    if (!first) return;
    notice_ = left;
    fields.emplace_back("signal", std::to_string(signal));
    log_.tell(time_(), "notice", fmt::format("{}; {} s to save and end", why, seconds(policy_.kill_at() - time_())), fields);
    if (!options_.copies.exists() || hold_.lost || state_.checkpoints.empty()) return;
    if (last_size_.count() > 0) tell_notice_fit(last_size_, last_name_);
    // With the end of the machine in sight a rate would only lose the copy. What is there of it is not sent again.
    if (copier_ && options_.copies.is_store() && options_.copy_bytes_per_second > 0) {
      copier_.reset();
      next_copy_ = Instant();
    }
  }

  void tell_notice_fit(Bytes size, const std::string& name) {
    const NoticeQuestion question{.notice = notice_.value_or(options_.limits.notice),
                                  .size = size,
                                  .bytes_per_second = state_.copied_bytes_per_second,
                                  .at_a_bound = state_.copied_at_a_bound,
                                  .saving = state_.saving.mean()};
    const NoticeFit fit = judge_notice(question);
    if (fit == NoticeFit::kUnknown || (fit == told_fit_ && policy_.phase() != Phase::kLeaving)) return;
    told_fit_ = fit;
    log_.tell(time_(), "notice_fit", notice_text(question, name),
              {{"fit", std::string(word_of(fit))},
               {"needed_seconds", seconds(notice_needed(question))},
               {"bytes", std::to_string(size.count())},
               {"bytes_per_second", std::to_string(question.bytes_per_second)}});
  }

  void command_ended() {
    const bool forced = !tree_->leader_ended();
    const ExitStatus how = tree_->kill_all(workers());
    tree_.reset();
    const Instant time = time_();
    left_in_order_ = !forced && how.signal == 0 && (how.code == 0 || policy_.phase() == Phase::kLeaving);
    if (policy_.phase() == Phase::kRunning && how.shell_code() != 0) failed_at_ = time;
    policy_.ended(time, how);
    // What it saved last has tries of its own: those that failed before may have been of what the command took away meanwhile.
    if (policy_.phase() == Phase::kDone) {
      copy_failures_ = 0;
      next_copy_ = Instant();
    }
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
        auto told = answer->ok() ? parse_copy_answer(**answer) : Result<CopyAnswer>(answer->error());
        copied(told.ok() ? *told : CopyAnswer{.failure = told.error().message, .hold = hold_});
      }
    if (!copier_) start_copy();
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
    last_size_ = examined_.size;
    last_name_ = examined_.name;
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
    if (!saves() || !copies_are_due() || time_() < next_copy_) return;
    if (!is_claimed() && (chooser_ || policy_.starts() == 0)) return;
    const auto listed = list_checkpoints(options_.checkpoint_folder);
    if (!listed.ok()) return;
    const KnownCheckpoint& newest = state_.checkpoints.back();
    const auto found = std::find_if(listed->begin(), listed->end(), [&](const Checkpoint& c) { return c.name == newest.name; });
    if (found == listed->end() || found->signature() != newest.signature) return;
    copied_ = newest;
    copied_size_ = found->size;
    copy_began_ = time_();
    // With the end of the machine in sight a rate would only lose the copy.
    copy_rate_ = policy_.phase() == Phase::kRunning ? options_.copy_bytes_per_second : 0;
    CopyTask task{options_.checkpoint_folder, *found, copied_.digest, state_};
    task.then.checkpoints.back().copied = true;
    auto worker = WorkerProcess::start([this, task = std::move(task)] {
      const CopyOptions how{.bytes_per_second = copy_rate_,
                            .sleep = [](Duration d) { std::this_thread::sleep_for(std::chrono::nanoseconds(d.count_ns())); }};
      return copy_and_tell(task, options_.copies, hold_, how);
    });
    if (worker.ok()) copier_.emplace(std::move(worker).value());
  }

  /// Is there one to copy, and somewhere to copy it to?
  [[nodiscard]] bool copies_are_due() const {
    return options_.copies.exists() && !hold_.lost && !state_.checkpoints.empty() && !state_.checkpoints.back().copied;
  }

  void copied(const CopyAnswer& answer) {
    const Instant time = time_();
    take_hold(answer.hold, answer.notes);
    if (hold_.lost) {
      ++state_.alerts;
      log_.tell(time, "copies_lost", "ALERT: " + answer.failure, {{"checkpoint", copied_.name}});
      save_state();
      return;
    }
    if (!answer.failure.empty()) {
      const KnownCheckpoint* newest = state_.checkpoints.empty() ? nullptr : &state_.checkpoints.back();
      const bool is_older = newest != nullptr && (copied_.name != newest->name || copied_.signature != newest->signature);
      if (!is_older || policy_.phase() != Phase::kDone) {
        next_copy_ = time + pause_before_copying_again();
        ++copy_failures_;
      }
      log_.tell(time, "copy_failed", fmt::format("{} is not copied: {}", copied_.name, answer.failure),
                {{"checkpoint", copied_.name}});
      save_state();
      return;
    }
    copy_failures_ = 0;
    state_.copying.add(time - copy_began_);
    measure_way(answer.bytes, time - copy_began_);
    for (KnownCheckpoint& k : state_.checkpoints)
      if (k.name == copied_.name && k.signature == copied_.signature) k.copied = true;
    log_.tell(time, "copied",
              fmt::format("{} is copied to {} in {} s", copied_.name, options_.copies.to, seconds(time - copy_began_)),
              {{"checkpoint", copied_.name}, {"bytes_sent", std::to_string(answer.bytes)}});
    tell_notice_fit(copied_size_, copied_.name);
    save_state();
  }

  /// Doubles with each failure, as the pauses of the command; near the end of the machine there is no time for that.
  [[nodiscard]] Duration pause_before_copying_again() const {
    Duration pause = std::max(options_.look_every, options_.limits.first_pause);
    for (int i = 0; i < copy_failures_ && policy_.phase() == Phase::kRunning && pause < options_.limits.longest_pause; ++i)
      pause = pause * 2;
    return std::min(pause, std::max(options_.limits.longest_pause, options_.look_every));
  }

  /// One of which much was there already tells nothing.
  void measure_way(int64_t bytes, Duration took) {
    if (bytes <= 0 || bytes * 2 < copied_size_.count() || took <= Duration()) return;
    state_.copied_bytes_per_second = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(bytes) / took.to_seconds()));
    state_.copied_at_a_bound = copy_rate_ > 0;
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
    if (!copies_are_due()) return true;
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
    if (options_.acknowledge_notice) notices_.acknowledge(time_());
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

  MachineNotices notices_;
  bool told_by_signal_ = false;
  std::optional<Duration> notice_;  ///< how long the one that the command heard is

  std::optional<ProcessTree> tree_;
  Instant started_at_;
  std::optional<Instant> failed_at_;  ///< a bad end whose loss is not known yet
  bool waits_for_ready_ = false;
  bool left_in_order_ = false;  ///< what it saved last is complete, as far as it is up to the command

  CheckpointCopies::Hold hold_;
  std::optional<Instant> unreachable_since_;  ///< the copies, when the command was to start
  Instant next_choice_;
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
  Bytes copied_size_;
  int64_t copy_rate_ = 0;
  Bytes last_size_;  ///< of the newest good one
  std::string last_name_;
  NoticeFit told_fit_ = NoticeFit::kUnknown;
  Instant copy_began_;
  Instant next_copy_;
  int copy_failures_ = 0;
  bool last_looked_ = false;
};

}  // namespace

Result<ExitStatus> supervise(const SupervisorOptions& options) { return Supervisor(options).run(); }

}  // namespace stint
