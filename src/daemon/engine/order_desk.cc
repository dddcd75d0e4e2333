#include "daemon/engine/order_desk.h"

#include <algorithm>
#include <utility>

namespace stint {
namespace {

/// An answer that has not come by then is not waited for.
constexpr Duration kAnswersWithin = Duration::seconds(30);
constexpr Duration kTryAgainAfter = Duration::milliseconds(250);

}  // namespace

void OrderDesk::want(const LaunchKey& key, LaunchWish wish) {
  const auto [at, is_new] = wishes_.try_emplace(key, Wish{.wish = wish, .first_told = {}, .next = {}});
  if (is_new || at->second.wish >= wish) return;
  at->second = {.wish = wish, .first_told = {}, .next = {}};
}

void OrderDesk::forget(const LaunchKey& key) {
  wishes_.erase(key);
  forgotten_.push_back(key);
}

void OrderDesk::clear() {
  wishes_.clear();
  forgotten_.clear();
}

std::vector<std::pair<LaunchKey, LaunchWish>> OrderDesk::due(Instant at, bool starts_too) const {
  std::vector<std::pair<LaunchKey, LaunchWish>> due;
  for (const auto& [key, wish] : wishes_)
    if (wish.next <= at && (starts_too || wish.wish != LaunchWish::kStart)) due.emplace_back(key, wish.wish);
  return due;
}

std::vector<LaunchKey> OrderDesk::take_forgotten() { return std::exchange(forgotten_, {}); }

void OrderDesk::told(const LaunchKey& key, Instant at, Duration grace) {
  Wish& wish = wishes_.at(key);
  if (!wish.first_told) wish.first_told = at;
  wish.next = at + kAnswersWithin + grace;
}

void OrderDesk::answered(const Report& report) {
  const auto at = wishes_.find(report.key);
  if (at == wishes_.end()) return;
  if (report.kind != ReportKind::kStarted || at->second.wish == LaunchWish::kStart) wishes_.erase(at);
}

Duration OrderDesk::refused(const LaunchKey& key, Instant at) {
  const auto found = wishes_.find(key);
  if (found == wishes_.end() || !found->second.first_told) return {};
  found->second.next = at + kTryAgainAfter;
  return at - *found->second.first_told;
}

}  // namespace stint
