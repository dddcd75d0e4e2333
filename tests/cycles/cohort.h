// Cohorts: quotas that are lent and borrowed in a tree.
//
// Queues and cohorts have nominal quotas per cell (one resource in one flavor, say GPUs of model A100 on spot). What a node
// does not use it lends to its parent, up to its lending limit; what is above its own it borrows from there, up to its
// borrowing limit. Usage is booked the same way: first on what a node keeps for itself, the rest on its parent.
// Source: the model of Kueue's ClusterQueues and hierarchical Cohorts (Kubernetes SIG Scheduling).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/id.h"

namespace stint::sched {

using QuotaNodeId = Id<struct QuotaNodeTag>;
using CellId = Id<struct CellTag>;  ///< a resource in a flavor

struct Quota {
  int64_t nominal = 0;
  std::optional<int64_t> borrowing_limit;  ///< none = unlimited
  std::optional<int64_t> lending_limit;    ///< none = all of it
};

struct CellAmount {
  CellId cell;
  int64_t amount = 0;
};

/// How far above its quota a node is, relative to what its parent could lend and to its weight. Compares exactly.
struct BorrowedShare {
  int64_t borrowed = 0;      ///< of the dominant resource
  int64_t lendable = 1;      ///< of the same, > 0
  int64_t weight_micro = 1;  ///< 0 and borrowing = more than any with weight
  [[nodiscard]] bool zero() const { return borrowed == 0; }
  friend std::strong_ordering operator<=>(const BorrowedShare& a, const BorrowedShare& b);
  friend bool operator==(const BorrowedShare& a, const BorrowedShare& b) { return (a <=> b) == 0; }
};

class QuotaTree {
 public:
  /// @param resource_of_cell  a number per cell; cells of one resource are summed in shares.
  explicit QuotaTree(std::vector<int32_t> resource_of_cell) : resource_of_cell_(std::move(resource_of_cell)) {}

  /// @param parent  not valid = a root. @param weight_micro  fair weight in millionths, ≥ 0.
  QuotaNodeId add(QuotaNodeId parent, int64_t weight_micro = 1'000'000);
  /// All quotas are set before anything is used.
  void set_quota(QuotaNodeId node, CellId cell, const Quota& quota);

  void use(QuotaNodeId node, CellAmount what) { book(node, what.cell.index(), what.amount); }
  void give_back(QuotaNodeId node, CellAmount what) { unbook(node, what.cell.index(), what.amount); }

  [[nodiscard]] QuotaNodeId parent(QuotaNodeId n) const { return nodes_[n.index()].parent; }
  [[nodiscard]] QuotaNodeId root(QuotaNodeId n) const;
  /// Ascending by id.
  [[nodiscard]] const std::vector<QuotaNodeId>& children(QuotaNodeId n) const { return nodes_[n.index()].children; }
  [[nodiscard]] int64_t nominal(QuotaNodeId n, CellId c) const { return nodes_[n.index()].cells[c.index()].quota.nominal; }
  [[nodiscard]] int64_t used(QuotaNodeId n, CellId c) const { return nodes_[n.index()].cells[c.index()].used; }
  /// Own nominal plus what the members lend.
  [[nodiscard]] int64_t pool(QuotaNodeId n, CellId c) const { return nodes_[n.index()].cells[c.index()].pool; }
  /// What the node keeps for itself: not lent.
  [[nodiscard]] int64_t kept(QuotaNodeId n, CellId c) const;
  /// How much more the node could use now. May be negative where quotas were lowered under use.
  [[nodiscard]] int64_t available(QuotaNodeId n, CellId c) const { return available(n, c.index()); }
  /// How much the node could use if no other node used anything.
  [[nodiscard]] int64_t most_available(QuotaNodeId n, CellId c) const { return most_available(n, c.index()); }
  [[nodiscard]] bool within_nominal(QuotaNodeId n, std::span<const CellId> cells) const;
  /// A root does not borrow.
  [[nodiscard]] BorrowedShare share(QuotaNodeId n) const;

 private:
  struct Cell {
    Quota quota;
    int64_t pool = 0;
    int64_t used = 0;
    [[nodiscard]] int64_t kept() const { return quota.lending_limit ? std::max<int64_t>(0, pool - *quota.lending_limit) : 0; }
  };
  struct Node {
    QuotaNodeId parent;
    int64_t weight_micro = 0;
    std::vector<QuotaNodeId> children;
    std::vector<Cell> cells;
  };
  [[nodiscard]] int64_t available(QuotaNodeId n, size_t cell) const;
  [[nodiscard]] int64_t most_available(QuotaNodeId n, size_t cell) const;
  void book(QuotaNodeId n, size_t cell, int64_t amount);
  void unbook(QuotaNodeId n, size_t cell, int64_t amount);

  std::vector<int32_t> resource_of_cell_;
  std::vector<Node> nodes_;
};

}  // namespace stint::sched
