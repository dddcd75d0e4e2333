// What `batching/replica_pool.h` says of p99, for a service whose batches were measured: what bench/serve_p99.py holds against `stint serve` under load.
//   pool_p99 REPLICAS SIZE:MS[,SIZE:MS…] RATE…
// With a batch of 1 alone: so many replicas behind one queue, a request at a time, equal times. Else replicas that gather batches, each of its part
// of the requests. A line a rate (requests a second): the rate, and p99 in ms, or inf where they cannot keep up.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/text.h"
#include "batching/replica_pool.h"

namespace {

using namespace stint::batching;

/// Measured sizes, ascending from 1 → every size, on the straight line between them. Empty: not that.
std::vector<double> curve_of(std::string_view text) {
  std::vector<double> ms;
  for (const std::string_view point : stint::split(text, ',')) {
    const size_t colon = point.find(':');
    const auto size = stint::parse_int(point.substr(0, colon));
    const auto time = colon == std::string_view::npos ? std::nullopt : stint::parse_number(point.substr(colon + 1));
    const auto have = static_cast<int64_t>(ms.size());
    if (!size || !time || *time <= 0 || *size <= have || (have == 0 && *size != 1)) return {};
    const double last = ms.empty() ? *time : ms.back();
    const double next = std::max(last, *time);  // noise of the measurement falls
    for (int64_t b = have + 1; b <= *size; ++b)
      ms.push_back(last + (next - last) * static_cast<double>(b - have) / static_cast<double>(*size - have));
  }
  return ms;
}

double p99_ms(int64_t replicas, const std::vector<double>& ms, double per_second) {
  if (ms.size() == 1) {
    const PoolLevel level{per_second * ms[0] / 1000, 1};
    return slowest_response({replicas, WorkTimes::kEqual}, {&level, 1}, 100) * ms[0];
  }
  const BatchingReplica replica{ms};
  const double each = per_second / static_cast<double>(replicas);
  return each < most_per_second(replica) ? slowest_response_ms(replica, each, 100) : std::numeric_limits<double>::infinity();
}

}  // namespace

int main(int argc, char** argv) {
  const auto replicas = argc > 3 ? stint::parse_int(argv[1]) : std::nullopt;
  const std::vector<double> curve = argc > 3 ? curve_of(argv[2]) : std::vector<double>();
  if (!replicas || *replicas < 1 || curve.empty()) {
    fmt::print(stderr, "usage: pool_p99 REPLICAS SIZE:MS[,SIZE:MS...] RATE...\n");
    return 2;
  }
  for (int i = 3; i < argc; ++i) {
    const auto rate = stint::parse_number(argv[i]);
    if (!rate || *rate <= 0) return 2;
    fmt::print("{} {:.3f}\n", argv[i], p99_ms(*replicas, curve, *rate));
  }
}
