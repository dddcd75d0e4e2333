#include "daemon/engine/spend_book.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace stint {

Spend lesser(const Spend& a, const Spend& b) {
  return {.nanos = std::min(a.nanos, b.nanos), .micro_gpu_hours = std::min(a.micro_gpu_hours, b.micro_gpu_hours)};
}

Money money_of(Int128 nanos, Currency currency) {
  constexpr Int128 kMost = std::numeric_limits<int64_t>::max();
  return Money::nanos(static_cast<int64_t>(std::clamp(nanos, -kMost, kMost)), currency);
}

Spend share_of(const Spend& whole, Interval over, Interval part) {
  const Interval common = intersect(over, part);
  if (common.empty()) return {};
  if (common == over) return whole;
  const auto share = [&](Int128 amount) { return amount * common.length().count_ns() / over.length().count_ns(); };
  return {.nanos = share(whole.nanos), .micro_gpu_hours = share(whole.micro_gpu_hours)};
}

uint32_t SpendBook::account(uint32_t queue, const std::string& user, const std::string& project) {
  const auto [at, is_new] = numbers_.try_emplace({queue, user, project}, static_cast<uint32_t>(accounts_.size()));
  if (is_new) accounts_.push_back({.queue = queue, .user = user, .project = project, .spent = {}, .promised = {}});
  return at->second;
}

SpendBook SpendBook::restored(std::vector<Account> accounts, Interval month) {
  SpendBook book;
  book.accounts_ = std::move(accounts);
  book.month_ = month;
  for (uint32_t a = 0; a < book.accounts_.size(); ++a)
    book.numbers_.emplace(std::tuple(book.accounts_[a].queue, book.accounts_[a].user, book.accounts_[a].project), a);
  return book;
}

void SpendBook::advance(Instant now) {
  if (month_.contains(now)) return;
  month_ = month_of(now);
  for (Account& account : accounts_)
    account.spent = {};
}

void SpendBook::post(uint32_t account, Interval when, const Spend& amount) {
  accounts_[account].spent += share_of(amount, when, month_);
}

}  // namespace stint
