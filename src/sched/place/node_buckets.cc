#include "sched/place/node_buckets.h"

namespace stint::sched {

namespace {
size_t first_bit(uint64_t word) { return static_cast<size_t>(__builtin_ctzll(word)); }
uint64_t bit(size_t i) { return uint64_t{1} << (i % 64); }
}  // namespace

void NodeBuckets::set(NodeId n, int count) {
  const size_t node = n.index();
  if (node >= at_.size()) {
    at_.resize(node + 1, kNowhere);
    for (auto& words : bits_)
      words.resize(node / 64 + 1);
    for (auto& words : summary_)
      words.resize(node / 4096 + 1);
  }
  if (at_[node] == count) return;
  if (at_[node] != kNowhere) remove_bit(static_cast<size_t>(at_[node]), node);
  if (count != kNowhere) add_bit(static_cast<size_t>(count), node);
  at_[node] = static_cast<int8_t>(count);
}

NodeId NodeBuckets::best_fit(int count) const {
  const uint32_t fitting = filled_ >> count;
  if (fitting == 0) return {};
  const auto bucket = static_cast<size_t>(count + __builtin_ctz(fitting));
  size_t group = 0;
  while (summary_[bucket][group] == 0)
    ++group;
  const size_t word = group * 64 + first_bit(summary_[bucket][group]);
  return NodeId(static_cast<uint32_t>(word * 64 + first_bit(bits_[bucket][word])));
}

void NodeBuckets::add_bit(size_t bucket, size_t node) {
  bits_[bucket][node / 64] |= bit(node);
  summary_[bucket][node / 4096] |= bit(node / 64);
  ++counts_[bucket];
  filled_ |= 1U << bucket;
}

void NodeBuckets::remove_bit(size_t bucket, size_t node) {
  bits_[bucket][node / 64] &= ~bit(node);
  if (bits_[bucket][node / 64] == 0) summary_[bucket][node / 4096] &= ~bit(node / 64);
  if (--counts_[bucket] == 0) filled_ &= ~(1U << bucket);
}

}  // namespace stint::sched
