// Ledger: every bill line becomes postings to tenants and to named idle causes that sum to it to the last
// nano-unit.
//
// A compute line is tied to a node; its money is spread over the node's GPU-hours in its charge period, and
// each GPU-hour over who held it and why the rest was idle (model/occupancy.h). One rounding per line, by
// largest remainder over all its buckets. Storage and transfer keep apart; what has no owner in
// particular (support, tax, unused commitments, untagged services) is shared in proportion to GPU money.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "catalog/catalog.h"
#include "model/history.h"
#include "model/occupancy.h"

namespace stint {

enum class IdleCause {
  kNone,              ///< held and active
  kUnallocated,       ///< not held
  kInactive,          ///< held, but idle
  kStrandedMig,       ///< cannot be given out under the MIG layout
  kStrandedHost,      ///< free, but the node's CPUs or memory are taken
  kUnhealthy,         ///< XID, ECC, node down
  kTelemetryMissing,  ///< not known: no telemetry and no allocation record
  kUnusedCommitment,  ///< a commitment nothing ran on
};
inline constexpr size_t kIdleCauseCount = 8;
std::string_view name_of(IdleCause c);  // "active", "unallocated", "inactive", "stranded-mig", …

struct Posting {
  uint32_t bill_line = 0;  ///< index into Ledger::lines
  TenantId tenant;         ///< into Ledger::tenants; the empty tenant = idle or not attributed
  WorkloadKind kind = WorkloadKind::kUnknown;
  SpendKind spend = SpendKind::kCompute;
  IdleCause cause = IdleCause::kNone;
  bool shared = false;         ///< a share of common cost, not the tenant's own use
  bool activity_known = true;  ///< false: held, but no telemetry says whether it was active (`cause` is then kNone)
  Money amount;
};

/// GPU-hours of the period that one tenant had, or that were idle for one cause, as the ledger counts them: a MIG
/// slice as its share of the card. Of hours without telemetry and records those count that a bill line paid for; hours outside of
/// what the bill covers do not (Ledger::unpriced_gpu_hours).
struct GpuUse {
  TenantId tenant;
  WorkloadKind kind = WorkloadKind::kUnknown;
  IdleCause cause = IdleCause::kNone;
  bool activity_known = true;
  int64_t micro_gpu_hours = 0;  ///< millionths
};

enum class CostBasis { kEffective, kBilled };
std::string_view name_of(CostBasis b);  // "effective", "billed"

struct LedgerOptions {
  CostBasis basis = CostBasis::kEffective;
  Interval period;        ///< lines are cut to it in proportion to time
  bool estimate = false;  ///< also prices what nothing but the inventory speaks of, and time that bills do not reach
};

/// The lines of a ledger. Whole lines are borrowed from the History, which is large: it must outlive the ledger
/// (moving it is fine). Copies of this share what it owns.
class LedgerLines {
 public:
  class Iterator {
   public:
    using value_type = BillLine;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    explicit Iterator(const BillLine* const* at) : at_(at) {}
    const BillLine& operator*() const { return **at_; }
    const BillLine* operator->() const { return *at_; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const BillLine* const* at_ = nullptr;
  };
  void borrow(const BillLine& line) { lines_.push_back(&line); }
  void push_back(BillLine line) {
    own_.push_back(std::make_shared<const BillLine>(std::move(line)));
    lines_.push_back(own_.back().get());
  }
  void reserve(size_t n) { lines_.reserve(n); }
  [[nodiscard]] size_t size() const { return lines_.size(); }
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  const BillLine& operator[](size_t i) const { return *lines_[i]; }
  [[nodiscard]] Iterator begin() const { return Iterator(lines_.data()); }
  [[nodiscard]] Iterator end() const { return Iterator(lines_.data() + lines_.size()); }

 private:
  std::vector<const BillLine*> lines_;
  std::vector<std::shared_ptr<const BillLine>> own_;  // cut or synthesised
};

struct Ledger {
  Interval period;
  CostBasis basis = CostBasis::kEffective;
  TenantTable tenants;
  LedgerLines lines;                     ///< as used: cut to the period; made from usage × price where `synthesised`
  std::vector<bool> synthesised;         ///< per line
  std::vector<bool> estimated;           ///< per line: synthesised without evidence, on request (LedgerOptions::estimate)
  std::vector<BillCoverage> coverage;    ///< what the bills of each provider cover of the period; empty = there is no bill
  std::map<Currency, size_t> converted;  ///< History::converted
  double unpriced_gpu_hours = 0;         ///< of machines that a bill names, outside what it covers; in no line
  std::vector<Money> line_amounts;       ///< per line, on the basis, within the period
  std::vector<NodeId> line_nodes;        ///< per line; invalid = not tied to a node
  std::vector<Posting> postings;         ///< ascending by bill_line
  std::vector<GpuUse> gpu_use;           ///< ascending by tenant, kind, cause, activity_known; at most one of each
  std::vector<std::string> problems;     ///< what could not be priced or tied, each with its remedy
  [[nodiscard]] Money total() const;
  [[nodiscard]] Money estimated_total() const;
};

/// A node without a bill line is priced from its hours: at its own rate, else at the catalogue's. One whose price
/// is not known is left out with a problem that names its type: it never costs 0. What is priced needs evidence: a machine that
/// neither a bill nor telemetry nor a run speaks of in the period is left out, and so is time that the bill of a machine does not reach.
/// Any partition of a period gives ledgers that sum to that of the period, to the nano-unit.
/// @param catalog  with imported prices laid over (Catalog::with_prices).
/// @return error only when lines of the period are in more than one currency (ledger/one_currency.h), or too large to add up.
Result<Ledger> post(const History& history, const Occupancy& occupancy, const Catalog& catalog, const LedgerOptions& options);

/// Independent check: per line, postings sum to the line. @return the first line that does not.
Status check_conservation(const Ledger& ledger);

}  // namespace stint
