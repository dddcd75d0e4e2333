// What is asked of a model, as the batcher sees it: sizes and times, no tensors.
#pragma once

#include <cstdint>

#include "base/id.h"
#include "base/time.h"

namespace stint::batching {

/// The caller's name of a request: unique among the requests that wait, of any value otherwise.
enum class RequestId : uint64_t {};
using ModelId = Id<struct ServedModelTag>;
using TenantId = Id<struct ServedTenantTag>;

/// Levels of urgency. A more urgent request is batched first whatever waits below it.
inline constexpr int kPriorities = 4;
inline constexpr Instant kNoDeadline = Instant::from_ns(INT64_MAX);

struct Request {
  RequestId id{};
  ModelId model;
  TenantId tenant;
  int64_t items = 1;               ///< rows it adds to a batch, ≥ 1
  int64_t length = 0;              ///< what shapes are bucketed by (tokens, pixels), ≥ 0; 0 where the model has one shape
  int priority = 0;                ///< 0, the most urgent, … kPriorities − 1
  Instant deadline = kNoDeadline;  ///< when the answer is worth nothing any more
};

}  // namespace stint::batching
