#include "cycles/cohort.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sched {

namespace {
__extension__ using Wide = __int128;
}

std::strong_ordering operator<=>(const BorrowedShare& a, const BorrowedShare& b) {
  const bool endless_a = a.weight_micro == 0 && a.borrowed > 0;
  const bool endless_b = b.weight_micro == 0 && b.borrowed > 0;
  if (endless_a != endless_b) return endless_a ? std::strong_ordering::greater : std::strong_ordering::less;
  const int64_t weight_a = endless_a ? 1 : std::max<int64_t>(a.weight_micro, 1);
  const int64_t weight_b = endless_b ? 1 : std::max<int64_t>(b.weight_micro, 1);
  // Amounts below 2^43, weights below 2^40: the products stay within 127 bits.
  return static_cast<Wide>(a.borrowed) * b.lendable * weight_b <=> static_cast<Wide>(b.borrowed) * a.lendable * weight_a;
}

QuotaNodeId QuotaTree::add(QuotaNodeId parent, int64_t weight_micro) {
  CHECK(!parent.valid() || parent.index() < nodes_.size(), "a parent is added before its children");
  CHECK(weight_micro >= 0 && weight_micro < int64_t{1} << 40, "fair weight of {} millionths", weight_micro);
  const QuotaNodeId id(static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back({.parent = parent, .weight_micro = weight_micro, .children = {}, .cells = {}});
  nodes_.back().cells.resize(resource_of_cell_.size());
  if (parent.valid()) nodes_[parent.index()].children.push_back(id);
  return id;
}

void QuotaTree::set_quota(QuotaNodeId node, CellId cell, const Quota& quota) {
  CHECK(quota.nominal >= 0 && quota.nominal < int64_t{1} << 43, "nominal quota {}", quota.nominal);
  Cell& own = nodes_[node.index()].cells[cell.index()];
  int64_t lent = own.pool - own.kept();
  own.pool += quota.nominal - own.quota.nominal;
  own.quota = quota;
  int64_t more = own.pool - own.kept() - lent;
  for (QuotaNodeId up = parent(node); up.valid() && more != 0; up = parent(up)) {
    Cell& above = nodes_[up.index()].cells[cell.index()];
    lent = above.pool - above.kept();
    above.pool += more;
    more = above.pool - above.kept() - lent;
  }
}

QuotaNodeId QuotaTree::root(QuotaNodeId n) const {
  while (parent(n).valid())
    n = parent(n);
  return n;
}

int64_t QuotaTree::kept(QuotaNodeId n, CellId c) const { return nodes_[n.index()].cells[c.index()].kept(); }

int64_t QuotaTree::available(QuotaNodeId n, size_t c) const {
  const Node& node = nodes_[n.index()];
  const Cell& cell = node.cells[c];
  if (!node.parent.valid()) return cell.pool - cell.used;
  int64_t from_parent = available(node.parent, c);
  if (cell.quota.borrowing_limit) {
    const int64_t lent = cell.pool - cell.kept();
    const int64_t used_there = std::max<int64_t>(0, cell.used - cell.kept());
    from_parent = std::min(from_parent, lent - used_there + *cell.quota.borrowing_limit);
  }
  return std::max<int64_t>(0, cell.kept() - cell.used) + from_parent;
}

int64_t QuotaTree::most_available(QuotaNodeId n, size_t c) const {
  const Node& node = nodes_[n.index()];
  const Cell& cell = node.cells[c];
  if (!node.parent.valid()) return cell.pool;
  const int64_t all = cell.kept() + most_available(node.parent, c);
  return cell.quota.borrowing_limit ? std::min(all, cell.pool + *cell.quota.borrowing_limit) : all;
}

void QuotaTree::book(QuotaNodeId n, size_t c, int64_t amount) {
  Node& node = nodes_[n.index()];
  Cell& cell = node.cells[c];
  const int64_t own = std::max<int64_t>(0, cell.kept() - cell.used);
  cell.used += amount;
  if (node.parent.valid() && amount > own) book(node.parent, c, amount - own);
}

void QuotaTree::unbook(QuotaNodeId n, size_t c, int64_t amount) {
  Node& node = nodes_[n.index()];
  Cell& cell = node.cells[c];
  const int64_t at_parent = std::max<int64_t>(0, cell.used - cell.kept());
  cell.used -= amount;
  CHECK(cell.used >= 0, "more given back than used: {}", cell.used);
  if (node.parent.valid() && at_parent > 0) unbook(node.parent, c, std::min(amount, at_parent));
}

bool QuotaTree::within_nominal(QuotaNodeId n, std::span<const CellId> cells) const {
  return std::all_of(cells.begin(), cells.end(), [&](CellId c) { return used(n, c) <= pool(n, c); });
}

BorrowedShare QuotaTree::share(QuotaNodeId n) const {
  const Node& node = nodes_[n.index()];
  BorrowedShare largest{.weight_micro = node.weight_micro};
  if (!node.parent.valid()) return largest;
  const int32_t resources =
      resource_of_cell_.empty() ? 0 : *std::max_element(resource_of_cell_.begin(), resource_of_cell_.end()) + 1;
  for (int32_t r = 0; r < resources; ++r) {
    BorrowedShare of_resource{.borrowed = 0, .lendable = 0, .weight_micro = node.weight_micro};
    for (size_t c = 0; c < resource_of_cell_.size(); ++c) {
      if (resource_of_cell_[c] != r) continue;
      of_resource.borrowed += std::max<int64_t>(0, node.cells[c].used - node.cells[c].pool);
      of_resource.lendable += most_available(node.parent, c);
    }
    if (of_resource.lendable > 0 && of_resource > largest) largest = of_resource;
  }
  return largest;
}

}  // namespace stint::sched
