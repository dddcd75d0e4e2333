// Cluster: what it is made of. Nodes, requests and terms of affinity are interned here; nothing of it is on a hot path.
#include <algorithm>
#include <charconv>
#include <functional>

#include "base/check.h"
#include "base/has_element.h"
#include "sched/place/cluster.h"

namespace stint::sched {
namespace {

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
  if (!r.shares_with.empty()) mix_text(r.shares_with);
  if (!r.work_kind.empty()) mix_text(r.work_kind);
  if (r.max_slowdown_percent >= 0) mix(static_cast<uint64_t>(r.max_slowdown_percent));
  return h;
}

}  // namespace

/// All of it free.
NodeRecord Cluster::record_of(const NodeSpec& node) {
  NodeRecord record;
  record.cpu_milli = record.cpu_free = node.cpu_milli;
  record.memory_bytes = record.memory_free = node.memory.count();
  record.tasks_free = node.max_tasks;
  if (!node.gpu_model.empty() || node.gpus > 0) {
    if (!has_element(models_, node.gpu_model)) models_.push_back(node.gpu_model);
    record.model = static_cast<int16_t>(std::find(models_.begin(), models_.end(), node.gpu_model) - models_.begin());
  }
  if (node.whole_gpus) {
    record.gpus = record.whole_free = static_cast<int16_t>(node.gpus);
    record.milli_free = node.gpus * kMilli;
    std::fill_n(record.gpu_free.begin(), node.gpus, static_cast<int16_t>(kMilli));
  }
  return record;
}

NodeId Cluster::add_node(const NodeSpec& node) {
  CHECK(open_trials_ == 0, "node '{}' added inside a trial", node.name);
  NodeId id(static_cast<uint32_t>(nodes_.size()));
  if (removed_.empty()) {
    nodes_.emplace_back();
    labels_.emplace_back();
    mig_.emplace_back();
    first_on_.emplace_back();
    free_.add({});
    coming_.add({});
  } else {
    id = removed_.back();
    removed_.pop_back();
  }
  nodes_[id.index()] = node;
  const int64_t gpu_memory = node.gpu_memory.count();
  if (gpu_memory > 0 && (smallest_gpu_memory_ == 0 || gpu_memory < smallest_gpu_memory_)) smallest_gpu_memory_ = gpu_memory;
  std::vector<Label>& labels = labels_[id.index()] = node.labels;
  if (find_label(node.labels, "node") == nullptr) labels.push_back({"node", node.name});

  const NodeRecord record = record_of(node);
  free_.replace(id, record);
  coming_.replace(id, record);

  MigNode& mig = mig_[id.index()] = {};
  mig.whole_gpus = node.whole_gpus;
  for (const MigAsk& ask : node.static_mig)
    mig.stock.push_back({intern_profile(ask.profile), ask.count, {ask.count, ask.count}});
  if (node.repartition && node.static_mig.empty()) mig.geometry = find_mig_geometry(node.gpu_model);
  if (mig.geometry != nullptr) mig.gpus.resize(static_cast<size_t>(node.gpus));

  affinity_.add_node(id, labels);
  for (Domains& domains : domains_)
    domains.add_node(id, labels);
  for (uint32_t r = 0; r < requests_.size(); ++r)
    note_eligible(RequestId(r), id);
  return id;
}

void Cluster::remove_node(NodeId n) {
  CHECK(open_trials_ == 0, "node '{}' removed inside a trial", nodes_[n.index()].name);
  CHECK(!first_on_[n.index()].valid(), "node '{}' removed with tasks on it", nodes_[n.index()].name);
  nodes_[n.index()] = {};
  labels_[n.index()].clear();
  mig_[n.index()] = {};
  NodeRecord nothing;
  nothing.usable = false;
  free_.replace(n, nothing);
  coming_.replace(n, nothing);
  affinity_.remove_node(n);
  for (Domains& domains : domains_)
    domains.remove_node(n);
  for (Facts& facts : facts_)
    facts.eligible[n.index() / 64] &= ~(uint64_t{1} << (n.index() % 64));
  removed_.insert(std::ranges::lower_bound(removed_, n, std::greater()), n);
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
    if (ask.count > 0) {
      facts.mig.push_back({intern_profile(ask.profile), ask.count});
      facts.mig_milli += ask.count * counted_milli(ask.profile);
    }
  find_instances(facts);
  if (facts.milli > 0 || facts.gpu_memory > 0) facts.sharer = intern_sharer(request.shares_with);
  if (facts.sharer >= 0) facts.interference = interference_.facts_of(request);
  const size_t terms_before = affinity_.term_count();
  facts.affinity = affinity_.facts_of(request, labels_);
  facts.plain = facts.mig.empty() && facts.affinity.empty();
  for (uint32_t n = 0; n < nodes_.size(); ++n)
    note_eligible(id, NodeId(n));
  for (size_t term = terms_before; term < affinity_.term_count(); ++term)
    count_earlier_tasks(static_cast<int32_t>(term), id);
  return id;
}

/// Where one instance is wanted that is cut from a GPU.
void Cluster::find_instances(Facts& facts) const {
  facts.instance_of.clear();
  if (facts.mig.size() != 1 || facts.mig[0].count != 1) return;
  for (const MigGeometry& geometry : mig_geometries()) {
    const MigProfile* profile = geometry.find_profile(profiles_[static_cast<size_t>(facts.mig[0].profile)]);
    facts.instance_of.push_back(profile == nullptr ? -1 : geometry.index_of(*profile));
  }
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
      if (task.holds(room)) affinity_.count_match(term, task.place.node, room, 1);
  }
}

int32_t Cluster::intern_profile(const std::string& name) {
  if (!has_element(profiles_, name)) profiles_.push_back(name);
  return static_cast<int32_t>(std::find(profiles_.begin(), profiles_.end(), name) - profiles_.begin());
}

int32_t Cluster::intern_sharer(const std::string& name) {
  const auto at = std::ranges::find(sharers_, name);
  const auto index = static_cast<int32_t>(at - sharers_.begin());
  if (at == sharers_.end()) sharers_.push_back(name);
  return index;
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

int64_t Cluster::counted_milli(std::string_view profile) const {
  if (mig_count_ == MigCount::kSlices) return slices_in(profile) * kMilli;
  int64_t most = 0;
  for (const MigGeometry& geometry : mig_geometries())
    if (geometry.find_profile(profile) != nullptr) most = std::max(most, compute_milli(geometry.gpu_model, profile));
  return most > 0 ? most : compute_milli("", profile);
}

Amounts Cluster::amounts(RequestId r) const {
  const Facts& facts = facts_[r.index()];
  Amounts out{int64_t{facts.gpus} * kMilli + facts.milli, facts.cpu_milli, facts.memory_bytes};
  out.gpu_milli += facts.mig_milli;
  if (facts.gpu_memory > 0) {
    if (smallest_gpu_memory_ > 0) out.gpu_milli += (facts.gpu_memory * kMilli + smallest_gpu_memory_ - 1) / smallest_gpu_memory_;
  }
  return out;
}

int64_t Cluster::gpu_milli(const Place& place) const {
  if (place.mig_profile < 0) return place.milli > 0 ? place.milli : int64_t{__builtin_popcountll(place.gpus)} * kMilli;
  const MigGeometry* geometry = find_mig_geometry(nodes_[place.node.index()].gpu_model);
  CHECK(geometry != nullptr, "a MIG instance on node {}, whose GPUs have none", place.node.index());
  return int64_t{kMilli} * geometry->profiles[static_cast<size_t>(place.mig_profile)].compute_slices / geometry->compute_slices;
}

int64_t Cluster::gpu_milli(const Task& task) const {
  if (task.place.gpus != 0) return gpu_milli(task.place);
  int64_t milli = 0;
  for (const MigAsk& ask : requests_[task.request.index()].mig)
    milli += ask.count * compute_milli(nodes_[task.place.node.index()].gpu_model, ask.profile);
  return milli;
}

const Domains& Cluster::domains(std::span<const std::string> levels) {
  for (const Domains& known : domains_)
    if (std::equal(known.levels().begin(), known.levels().end(), levels.begin(), levels.end())) return known;
  Domains& added = domains_.emplace_back(std::vector<std::string>(levels.begin(), levels.end()));
  for (uint32_t n = 0; n < nodes_.size(); ++n)
    added.add_node(NodeId(n), labels_[n]);
  return added;
}

}  // namespace stint::sched
