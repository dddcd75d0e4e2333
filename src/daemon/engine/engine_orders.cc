// What the backend is told, and what it tells. A launch is ordered again after a restart, and when no answer comes: the backend starts
// it once.
#include <algorithm>
#include <iterator>
#include <limits>

#include "backends/local/mig_grants.h"
#include "base/check.h"
#include "base/text.h"
#include "daemon/api/job_groups.h"
#include "daemon/engine/engine_impl.h"
#include "model/mig_ask.h"

namespace stint {
namespace {

/// A launch that cannot begin now, as on a GPU that is not clear, is tried for so long; then it counts as lost.
constexpr Duration kOrderPatience = Duration::minutes(2);
constexpr int kShellNotFound = 127;
/// What runs is compared with what should so often.
constexpr Duration kCompareEvery = Duration::minutes(1);

}  // namespace

bool Engine::Impl::concerns_us(const Report& report) const {
  if (report.kind == ReportKind::kStarted) return false;
  const PlacedTask* placed = find_placed(report.key);
  if (placed == nullptr || placed->ended) return false;
  return std::ranges::none_of(staged, [&](const Record& r) {
    return (r.kind == RecordKind::kEnded || r.kind == RecordKind::kLost) && r.report.key == report.key;
  });
}

void Engine::Impl::stage_report(const Report& report) {
  desk.answered(report);
  hindered.erase(report.key);
  const PlacedTask* placed = find_placed(report.key);
  const bool is_over = placed == nullptr || placed->ended;
  if (report.kind == ReportKind::kStarted) {
    if (is_over) desk.want(report.key, LaunchWish::kKill);  // its order came late
    return;
  }
  if (!concerns_us(report)) {
    // Recorded before, and told again because it was not confirmed.
    if (is_over) desk.forget(report.key);
    return;
  }
  Record record;
  record.kind = report.kind == ReportKind::kLost ? RecordKind::kLost : RecordKind::kEnded;
  record.report = report;
  record.done = placed->leaving && report.kind == ReportKind::kEnded && report.cause == EndCause::kItself &&
                report.status.code == 0 && report.status.signal == 0;
  staged.push_back(std::move(record));
}

/// A launch that cannot begin now is tried for a while, and then counts as lost.
void Engine::Impl::take_refusal(const Refusal& refusal, Instant at) {
  // A task that is not known has left, or was never there; one that still runs is asked for again by compare().
  if (refusal.order != OrderKind::kStart) return;
  const bool later = refusal.kind == RefusalKind::kNotNow;
  if (later && desk.refused(refusal.key, at) < kOrderPatience)
    return hindered.insert_or_assign(refusal.key, refusal.detail), void();
  desk.drop(refusal.key);
  Report report{.kind = later ? ReportKind::kLost : ReportKind::kEnded, .key = refusal.key, .at = at, .status = {}};
  report.status.code = kShellNotFound;
  report.cause = EndCause::kNotStarted;
  report.detail = refusal.detail;
  if (concerns_us(report)) stage_report(report);
}

void Engine::Impl::hear_of_launch(const LaunchNote& launch) {
  const PlacedTask* placed = find_placed(launch.key);
  if (launch.text.empty() || placed == nullptr || placed->ended)
    hindered.erase(launch.key);
  else
    hindered.insert_or_assign(launch.key, launch.text);
}

/// A line for each task that was to begin and has not.
std::string Engine::Impl::text_of_hindrances(sched::JobId id) const {
  constexpr int kMostShown = 4;
  std::string text;
  int shown = 0;
  for (const PlacedTask& placed : jobs[id.index()].placed) {
    const auto found = hindered.find(key_of(id, placed));
    if (found == hindered.end() || ++shown > kMostShown) continue;
    text += fmt::format("  task {} has not begun on {}: {}\n", placed.task, nodes[placed.place.node.index()].machine.node.name,
                        found->second);
  }
  if (shown > kMostShown) text += fmt::format("  and {} more\n", shown - kMostShown);
  return text;
}

/// All that the backend has to tell; the first time that it knows everything, what is there is compared with what should be.
void Engine::Impl::hear(Instant at) {
  std::vector<MachineReport> news;
  for (BackendEvent& event : backend->drain(at)) {
    if (const auto* report = std::get_if<Report>(&event)) stage_report(*report);
    if (const auto* refusal = std::get_if<Refusal>(&event)) take_refusal(*refusal, at);
    if (auto* machine = std::get_if<MachineReport>(&event)) news.push_back(std::move(*machine));
    if (const auto* launch = std::get_if<LaunchNote>(&event)) hear_of_launch(*launch);
    if (auto* job = std::get_if<OthersJob>(&event)) others_heard.push_back(std::move(*job));
    if (auto* there = std::get_if<OthersThere>(&event)) others_there = std::move(*there);
    if (const auto* note = std::get_if<BackendNote>(&event)) {
      EventView said{.kind = "engine.note"};
      said.detail = note->text;
      Record notice;
      notice.kind = RecordKind::kNotice;
      notice.notice = std::move(said);
      staged.push_back(std::move(notice));
    }
  }
  const bool first = !reconciled && backend->is_ready();
  machine_reports.hear(at, std::move(news), first);
  if (first) take_stock(at);
  if (read_only) return;
  for (const OthersJob& job : std::exchange(others_heard, {}))
    hear_of_others(job);
  if (reconciled && others_there) miss_others(*std::exchange(others_there, std::nullopt));
}

void Engine::Impl::poll(Instant at) {
  if (!options.carry_out) return;
  hear(at);
  if (!strangers.empty()) {
    const std::vector<LaunchKey> running = backend->running();
    std::erase_if(strangers, [&](const LaunchKey& key) { return !std::ranges::binary_search(running, key); });
  }
  compare(at);
  carry_out(at);
  if (read_only) return;
  if (std::optional<Record> approved = governance.approve_one_that_fits(at, shown_at())) staged.push_back(std::move(*approved));
}

/// Stops first: what they free is what starts need.
void Engine::Impl::carry_out(Instant at) {
  if (!options.carry_out) return desk.clear();
  std::vector<Order> orders;
  for (std::string& name : std::exchange(dismissed, {}))
    orders.push_back(
        {.kind = OrderKind::kDismiss, .key = {}, .at = at, .launch = {}, .others_job = std::move(name), .grace = {}});
  for (const LaunchKey& key : desk.take_forgotten())
    orders.push_back({.kind = OrderKind::kForget, .key = key, .at = at, .launch = {}, .grace = {}});
  std::vector<Order> starts;
  for (const auto& [key, wish] : desk.due(at, reconciled && strangers.empty())) {
    const PlacedTask* placed = find_placed(key);
    if (wish == LaunchWish::kStart) {
      if (placed == nullptr || placed->ended || placed->leaving) {
        desk.drop(key);
        continue;
      }
      starts.push_back({.kind = OrderKind::kStart,
                        .key = key,
                        .at = placed->started,
                        .launch = launches.launch_of(find(key.job), *placed),
                        .grace = {}});
      desk.told(key, at, {});
      continue;
    }
    const Duration grace = wish == LaunchWish::kKill || placed == nullptr ? Duration() : launches.grace_of(key, *placed, at);
    orders.push_back({.kind = OrderKind::kStop, .key = key, .at = at, .launch = {}, .grace = grace});
    desk.told(key, at, grace);
  }
  std::ranges::move(starts, std::back_inserter(orders));
  if (!orders.empty()) backend->submit(std::move(orders));
}

/// After recovery: every launch that should be there is ordered again, whatever else runs is stopped. Where the backend has to look
/// first, this is done when it has.
void Engine::Impl::reconcile(Instant at) {
  reconciled = false;
  strangers.clear();
  if (options.carry_out) hear(at);
}

void Engine::Impl::take_stock(Instant at) {
  reconciled = true;
  compared_at = at;
  index_others();
  for (const LaunchKey& key : backend->running())
    if (const PlacedTask* placed = find_placed(key); placed == nullptr || placed->ended) {
      strangers.push_back(key);
      ++recovery.strangers_stopped;
      desk.want(key, LaunchWish::kKill);
    }
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    const sched::JobId id(j);
    for (const PlacedTask& placed : jobs[j].placed) {
      if (placed.ended) continue;
      const bool stops = placed.leaving || jobs[j].failing;
      desk.want(key_of(id, placed), stops ? LaunchWish::kStop : LaunchWish::kStart);
      recovery.launches_repeated += stops ? 0 : 1;
    }
  }
}

/// What was told and got lost on its way is asked for again.
void Engine::Impl::compare(Instant at) {
  if (!reconciled || at - compared_at < kCompareEvery) return;
  compared_at = at;
  index_others();
  for (const auto& [name, job] : std::exchange(kept_out, {}))
    others_heard.push_back(job);
  const std::vector<LaunchKey> running = backend->running();
  for (const LaunchKey& key : running)
    if (const PlacedTask* placed = find_placed(key); placed == nullptr || placed->ended) desk.want(key, LaunchWish::kKill);
  for (uint32_t j = 0; j < jobs.size(); ++j)
    for (const PlacedTask& placed : jobs[j].placed) {
      const LaunchKey key = key_of(sched::JobId(j), placed);
      if (placed.ended || desk.has(key) || std::ranges::binary_search(running, key)) continue;
      if (!concerns_us({.kind = ReportKind::kEnded, .key = key})) continue;  // its end is staged
      desk.want(key, placed.leaving || jobs[j].failing ? LaunchWish::kStop : LaunchWish::kStart);
    }
}

}  // namespace stint
