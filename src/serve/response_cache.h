// Answers of models, kept by the content of what was asked for, within a budget of bytes: who asks the same again gets the same.
//
// What is kept are tensors, not texts: requests as JSON, in binary and over gRPC share an answer. A key names one owner (a version of a
// model as it was loaded) and one tenant, so nothing outlives a reload, and no tenant's request is answered, nor answered sooner, because
// of another's. Nor does a tenant push out what others have: where room is short, the tenant that is furthest above its share, by weight,
// gives up what it has not asked for the longest.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/units.h"
#include "batching/request.h"
#include "serve/runtime.h"

namespace stint::serve {

/// SHA-256 of all that an answer depends on.
using ContentKey = std::string;

/// Any thread.
class ResponseCache {
 public:
  using Owner = uint64_t;
  /// Its answers: one of each of the model's outputs.
  using Outputs = std::vector<ShapedValues>;
  struct Figures {
    Bytes room, used;
    int64_t answers = 0, evictions = 0;
  };

  /// @param room  none: nothing is kept. @param tenant_weights  by TenantId
  ResponseCache(Bytes room, std::vector<int64_t> tenant_weights);
  ResponseCache(const ResponseCache&) = delete;
  ResponseCache& operator=(const ResponseCache&) = delete;
  ~ResponseCache() = default;

  /// A name for who keeps answers here, never given twice.
  Owner new_owner();
  [[nodiscard]] bool keeps_any() const { return room_ > Bytes(); }
  /// @return null: it is not there. What is returned holds whatever happens here.
  std::shared_ptr<const Outputs> find(const ContentKey& key);
  /// What is too large for all of the room is not kept, nor what is there already.
  void put(const ContentKey& key, Owner owner, batching::TenantId tenant, std::shared_ptr<const Outputs> outputs);
  /// Drops all that is the owner's.
  void forget(Owner owner);
  [[nodiscard]] Figures figures() const;

 private:
  struct Entry {
    ContentKey key;
    Owner owner = 0;
    size_t tenant = 0;
    Bytes bytes;
    std::shared_ptr<const Outputs> outputs;
  };
  using Entries = std::list<Entry>;
  struct Tenant {
    int64_t weight = 1;
    Bytes used;
    Entries entries;  // what was asked for last comes first
  };
  void drop(Entries::iterator entry);
  void make_room();

  const Bytes room_;
  mutable std::mutex mutex_;
  Owner owners_ = 0;
  Bytes used_;
  int64_t evictions_ = 0;
  std::vector<Tenant> tenants_;
  std::unordered_map<ContentKey, Entries::iterator> by_key_;
};

}  // namespace stint::serve
