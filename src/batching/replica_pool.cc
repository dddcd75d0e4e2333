#include "batching/replica_pool.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace stint::batching {
namespace {

/// What grows until it is above `wanted`, halved down on: the least x in [0, most] with `beyond(x)` ≤ wanted, where beyond falls.
template <typename Beyond>
double where_falls_to(double wanted, double most, Beyond beyond) {
  double low = 0;
  double high = 1;
  while (high < most && beyond(high) > wanted)
    low = std::exchange(high, 2 * high);
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (beyond(middle) > wanted ? low : high) = middle;
  }
  return high;
}

/// η > 0 with busy (e^η − 1) = η: what is left of a long wait falls by e^−η in each service time of M/D/1.
double decay_of_waits(double busy) {
  double low = 0;
  double high = 1;
  while (busy * std::expm1(high) < high)
    high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (busy * std::expm1(middle) < middle ? low : high) = middle;
  }
  return high;
}

/// The tail of the time of requests at one level. What does not depend on the time asked for is worked out once.
class LevelTail {
 public:
  /// @param busy  < replicas.
  LevelTail(const ReplicaPool& pool, double busy)
      : replicas_(static_cast<double>(pool.replicas)),
        times_(pool.times),
        busy_(busy),
        waits_(chance_of_waiting(pool.replicas, busy)) {
    if (times_ == WorkTimes::kEqual && busy > 0) decay_ = decay_of_waits(busy / replicas_);
  }

  [[nodiscard]] double beyond(double times) const {
    if (times_ == WorkTimes::kExponential) return exponential(times);
    if (times < 1) return 1;
    if (busy_ <= 0) return 0;
    // With no other in line, the first of `replicas` that began at random instants ends.
    const double first_free = times < 2 ? std::pow(2 - times, replicas_) : 0;
    return waits_ * std::max(first_free, waits_beyond(replicas_ * (times - 1)));
  }

 private:
  [[nodiscard]] double exponential(double times) const {
    double rate = replicas_ - busy_;  // at which the wait ends
    if (std::abs(rate - 1) < 1e-6) rate = 1 + 1e-6;
    return (1 - waits_) * std::exp(-times) + waits_ * (rate * std::exp(-times) - std::exp(-rate * times)) / (rate - 1);
  }

  /// That one who has to wait in M/D/1 waits longer than `times` service times.
  [[nodiscard]] double waits_beyond(double times) const {
    constexpr double kLongWait = 5;  // from here on the sum loses digits and the tail is exponential to eight of them
    const double load = busy_ / replicas_;
    if (times <= 0) return 1;
    if (times > kLongWait) return (1 - load) / (load * std::exp(decay_) - 1) * std::exp(-decay_ * times) / load;
    double sum = 0;
    double factorial = 1;
    for (int k = 0; k <= static_cast<int>(times); ++k) {
      if (k > 0) factorial *= k;
      const double x = load * (k - times);
      sum += std::pow(x, k) * std::exp(-x) / factorial;
    }
    return std::clamp((1 - (1 - load) * sum) / load, 0.0, 1.0);
  }

  double replicas_;
  WorkTimes times_;
  double busy_;
  double waits_;
  double decay_ = 0;
};

}  // namespace

double chance_of_waiting(int64_t replicas, double busy) {
  const auto c = static_cast<double>(replicas);
  if (busy >= c) return 1;
  double blocked = 1;  // Erlang's B, by its recursion
  for (int64_t i = 1; i <= replicas; ++i)
    blocked = busy * blocked / (static_cast<double>(i) + busy * blocked);
  return c * blocked / (c - busy * (1 - blocked));
}

double chance_beyond(const ReplicaPool& pool, double busy, double times) { return LevelTail(pool, busy).beyond(times); }

double mean_response(const ReplicaPool& pool, double busy) {
  const double wait = chance_of_waiting(pool.replicas, busy) / (static_cast<double>(pool.replicas) - busy);
  return 1 + (pool.times == WorkTimes::kEqual ? wait / 2 : wait);
}

double slowest_response(const ReplicaPool& pool, std::span<const PoolLevel> levels, double one_in) {
  constexpr double kMost = 1e6;
  double all = 0;
  double late = 0;
  std::vector<std::pair<double, LevelTail>> tails;
  for (const PoolLevel& level : levels) {
    all += level.requests;
    if (level.busy >= static_cast<double>(pool.replicas))
      late += level.requests;
    else
      tails.emplace_back(level.requests, LevelTail(pool, level.busy));
  }
  if (late > all / one_in) return std::numeric_limits<double>::infinity();
  return where_falls_to(all / one_in, kMost, [&](double times) {
    double beyond = late;
    for (const auto& [requests, tail] : tails)
      beyond += requests * tail.beyond(times);
    return beyond;
  });
}

// ---- replicas that gather batches ----

namespace {

/// By count, up to where what is left out no longer matters.
std::vector<double> poisson(double mean, size_t most) {
  const auto last = std::min(most, static_cast<size_t>(mean + 8 * std::sqrt(mean) + 12));
  std::vector<double> chance(last + 1);
  for (size_t i = 0; i <= last; ++i)
    chance[i] = mean > 0 ? std::exp(static_cast<double>(i) * std::log(mean) - mean - std::lgamma(static_cast<double>(i) + 1))
                         : (i == 0 ? 1 : 0);
  return chance;
}

/// A replica in its stationary state: a batch follows another, or the first request after a pause.
class BatchChain {
 public:
  BatchChain(const BatchingReplica& replica, double per_second) : times_(replica.batch_ms), per_ms_(per_second / 1000) {
    settle();
  }

  /// Part of the time in which no batch runs.
  [[nodiscard]] double paused() const { return waiting_[0] / per_ms_ / cycle(); }

  /// Requests by when they come: `see(chance, milliseconds until they have their answer)`.
  template <typename See>
  void each_request(See see) const {
    const double length = cycle();
    see(paused(), time_of(1));
    for (size_t q = 0; q < waiting_.size(); ++q)
      if (waiting_[q] > kNothing) during_batch(waiting_[q] / length, batch_at(q), q - std::min(q, batch_at(q)), see);
  }

 private:
  static constexpr double kNothing = 1e-10;
  static constexpr int kSteps = 16;  // of a batch, in which a request may come

  [[nodiscard]] size_t largest() const { return times_.size(); }
  /// A batch, and a pause where none waits at its end.
  [[nodiscard]] double cycle() const {
    double length = 0;
    for (size_t q = 0; q < waiting_.size(); ++q)
      length += waiting_[q] * (time_of(batch_at(q)) + (q == 0 ? 1 / per_ms_ : 0));
    return length;
  }
  [[nodiscard]] double time_of(size_t batch) const { return times_[batch - 1]; }
  /// What is started when so many wait; with none, it is the next that comes.
  [[nodiscard]] size_t batch_at(size_t waiting) const { return std::clamp<size_t>(waiting, 1, largest()); }

  void settle() {
    const size_t most = std::max<size_t>(400, 16 * largest());
    std::vector<std::vector<double>> come;  // by batch: how many come while it runs
    for (size_t b = 1; b <= largest(); ++b)
      come.push_back(poisson(per_ms_ * time_of(b), most));
    waiting_.assign(most + 1, 0);
    waiting_[0] = 1;
    std::vector<double> next(most + 1);
    for (int round = 0; round < 4000; ++round) {
      std::ranges::fill(next, 0);
      for (size_t q = 0; q <= most; ++q) {
        if (waiting_[q] < 1e-14) continue;
        const size_t left = q - std::min(q, batch_at(q));
        const std::vector<double>& chance = come[batch_at(q) - 1];
        for (size_t a = 0; a < chance.size(); ++a)
          next[std::min(most, left + a)] += waiting_[q] * chance[a];
      }
      double moved = 0;
      for (size_t q = 0; q <= most; ++q)
        moved += std::abs(next[q] - waiting_[q]);
      waiting_.swap(next);
      if (moved < 1e-9) break;
    }
  }

  /// Those who come while a batch runs that left `left` waiting.
  template <typename See>
  void during_batch(double weight, size_t batch, size_t left, See& see) const {
    const double step = time_of(batch) / kSteps;
    for (int u = 0; u < kSteps; ++u) {
      const double gone = (u + 0.5) * step;
      const std::vector<double> before = poisson(per_ms_ * gone, 16 * largest() + 400);
      for (size_t i = 0; i < before.size(); ++i)
        if (const double chance = weight * step * before[i]; chance > kNothing)
          behind(chance, left + i, time_of(batch) - gone, see);
    }
  }

  /// One with `ahead` before it, when the replica is free in `wait`.
  template <typename See>
  void behind(double chance, size_t ahead, double wait, See& see) const {
    wait += static_cast<double>(ahead / largest()) * times_.back();
    const std::vector<double> join = poisson(per_ms_ * wait, largest());
    double full = 1;
    for (size_t batch = ahead % largest() + 1, j = 0; batch < largest() && j < join.size(); ++batch, ++j) {
      see(chance * join[j], wait + time_of(batch));
      full -= join[j];
    }
    see(chance * std::max(0.0, full), wait + times_.back());
  }

  const std::vector<double>& times_;
  double per_ms_;
  std::vector<double> waiting_;  ///< chance that so many wait when a batch ends
};

}  // namespace

double most_per_second(const BatchingReplica& replica) {
  return 1000 * static_cast<double>(replica.batch_ms.size()) / replica.batch_ms.back();
}

BatchTimes batch_times(const BatchingReplica& replica, double per_second) {
  BatchTimes out;
  const BatchChain chain(replica, per_second);
  out.busy = 1 - chain.paused();
  double all = 0;
  chain.each_request([&](double chance, double ms) {
    out.times.emplace_back(ms, chance);
    all += chance;
  });
  std::ranges::sort(out.times, std::greater());
  for (auto& [ms, part] : out.times)
    part /= all;
  return out;
}

double slowest_response_ms(const BatchingReplica& replica, double per_second, double one_in) {
  const BatchTimes found = batch_times(replica, per_second);
  double beyond = 0;
  for (const auto& [ms, part] : found.times)
    if ((beyond += part) > 1 / one_in) return ms;
  return found.times.back().first;
}

double mean_response_ms(const BatchingReplica& replica, double per_second) {
  double sum = 0;
  double all = 0;
  BatchChain(replica, per_second).each_request([&](double chance, double ms) {
    sum += chance * ms;
    all += chance;
  });
  return sum / all;
}

}  // namespace stint::batching
