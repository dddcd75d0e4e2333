// The request batcher: step(now, what came) → which batches start, which requests are refused.
//
// A batch starts when an instance of its model is free and
//   - the largest batch, or a preferred size, can be filled, or
//   - a request has waited for max_wait, or
//   - it must start now to end by the earliest deadline, as the latency curve predicts it.
// Who goes first: the more urgent; among equals the tenant that has had the least, by weight (start-time fair queueing, Goyal,
// Vin, Cheng 1996); a tenant's own requests in the order of arrival. When the earliest deadline leaves room for a smaller batch
// only, the request that has it goes first, in a batch small enough.
// A request that can no longer make its deadline is refused as soon as that is known, before it costs anything. Where a full
// batch waits, what has no time left for a full batch is refused too: small batches would only lengthen the queue (early drop,
// Shen et al. 2019, "Nexus", section 6.3).
//
// Pure and single-threaded: the same calls give the same answers. Memory is taken at creation; a request allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "batching/batch_policy.h"
#include "batching/request.h"

namespace stint::batching {

/// A running batch, until it is reported as finished; then the number is used again.
using BatchId = Id<struct BatchTag>;

enum class RefusalReason : uint8_t {
  kUnknownModel,  ///< or tenant
  kMalformed,     ///< items or priority out of range
  kTooManyItems,  ///< more than the largest batch
  kTooLong,       ///< longer than the longest shape
  kDuplicate,     ///< a request of that id waits already
  kQueueFull,     ///< try again later
  kTenantLimit,   ///< the tenant's own requests fill its part of the queue
  kDoomed,        ///< its deadline cannot be met any more
  kNoMemory,      ///< the device's memory is full; said by who keeps it, not by the batcher
};
std::string_view name_of(RefusalReason reason);

struct Dispatch {
  BatchId batch;
  ModelId model;
  int64_t padded_length = 0;  ///< the bucket's length
  int64_t items = 0;
  Instant expected_end;                ///< by the latency curve
  std::span<const RequestId> members;  ///< in batch order; holds until the next step
};

struct Refusal {
  RequestId id{};
  RefusalReason reason{};
};

/// What happened since the last step. Taken in this order: finished, cancelled, arrived.
struct BatcherInput {
  std::span<const BatchId> finished;
  std::span<const RequestId> cancelled;  ///< one that does not wait (any more) is passed over: its answer is the caller's to drop
  std::span<const Request> arrived;
};

/// Holds until the next step.
struct BatcherOutput {
  std::span<const Dispatch> dispatches;
  std::span<const Refusal> refusals;
  Instant wake;  ///< call step again then, even if nothing happens; kNoDeadline: not needed
};

class Batcher {
 public:
  /// @param models  by ModelId. @param tenant_weights  by TenantId, each 1 … 100: twice the weight, twice the items.
  static Result<Batcher> create(std::vector<BatchPolicy> models, std::vector<int64_t> tenant_weights);
  Batcher(Batcher&&) noexcept;
  Batcher& operator=(Batcher&&) noexcept;
  ~Batcher();

  /// @param now  never before the last step's.
  BatcherOutput step(Instant now, const BatcherInput& input);

  /// How `model` is batched from the next step on; what waits stays.
  /// @return error when another largest batch, other lengths, instances or limits are asked for: those stay as created
  Status change(ModelId model, BatchPolicy policy);

  /// Requests that wait for `model`.
  [[nodiscard]] int64_t waiting(ModelId model) const;
  /// Batches of `model` that run.
  [[nodiscard]] int64_t running(ModelId model) const;

 private:
  struct Impl;
  explicit Batcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint::batching
