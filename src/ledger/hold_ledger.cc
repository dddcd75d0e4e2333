#include "ledger/hold_ledger.h"

#include <algorithm>
#include <compare>
#include <map>
#include <tuple>

namespace stint {
namespace {

/// What a posting is about, with a tenant of `whole`.
using PostingKey = std::tuple<uint32_t, TenantId, WorkloadKind, SpendKind, IdleCause, bool, bool>;

class HoldSplitter {
 public:
  HoldSplitter(const Ledger& whole, Ledger by_hold, const HoldTable& holds)
      : whole_(whole), out_(std::move(by_hold)), tenants_(whole.tenants) {
    // Postings of a tenant that has no holds, and holds of a tenant that has no postings, are there as well.
    for (uint32_t id = 0; id < out_.tenants.size(); ++id) {
      const auto hold = holds.find(TenantId(id));
      const TenantId tenant = tenants_.intern(hold == holds.end() ? out_.tenants[TenantId(id)] : hold->second.tenant);
      whole_of_.push_back(tenant);
      first_of_.try_emplace(tenant, id);
    }
  }

  Ledger split() {
    std::vector<Posting> fine = std::move(out_.postings);
    std::stable_sort(fine.begin(), fine.end(), [&](const Posting& a, const Posting& b) { return key_of(a) < key_of(b); });
    out_.postings.clear();
    out_.postings.reserve(fine.size());
    // Both are ascending by line, and a tenant has few postings of one.
    for (const Posting& p : whole_.postings) {
      const PostingKey key = {p.bill_line, p.tenant, p.kind, p.spend, p.cause, p.shared, p.activity_known};
      const auto [begin, end] = std::equal_range(fine.begin(), fine.end(), key, Less{*this});
      give(p, {begin, end});
    }
    return std::move(out_);
  }

 private:
  struct Less {
    const HoldSplitter& splitter;
    bool operator()(const Posting& a, const PostingKey& b) const { return splitter.key_of(a) < b; }
    bool operator()(const PostingKey& a, const Posting& b) const { return a < splitter.key_of(b); }
  };

  [[nodiscard]] PostingKey key_of(const Posting& p) const {
    return {p.bill_line, whole_of_[p.tenant.index()], p.kind, p.spend, p.cause, p.shared, p.activity_known};
  }

  void give(Posting p, std::span<const Posting> holds) {
    weights_.clear();
    for (const Posting& hold : holds)
      weights_.push_back(std::abs(hold.amount.count_nanos()));
    if (std::ranges::all_of(weights_, [](int64_t w) { return w == 0; })) {
      // A nano-unit that all of its holds together were too small for.
      const auto first = first_of_.find(p.tenant);
      p.tenant = first != first_of_.end() ? TenantId(first->second) : out_.tenants.intern(whole_.tenants[p.tenant]);
      out_.postings.push_back(p);
      return;
    }
    const std::vector<Money> amounts = split_by_largest_remainder(p.amount, weights_);
    for (size_t h = 0; h < holds.size(); ++h) {
      if (amounts[h].is_zero()) continue;
      p.tenant = holds[h].tenant;
      p.amount = amounts[h];
      out_.postings.push_back(p);
    }
  }

  const Ledger& whole_;
  Ledger out_;
  TenantTable tenants_;                    // of whole_, and what else there is
  std::vector<TenantId> whole_of_;         // by tenant of out_
  std::map<TenantId, uint32_t> first_of_;  // by tenant of whole_: its first hold
  std::vector<int64_t> weights_;
};

}  // namespace

Ledger ledger_of_holds(const Ledger& whole, Ledger by_hold, const HoldTable& holds) {
  return HoldSplitter(whole, std::move(by_hold), holds).split();
}

}  // namespace stint
