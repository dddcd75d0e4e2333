#include "backends/slurm/slurm_backend.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <future>
#include <tuple>

#include "backends/event_order.h"
#include "backends/output_order.h"
#include "backends/slurm/slurm_orders.h"
#include "base/text.h"
#include "codec/slurm/hostlist.h"
#include "host/file.h"
#include "host/secret.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

SlurmNote placed_note(std::string launch, Instant at, const SlurmEntry& entry) {
  return {.placed = at, .restarts = entry.restarts, .launch = std::move(launch), .wants = note_of(entry).wants};
}

}  // namespace

Result<std::unique_ptr<SlurmBackend>> SlurmBackend::create(SlurmBackendRules rules, Instant now) {
  auto backend = std::unique_ptr<SlurmBackend>(new SlurmBackend(std::move(rules)));
  TRY(backend->open_folder());
  backend->look(now);
  return backend;
}

Status SlurmBackend::open_folder() {
  std::error_code failed;
  fs::create_directories(rules_.state_folder + "/launches", failed);
  if (!failed && fs::create_directories(rules_.log_folder, failed))
    fs::permissions(rules_.log_folder, fs::perms(0711), failed);  // others reach their own files, and make none
  if (failed) return make_error(ErrorCode::kUnavailable, "{}: cannot be made: {}", rules_.state_folder, failed.message());
  const std::string mark_file = rules_.state_folder + "/mark";
  if (!fs::exists(mark_file)) {
    TRY(write_file_atomically(mark_file, random_hex(8)));
  }
  TRY_ASSIGN(const std::string mark, read_all(mark_file));
  mark_ = std::string(trim(mark));
  for (fs::directory_iterator it(rules_.state_folder + "/launches", failed); !failed && it != fs::directory_iterator();
       it.increment(failed)) {
    const auto key = parse_key(it->path().filename().string());
    if (!key) continue;
    TRY_ASSIGN(const std::string job, read_all(it->path().string()));
    Known& known = launches_[*key];
    known.job = std::string(trim(job));
    known.uncertain = known.job.empty();
  }
  if (failed)
    return make_error(ErrorCode::kUnavailable, "{}/launches: cannot be read: {}", rules_.state_folder, failed.message());
  return {};
}

std::vector<std::string> SlurmBackend::notes() const {
  std::vector<std::string> notes = {
      "Slurm runs the jobs: held jobs of its users and jobs submitted here are one queue; jobs that are not held are Slurm's own "
      "and "
      "hold room."};
  return notes;
}

std::string SlurmBackend::intent_of(const LaunchKey& key) const {
  return fmt::format("{}/launches/{}", rules_.state_folder, format_key(key));
}

Status SlurmBackend::run(const std::string& program, const std::vector<std::string>& arguments) {
  dirty_ = true;
  const auto done = rules_.programs.ask(program, arguments);
  return done.ok() ? Status() : Status(done.error());
}

/// Of a job of others: what is written into its AdminComment, and what is changed with it in the same call.
Status SlurmBackend::change(const std::string& job, const SlurmNote& note, std::vector<std::string> more) {
  std::vector<std::string> arguments = {"update", "JobId=" + job, "AdminComment=" + to_text(note)};
  std::ranges::move(more, std::back_inserter(arguments));
  return run("scontrol", arguments);
}

void SlurmBackend::tell(Report report) {
  launches_[report.key].last = report;
  events_.emplace_back(std::move(report));
}

/// To who asks again; what is to be told anyway is told once.
void SlurmBackend::tell_again(const Report& report) {
  const bool comes = std::ranges::any_of(events_, [&](const BackendEvent& event) {
    const auto* told = std::get_if<Report>(&event);
    return told != nullptr && told->key == report.key && told->kind == report.kind;
  });
  if (!comes) events_.emplace_back(report);
}

void SlurmBackend::refuse(const Order& order, RefusalKind kind, std::string why) {
  events_.emplace_back(Refusal{.order = order.kind, .kind = kind, .key = order.key, .at = order.at, .detail = std::move(why)});
}

void SlurmBackend::submit(std::vector<Order> orders) {
  std::map<AttemptKey, Placing> placing;
  Instant at;
  for (const Order& order : orders) {
    at = std::max(at, order.at);
    const auto known = launches_.find(order.key);
    const bool is_known = known != launches_.end();
    switch (order.kind) {
      case OrderKind::kStart: {
        const Launch& launch = *order.launch;
        if (is_known && known->second.last) {
          tell_again(*known->second.last);
        } else if (launch.others_job.empty()) {
          start_own(launch, order.at);
        } else if (!is_known) {
          Placing& together = placing[attempt_of(launch.key)];
          together.job = launch.others_job;
          together.launches.push_back(&launch);
          together.size = launch.gang ? static_cast<size_t>(launch.gang->world_size) : 1;
        }
        break;
      }
      case OrderKind::kStop: stop(order); break;
      case OrderKind::kSignal:
        if (!is_known)
          refuse(order, RefusalKind::kNotKnown, never_started(order.key).message);
        else if (!known->second.has_ended() && !known->second.job.empty())
          (void)run("scancel", {fmt::format("--signal={}", order.signal), "--full", known->second.job});
        break;
      case OrderKind::kForget: forget(order); break;
      case OrderKind::kDismiss: dismiss(order); break;
    }
  }
  for (const auto& [attempt, together] : placing)
    if (together.launches.size() == together.size) place(together, attempt, std::max(at, looked_at_));
}

/// The account of the machines that a user's own launches run as.
Result<RunAs> SlurmBackend::account_of(const std::string& owner) const {
  auto found = rules_.users.find(owner);
  if (found == rules_.users.end()) found = rules_.users.find("*");
  if (found == rules_.users.end())
    return invalid("no account for '{}' to run as: name one under engine: slurm: users (\"*\" for all others)", excerpt(owner));
  return found->second;
}

/// The user's own files in a folder where the caller alone makes any.
Status SlurmBackend::make_logs(const Launch& launch, const RunAs& user) const {
  const OutputFiles files = output_files(rules_.log_folder + "/" + format_key(launch.key));
  for (const auto& [named, path] : {std::pair(launch.output_path, files.output), std::pair(launch.error_path, files.error)}) {
    if (!named.empty()) continue;
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.valid() || (user.uid != ::geteuid() && ::fchown(file.get(), user.uid, user.gid) != 0))
      return make_error(ErrorCode::kUnavailable, "{}: {}", path, std::strerror(errno));
  }
  return {};
}

/// Slurm's own, of which it keeps books: the one that is mapped to the queue, else one that is called as the queue.
std::string SlurmBackend::slurm_account_of(const std::string& queue) const {
  for (const auto& [account, of] : rules_.others.queues)
    if (of == queue) return account;
  return queue;
}

const SlurmMachine* SlurmBackend::find_machine(std::string_view name) const {
  const auto at = std::ranges::find(view_.machines, name, &SlurmMachine::name);
  return at == view_.machines.end() ? nullptr : &*at;
}

SlurmParts SlurmBackend::parts_on(std::string_view machine) const {
  const SlurmMachine* found = find_machine(machine);
  return found == nullptr ? SlurmParts() : parts_of(*found);
}

/// Where MIG devices are beside whole GPUs, a gres without a type would be any of both.
std::string SlurmBackend::whole_gpus_of(std::string_view machine) const {
  const SlurmMachine* found = find_machine(machine);
  if (found == nullptr) return "gpu";
  const NodeSpec node = node_of(*found);
  return node.static_mig.empty() || node.gpu_model.empty() ? "gpu" : "gpu:" + node.gpu_model;
}

/// The file is there before Slurm is asked, and locked while it is: whoever finds it later knows that the job may be there.
void SlurmBackend::start_own(const Launch& launch, Instant at) {
  const Order order{.kind = OrderKind::kStart, .key = launch.key, .at = at, .launch = {}, .grace = {}};
  const std::string path = intent_of(launch.key);
  auto& known = launches_[launch.key];
  if (!known.job.empty()) return;  // Slurm has it: what becomes of it is told
  if (launch.gpu_milli > 0 && find_machine(launch.node) == nullptr)
    return refuse(order, RefusalKind::kNotNow, fmt::format("Slurm does not tell of machine {}", launch.node));
  const Result<RunAs> user = account_of(launch.owner);
  Result<SlurmBatch> batch = user.ok() ? batch_of(launch, {.mark = mark_,
                                                           .log_folder = rules_.log_folder,
                                                           .user = user->uid == ::geteuid() ? std::nullopt : std::optional(*user),
                                                           .account = slurm_account_of(launch.queue),
                                                           .partition = rules_.partition,
                                                           .whole_gpus = whole_gpus_of(launch.node),
                                                           .parts = parts_on(launch.node)})
                                       : Result<SlurmBatch>(user.error());
  if (!batch.ok()) {
    launches_.erase(launch.key);
    return refuse(order, RefusalKind::kNotSo, batch.error().message);
  }
  // Handed on to sbatch: one that outlives this program still has it.
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
  if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return refuse(order, RefusalKind::kNotNow, fmt::format("{}: {}", path, std::strerror(errno)));
  if (known.uncertain && !look(std::max(at, looked_at_))) return refuse(order, RefusalKind::kNotNow, "Slurm does not answer");
  Known& asked = launches_[launch.key];
  if (!asked.job.empty()) return;
  if (asked.uncertain) {
    // Not in the queue: it never was there, or Slurm has forgotten it.
    const Account account = by_accounting("--name=" + own_name(launch.key), launch.key, looked_at_);
    if (account.last) return tell(*account.last);
    if (account.has_job || !account.answers)
      return tell({.kind = ReportKind::kLost,
                   .key = launch.key,
                   .at = looked_at_,
                   .status = {},
                   .detail = "the daemon ended while it gave this to Slurm, which does not say what became of it"});
    asked.uncertain = false;
  }
  if (const Status made = make_logs(launch, *user); !made.ok()) return refuse(order, RefusalKind::kNotNow, made.error().message);
  if (::fsync(file.get()) != 0) return refuse(order, RefusalKind::kNotNow, fmt::format("{}: {}", path, std::strerror(errno)));
  dirty_ = true;
  const auto told = rules_.programs.ask_bare("sbatch", batch->arguments, batch->script);
  if (!told.ok()) return refuse(order, RefusalKind::kNotNow, told.error().message);
  const std::string job(trim(told->substr(0, told->find(';'))));
  launches_[launch.key].job = job;
  (void)!::pwrite(file.get(), job.data(), job.size(), 0);
}

/// Names its machines and lets it go; what runs already is only marked.
void SlurmBackend::place(const Placing& placing, const AttemptKey& attempt, Instant at) {
  const auto found = entries_.find(placing.job);
  const Known known{.job = placing.job, .own = false, .last = {}, .leaves = {}};
  if (found != entries_.end() && note_of(view_.entries[found->second]).launch == to_text(attempt, mark_)) {
    // Placed before a restart: the next look tells.
    for (const Launch* launch : placing.launches)
      launches_[launch->key] = known;
    dirty_ = true;
    return;
  }
  if (found == entries_.end() || has_ended(view_.entries[found->second].state)) {
    // It may have been placed, have run, and be forgotten. It does not come back, so it is not lost: it would be started again.
    Report end = by_accounting("--jobs=" + placing.job, placing.launches.front()->key, at).last.value_or(Report());
    if (end.kind != ReportKind::kEnded) {
      end = {.kind = ReportKind::kEnded,
             .at = at,
             .status = {},
             .cause = EndCause::kNotStarted,
             .detail = std::string(kGoneInSlurm)};
      end.status.code = 1;
    }
    for (const Launch* launch : placing.launches) {
      launches_[launch->key] = known;
      end.key = launch->key;
      tell(end);
    }
    return;
  }
  const SlurmEntry& entry = view_.entries[found->second];
  const SlurmNote note = placed_note(to_text(attempt, mark_), at, entry);
  Status done;
  if (entry.state == RunState::kRunning || !entry.on_nodes.empty()) {
    done = change(placing.job, note);
  } else {
    std::vector<std::string> nodes;
    for (const Launch* launch : placing.launches)
      nodes.push_back(launch->node);
    std::vector<std::string> more = {fmt::format("ReqNodeList={}", fmt::join(nodes, ","))};
    if (std::ssize(nodes) != entry.nodes) more.push_back(fmt::format("NumNodes={}", nodes.size()));
    if (entry.restarts > 0) more.emplace_back("StartTime=now");
    done = change(placing.job, note, std::move(more));
    if (done.ok()) done = run("scontrol", {"release", placing.job});
  }
  for (const Launch* launch : placing.launches) {
    if (done.ok())
      launches_[launch->key] = known;
    else
      refuse({.kind = OrderKind::kStart, .key = launch->key, .at = at, .launch = {}, .grace = {}}, RefusalKind::kNotNow,
             done.error().message);
  }
}

void SlurmBackend::stop(const Order& order) {
  const auto found = launches_.find(order.key);
  if (found != launches_.end() && found->second.has_ended()) return tell_again(*found->second.last);
  if (found == launches_.end()) {
    Report report{.kind = ReportKind::kEnded, .key = order.key, .at = order.at, .status = {}, .cause = EndCause::kStopped};
    report.status.signal = SIGTERM;
    report.detail = "stopped before it began";
    return tell(std::move(report));
  }
  Known& known = found->second;
  if (known.job.empty()) return stop_unanswered(order);
  if (!known.own) return stop_others(known, order);
  const bool force = order.grace <= Duration() || !known.last;
  const Instant leaves = order.at + order.grace;
  if (force || (known.leaves && *known.leaves <= order.at))
    (void)run("scancel", {known.job});
  else if (!known.leaves)
    (void)run("scancel", {"--signal=TERM", "--full", known.job});
  known.leaves = force ? order.at : std::min(known.leaves.value_or(leaves), leaves);
}

/// sbatch was to be run and gave no answer: where none runs and the queue has no such job, nothing has begun.
void SlurmBackend::stop_unanswered(const Order& order) {
  const std::string path = intent_of(order.key);
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return;  // the order is given again
  if (!look(std::max(order.at, looked_at_)) || !launches_[order.key].job.empty()) return;
  Report report{.kind = ReportKind::kEnded, .key = order.key, .at = order.at, .status = {}, .cause = EndCause::kStopped};
  report.status.signal = SIGTERM;
  report.detail = "stopped before it began";
  tell(std::move(report));
}

/// It waits again, held; one that Slurm may not run again ends.
void SlurmBackend::stop_others(Known& known, const Order& order) {
  const auto at = entries_.find(known.job);
  if (at == entries_.end()) return;
  const SlurmEntry& entry = view_.entries[at->second];
  SlurmNote note = note_of(entry);
  const auto options = parse_slurm_options(entry.comment);
  const bool saves = options.ok() && !options->signal.empty() && options->grace > Duration() && order.grace > Duration();
  const Instant leaves = saves ? order.at + std::min(options->grace, order.grace) : order.at;
  if (!entry.requeue && entry.state == RunState::kRunning) return (void)run("scancel", {known.job});
  const bool told_before = note.leaves.has_value();
  if (!told_before || leaves < *note.leaves) {
    note.leaves = leaves;
    if (!change(known.job, note).ok()) return;
    if (saves && !told_before) return (void)run("scancel", {"--signal=" + options->signal, "--full", known.job});
  }
  const bool runs = entry.state == RunState::kRunning || !entry.on_nodes.empty();
  if (*note.leaves <= order.at) (void)run("scontrol", {runs ? "requeuehold" : "hold", known.job});
}

void SlurmBackend::forget(const Order& order) {
  const auto known = launches_.find(order.key);
  if (known == launches_.end()) return refuse(order, RefusalKind::kNotKnown, never_started(order.key).message);
  if (!known->second.has_ended())
    return refuse(order, RefusalKind::kRuns, fmt::format("launch {}: has not ended yet: stop it first", format_key(order.key)));
  std::error_code ignored;
  fs::remove(intent_of(order.key), ignored);
  launches_.erase(known);
}

void SlurmBackend::dismiss(const Order& order) {
  const auto at = entries_.find(order.others_job);
  if (at == entries_.end() || has_ended(view_.entries[at->second].state)) return;
  (void)run("scancel", {order.others_job});
}

Result<SlurmView> SlurmBackend::read() const {
  SlurmView view;
  auto asked = std::async(std::launch::async, [this] { return rules_.programs.ask("scontrol", {"show", "node", "-o", "-d"}); });
  const Result<std::string> queued = rules_.programs.ask("squeue", {"--json"});
  TRY_ASSIGN(const std::string nodes, asked.get());
  TRY_ASSIGN(const std::string jobs, queued);
  TRY_ASSIGN(view.machines, read_slurm_machines(nodes));
  TRY_ASSIGN(SlurmQueue queue, read_slurm_queue(jobs));
  view.entries = std::move(queue.entries);
  return view;
}

std::vector<BackendEvent> SlurmBackend::drain(Instant now) {
  if (dirty_ || now - looked_at_ >= rules_.every) look(now);
  put_in_order(events_);
  return std::exchange(events_, {});
}

std::optional<Instant> SlurmBackend::next_event_at() const {
  return dirty_ || !events_.empty() ? Instant() : looked_at_ + rules_.every;
}

std::vector<LaunchKey> SlurmBackend::running() const {
  std::vector<LaunchKey> keys;
  for (const auto& [key, known] : launches_)
    if (known.last && known.last->kind == ReportKind::kStarted) keys.push_back(key);
  return keys;
}

Result<LogPiece> SlurmBackend::read_log(const LogQuery& query) const {
  return stint::read_log(output_files(rules_.log_folder + "/" + format_key(query.key)), query);
}

}  // namespace stint
