// Small policies for the tests of this module.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "batching/batcher.h"

namespace stint::batching {

inline Duration ms(int64_t n) { return Duration::milliseconds(n); }
inline Instant at_ms(int64_t n) { return Instant::from_ns(n * 1'000'000); }

/// A batch of n takes base + n × each.
inline LatencyCurve linear_curve(int64_t sizes, Duration base, Duration each) {
  std::vector<Duration> by_size;
  for (int64_t n = 1; n <= sizes; ++n)
    by_size.push_back(base + each * n);
  return LatencyCurve::create(std::move(by_size)).value();
}

/// One shape, batches of up to `max_batch` that take 5 ms + 1 ms an item.
inline BatchPolicy simple_policy(int64_t max_batch, Duration max_wait) {
  BatchPolicy policy;
  policy.buckets = {{1 << 20, linear_curve(max_batch, ms(5), ms(1))}};
  policy.max_batch = max_batch;
  policy.max_wait = max_wait;
  return policy;
}

inline Batcher make_batcher(BatchPolicy policy, std::vector<int64_t> weights = {1}) {
  std::vector<BatchPolicy> models;
  models.push_back(std::move(policy));
  return std::move(Batcher::create(std::move(models), std::move(weights))).value();
}

inline Request request(uint64_t id, Instant deadline = kNoDeadline) {
  Request r;
  r.id = RequestId{id};
  r.model = ModelId(0);
  r.tenant = TenantId(0);
  r.deadline = deadline;
  return r;
}

/// What a step said, kept beyond it.
struct Said {
  struct Batch {
    BatchId id;
    std::vector<uint64_t> members;
    Instant expected_end;
    int64_t padded_length = 0;
  };
  std::vector<Batch> batches;
  std::vector<std::pair<uint64_t, RefusalReason>> refused;
  Instant wake;
};

inline Said say(Batcher& batcher, Instant now, const std::vector<Request>& arrived, const std::vector<BatchId>& finished = {},
                const std::vector<RequestId>& cancelled = {}) {
  const BatcherOutput out = batcher.step(now, {finished, cancelled, arrived});
  Said said;
  for (const Dispatch& d : out.dispatches) {
    Said::Batch batch{d.batch, {}, d.expected_end, d.padded_length};
    for (const RequestId id : d.members)
      batch.members.push_back(static_cast<uint64_t>(id));
    said.batches.push_back(batch);
  }
  for (const Refusal& r : out.refusals)
    said.refused.emplace_back(static_cast<uint64_t>(r.id), r.reason);
  said.wake = out.wake;
  return said;
}

}  // namespace stint::batching
