// How a model's requests are put into batches.
//
// The knobs are those of Triton's dynamic batcher (max batch, queue delay, preferred sizes, queue size, priorities) plus what
// lets the batcher reason: how long a batch of each size takes, per bucket of shapes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint::batching {

/// How long batches of one shape are expected to take, by size. Never falls with size.
class LatencyCurve {
 public:
  /// @param by_size  entry i: a batch of i + 1 items; each > 0, never less than the one before, at least one.
  static Result<LatencyCurve> create(std::vector<Duration> by_size);
  /// @param items  1 … largest().
  [[nodiscard]] Duration at(int64_t items) const { return by_size_[static_cast<size_t>(items - 1)]; }
  [[nodiscard]] int64_t largest() const { return static_cast<int64_t>(by_size_.size()); }
  /// The most items whose batch takes no longer than `room`; 0 when not even one does.
  [[nodiscard]] int64_t largest_within(Duration room) const;

 private:
  explicit LatencyCurve(std::vector<Duration> by_size) : by_size_(std::move(by_size)) {}
  std::vector<Duration> by_size_;
};

/// Requests of one bucket share a batch: each is padded to the bucket's length.
struct ShapeBucket {
  int64_t longest = 0;  ///< the length it takes and pads to
  LatencyCurve latency;
};

struct BatchPolicy {
  std::vector<ShapeBucket> buckets;  ///< ascending by length, at least one
  int64_t max_batch = 1;             ///< items; every bucket's curve reaches it
  /// Longest a request waits for company while an instance is free. 0: a free instance starts at once.
  Duration max_wait;
  /// A batch starts as soon as one of these sizes can be filled, at the largest that can. Ascending, ≤ max_batch; none: max_batch.
  std::vector<int64_t> preferred;
  int64_t instances = 1;             ///< batches that run at the same time
  int64_t queue_limit = 1024;        ///< requests that wait, all tenants
  int64_t tenant_limit = INT64_MAX;  ///< requests of one tenant that wait
};

/// Ok, or which setting contradicts which.
Status check_policy(const BatchPolicy& policy);

/// The bucket a request of that length goes to; -1 when it is longer than all.
int bucket_of(std::span<const ShapeBucket> buckets, int64_t length);

}  // namespace stint::batching
