#include "serve/response_cache.h"

#include <algorithm>

namespace stint::serve {
namespace {

/// Of an entry beside its values: its key twice, its nodes in list and table, vectors and counts.
constexpr int64_t kBesideValues = 512;

Bytes bytes_kept(const ResponseCache::Outputs& outputs) {
  int64_t bytes = kBesideValues;
  for (const ShapedValues& output : outputs)
    bytes +=
        static_cast<int64_t>(sizeof(ShapedValues) + output.values.capacity() + output.item_shape.capacity() * sizeof(int64_t));
  return Bytes::of(bytes);
}

}  // namespace

ResponseCache::ResponseCache(Bytes room, std::vector<int64_t> tenant_weights) : room_(room) {
  CHECK(!tenant_weights.empty(), "there is always the tenant of those who are not named");
  for (const int64_t weight : tenant_weights)
    tenants_.push_back({weight, {}, {}});
}

ResponseCache::Owner ResponseCache::new_owner() {
  const std::lock_guard lock(mutex_);
  return ++owners_;
}

std::shared_ptr<const ResponseCache::Outputs> ResponseCache::find(const ContentKey& key) {
  if (!keeps_any()) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  Entries& entries = tenants_[found->second->tenant].entries;
  entries.splice(entries.begin(), entries, found->second);
  return found->second->outputs;
}

void ResponseCache::put(const ContentKey& key, Owner owner, batching::TenantId tenant, std::shared_ptr<const Outputs> outputs) {
  const Bytes bytes = bytes_kept(*outputs);
  if (bytes > room_) return;
  const std::lock_guard lock(mutex_);
  CHECK(tenant.index() < tenants_.size(), "tenant {} of {}", tenant.index(), tenants_.size());
  if (by_key_.contains(key)) return;
  Tenant& own = tenants_[tenant.index()];
  own.entries.push_front({key, owner, tenant.index(), bytes, std::move(outputs)});
  by_key_.emplace(key, own.entries.begin());
  own.used = own.used + bytes;
  used_ = used_ + bytes;
  make_room();
}

void ResponseCache::make_room() {
  while (used_ > room_) {
    const auto above = std::ranges::max_element(tenants_, [](const Tenant& a, const Tenant& b) {
      return static_cast<double>(a.used.count()) * static_cast<double>(b.weight) <
             static_cast<double>(b.used.count()) * static_cast<double>(a.weight);
    });
    drop(std::prev(above->entries.end()));
    ++evictions_;
  }
}

void ResponseCache::drop(Entries::iterator entry) {
  Tenant& tenant = tenants_[entry->tenant];
  tenant.used = tenant.used - entry->bytes;
  used_ = used_ - entry->bytes;
  by_key_.erase(entry->key);
  tenant.entries.erase(entry);
}

void ResponseCache::forget(Owner owner) {
  const std::lock_guard lock(mutex_);
  for (Tenant& tenant : tenants_)
    for (auto entry = tenant.entries.begin(); entry != tenant.entries.end();) {
      const auto next = std::next(entry);
      if (entry->owner == owner) drop(entry);
      entry = next;
    }
}

ResponseCache::Figures ResponseCache::figures() const {
  const std::lock_guard lock(mutex_);
  return {room_, used_, std::ssize(by_key_), evictions_};
}

}  // namespace stint::serve
