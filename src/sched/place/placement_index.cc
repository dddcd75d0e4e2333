#include "sched/place/placement_index.h"

#include <algorithm>
#include <utility>

namespace stint::sched {
namespace {

constexpr size_t kBlock = 64;

bool is_allowed(std::span<const uint64_t> allowed, size_t node) {
  return allowed.empty() || (node / 64 < allowed.size() && (allowed[node / 64] >> (node % 64) & 1) != 0);
}

int32_t best_of_block(const std::vector<int32_t>& of_node, size_t block) {
  const auto begin = of_node.begin() + static_cast<std::ptrdiff_t>(block * kBlock);
  const auto end = of_node.begin() + static_cast<std::ptrdiff_t>(std::min((block + 1) * kBlock, of_node.size()));
  return *std::max_element(begin, end);
}

}  // namespace

PlacementIndex::PlacementIndex(Placement policy, uint64_t seed, size_t memory_limit_bytes)
    : scorer_(policy), random_(seed), memory_limit_bytes_(memory_limit_bytes) {}

void PlacementIndex::expect(std::span<const ShapeCount> mix) {
  scorer_.expect(mix);
  drop_all();
}

void PlacementIndex::observe(const PlacementShape& shape, int64_t count) {
  if (scorer_.policy() != Placement::kFgd && scorer_.policy() != Placement::kStint) return;
  const auto at = std::lower_bound(seen_.begin(), seen_.end(), shape,
                                   [](const ShapeCount& s, const PlacementShape& wanted) { return s.shape < wanted; });
  if (at != seen_.end() && at->shape == shape) {
    at->count += count;
  } else {
    seen_.insert(at, {shape, count});
  }
  seen_requests_ += count;
  if (seen_requests_ * 2 < expected_requests_ * 3) return;
  expected_requests_ = seen_requests_;
  expect(seen_);
}

std::optional<PlacementIndex::Spot> PlacementIndex::best(const NodeTable& nodes, RequestId request, const PlacementShape& shape,
                                                         std::span<const uint64_t> allowed) {
  Scores& scores = scores_of(request, nodes.size());
  refresh(scores, nodes, shape, allowed);
  const auto block = std::max_element(scores.of_block.begin(), scores.of_block.end());
  if (block == scores.of_block.end() || *block == kNoFit) return std::nullopt;
  if (scorer_.policy() == Placement::kRandom) {
    const NodeId node = draw(scores);
    return Spot{node, draw_gpus(nodes[node], shape)};
  }
  const size_t first = static_cast<size_t>(block - scores.of_block.begin()) * kBlock;
  const auto found = std::find(scores.of_node.begin() + static_cast<std::ptrdiff_t>(first), scores.of_node.end(), *block);
  const NodeId node(static_cast<uint32_t>(found - scores.of_node.begin()));
  return Spot{node, scorer_.choose_gpus(nodes[node], shape)};
}

void PlacementIndex::forget(RequestId request) {
  if (request.index() >= slot_of_request_.size()) return;
  const int32_t slot = std::exchange(slot_of_request_[request.index()], -1);
  if (slot < 0) return;
  if (static_cast<size_t>(slot) + 1 != kept_.size()) {
    kept_[static_cast<size_t>(slot)] = std::move(kept_.back());
    slot_of_request_[kept_[static_cast<size_t>(slot)].request.index()] = slot;
  }
  kept_.pop_back();
}

PlacementIndex::Scores& PlacementIndex::scores_of(RequestId request, size_t nodes) {
  if (request.index() >= slot_of_request_.size()) slot_of_request_.resize(request.index() + 1, -1);
  if (slot_of_request_[request.index()] < 0) {
    const size_t bytes = std::max<size_t>(1, nodes * sizeof(int32_t));
    if (!kept_.empty() && (kept_.size() + 1) * bytes > memory_limit_bytes_) {
      const auto oldest = std::min_element(kept_.begin(), kept_.end(),
                                           [](const Scores& a, const Scores& b) { return a.last_used < b.last_used; });
      forget(oldest->request);
    }
    slot_of_request_[request.index()] = static_cast<int32_t>(kept_.size());
    kept_.push_back({.request = request, .read_to = 0, .last_used = 0, .of_node = {}, .of_block = {}});
  }
  Scores& scores = kept_[static_cast<size_t>(slot_of_request_[request.index()])];
  scores.last_used = ++uses_;
  return scores;
}

void PlacementIndex::refresh(Scores& scores, const NodeTable& nodes, const PlacementShape& shape,
                             std::span<const uint64_t> allowed) {
  const auto score = [&](size_t n) {
    return is_allowed(allowed, n) ? scorer_.score(nodes[NodeId(static_cast<uint32_t>(n))], shape) : kNoFit;
  };
  const NodeTable::Changes changes = nodes.changed_since(scores.read_to);
  scores.read_to = nodes.log_end();
  if (changes.lost || scores.of_node.size() != nodes.size() || changes.nodes.size() >= nodes.size()) {
    scores.of_node.resize(nodes.size());
    for (size_t n = 0; n < nodes.size(); ++n)
      scores.of_node[n] = score(n);
    scores.of_block.resize((nodes.size() + kBlock - 1) / kBlock);
    for (size_t b = 0; b < scores.of_block.size(); ++b)
      scores.of_block[b] = best_of_block(scores.of_node, b);
    return;
  }
  for (const NodeId n : changes.nodes) {
    const int32_t now = score(n.index());
    const int32_t was = std::exchange(scores.of_node[n.index()], now);
    const size_t block = n.index() / kBlock;
    if (now >= scores.of_block[block]) {
      scores.of_block[block] = now;
    } else if (was == scores.of_block[block]) {
      scores.of_block[block] = best_of_block(scores.of_node, block);
    }
  }
}

void PlacementIndex::drop_all() {
  kept_.clear();
  std::fill(slot_of_request_.begin(), slot_of_request_.end(), -1);
}

NodeId PlacementIndex::draw(const Scores& scores) {
  const auto fitting = std::count_if(scores.of_node.begin(), scores.of_node.end(), [](int32_t s) { return s != kNoFit; });
  uint64_t skip = random_.below(static_cast<uint64_t>(fitting));
  for (uint32_t n = 0;; ++n)
    if (scores.of_node[n] != kNoFit && skip-- == 0) return NodeId(n);
}

uint64_t PlacementIndex::draw_gpus(const NodeRecord& node, const PlacementShape& shape) {
  if (shape.milli == 0) return scorer_.choose_gpus(node, shape);
  uint64_t gpus = 0;
  uint64_t seen = 0;
  for (size_t g = 0; g < static_cast<size_t>(node.gpus); ++g)
    if (node.gpu_free[g] >= shape.milli && random_.below(++seen) == 0) gpus = uint64_t{1} << g;
  return gpus;
}

}  // namespace stint::sched
