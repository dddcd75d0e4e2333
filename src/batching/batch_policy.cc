#include "batching/batch_policy.h"

#include <algorithm>

namespace stint::batching {
namespace {

constexpr int64_t kMostInstances = 1024;
constexpr int64_t kLongestQueue = 1 << 24;

}  // namespace

Result<LatencyCurve> LatencyCurve::create(std::vector<Duration> by_size) {
  if (by_size.empty()) return invalid("a latency curve needs the time of a batch of 1 at least");
  for (size_t i = 0; i < by_size.size(); ++i) {
    if (by_size[i] <= Duration()) return invalid("a batch of {} takes {} ns: it must take time", i + 1, by_size[i].count_ns());
    if (i > 0 && by_size[i] < by_size[i - 1])
      return invalid(
          "a batch of {} takes {} ns, less than one of {} ({} ns): a smaller batch can be padded, so the curve may not fall",
          i + 1, by_size[i].count_ns(), i, by_size[i - 1].count_ns());
  }
  return LatencyCurve(std::move(by_size));
}

int64_t LatencyCurve::largest_within(Duration room) const {
  return std::upper_bound(by_size_.begin(), by_size_.end(), room) - by_size_.begin();
}

Status check_policy(const BatchPolicy& p) {
  if (p.max_batch < 1) return invalid("the largest batch is {}: it must be 1 or more", p.max_batch);
  if (p.max_wait < Duration()) return invalid("the longest wait is {} ns: it may not be negative", p.max_wait.count_ns());
  if (p.instances < 1 || p.instances > kMostInstances)
    return invalid("{} instances: 1 to {} are possible", p.instances, kMostInstances);
  if (p.queue_limit < 1 || p.queue_limit > kLongestQueue)
    return invalid("a queue of {} requests: 1 to {} are possible", p.queue_limit, kLongestQueue);
  if (p.tenant_limit < 1) return invalid("a tenant may let {} requests wait: it must be 1 or more", p.tenant_limit);
  if (p.buckets.empty()) return invalid("a model needs a shape bucket with its latency curve");
  for (size_t i = 0; i < p.buckets.size(); ++i) {
    if (p.buckets[i].latency.largest() < p.max_batch)
      return invalid(
          "the curve of shapes up to {} ends at a batch of {}, before the largest batch {}: measure further or lower max_batch",
          p.buckets[i].longest, p.buckets[i].latency.largest(), p.max_batch);
    if (i > 0 && p.buckets[i].longest <= p.buckets[i - 1].longest)
      return invalid("shape buckets must grow: {} follows {}", p.buckets[i].longest, p.buckets[i - 1].longest);
  }
  for (size_t i = 0; i < p.preferred.size(); ++i)
    if (p.preferred[i] < 1 || p.preferred[i] > p.max_batch || (i > 0 && p.preferred[i] <= p.preferred[i - 1]))
      return invalid("preferred batch sizes must grow from 1 to at most {}: {} does not fit", p.max_batch, p.preferred[i]);
  return {};
}

int bucket_of(std::span<const ShapeBucket> buckets, int64_t length) {
  const auto it = std::lower_bound(buckets.begin(), buckets.end(), length,
                                   [](const ShapeBucket& bucket, int64_t wanted) { return bucket.longest < wanted; });
  return it == buckets.end() ? -1 : static_cast<int>(it - buckets.begin());
}

}  // namespace stint::batching
