#include "sched/place/node_table.h"

#include <bit>

namespace stint::sched {

namespace {
// When the log is full its older half is forgotten: whoever is that far behind looks at every node, which is cheaper by then.
constexpr size_t kLogLimit = size_t{1} << 16;
}  // namespace

NodeId NodeTable::add(const NodeRecord& node) {
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  nodes_.emplace_back();
  replace(id, node);
  return id;
}

void NodeTable::replace(NodeId n, const NodeRecord& node) {
  CHECK(node.gpus >= 0 && node.gpus <= kMaxGpusPerNode, "{} GPUs on one node", node.gpus);
  NodeRecord& record = nodes_[n.index()] = node;
  record.whole = 0;
  for (size_t g = 0; g < record.gpu_free.size(); ++g)
    if (record.gpu_free[g] == kMilli) record.whole |= static_cast<uint16_t>(1U << g);
  touch(n);
}

void NodeTable::take(NodeId n, const Take& t) {
  NodeRecord& node = nodes_[n.index()];
  node.cpu_free -= t.cpu_milli;
  node.memory_free -= t.memory_bytes;
  node.tasks_free -= 1;
  CHECK(node.cpu_free >= 0 && node.memory_free >= 0 && node.tasks_free >= 0, "node {} over-booked: cpu {}, memory {}, tasks {}",
        n.index(), node.cpu_free, node.memory_free, node.tasks_free);
  const int32_t wanted = t.milli > 0 ? t.milli : kMilli;
  for (uint64_t left = t.gpus; left != 0; left &= left - 1) {
    int16_t& free = node.gpu_free[static_cast<size_t>(__builtin_ctzll(left))];
    CHECK(free >= wanted, "GPU {} of node {} over-booked: {} free, {} wanted", __builtin_ctzll(left), n.index(), free, wanted);
    if (free == kMilli) {
      --node.whole_free;
      node.whole &= static_cast<uint16_t>(~left | (left - 1));
    }
    free = static_cast<int16_t>(free - wanted);
    node.milli_free -= wanted;
  }
  count_holder(node, t, 1);
  touch(n);
}

void NodeTable::give_back(NodeId n, const Take& t) {
  NodeRecord& node = nodes_[n.index()];
  node.cpu_free += t.cpu_milli;
  node.memory_free += t.memory_bytes;
  node.tasks_free += 1;
  CHECK(node.cpu_free <= node.cpu_milli && node.memory_free <= node.memory_bytes, "node {} got back more than it has", n.index());
  const int32_t returned = t.milli > 0 ? t.milli : kMilli;
  for (uint64_t left = t.gpus; left != 0; left &= left - 1) {
    int16_t& free = node.gpu_free[static_cast<size_t>(__builtin_ctzll(left))];
    CHECK(free + returned <= kMilli, "GPU {} of node {} got back more than it has", __builtin_ctzll(left), n.index());
    free = static_cast<int16_t>(free + returned);
    if (free == kMilli) {
      ++node.whole_free;
      node.whole |= static_cast<uint16_t>(left & (~left + 1));
    }
    node.milli_free += returned;
  }
  count_holder(node, t, -1);
  touch(n);
}

void NodeTable::set_usable(NodeId n, bool usable) {
  if (nodes_[n.index()].usable == usable) return;
  nodes_[n.index()].usable = usable;
  touch(n);
}

NodeTable::Changes NodeTable::changed_since(uint64_t position) const {
  if (position < log_begin_) return {.lost = true, .nodes = {}};
  return {.lost = false, .nodes = std::span(log_).subspan(static_cast<size_t>(position - log_begin_))};
}

void NodeTable::count_holder(NodeRecord& node, const Take& t, int16_t change) {
  if (t.gpus == 0) return;
  int16_t& holders = node.holders[t.milli > 0 ? 0 : static_cast<size_t>(std::popcount(t.gpus))];
  holders = static_cast<int16_t>(holders + change);
}

void NodeTable::touch(NodeId n) {
  if (log_.size() >= kLogLimit) {
    log_.erase(log_.begin(), log_.begin() + kLogLimit / 2);
    log_begin_ += kLogLimit / 2;
  }
  log_.push_back(n);
}

}  // namespace stint::sched
