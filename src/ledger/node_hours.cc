#include "ledger/node_hours.h"

#include <algorithm>
#include <map>

#include "ledger/host_load.h"
#include "ledger/slice_weight.h"
#include "model/physical_gpu.h"

namespace stint {

int64_t weight_within(int64_t weight, int64_t hour_index, Interval period) {
  const Instant begin = Instant::from_hour_index(hour_index);
  const Interval common = intersect({begin, begin + kHour}, period);
  if (common.empty()) return 0;
  if (common.length() == kHour) return weight;
  __extension__ typedef __int128 Int128;
  const auto until = [&](Instant at) {
    return static_cast<int64_t>(Int128{weight} * (at - begin).count_ns() / kHour.count_ns());
  };
  return until(common.end) - until(common.begin);
}

std::span<const NodeHours::Hour> NodeHours::of(NodeId node) const {
  const size_t first = first_hour_of_node_[node.index()];
  return std::span(hours_).subspan(first, first_hour_of_node_[node.index() + 1] - first);
}

std::span<const NodeHours::Hour> NodeHours::of(NodeId node, Interval period) const {
  const auto all = of(node);
  const auto position = [&](int64_t hour_index) {
    // Mostly a node is there without a gap, and the hour is where it would be then.
    if (const int64_t offset = all.empty() ? -1 : hour_index - all.front().hour_index;
        offset >= 0 && offset < static_cast<int64_t>(all.size()) && all[static_cast<size_t>(offset)].hour_index == hour_index)
      return all.begin() + offset;
    return std::lower_bound(all.begin(), all.end(), hour_index,
                            [](const Hour& h, int64_t index) { return h.hour_index < index; });
  };
  return {position(period.begin.hour_index()), position((period.end - Duration::nanoseconds(1)).hour_index() + 1)};
}

/// Walks the devices of a node side by side, hour by hour.
class NodeHoursBuilder {
 public:
  NodeHoursBuilder(const History& history, const Occupancy& occupancy, TenantId unowned)
      : history_(history), occupancy_(occupancy), unowned_(unowned), load_(history) {}

  NodeHours build() {
    out_.gpu_counts_.resize(history_.nodes.size());
    streams_.resize(history_.nodes.size());
    add_streams(history_.devices, occupancy_.hours);
    add_streams(occupancy_.inferred_devices, occupancy_.inferred_hours);
    for (uint32_t n = 0; n < history_.nodes.size(); ++n) {
      out_.first_hour_of_node_.push_back(out_.hours_.size());
      build_node(NodeId(n));
    }
    out_.first_hour_of_node_.push_back(out_.hours_.size());
    return std::move(out_);
  }

 private:
  /// The hours of one device, read from front to back.
  struct Stream {
    std::span<const DeviceHour> left;
    int64_t gpu = 0;  // which GPU of the node
    SliceWeight slice;
    bool instance = false;
  };
  /// MIG instances of one card in one hour.
  struct Card {
    int64_t weight = 0;  // of the instances
    DeviceParts present = 0;
    const MigGeometry* geometry = nullptr;
    std::vector<int> profiles;
  };

  void add_streams(std::span<const Device> devices, std::span<const DeviceHour> hours) {
    std::vector<std::span<const DeviceHour>> by_device(devices.size());
    for (size_t first = 0; first < hours.size();) {
      size_t end = first;
      while (end < hours.size() && hours[end].device == hours[first].device)
        ++end;
      by_device[hours[first].device.index()] = hours.subspan(first, end - first);
      first = end;
    }
    for (const PhysicalGpu& gpu : physical_gpus(devices)) {
      const int64_t number = out_.gpu_counts_[gpu.node.index()]++;
      auto& streams = streams_[gpu.node.index()];
      for (const uint32_t d : gpu.whole)
        streams.push_back({by_device[d], number, {nullptr, -1, kSliceParts}, false});
      for (const uint32_t d : gpu.instances)
        streams.push_back({by_device[d], number, slice_weight(devices[d], history_.nodes[gpu.node.index()]), true});
    }
  }

  void build_node(NodeId node) {
    auto& streams = streams_[node.index()];
    while (true) {
      int64_t hour = INT64_MAX;
      for (const Stream& s : streams)
        if (!s.left.empty()) hour = std::min(hour, s.left.front().hour_index);
      if (hour == INT64_MAX) return;
      begin_hour(node, hour);
      for (Stream& s : streams) {
        if (s.left.empty() || s.left.front().hour_index != hour) continue;
        add(s, s.left.front());
        s.left = s.left.subspan(1);
      }
      end_hour();
    }
  }

  void begin_hour(NodeId node, int64_t hour) {
    current_ = {hour, 0, static_cast<uint32_t>(out_.buckets_.size()), 0};
    free_cause_ = load_.full(node, hour) ? IdleCause::kStrandedHost : IdleCause::kUnallocated;
    cards_.assign(static_cast<size_t>(out_.gpu_counts_[node.index()]), {});
  }

  void add(const Stream& stream, const DeviceHour& hour) {
    current_.present = std::max(current_.present, hour.present);
    DeviceParts left = hour.present - hour.unhealthy - hour.missing;
    const int64_t parts = stream.slice.parts;
    for (const Tenure& t : occupancy_.of(hour)) {
      put({t.tenant, t.kind, IdleCause::kNone, t.activity_known}, (t.activity_known ? t.active : t.held) * parts);
      if (t.activity_known) put({t.tenant, t.kind, IdleCause::kInactive, true}, (t.held - t.active) * parts);
      left -= t.held;
    }
    CHECK(left >= 0, "device {} hour {} is held {} parts over", hour.device.index(), hour.hour_index, -left);
    put({unowned_, WorkloadKind::kUnknown, IdleCause::kUnhealthy, true}, hour.unhealthy * parts);
    put({unowned_, WorkloadKind::kUnknown, IdleCause::kTelemetryMissing, true}, hour.missing * parts);
    put({unowned_, WorkloadKind::kUnknown, free_cause_, true}, left * parts);
    if (!stream.instance) return;
    Card& card = cards_[static_cast<size_t>(stream.gpu)];
    card.weight += hour.present * parts;
    card.present = std::max(card.present, hour.present);
    card.geometry = stream.slice.geometry;
    card.profiles.push_back(stream.slice.profile);
  }

  /// What the instances of a card leave of it is free as far as another instance fits, else stranded.
  void end_hour() {
    for (Card& card : cards_) {
      const int64_t left = card.present * kSliceParts - card.weight;
      if (left <= 0) continue;
      const auto rest =
          card.geometry == nullptr ? CardRemainder::Parts{0, kSliceParts} : remainder_.of(*card.geometry, card.profiles);
      const int64_t parts = rest.available + rest.stranded;
      const int64_t available = parts == 0 ? 0 : left / parts * rest.available + left % parts * rest.available / parts;
      put({unowned_, WorkloadKind::kUnknown, free_cause_, true}, available);
      put({unowned_, WorkloadKind::kUnknown, IdleCause::kStrandedMig, true}, left - available);
    }
    current_.count = static_cast<uint32_t>(out_.buckets_.size()) - current_.first;
    out_.hours_.push_back(current_);
  }

  void put(const NodeHours::Key& key, int64_t weight) {
    if (weight <= 0) return;
    const uint32_t id = intern(key);
    for (size_t b = current_.first; b < out_.buckets_.size(); ++b)
      if (out_.buckets_[b].key == id) {
        out_.buckets_[b].weight += weight;
        return;
      }
    out_.buckets_.push_back({id, weight});
  }

  uint32_t intern(const NodeHours::Key& key) {
    const uint64_t packed = uint64_t{key.tenant.index()} << 16 | static_cast<uint64_t>(key.kind) << 8 |
                            static_cast<uint64_t>(key.cause) << 1 | static_cast<uint64_t>(key.activity_known);
    const auto [it, fresh] = ids_.try_emplace(packed, static_cast<uint32_t>(out_.keys_.size()));
    if (fresh) out_.keys_.push_back(key);
    return it->second;
  }

  const History& history_;
  const Occupancy& occupancy_;
  TenantId unowned_;
  HostLoad load_;
  NodeHours out_;
  std::vector<std::vector<Stream>> streams_;  // by node
  std::map<uint64_t, uint32_t> ids_;          // of packed keys
  NodeHours::Hour current_;
  IdleCause free_cause_ = IdleCause::kUnallocated;
  std::vector<Card> cards_;  // by GPU of the node; reset every hour
  CardRemainder remainder_;
};

NodeHours NodeHours::build(const History& history, const Occupancy& occupancy, TenantId unowned) {
  return NodeHoursBuilder(history, occupancy, unowned).build();
}

}  // namespace stint
