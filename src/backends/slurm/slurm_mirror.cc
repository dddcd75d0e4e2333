#include "backends/slurm/slurm_mirror.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/counted.h"
#include "base/text.h"
#include "codec/slurm/hostlist.h"
#include "sim/workload.h"

namespace stint {
namespace {

constexpr int32_t kUsualPriority = 50;

/// Where it was told to start last it did not: another time elsewhere, if there is an elsewhere.
void avoid(std::string_view tried, const std::vector<SlurmMachine>& machines, SlurmWish& wish) {
  const auto names = expand_hostlist(tried);
  if (!names.ok()) return;
  std::vector<std::string> others = wish.request.allowed_nodes;
  if (!wish.request.only_allowed_nodes)
    for (const SlurmMachine& machine : machines)
      others.push_back(machine.name);
  std::erase_if(others, [&](const std::string& name) { return std::ranges::find(*names, name) != names->end(); });
  if (static_cast<int32_t>(others.size()) < wish.nodes) return;
  wish.request.only_allowed_nodes = true;
  wish.request.allowed_nodes = std::move(others);
}

/// Since we placed it: Slurm runs it again.
bool has_run_since(const SlurmEntry& entry, const SlurmNote& note) { return note.restarts && entry.restarts > *note.restarts; }

}  // namespace

std::string_view name_of(SlurmOrderKind k) {
  switch (k) {
    case SlurmOrderKind::kPlace: return "place";
    case SlurmOrderKind::kSignal: return "signal";
    case SlurmOrderKind::kRequeue: return "requeue";
    case SlurmOrderKind::kTakeBack: return "take back";
    case SlurmOrderKind::kPriority: return "priority";
    case SlurmOrderKind::kNice: return "nice";
    case SlurmOrderKind::kHold: return "hold";
    case SlurmOrderKind::kRelease: return "release";
    case SlurmOrderKind::kFeatures: return "features";
  }
  return "";
}

bool SlurmMirror::follows(const SlurmView& view) const {
  const auto same = [](const SlurmMachine& a, const SlurmMachine& b) {
    return std::tie(a.name, a.gres, a.cpus, a.memory, a.partitions, a.features) ==
           std::tie(b.name, b.gres, b.cpus, b.memory, b.partitions, b.features);
  };
  return mirror_.has_begun() && std::ranges::equal(machines_, view.machines, same);
}

void SlurmMirror::begin(Instant now, const SlurmView& view, std::span<const Run> past) {
  machines_ = view.machines;
  names_.clear();
  for (const SlurmMachine& machine : machines_)
    names_.insert(machine.name);
  notes_.clear();
  mirror_.begin(now, show(now, view).view, past);
}

std::vector<SlurmOrder> SlurmMirror::pass(Instant now, const SlurmView& view) {
  CHECK(follows(view), "a pass without begin()");
  notes_.clear();
  const Shown shown = show(now, view);
  Orders orders;
  for (size_t i = 0; i < shown.found.size(); ++i)
    settle(shown.found[i], shown.view.jobs[i], now, orders);
  for (ClusterOrder& order : mirror_.pass(now, shown.view))
    carry_out(std::move(order), shown, now, orders);
  return orders;
}

void SlurmMirror::settle(const Found& found, const ClusterJob& job, Instant now, Orders& orders) const {
  if (is_late(*found.entry, found.note, now)) {
    const bool lost = has_run_since(*found.entry, found.note);
    orders.push_back({.kind = SlurmOrderKind::kTakeBack,
                      .job = job.key,
                      .note = {.rests = lost ? now : now + rules_.rest, .wants = found.note.wants},
                      .why = fmt::format("{}: {}", lost ? "Slurm took it off its machines" : "was released and did not begin",
                                         found.entry->reason)});
  }
  // One that saves and fails on purpose is to come back; one that ends well has ended.
  const bool left = job.standing == ClusterStanding::kEnded && found.entry->state == RunState::kFailed;
  if (found.note.leaves && (left || (job.standing == ClusterStanding::kRuns && *found.note.leaves <= now)))
    orders.push_back({.kind = SlurmOrderKind::kRequeue,
                      .job = job.key,
                      .note = {.wants = found.note.wants},
                      .why = left ? "has left as it was asked to" : "its time to save is over"});
}

SlurmMirror::Shown SlurmMirror::show(Instant now, const SlurmView& view) {
  NamedEntries entries = named_entries(view.entries);
  std::ranges::move(entries.notes, std::back_inserter(notes_));
  Shown shown;
  for (auto& [entry, key] : entries.named)
    show_job(*entry, std::move(key), now, shown);
  shown.view.machines = show_machines(now, view);
  return shown;
}

std::vector<ClusterMachine> SlurmMirror::show_machines(Instant now, const SlurmView& view) {
  const auto lost = used_without_job(now, view);
  std::vector<ClusterMachine> machines;
  for (const SlurmMachine& machine : view.machines) {
    ClusterMachine& shown = machines.emplace_back();
    shown.node = stint::node_of(machine);
    if (const auto rate = rules_.rates.find(machine.name); rate != rules_.rates.end())
      shown.node.gpu_rate = gpu_rate_of(shown.node, rate->second);
    shown.takes_work = machine.takes_work && !lost.contains(machine.name);
  }
  return machines;
}

ClusterJob SlurmMirror::job_of(const SlurmEntry& entry, std::string key, const SlurmNote& note) const {
  ClusterJob job{.key = std::move(key),
                 .succeeded = entry.state == RunState::kCompleted,
                 .leaves = note.leaves.has_value(),
                 .queue = entry.account,
                 .priority = priority_of(entry),
                 .restarts = entry.restarts};
  job.submitted = entry.submitted;
  job.started = entry.started;
  job.deadline = entry.deadline;
  job.time_limit = entry.time_limit;
  return job;
}

void SlurmMirror::show_job(const SlurmEntry& entry, std::string key, Instant now, Shown& shown) {
  Found found{.entry = &entry, .note = note_of(entry)};
  ClusterJob job = job_of(entry, std::move(key), found.note);
  job.standing = standing_of(entry, found.note, now);
  if (job.standing == ClusterStanding::kRuns) job.machines = machines_of(entry.on_nodes);
  if (job.standing == ClusterStanding::kStarts) job.machines = machines_of(entry.required_nodes);
  const bool ours = job.standing == ClusterStanding::kWaits || job.standing == ClusterStanding::kOnHold;
  job.preemptible = entry.requeue && (job.standing != ClusterStanding::kRuns || found.note.placed) && is_driven(entry.partition);
  const auto refuse = [&](const Error& why) {
    if (ours) notes_.push_back(fmt::format("job {} stays held: {}", job.key, why.message));
    job.standing = ours ? ClusterStanding::kNotOurs : job.standing;
  };
  auto options = parse_slurm_options(entry.comment);
  if (!options.ok()) refuse(options.error());
  if (options.ok()) found.options = *options;
  job.checkpoint = found.options.checkpoint;
  if (ours && found.options.hold) job.standing = ClusterStanding::kOnHold;
  SlurmWish wish;
  if (ours) {
    auto asked = wish_of(entry, found.note.wants, machines_);
    if (asked.ok())
      wish = std::move(*asked);
    else
      refuse(asked.error());
    const bool elsewhere = found.note.rests && now < *found.note.rests + rules_.patience;  // there may be no room but there
    if (elsewhere && entry.required_nodes != found.note.wants) avoid(entry.required_nodes, machines_, wish);
  } else if (!job.machines.empty()) {
    wish = held_by(entry, job.machines.size(), machines_);
  }
  job.request = std::move(wish.request);
  job.tasks = wish.nodes;
  found.set_nodes = wish.set_nodes;
  shown.view.jobs.push_back(std::move(job));
  shown.found.push_back(std::move(found));
}

ClusterStanding SlurmMirror::standing_of(const SlurmEntry& entry, const SlurmNote& note, Instant now) const {
  if (has_ended(entry.state)) return ClusterStanding::kEnded;
  if (entry.state == RunState::kRunning || !entry.on_nodes.empty())
    return entry.on_nodes.empty() ? ClusterStanding::kNotOurs : ClusterStanding::kRuns;
  if (!is_driven(entry.partition)) return ClusterStanding::kNotOurs;
  if (!entry.held) {
    if (!note.placed) return ClusterStanding::kNotOurs;
    return is_late(entry, note, now) ? ClusterStanding::kOnHold : ClusterStanding::kStarts;
  }
  if (note.unpaid && !rules_.drives) return ClusterStanding::kNotOurs;
  const bool rests = note.rests && *note.rests > now;
  return begins_later(entry, now) || rests || waits_for_others(entry) ? ClusterStanding::kOnHold : ClusterStanding::kWaits;
}

bool SlurmMirror::is_driven(std::string_view partition) const {
  if (rules_.partitions.empty()) return true;
  for (const std::string_view one : split(partition, ','))
    if (std::ranges::find(rules_.partitions, one) != rules_.partitions.end()) return true;
  return false;
}

/// Released by us some time ago, and not begun; or begun, and off its machines again, which may not come back.
bool SlurmMirror::is_late(const SlurmEntry& entry, const SlurmNote& note, Instant now) const {
  return entry.state == RunState::kPending && entry.on_nodes.empty() && !entry.held && note.placed &&
         (now - *note.placed > rules_.patience || has_run_since(entry, note)) && is_driven(entry.partition);
}

/// Machines on which no job is, and GPUs count as used all the same; noted when that lasts longer than a job may take to begin. A slurmctld
/// that was killed can lose count (22.05: "dealloc of node bad node_offset"), and then starts nothing there until it is restarted.
std::set<std::string, std::less<>> SlurmMirror::used_without_job(Instant now, const SlurmView& view) {
  std::set<std::string, std::less<>> held, lost;
  for (const SlurmEntry& entry : view.entries)
    if (!has_ended(entry.state))
      for (std::string& machine : machines_of(entry.on_nodes))
        held.insert(std::move(machine));
  std::map<std::string, Instant, std::less<>> since;
  for (const SlurmMachine& machine : view.machines) {
    const bool empties = machine.state.find("COMPLETING") != std::string::npos;
    if (machine.gpus_used == 0 || empties || held.contains(machine.name)) continue;
    const auto before = lost_count_.find(machine.name);
    const Instant first = before == lost_count_.end() ? now : before->second;
    since.emplace(machine.name, first);
    lost.insert(machine.name);
    if (now - first <= rules_.patience || !machine.takes_work) continue;
    notes_.push_back(
        fmt::format("machine {}: Slurm counts {} as used and no job is on it, so it starts nothing there: restart slurmctld",
                    machine.name, counted(machine.gpus_used, "GPU")));
  }
  lost_count_ = std::move(since);
  return lost;
}

int32_t SlurmMirror::priority_of(const SlurmEntry& entry) const {
  const auto qos = rules_.qos.find(entry.qos);
  return qos == rules_.qos.end() ? kUsualPriority : qos->second;
}

void SlurmMirror::carry_out(ClusterOrder order, const Shown& shown, Instant now, Orders& orders) {
  const Found& found = shown.found[order.job];
  const ClusterJob& job = shown.view.jobs[order.job];
  SlurmOrder told{.job = job.key, .why = std::move(order.why)};
  switch (order.kind) {
    case ClusterOrderKind::kPlace:
      told.kind = SlurmOrderKind::kPlace;
      told.set_nodes = found.set_nodes;
      told.nodes = std::move(order.machines);
      told.begin_now = found.entry->restarts > 0;
      told.note = {.placed = now, .restarts = found.entry->restarts, .wants = found.note.wants};
      break;
    case ClusterOrderKind::kStop:
      told.kind = SlurmOrderKind::kRequeue;
      told.note = {.wants = found.note.wants};
      if (found.options.signal.empty() || found.options.grace <= Duration()) break;
      told.kind = SlurmOrderKind::kSignal;
      told.signal = found.options.signal;
      told.note.placed = found.note.placed;
      told.note.restarts = found.note.restarts;
      told.note.leaves = now + found.options.grace;
      break;
    case ClusterOrderKind::kNever: notes_.push_back(fmt::format("job {} stays held: {}", job.key, told.why)); return;
  }
  orders.push_back(std::move(told));
}

std::vector<std::string> SlurmMirror::machines_of(std::string_view hostlist) const {
  auto names = expand_hostlist(hostlist);
  const bool known = names.ok() && std::ranges::all_of(*names, [&](const std::string& name) { return names_.contains(name); });
  return known ? std::move(*names) : std::vector<std::string>();
}

}  // namespace stint
