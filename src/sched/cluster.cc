#include "sched/cluster.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/check.h"
#include "base/text.h"

namespace stint::sched {
namespace {

size_t at(Room room) { return static_cast<size_t>(room); }

bool holds(TaskState state, Room room) {
  return state == TaskState::kRunning || state == (room == Room::kFree ? TaskState::kReleasing : TaskState::kNominated);
}

bool same_spot(const Place& a, const Place& b) {
  return a.node == b.node && a.gpus == b.gpus && a.milli == b.milli && a.mig_profile == b.mig_profile &&
         a.mig_start == b.mig_start;
}

MigSpot spot_of(const Place& place) { return {std::countr_zero(place.gpus), place.mig_profile, place.mig_start}; }

/// Compute slices in a profile's name: "2g.20gb" → 2.
int64_t slices_in(std::string_view profile) {
  int64_t slices = 0;
  std::from_chars(profile.data(), profile.data() + profile.size(), slices);
  return slices;
}

uint64_t hash_of(const Request& r) {
  uint64_t h = 0x9e3779b97f4a7c15ULL;
  const auto mix = [&](uint64_t v) { h = (h ^ v) * 0xff51afd7ed558ccdULL, h ^= h >> 32; };
  const auto mix_text = [&](std::string_view text) {
    mix(text.size());
    for (const char c : text)
      mix(static_cast<uint8_t>(c));
  };
  mix(static_cast<uint64_t>(r.gpus));
  mix(static_cast<uint64_t>(r.milli));
  mix(static_cast<uint64_t>(r.gpu_memory.count()));
  mix(static_cast<uint64_t>(r.cpu_milli));
  mix(static_cast<uint64_t>(r.memory.count()));
  for (const std::string& name : r.gpu_models)
    mix_text(name);
  for (const std::string& name : r.allowed_nodes)
    mix_text(name);
  for (const MigAsk& ask : r.mig)
    mix_text(ask.profile), mix(static_cast<uint64_t>(ask.count));
  for (const Label& label : r.labels)
    mix_text(label.key), mix_text(label.value);
  return h;
}

template <typename T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// GPUs of which nothing is held.
uint64_t whole_gpus(const NodeRecord& node) {
  uint64_t mask = 0;
  for (int g = 0; g < node.gpus; ++g)
    if (node.gpu_free[static_cast<size_t>(g)] == kMilli) mask |= uint64_t{1} << g;
  return mask;
}

}  // namespace

// ---- set-up ---------------------------------------------------------------------------------------------------------

NodeId Cluster::add_node(const ClusterNode& node) {
  CHECK(open_trials_ == 0, "node '{}' added inside a trial", node.name);
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back(node);
  const int64_t gpu_memory = node.gpu_memory.count();
  if (gpu_memory > 0 && (smallest_gpu_memory_ == 0 || gpu_memory < smallest_gpu_memory_)) smallest_gpu_memory_ = gpu_memory;
  labels_.push_back(node.labels);
  if (find_label(node.labels, "node") == nullptr) labels_.back().push_back({"node", node.name});

  NodeRecord record;
  record.cpu_milli = record.cpu_free = node.cpu_milli;
  record.memory_bytes = record.memory_free = node.memory.count();
  record.tasks_free = node.max_tasks;
  if (!node.gpu_model.empty() || node.gpus > 0) {
    if (!contains(models_, node.gpu_model)) models_.push_back(node.gpu_model);
    record.model = static_cast<int16_t>(std::find(models_.begin(), models_.end(), node.gpu_model) - models_.begin());
  }
  if (node.whole_gpus) {
    record.gpus = record.whole_free = static_cast<int16_t>(node.gpus);
    record.milli_free = node.gpus * kMilli;
    std::fill_n(record.gpu_free.begin(), node.gpus, static_cast<int16_t>(kMilli));
  }
  free_.add(record);
  coming_.add(record);
  first_on_.emplace_back();

  MigNode& mig = mig_.emplace_back();
  mig.whole_gpus = node.whole_gpus;
  for (const MigAsk& ask : node.static_mig)
    mig.stock.push_back({intern_profile(ask.profile), ask.count, {ask.count, ask.count}});
  if (node.repartition && node.static_mig.empty()) mig.geometry = find_mig_geometry(node.gpu_model);
  if (mig.geometry != nullptr) mig.gpus.resize(static_cast<size_t>(node.gpus));

  affinity_.add_node(id, labels_.back());
  for (Domains& domains : domains_)
    domains.add_node(id, labels_.back());
  for (uint32_t r = 0; r < requests_.size(); ++r)
    note_eligible(RequestId(r), id);
  return id;
}

RequestId Cluster::intern(const Request& request) {
  const uint64_t hash = hash_of(request);
  auto it = std::lower_bound(by_hash_.begin(), by_hash_.end(), std::pair(hash, RequestId(0)));
  for (; it != by_hash_.end() && it->first == hash; ++it)
    if (requests_[it->second.index()] == request) return it->second;

  CHECK(open_trials_ == 0, "a new request inside a trial");
  const RequestId id(static_cast<uint32_t>(requests_.size()));
  by_hash_.insert(it, {hash, id});
  requests_.push_back(request);
  Facts& facts = facts_.emplace_back();
  facts.cpu_milli = request.cpu_milli;
  facts.memory_bytes = request.memory.count();
  facts.gpus = request.gpus;
  facts.milli = request.milli;
  facts.gpu_memory = request.gpu_memory.count();
  for (const MigAsk& ask : request.mig)
    if (ask.count > 0) facts.mig.push_back({intern_profile(ask.profile), ask.count});
  const size_t terms_before = affinity_.term_count();
  facts.affinity = affinity_.facts_of(request, labels_);
  facts.plain = facts.mig.empty() && facts.affinity.empty();
  for (uint32_t n = 0; n < nodes_.size(); ++n)
    note_eligible(id, NodeId(n));
  for (size_t term = terms_before; term < affinity_.term_count(); ++term)
    count_earlier_tasks(static_cast<int32_t>(term), id);
  return id;
}

/// A new term is matched by requests that were there before it, and by their tasks.
void Cluster::count_earlier_tasks(int32_t term, RequestId newest) {
  for (uint32_t r = 0; r < newest.index(); ++r) {
    if (!affinity_.matches(term, requests_[r])) continue;
    facts_[r].affinity.matches.push_back(term);
    facts_[r].plain = false;
  }
  for (const Task& task : tasks_) {
    if (!task.on_node() || task.request == newest || !affinity_.matches(term, request(task.request))) continue;
    for (const Room room : {Room::kFree, Room::kComing})
      if (holds(task.state, room)) affinity_.count_match(term, task.place.node, room, 1);
  }
}

int32_t Cluster::intern_profile(const std::string& name) {
  if (!contains(profiles_, name)) profiles_.push_back(name);
  return static_cast<int32_t>(std::find(profiles_.begin(), profiles_.end(), name) - profiles_.begin());
}

TaskId Cluster::add_task(JobId job, RequestId request, int32_t group, int32_t priority) {
  CHECK(open_trials_ == 0, "a task added inside a trial");
  const TaskId id(static_cast<uint32_t>(tasks_.size()));
  Task& task = tasks_.emplace_back();
  task.job = job;
  task.request = request;
  task.group = group;
  task.priority = priority;
  return id;
}

std::optional<NodeId> Cluster::find_node(std::string_view name) const {
  for (uint32_t n = 0; n < nodes_.size(); ++n)
    if (nodes_[n].name == name) return NodeId(n);
  return std::nullopt;
}

Amounts Cluster::amounts(RequestId r) const {
  const Facts& facts = facts_[r.index()];
  Amounts out{int64_t{facts.gpus} * kMilli + facts.milli, facts.cpu_milli, facts.memory_bytes};
  for (const MigWant& want : facts.mig)
    out.gpu_milli += slices_in(profiles_[static_cast<size_t>(want.profile)]) * want.count * kMilli;
  if (facts.gpu_memory > 0) {
    if (smallest_gpu_memory_ > 0) out.gpu_milli += (facts.gpu_memory * kMilli + smallest_gpu_memory_ - 1) / smallest_gpu_memory_;
  }
  return out;
}

const Domains& Cluster::domains(std::span<const std::string> levels) {
  for (const Domains& known : domains_)
    if (std::equal(known.levels().begin(), known.levels().end(), levels.begin(), levels.end())) return known;
  Domains& added = domains_.emplace_back(std::vector<std::string>(levels.begin(), levels.end()));
  for (uint32_t n = 0; n < nodes_.size(); ++n)
    added.add_node(NodeId(n), labels_[n]);
  return added;
}

// ---- fitting --------------------------------------------------------------------------------------------------------

void Cluster::note_eligible(RequestId r, NodeId n) {
  Facts& facts = facts_[r.index()];
  facts.eligible.resize((nodes_.size() + 63) / 64);
  if (could_ever_fit(facts, requests_[r.index()], n)) facts.eligible[n.index() / 64] |= uint64_t{1} << (n.index() % 64);
}

bool Cluster::could_ever_fit(const Facts& facts, const Request& request, NodeId n) const {
  const ClusterNode& node = nodes_[n.index()];
  const std::vector<Label>& labels = labels_[n.index()];
  if (request.only_allowed_nodes && !contains(request.allowed_nodes, node.name)) return false;
  if (!request.gpu_models.empty() && !contains(request.gpu_models, node.gpu_model)) return false;
  for (const Label& wanted : request.node_labels)
    if (!contains(labels, wanted)) return false;
  const int32_t gpus = node.whole_gpus ? node.gpus : 0;
  const bool shares = facts.milli > 0 || facts.gpu_memory > 0;
  if (facts.gpus > gpus || (shares && (gpus == 0 || !node.shared_gpus))) return false;
  if (facts.gpu_memory > 0 && facts.gpu_memory > node.gpu_memory.count()) return false;
  if (facts.cpu_milli > node.cpu_milli || facts.memory_bytes > node.memory.count() || node.max_tasks < 1) return false;
  if (facts.mig.empty()) return true;
  if (mig_[n.index()].geometry != nullptr) return dynamic_profile(facts, n) >= 0 && node.gpus > 0;
  return std::all_of(facts.mig.begin(), facts.mig.end(), [&](const MigWant& want) {
    const std::vector<MigStock>& stock = mig_[n.index()].stock;
    return std::any_of(stock.begin(), stock.end(),
                       [&](const MigStock& s) { return s.profile == want.profile && s.total >= want.count; });
  });
}

/// Index into the node's geometry of the one instance wanted; −1 = not one instance, or not of this GPU.
int Cluster::dynamic_profile(const Facts& facts, NodeId n) const {
  const MigGeometry* geometry = mig_[n.index()].geometry;
  if (geometry == nullptr || facts.mig.size() != 1 || facts.mig[0].count != 1) return -1;
  const MigProfile* profile = geometry->find_profile(profiles_[static_cast<size_t>(facts.mig[0].profile)]);
  return profile == nullptr ? -1 : geometry->index_of(*profile);
}

int32_t Cluster::share_on(const Facts& facts, NodeId n) const {
  if (facts.gpu_memory == 0) return facts.milli;
  const int64_t total = nodes_[n.index()].gpu_memory.count();
  return static_cast<int32_t>((facts.gpu_memory * kMilli + total - 1) / total);
}

Misfit Cluster::check(const Facts& facts, NodeId n, Room room, SharedGpu shared, Place& place) const {
  const NodeRecord& then = coming_[n];
  const NodeRecord& now = room == Room::kFree ? free_[n] : then;
  if (!then.usable) return Misfit::kUnusable;
  if ((facts.eligible[n.index() / 64] >> (n.index() % 64) & 1) == 0) return Misfit::kConstraint;
  if (now.tasks_free < 1 || then.tasks_free < 1) return Misfit::kTasks;
  if (facts.cpu_milli > now.cpu_free || facts.cpu_milli > then.cpu_free) return Misfit::kCpu;
  if (facts.memory_bytes > now.memory_free || facts.memory_bytes > then.memory_free) return Misfit::kMemory;
  place = Place{};
  place.node = n;
  const auto free_of = [&](int g) {
    return std::min(now.gpu_free[static_cast<size_t>(g)], then.gpu_free[static_cast<size_t>(g)]);
  };
  if (facts.gpus > 0) {
    if (now.whole_free < facts.gpus || then.whole_free < facts.gpus) return Misfit::kGpus;
    int32_t wanted = facts.gpus;
    for (int g = 0; g < then.gpus && wanted > 0; ++g) {
      if (free_of(g) != kMilli) continue;
      place.gpus |= uint64_t{1} << g;
      --wanted;
    }
    if (wanted > 0) return Misfit::kGpus;
  } else if (facts.milli > 0 || facts.gpu_memory > 0) {
    const int32_t share = share_on(facts, n);
    int best = -1;
    for (int g = 0; g < then.gpus; ++g) {
      if (free_of(g) < share) continue;
      if (best < 0 || (shared == SharedGpu::kPack ? free_of(g) < free_of(best) : free_of(g) > free_of(best))) best = g;
    }
    if (best < 0) return Misfit::kGpus;
    place.gpus = uint64_t{1} << best;
    place.milli = share == kMilli ? 0 : share;
  }
  if (facts.plain) return Misfit::kFits;
  if (!facts.mig.empty() && !fit_mig(facts, n, room, place)) return Misfit::kGpus;
  return affinity_.admits(facts.affinity, n, room) ? Misfit::kFits : Misfit::kAffinity;
}

std::array<uint64_t, 2> Cluster::whole_for_mig(NodeId n) const {
  if (!mig_[n.index()].whole_gpus) return {~uint64_t{0}, ~uint64_t{0}};
  return {whole_gpus(free_[n]), whole_gpus(coming_[n])};
}

bool Cluster::fit_mig(const Facts& facts, NodeId n, Room room, Place& place) const {
  const MigNode& mig = mig_[n.index()];
  if (mig.geometry == nullptr) return stock_has(mig, facts.mig, room);
  const auto spot = find_spot(mig, dynamic_profile(facts, n), room, whole_for_mig(n));
  if (!spot) return false;
  place.gpus = uint64_t{1} << spot->gpu;
  place.mig_profile = static_cast<int16_t>(spot->profile);
  place.mig_start = static_cast<int16_t>(spot->start);
  return true;
}

std::optional<Place> Cluster::fit(RequestId r, NodeId n, Room room, SharedGpu shared) const {
  Place place;
  if (check(facts_[r.index()], n, room, shared, place) != Misfit::kFits) return std::nullopt;
  return place;
}

Misfit Cluster::why_not(RequestId r, NodeId n, Room room) const {
  Place place;
  return check(facts_[r.index()], n, room, SharedGpu::kPack, place);
}

bool Cluster::can_run_nominated(TaskId t) const {
  const Task& task = tasks_[t.index()];
  CHECK(task.state == TaskState::kNominated, "task {} is not nominated", t.index());
  const Facts& facts = facts_[task.request.index()];
  const NodeId n = task.place.node;
  const NodeRecord& now = free_[n];
  if (!now.usable || now.tasks_free < 1 || facts.cpu_milli > now.cpu_free || facts.memory_bytes > now.memory_free) return false;
  if (!facts.mig.empty()) {
    const MigNode& mig = mig_[n.index()];
    if (task.place.mig_profile < 0) return stock_is_free_now(mig, facts.mig);
    return spot_is_free_now(mig, spot_of(task.place), whole_for_mig(n)[at(Room::kFree)]);
  }
  const int32_t share = task.place.milli > 0 ? task.place.milli : kMilli;
  for (uint64_t left = task.place.gpus; left != 0; left &= left - 1)
    if (now.gpu_free[static_cast<size_t>(std::countr_zero(left))] < share) return false;
  return true;
}

// ---- changes --------------------------------------------------------------------------------------------------------

void Cluster::hold(const Task& task, Room room) {
  const Facts& facts = facts_[task.request.index()];
  const Place& place = task.place;
  Take take{place.gpus, place.milli, facts.cpu_milli, facts.memory_bytes};
  if (!facts.plain) {
    MigNode& mig = mig_[place.node.index()];
    if (place.mig_profile >= 0) {
      const bool begins = change_spot(mig, spot_of(place), room, 1);
      if (!begins || !mig.whole_gpus) take.gpus = 0;
    } else if (!facts.mig.empty()) {
      take_stock(mig, facts.mig, room, 1);
    }
    affinity_.count(facts.affinity, place.node, room, 1);
  }
  (room == Room::kFree ? free_ : coming_).take(place.node, take);
}

void Cluster::let_go(const Task& task, Room room) {
  const Facts& facts = facts_[task.request.index()];
  const Place& place = task.place;
  Take take{place.gpus, place.milli, facts.cpu_milli, facts.memory_bytes};
  if (!facts.plain) {
    MigNode& mig = mig_[place.node.index()];
    if (place.mig_profile >= 0) {
      const bool ceases = change_spot(mig, spot_of(place), room, -1);
      if (!ceases || !mig.whole_gpus) take.gpus = 0;
    } else if (!facts.mig.empty()) {
      take_stock(mig, facts.mig, room, -1);
    }
    affinity_.count(facts.affinity, place.node, room, -1);
  }
  (room == Room::kFree ? free_ : coming_).give_back(place.node, take);
}

/// From what one record holds to what the other does, in the tables; neither is written.
void Cluster::exchange(const Task& from, const Task& to) {
  const bool stays = same_spot(from.place, to.place);
  for (const Room room : {Room::kFree, Room::kComing}) {
    const bool had = holds(from.state, room);
    const bool has = holds(to.state, room);
    if (had && has && stays) continue;
    if (had) let_go(from, room);
    if (has) hold(to, room);
  }
}

void Cluster::move(TaskId t, TaskState state, const Place& place, Instant started) {
  Task& task = tasks_[t.index()];
  if (open_trials_ > 0) undo_.push_back({t, {}, true, task});
  Task next = task;
  next.state = state;
  next.started = started;
  next.place = next.on_node() ? place : Place{};
  if (next.on_node()) next.place.task = t;
  exchange(task, next);
  const bool relink = task.on_node() != next.on_node() || task.place.node != next.place.node;
  if (relink && task.on_node()) unlink(t);
  task.state = next.state;
  task.started = next.started;
  task.place = next.place;
  if (relink && task.on_node()) link(t);
}

void Cluster::link(TaskId t) {
  Task& task = tasks_[t.index()];
  TaskId& first = first_on_[task.place.node.index()];
  task.before = TaskId();
  task.after = first;
  if (first.valid()) tasks_[first.index()].before = t;
  first = t;
}

void Cluster::unlink(TaskId t) {
  Task& task = tasks_[t.index()];
  (task.before.valid() ? tasks_[task.before.index()].after : first_on_[task.place.node.index()]) = task.after;
  if (task.after.valid()) tasks_[task.after.index()].before = task.before;
  task.before = task.after = TaskId();
}

void Cluster::run(TaskId t, const Place& place, Instant now) {
  const TaskState state = task(t).state;
  CHECK(state == TaskState::kPending || state == TaskState::kNominated, "task {} runs from state {}", t.index(),
        static_cast<int>(state));
  move(t, TaskState::kRunning, place, now);
}

void Cluster::nominate(TaskId t, const Place& place) {
  const TaskState state = task(t).state;
  CHECK(state == TaskState::kPending || state == TaskState::kNominated, "task {} is nominated from state {}", t.index(),
        static_cast<int>(state));
  move(t, TaskState::kNominated, place, task(t).started);
}

void Cluster::leave(TaskId t) {
  CHECK(task(t).state == TaskState::kRunning, "task {} leaves from state {}", t.index(), static_cast<int>(task(t).state));
  move(t, TaskState::kReleasing, task(t).place, task(t).started);
}

void Cluster::gone(TaskId t, TaskState then) {
  CHECK(then == TaskState::kPending || then == TaskState::kFailed || then == TaskState::kDone, "task {} gone to state {}",
        t.index(), static_cast<int>(then));
  move(t, then, Place{}, task(t).started);
}

void Cluster::set_usable(NodeId n, bool usable) {
  if (coming_[n].usable == usable) return;
  if (open_trials_ > 0) undo_.push_back({TaskId(), n, !usable, {}});
  free_.set_usable(n, usable);
  coming_.set_usable(n, usable);
}

// ---- trials ---------------------------------------------------------------------------------------------------------

Cluster::Trial Cluster::open_trial() {
  ++open_trials_;
  return Trial{undo_.size()};
}

void Cluster::undo(Trial trial) {
  CHECK(open_trials_ > 0 && static_cast<size_t>(trial) <= undo_.size(), "a trial that is not open is undone");
  while (undo_.size() > static_cast<size_t>(trial)) {
    const Undo& last = undo_.back();
    if (last.task.valid()) {
      take_back(last.task, last.old);
    } else {
      free_.set_usable(last.node, last.usable);
      coming_.set_usable(last.node, last.usable);
    }
    undo_.pop_back();
  }
  --open_trials_;
}

/// Back to `old`, which is how the task was before its last change: its neighbours then are its neighbours again.
void Cluster::take_back(TaskId t, const Task& old) {
  Task& task = tasks_[t.index()];
  exchange(task, old);
  const bool relink = task.on_node() != old.on_node() || task.place.node != old.place.node;
  if (relink && task.on_node()) unlink(t);
  const TaskId before = relink ? old.before : task.before;
  const TaskId after = relink ? old.after : task.after;
  task = old;
  task.before = before;
  task.after = after;
  if (!relink || !task.on_node()) return;
  (before.valid() ? tasks_[before.index()].after : first_on_[task.place.node.index()]) = t;
  if (after.valid()) tasks_[after.index()].before = t;
}

void Cluster::keep(Trial trial) {
  CHECK(open_trials_ > 0 && static_cast<size_t>(trial) <= undo_.size(), "a trial that is not open is kept");
  if (--open_trials_ == 0) undo_.clear();
}

bool Cluster::same_state(const Cluster& other) const {
  return std::ranges::equal(free_.all(), other.free_.all()) && std::ranges::equal(coming_.all(), other.coming_.all()) &&
         tasks_ == other.tasks_ && first_on_ == other.first_on_ && mig_ == other.mig_ && affinity_ == other.affinity_;
}

}  // namespace stint::sched
