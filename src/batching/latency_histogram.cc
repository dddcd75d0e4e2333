#include "batching/latency_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace stint::batching {
namespace {

constexpr int kExactBits = 8;  // times below 2^8 ns have a bucket each
constexpr uint64_t kHalf = uint64_t{1} << (kExactBits - 1);
constexpr size_t kBuckets = 2 * kHalf + (63 - kExactBits) * kHalf;

size_t bucket_of(uint64_t ns) {
  if (ns < 2 * kHalf) return ns;
  const int shift = static_cast<int>(std::bit_width(ns)) - kExactBits;
  return 2 * kHalf + static_cast<size_t>(shift - 1) * kHalf + ((ns >> shift) - kHalf);
}

/// The longest time that falls into it.
Duration top_of(size_t bucket) {
  if (bucket < 2 * kHalf) return Duration::nanoseconds(static_cast<int64_t>(bucket));
  const size_t shift = (bucket - 2 * kHalf) / kHalf + 1;
  const uint64_t part = (bucket - 2 * kHalf) % kHalf + kHalf;
  return Duration::nanoseconds(static_cast<int64_t>(((part + 1) << shift) - 1));
}

}  // namespace

LatencyHistogram::LatencyHistogram() : counts_(kBuckets) {}

void LatencyHistogram::add(Duration time) {
  const Duration counted = std::max(time, Duration());
  ++counts_[bucket_of(static_cast<uint64_t>(counted.count_ns()))];
  ++count_;
  sum_ns_ += static_cast<double>(counted.count_ns());
  longest_ = std::max(longest_, counted);
}

void LatencyHistogram::merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < kBuckets; ++i)
    counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  longest_ = std::max(longest_, other.longest_);
}

Duration LatencyHistogram::quantile(double q) const {
  const auto wanted = std::max<int64_t>(1, static_cast<int64_t>(std::ceil(q * static_cast<double>(count_))));
  int64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += counts_[i];
    if (seen >= wanted) return std::min(top_of(i), longest_);
  }
  return longest_;
}

Duration LatencyHistogram::mean() const {
  return count_ == 0 ? Duration() : Duration::nanoseconds(std::llround(sum_ns_ / static_cast<double>(count_)));
}

}  // namespace stint::batching
