// A look at a Slurm: what became of launches since the last, by its queue, and by its accounting for those that have left the queue.
#include <algorithm>
#include <csignal>

#include "backends/slurm/slurm_backend.h"
#include "base/text.h"

namespace stint {

bool SlurmBackend::look(Instant now) {
  looked_at_ = now;
  dirty_ = false;
  auto view = read();
  if (!view.ok()) {
    if (answers_) events_.emplace_back(BackendNote{fmt::format("Slurm cannot be asked: {}", view.error().message)});
    answers_ = false;
    return false;
  }
  answers_ = true;
  view_ = std::move(*view);
  entries_.clear();
  for (MachineReport& report : fleet_.look(view_))
    events_.emplace_back(std::move(report));
  std::vector<std::pair<const SlurmEntry*, std::string>> others;
  for (auto& [key, known] : launches_)
    known.seen = false;
  for (const auto& [entry, job] : named_entries(view_.entries).named) {
    entries_.emplace(job, static_cast<size_t>(entry - view_.entries.data()));
    if (const auto key = own_launch(*entry, mark_)) {
      look_at_own(*entry, *key, now);
      continue;
    }
    if (const auto attempt = parse_attempt(note_of(*entry).launch, mark_)) look_at_attempt(*entry, job, *attempt, now);
    others.emplace_back(entry, job);
  }
  look_for_unseen(now);
  for (BackendEvent& event : others_.look(others, view_, now))
    events_.emplace_back(std::move(event));
  if (!std::exchange(others_told_, true)) events_.emplace_back(others_there(others));
  ready_ = true;
  return true;
}

void SlurmBackend::look_at_own(const SlurmEntry& entry, const LaunchKey& key, Instant now) {
  const auto at = launches_.find(key);
  // Forgotten, and Slurm still tells of it; or it runs and no caller knows of it.
  if (at == launches_.end() && has_ended(entry.state)) return;
  Known& known = launches_[key];
  known.seen = true;
  known.job = entry.id;
  known.own = true;
  if (known.has_ended()) return;
  const SlurmProgress progress = progress_of(entry, {});
  const bool began =
      entry.started && *entry.started <= now && progress != SlurmProgress::kWaits && progress != SlurmProgress::kBack;
  if (began && !known.last &&
      !(progress == SlurmProgress::kEnded && entry.state == RunState::kCancelled && !entry.on_nodes.size()))
    tell({.kind = ReportKind::kStarted, .key = key, .at = *entry.started, .status = {}});
  if (progress == SlurmProgress::kEnded) {
    Report end = end_of(entry, key, now);
    // The caller did not stop it, and it never began.
    if (end.cause == EndCause::kStopped && !known.last && !known.leaves)
      end = {.kind = ReportKind::kLost, .key = key, .at = end.at, .status = {}, .detail = std::string(kGoneInSlurm)};
    if (end.kind == ReportKind::kEnded && known.leaves) end.cause = EndCause::kStopped;
    return tell(std::move(end));
  }
  if (known.leaves && *known.leaves <= now) (void)run("scancel", {entry.id});
  const bool late = progress == SlurmProgress::kWaits && entry.submitted && now - *entry.submitted > rules_.patience;
  if (late) (void)run("scancel", {entry.id});
}

std::vector<LaunchKey> SlurmBackend::keys_of(const AttemptKey& attempt) const {
  std::vector<LaunchKey> keys;
  for (auto at = launches_.lower_bound({attempt.job, attempt.attempt, 0});
       at != launches_.end() && attempt_of(at->first) == attempt; ++at)
    keys.push_back(at->first);
  return keys;
}

void SlurmBackend::look_at_attempt(const SlurmEntry& entry, const std::string& job, const AttemptKey& attempt, Instant now) {
  const SlurmNote note = note_of(entry);
  const SlurmProgress progress = progress_of(entry, note);
  // After a restart: its launches follow from the machines it has, one a machine.
  if (keys_of(attempt).empty() && (progress == SlurmProgress::kRuns || progress == SlurmProgress::kWaits))
    for (int32_t task = 0; task < static_cast<int32_t>(entry.nodes); ++task)
      launches_[{attempt.job, attempt.attempt, task}] = {.job = job, .own = false, .last = {}, .leaves = {}};
  // One that saves and fails on purpose is to come back, and is off its machines at the next look; one that ends well has ended.
  if (progress == SlurmProgress::kEnded && entry.state == RunState::kFailed && note.leaves && entry.requeue &&
      run("scontrol", {"requeuehold", job}).ok()) {
    dirty_ = true;
    for (const LaunchKey& key : keys_of(attempt))
      launches_.at(key).seen = true;
    return;
  }
  const bool lost = note.restarts && entry.restarts > *note.restarts;
  bool take_back = false;
  for (const LaunchKey& key : keys_of(attempt)) {
    Known& known = launches_.at(key);
    known.seen = true;
    known.job = job;
    known.own = false;
    if (known.has_ended()) continue;
    const bool ran = entry.started && (progress == SlurmProgress::kRuns || progress == SlurmProgress::kEnded) && !lost;
    if (ran && !known.last) tell({.kind = ReportKind::kStarted, .key = key, .at = std::min(now, *entry.started), .status = {}});
    if (progress == SlurmProgress::kEnded) tell(end_of(entry, key, now));
    if (progress == SlurmProgress::kBack && (note.leaves || lost)) {
      Report back{.kind = note.leaves ? ReportKind::kEnded : ReportKind::kLost, .key = key, .at = now, .status = {}};
      back.cause = note.leaves ? EndCause::kStopped : EndCause::kItself;
      if (note.leaves) back.status.signal = SIGTERM;
      back.detail = note.leaves ? "" : "Slurm took it off its machines";
      tell(std::move(back));
    }
    const bool late = progress == SlurmProgress::kWaits && note.placed && now - *note.placed > rules_.patience;
    if (progress == SlurmProgress::kTakenOff || late) {
      take_back = true;
      tell({.kind = ReportKind::kLost,
            .key = key,
            .at = now,
            .status = {},
            .detail =
                fmt::format("{}: {}", late ? "was released and did not begin" : "Slurm took it off its machines", entry.reason)});
    }
  }
  if (take_back) {
    (void)run("scontrol", {"hold", job});
    (void)change(job, {.rests = now, .wants = note.wants});
  }
  // Cut off between the note and the release.
  if (progress == SlurmProgress::kBack && !note.leaves && !lost) (void)run("scontrol", {"release", job});
  if (progress == SlurmProgress::kRuns && note.leaves && *note.leaves <= now) (void)run("scontrol", {"requeuehold", job});
}

/// Launches that neither the queue nor a note tells of any more.
void SlurmBackend::look_for_unseen(Instant now) {
  for (auto& [key, known] : launches_) {
    if (known.seen || known.has_ended() || known.job.empty()) continue;
    Account account = by_accounting("--jobs=" + known.job, key, now);
    if (account.last) {
      tell(std::move(*account.last));
    } else {
      tell({.kind = ReportKind::kLost,
            .key = key,
            .at = now,
            .status = {},
            .detail = "Slurm no longer knows of it, and keeps no account"});
    }
  }
}

SlurmBackend::Account SlurmBackend::by_accounting(const std::string& which, const LaunchKey& key, Instant now) const {
  Account account;
  // Without a time, all of the cluster's days are looked through.
  const auto answer = rules_.programs.ask(
      "sacct", {"-X", "-n", "-P", "--duplicates", which, "--starttime=1970-01-02", "-o", "State,ExitCode,End"});
  if (!answer.ok()) return account;
  account.answers = true;
  for (const std::string_view line : split(*answer, '\n')) {
    const auto cells = split(trim(line), '|');
    if (cells.size() != 3) continue;
    const auto state = parse_slurm_state(cells[0]);
    account.has_job = true;
    if (!state.ok() || !has_ended(*state)) continue;
    SlurmEntry entry;
    entry.state = *state;
    if (const auto ended = parse_instant(cells[2]); ended.ok()) entry.ended = *ended;
    const size_t colon = cells[1].find(':');
    constexpr int64_t kByte = 256;
    entry.exit_status = parse_int(cells[1].substr(0, colon)).value_or(0) * kByte +
                        (colon == std::string_view::npos ? 0 : parse_int(cells[1].substr(colon + 1)).value_or(0));
    account.last = end_of(entry, key, now);
  }
  return account;
}

}  // namespace stint
