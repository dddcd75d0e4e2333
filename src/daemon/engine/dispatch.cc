#include "daemon/engine/dispatch.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/check.h"
#include "base/text.h"

namespace stint {
namespace {

/// A launch that cannot begin now, as on a GPU that is not clear, is tried for so long; then it counts as lost.
constexpr Duration kOrderPatience = Duration::minutes(2);
constexpr int kShellNotFound = 127;
/// What runs is compared with what should so often.
constexpr Duration kCompareEvery = Duration::minutes(1);

}  // namespace

bool Dispatch::concerns_us(const Report& report) const {
  if (report.kind == ReportKind::kStarted) return false;
  const PlacedTask* placed = find_placed(s_.jobs, report.key);
  if (placed == nullptr || placed->ended) return false;
  return std::ranges::none_of(s_.staged.records, [&](const Record& r) {
    return (r.kind == RecordKind::kEnded || r.kind == RecordKind::kLost) && r.report.key == report.key;
  });
}

void Dispatch::stage_report(const Report& report) {
  s_.desk.answered(report);
  hindered_.erase(report.key);
  const PlacedTask* placed = find_placed(s_.jobs, report.key);
  const bool is_over = placed == nullptr || placed->ended;
  if (report.kind == ReportKind::kStarted) {
    if (is_over) s_.desk.want(report.key, LaunchWish::kKill);  // its order came late
    return;
  }
  if (!concerns_us(report)) {
    // Recorded before, and told again because it was not confirmed.
    if (is_over) s_.desk.forget(report.key);
    return;
  }
  Record record;
  record.kind = report.kind == ReportKind::kLost ? RecordKind::kLost : RecordKind::kEnded;
  record.report = report;
  record.done = placed->leaving && report.kind == ReportKind::kEnded && report.cause == EndCause::kItself &&
                report.status.code == 0 && report.status.signal == 0;
  s_.staged.put(std::move(record));
}

/// A launch that cannot begin now is tried for a while, and then counts as lost.
void Dispatch::take_refusal(const Refusal& refusal, Instant at) {
  // A task that is not known has left, or was never there; one that still runs is asked for again by compare().
  if (refusal.order != OrderKind::kStart) return;
  const bool later = refusal.kind == RefusalKind::kNotNow;
  if (later && s_.desk.refused(refusal.key, at) < kOrderPatience)
    return hindered_.insert_or_assign(refusal.key, refusal.detail), void();
  s_.desk.drop(refusal.key);
  Report report{.kind = later ? ReportKind::kLost : ReportKind::kEnded, .key = refusal.key, .at = at, .status = {}};
  report.status.code = kShellNotFound;
  report.cause = EndCause::kNotStarted;
  report.detail = refusal.detail;
  if (concerns_us(report)) stage_report(report);
}

void Dispatch::hear_of_launch(const LaunchNote& launch) {
  const PlacedTask* placed = find_placed(s_.jobs, launch.key);
  if (launch.text.empty() || placed == nullptr || placed->ended)
    hindered_.erase(launch.key);
  else
    hindered_.insert_or_assign(launch.key, launch.text);
}

std::string Dispatch::text_of_hindrances(sched::JobId id) const {
  constexpr int kMostShown = 4;
  std::string text;
  int shown = 0;
  for (const PlacedTask& placed : s_.jobs[id.index()].placed) {
    const auto found = hindered_.find(key_of(s_.jobs[id.index()], placed));
    if (found == hindered_.end() || ++shown > kMostShown) continue;
    text += fmt::format("  task {} has not begun on {}: {}\n", placed.task, s_.nodes[placed.place.node.index()].machine.node.name,
                        found->second);
  }
  if (shown > kMostShown) text += fmt::format("  and {} more\n", shown - kMostShown);
  return text;
}

/// All that the backend has to tell; the first time that it knows everything, what is there is compared with what should be.
void Dispatch::hear(Instant at) {
  std::vector<MachineReport> news;
  for (BackendEvent& event : s_.backend->drain(at)) {
    if (const auto* report = std::get_if<Report>(&event)) stage_report(*report);
    if (const auto* refusal = std::get_if<Refusal>(&event)) take_refusal(*refusal, at);
    if (auto* machine = std::get_if<MachineReport>(&event)) news.push_back(std::move(*machine));
    if (const auto* launch = std::get_if<LaunchNote>(&event)) hear_of_launch(*launch);
    if (auto* job = std::get_if<OthersJob>(&event)) s_.others.keep(std::move(*job));
    if (auto* there = std::get_if<OthersThere>(&event)) s_.others.keep(std::move(*there));
    if (const auto* note = std::get_if<BackendNote>(&event)) {
      EventView said{.kind = "engine.note"};
      said.detail = note->text;
      Record notice;
      notice.kind = RecordKind::kNotice;
      notice.notice = std::move(said);
      s_.staged.put(std::move(notice));
    }
  }
  const bool first = !reconciled_ && s_.backend->is_ready();
  s_.machine_reports.hear(at, std::move(news), first);
  if (first) take_stock(at);
  if (!s_.read_only) s_.others.hear(reconciled_);
}

void Dispatch::poll(Instant at) {
  hear(at);
  if (!strangers_.empty()) {
    const std::vector<LaunchKey> running = s_.backend->running();
    std::erase_if(strangers_, [&](const LaunchKey& key) { return !std::ranges::binary_search(running, key); });
  }
  compare(at);
  carry_out(at);
}

void Dispatch::carry_out(Instant at) {
  if (!s_.carries_out) return s_.desk.clear();
  std::vector<Order> orders;
  for (std::string& name : std::exchange(s_.dismissed, {}))
    orders.push_back(
        {.kind = OrderKind::kDismiss, .key = {}, .at = at, .launch = {}, .others_job = std::move(name), .grace = {}});
  for (const LaunchKey& key : s_.desk.take_forgotten())
    orders.push_back({.kind = OrderKind::kForget, .key = key, .at = at, .launch = {}, .grace = {}});
  std::vector<Order> starts;
  for (const auto& [key, wish] : s_.desk.due(at, reconciled_ && strangers_.empty())) {
    const PlacedTask* placed = find_placed(s_.jobs, key);
    if (wish == LaunchWish::kStart) {
      if (placed == nullptr || placed->ended || placed->leaving) {
        s_.desk.drop(key);
        continue;
      }
      starts.push_back({.kind = OrderKind::kStart,
                        .key = key,
                        .at = placed->started,
                        .launch = s_.launches.launch_of(find_job(s_.jobs, key.job), *placed),
                        .grace = {}});
      s_.desk.told(key, at, {});
      continue;
    }
    const Duration grace = wish == LaunchWish::kKill || placed == nullptr ? Duration() : s_.launches.grace_of(key, *placed, at);
    orders.push_back({.kind = OrderKind::kStop, .key = key, .at = at, .launch = {}, .grace = grace});
    s_.desk.told(key, at, grace);
  }
  std::ranges::move(starts, std::back_inserter(orders));
  if (!orders.empty()) s_.backend->submit(std::move(orders));
}

void Dispatch::reconcile(Instant at) {
  reconciled_ = false;
  strangers_.clear();
  if (s_.carries_out) hear(at);
}

void Dispatch::take_stock(Instant at) {
  reconciled_ = true;
  compared_at_ = at;
  s_.others.index();
  for (const LaunchKey& key : s_.backend->running())
    if (const PlacedTask* placed = find_placed(s_.jobs, key); placed == nullptr || placed->ended) {
      strangers_.push_back(key);
      ++s_.recovery.strangers_stopped;
      s_.desk.want(key, LaunchWish::kKill);
    }
  for (const JobBook& job : s_.jobs)
    for (const PlacedTask& placed : job.placed) {
      if (placed.ended) continue;
      const bool stops = placed.leaving || job.failing;
      s_.desk.want(key_of(job, placed), stops ? LaunchWish::kStop : LaunchWish::kStart);
      s_.recovery.launches_repeated += stops ? 0 : 1;
    }
}

/// What was told and got lost on its way is asked for again.
void Dispatch::compare(Instant at) {
  if (!reconciled_ || at - compared_at_ < kCompareEvery) return;
  compared_at_ = at;
  s_.others.ask_again();
  const std::vector<LaunchKey> running = s_.backend->running();
  for (const LaunchKey& key : running)
    if (const PlacedTask* placed = find_placed(s_.jobs, key); placed == nullptr || placed->ended)
      s_.desk.want(key, LaunchWish::kKill);
  for (const JobBook& job : s_.jobs)
    for (const PlacedTask& placed : job.placed) {
      const LaunchKey key = key_of(job, placed);
      if (placed.ended || s_.desk.has(key) || std::ranges::binary_search(running, key)) continue;
      if (!concerns_us({.kind = ReportKind::kEnded, .key = key})) continue;  // its end is staged
      s_.desk.want(key, placed.leaving || job.failing ? LaunchWish::kStop : LaunchWish::kStart);
    }
}

}  // namespace stint
