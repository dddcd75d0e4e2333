#include "batching/fair_lanes.h"

#include <algorithm>

namespace stint::batching {
namespace {

// Virtual time of an item at weight 1. Small enough that 2^63 lasts for 17 years at a million items a second.
constexpr int64_t kVirtualItem = 1 << 14;

}  // namespace

FairLanes::FairLanes(RequestTable& table, const std::vector<uint32_t>& bucket_models, const std::vector<int64_t>& weights)
    : table_(table), bucket_models_(bucket_models), weights_(weights), tenants_(weights.size()) {
  const size_t lanes = bucket_models.size() * kPriorities;
  const size_t models = bucket_models.back() + size_t{1};
  places_.assign(lanes * tenants_, IndexedHeap<int64_t>::kAbsent);
  lines_.resize(lanes * tenants_);
  lanes_.reserve(lanes);
  for (size_t lane = 0; lane < lanes; ++lane)
    lanes_.push_back({IndexedHeap<int64_t>(std::span(places_).subspan(lane * tenants_, tenants_), tenants_)});
  had_.resize(models * tenants_);
  virtual_now_.resize(models);
}

size_t FairLanes::lane_of(uint32_t slot) const {
  return size_t{table_[slot].bucket} * kPriorities + static_cast<size_t>(table_[slot].request.priority);
}

size_t FairLanes::tenant_of(uint32_t slot) const {
  return bucket_models_[table_[slot].bucket] * tenants_ + table_[slot].request.tenant.index();
}

void FairLanes::add(uint32_t slot) {
  WaitingRequest& entry = table_[slot];
  const uint32_t tenant = entry.request.tenant.index();
  Had& had = had_[tenant_of(slot)];
  if (had.waiting++ == 0) had.virtual_time = std::max(had.virtual_time, virtual_now_[bucket_models_[entry.bucket]]);
  Lane& lane = lanes_[lane_of(slot)];
  Line& line = lines_[lane_of(slot) * tenants_ + tenant];
  lane.items += entry.request.items;
  entry.line_before = line.tail;
  if (line.tail == kNoSlot) {
    line.head = slot;
    lane.tenants.put(tenant, had.virtual_time);
  } else {
    table_[line.tail].line_after = slot;
  }
  line.tail = slot;
}

void FairLanes::remove(uint32_t slot) {
  const WaitingRequest& entry = table_[slot];
  const uint32_t tenant = entry.request.tenant.index();
  Lane& lane = lanes_[lane_of(slot)];
  Line& line = lines_[lane_of(slot) * tenants_ + tenant];
  lane.items -= entry.request.items;
  --had_[tenant_of(slot)].waiting;
  (entry.line_before == kNoSlot ? line.head : table_[entry.line_before].line_after) = entry.line_after;
  (entry.line_after == kNoSlot ? line.tail : table_[entry.line_after].line_before) = entry.line_before;
  if (line.head == kNoSlot) lane.tenants.remove(tenant);
}

void FairLanes::charge(uint32_t slot) {
  const Request& request = table_[slot].request;
  Had& had = had_[tenant_of(slot)];
  int64_t& virtual_now = virtual_now_[bucket_models_[table_[slot].bucket]];
  virtual_now = std::max(virtual_now, had.virtual_time);
  had.virtual_time += request.items * kVirtualItem / weights_[request.tenant.index()];
}

uint32_t FairLanes::next(uint32_t bucket, int priority) {
  const size_t at = size_t{bucket} * kPriorities + static_cast<size_t>(priority);
  Lane& lane = lanes_[at];
  while (!lane.tenants.empty()) {
    const uint32_t tenant = lane.tenants.top();
    const int64_t virtual_time = had_[bucket_models_[bucket] * tenants_ + tenant].virtual_time;
    if (lane.tenants.top_key() == virtual_time) return lines_[at * tenants_ + tenant].head;
    lane.tenants.put(tenant, virtual_time);
  }
  return kNoSlot;
}

int FairLanes::first_lane(uint32_t bucket) const {
  int priority = 0;
  while (priority < kPriorities && lanes_[size_t{bucket} * kPriorities + static_cast<size_t>(priority)].items == 0)
    ++priority;
  return priority;
}

int64_t FairLanes::items(uint32_t bucket, int priority) const {
  int64_t sum = 0;
  for (int p = 0; p <= priority; ++p)
    sum += lanes_[size_t{bucket} * kPriorities + static_cast<size_t>(p)].items;
  return sum;
}

}  // namespace stint::batching
