// Services simulated request by request, beside what replica_pool.h says of them: shared by its test and its benchmark.
//
// The simulation knows nothing of queueing theory: requests come, wait in line, and replicas take them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "base/prng.h"
#include "batching/replica_pool.h"

namespace stint::batching {

/// A service with a known truth. Times in milliseconds.
struct TestService {
  std::string kind;
  int64_t replicas = 1;
  WorkTimes times = WorkTimes::kEqual;
  std::vector<double> batch_ms = {1};  ///< more than one: replicas gather batches, each by itself
  double busy_share = 0;               ///< of the replicas, or of the most that batching replicas can do
  double burst_share = 0;              ///< the same in bursts; 0 = none
  double burst_part = 0.1;             ///< of the time
  double burst_ms = 300;               ///< mean length

  [[nodiscard]] bool batches() const { return batch_ms.size() > 1; }
  /// Requests a millisecond at all replicas, at such a share.
  [[nodiscard]] double per_ms(double share) const {
    return share * static_cast<double>(replicas) * static_cast<double>(batch_ms.size()) / batch_ms.back();
  }
  /// Outside of bursts.
  [[nodiscard]] double quiet_share() const {
    return burst_share > 0 ? (busy_share - burst_part * burst_share) / (1 - burst_part) : busy_share;
  }
};

class ServiceSimulation {
 public:
  ServiceSimulation(const TestService& service, uint64_t seed) : service_(service), prng_(seed) {}

  /// Times of `requests` requests, after a tenth more; in no order.
  std::vector<double> run(size_t requests) {
    const size_t warm_up = requests / 10;
    while (seen_ < requests + warm_up) {
      come();
      if (seen_ > warm_up && times_.empty()) times_.reserve(requests + warm_up);
    }
    times_.erase(times_.begin(), times_.begin() + static_cast<ptrdiff_t>(std::min(warm_up, times_.size())));
    return std::move(times_);
  }

 private:
  double exponential(double mean) { return -mean * std::log(1 - prng_.uniform()); }

  /// The next request of one line: of all replicas, or of the one replica that is simulated where each gathers its own batches.
  void come() {
    const double part = service_.batches() ? 1.0 / static_cast<double>(service_.replicas) : 1.0;
    for (;;) {
      const double share = service_.burst_share <= 0 ? service_.busy_share
                           : burst_                  ? service_.burst_share
                                                     : service_.quiet_share();
      const double at = now_ + exponential(1 / (service_.per_ms(share) * part));
      if (service_.burst_share <= 0 || at <= phase_end_) {
        now_ = at;
        break;
      }
      now_ = phase_end_;
      burst_ = !burst_;
      phase_end_ += exponential(burst_ ? service_.burst_ms : service_.burst_ms * (1 / service_.burst_part - 1));
    }
    serve_until(now_);
    line_.push(now_);
    serve_until(now_);
    ++seen_;
  }

  /// Starts what can be started up to then.
  void serve_until(double until) {
    const auto replicas = static_cast<size_t>(service_.batches() ? 1 : service_.replicas);
    while (!line_.empty()) {
      double start = line_.front();
      if (ends_.size() >= replicas) start = std::max(start, ends_.top());
      if (start > until) return;
      if (ends_.size() >= replicas) ends_.pop();
      std::vector<double> batch;
      while (!line_.empty() && batch.size() < service_.batch_ms.size() && line_.front() <= start) {
        batch.push_back(line_.front());
        line_.pop();
      }
      const double took = service_.batch_ms[batch.size() - 1];
      const double end = start + (service_.times == WorkTimes::kEqual ? took : exponential(took));
      ends_.push(end);
      for (const double came : batch)
        times_.push_back(end - came);
    }
  }

  const TestService& service_;
  Prng prng_;
  double now_ = 0;
  bool burst_ = false;
  double phase_end_ = 0;
  size_t seen_ = 0;
  std::queue<double> line_;
  std::priority_queue<double, std::vector<double>, std::greater<>> ends_;
  std::vector<double> times_;
};

/// In milliseconds, as the model says and as simulated.
struct PoolComparison {
  double predicted = 0;
  double simulated = 0;
  [[nodiscard]] double error() const { return predicted / simulated - 1; }
};

inline double predicted_p99_ms(const TestService& s) {
  if (s.batches()) return slowest_response_ms({s.batch_ms}, 1000 * s.per_ms(s.busy_share) / static_cast<double>(s.replicas), 100);
  const auto level = [&](double share, double part) {
    const double busy = share * static_cast<double>(s.replicas);
    return PoolLevel{busy, busy * part};
  };
  std::vector<PoolLevel> levels = {level(s.quiet_share(), s.burst_share > 0 ? 1 - s.burst_part : 1)};
  if (s.burst_share > 0) levels.push_back(level(s.burst_share, s.burst_part));
  return slowest_response({s.replicas, s.times}, levels, 100) * s.batch_ms.front();
}

/// More requests where the line is long-lived: neighbours in it have the same fate.
inline PoolComparison compare_p99(const TestService& service, uint64_t seed) {
  const double free = 1 - std::max(service.busy_share, service.burst_share);
  const double bursts =
      service.burst_share > 0 ? 2000 * service.burst_ms / service.burst_part * service.per_ms(service.busy_share) : 0;
  const double requests = std::max(std::min(100'000 + 10'000 / (free * free), 1e6), std::min(bursts, 1e6));
  std::vector<double> times = ServiceSimulation(service, seed).run(static_cast<size_t>(requests));
  const auto at = times.begin() + static_cast<ptrdiff_t>(times.size() * 99 / 100);
  std::ranges::nth_element(times, at);
  return {predicted_p99_ms(service), *at};
}

/// Up to 32 replicas, up to 0.9 busy: equal and exponential times, steady and in bursts of minutes against milliseconds; batches.
inline TestService random_service(Prng& prng) {
  TestService s;
  s.replicas = 1 + static_cast<int64_t>(prng.below(32));
  s.busy_share = 0.03 + 0.87 * prng.uniform();
  const uint64_t kind = prng.below(5);
  s.times = kind == 1 || kind == 3 ? WorkTimes::kExponential : WorkTimes::kEqual;
  s.kind = s.times == WorkTimes::kEqual ? "equal times" : "exponential times";
  if (kind == 2 || kind == 3) {
    s.burst_share = s.busy_share;
    s.busy_share *= 0.4 + 0.5 * prng.uniform();
    s.kind += ", bursts";
  }
  if (kind == 4) {
    const double fixed = 0.1 + 0.8 * prng.uniform();
    for (int64_t b = 2, most = int64_t{2} << prng.below(5); b <= most; ++b)
      s.batch_ms.push_back(fixed + (1 - fixed) * static_cast<double>(b));
    s.kind = "batches";
  }
  return s;
}

}  // namespace stint::batching
