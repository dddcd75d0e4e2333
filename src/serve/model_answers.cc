// A served model's answers that are not computed for one request alone: those kept from before, and those that others wait for, too.
#include <cstring>

#include "host/sha256.h"
#include "serve/served_model.h"

namespace stint::serve {
namespace {

void add_number(Sha256& hash, int64_t number) { hash.update({reinterpret_cast<const char*>(&number), sizeof number}); }

}  // namespace

/// The owner stands for the model, its version and its inputs' names and types. An answer that may have been spoilt is not kept.
ContentKey ServedModel::key_of(const InferCall& call, const CallTerms& terms) const {
  if (!config_.cache || call.keeps_apart()) return {};
  Sha256 hash;
  add_number(hash, static_cast<int64_t>(cache_owner_));
  add_number(hash, static_cast<int64_t>(terms.tenant.index()));
  add_number(hash, terms.items);
  for (const Shape& shape : call.shapes())
    for (const int64_t size : shape)
      add_number(hash, size);
  for (size_t i = 0; i < measured().inputs.size(); ++i) {
    const std::span<const std::byte> values = call.input(i);
    add_number(hash, std::ssize(values));
    hash.update({reinterpret_cast<const char*>(values.data()), values.size()});
  }
  return hash.digest();
}

bool ServedModel::answer_kept(InferCall& call, const ContentKey& key) {
  const Instant came = steady_now();
  const auto kept = tools_.cache.find(key);
  if (!kept) return false;
  std::vector<OutputRows> rows;
  for (const ShapedValues& output : *kept)
    rows.push_back({output.values, output.item_shape});
  call.answer(rows);
  const Instant now = steady_now();
  const std::lock_guard lock(mutex_);
  ++figures_.counts().cache_hits;
  ++figures_.counts().answered;
  figures_.ended(now, now - came);
  return true;
}

/// First kept, then landed: who asks between the two finds it.
std::vector<ServedModel::Member> ServedModel::land(const Member& member, const OwnRows* answer) {
  if (answer != nullptr && tools_.cache.keeps_any()) {
    auto outputs = std::make_shared<ResponseCache::Outputs>();
    for (const OutputRows& output : answer->rows)
      outputs->push_back(
          {Values(output.values.begin(), output.values.end()), Shape(output.item_shape.begin(), output.item_shape.end())});
    tools_.cache.put(member.key, cache_owner_, member.tenant, std::move(outputs));
  }
  std::vector<Member> joined;
  const std::lock_guard lock(mutex_);
  for (const batching::RequestId id : flights_.land(member.key, member.id))
    joined.push_back(take(id));
  return joined;
}

}  // namespace stint::serve
