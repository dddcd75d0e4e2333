#include "advise/prove/pool_replay.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "advise/prove/proof_weeks.h"
#include "base/prng.h"
#include "batching/replica_pool.h"

namespace stint {
namespace {

using batching::PoolLevel;
using batching::WorkTimes;

constexpr double kBurstPart = 1.0 / 12;  // of an hour
constexpr double kBusiestPart = 0.05;    // of the hours
constexpr double kOneIn = 100;           // p99
constexpr double kLevelsPerReplica = 200;

}  // namespace

void PoolHours::add(const NodeFacts& node, const GpuLoad& gpu) {
  for (size_t h = 0; h < busy_.size(); ++h) {
    const bool there = h >= node.timeline.size() || node.timeline[h].on_s > 0;
    const bool measured = h < gpu.hourly_pct.size();
    const double pct = measured ? gpu.hourly_pct[h] : there ? gpu.mean_pct.value_or(-1) : -1;
    if (pct < 0 && !there) continue;
    ++there_[h];
    if (pct < 0) continue;
    ++seen_[h];
    const double busy = std::min(pct / 100, 1.0);
    busy_[h] += busy;
    peak_[h] += h < gpu.hourly_peak_pct.size() ? std::clamp<double>(gpu.hourly_peak_pct[h] / 100, busy, 1.0) : busy;
  }
}

std::vector<PoolHour> PoolHours::hours(int64_t together) const {
  std::vector<PoolHour> out(busy_.size());
  for (size_t h = 0; h < out.size(); ++h) {
    if (seen_[h] == 0) continue;
    const double scale = there_[h] / seen_[h] / static_cast<double>(together);
    out[h].busy = static_cast<float>(busy_[h] * scale);
    out[h].peak = static_cast<float>(peak_[h] * scale);
    out[h].there = static_cast<float>(there_[h] / static_cast<double>(together));
  }
  return out;
}

std::vector<PoolHour> by_capacity(std::vector<PoolHour> hours, const batching::BatchTable& curve) {
  for (PoolHour& hour : hours) {
    if (hour.busy < 0 || hour.there <= 0) continue;
    const auto taken = [&](float busy) {
      return static_cast<float>(static_cast<double>(hour.there) * curve.share_at(std::min(1.0F, busy / hour.there)));
    };
    hour.busy = taken(hour.busy);
    hour.peak = std::max(hour.busy, taken(hour.peak));
  }
  return hours;
}

/// Of the hours that were seen and in which something ran, the busiest: ascending.
std::vector<size_t> busiest_hours(const ServiceReplicas& service) {
  std::vector<size_t> hours;
  for (size_t h = 0; h < service.hours.size(); ++h)
    if (service.hours[h].busy > 0) hours.push_back(h);
  const auto count = static_cast<size_t>(std::ceil(kBusiestPart * static_cast<double>(hours.size())));
  std::ranges::stable_sort(hours, [&](size_t a, size_t b) { return service.hours[a].busy > service.hours[b].busy; });
  hours.resize(std::min(hours.size(), count));
  std::ranges::sort(hours);
  return hours;
}

namespace {

/// Levels of requests by how busy the pool is; those that are late, and all.
struct PoolTimes {
  std::map<int64_t, double> levels;  ///< kLevelsPerReplica × share of the replicas that is busy → requests
  double late = 0;
  double all = 0;

  void merge(const PoolTimes& other) {
    for (const auto& [level, requests] : other.levels)
      levels[level] += requests;
    late += other.late;
    all += other.all;
  }
};

struct BlockTimes {
  PoolTimes busiest;  ///< requests of the busiest hours
  double late = 0;    ///< of all hours
  double all = 0;
};
using PoolBlocks = std::vector<BlockTimes>;

/// How a service is served: on so many replicas, a request by itself taking `stretch` × as long as now.
struct Served {
  int64_t replicas = 1;
  PoolSpeed speed;
  double part = 1;
  bool as_now = false;  ///< replicas that were not there in an hour did not serve in it
  const batching::BatchTable* curve = nullptr;

  /// In replicas that are busy. @param own, others  of the work now.
  [[nodiscard]] double load(double own, double others) const {
    const double line = own + others * speed.beside;
    if (speed.beside_only) return std::max(own * speed.stretch, line);
    return own * speed.stretch + others * speed.beside;
  }
};

class PoolServer {
 public:
  PoolServer(const Served& served, PoolBlocks& into, const std::vector<size_t>& block_of)
      : served_(served), into_(into), block_of_(block_of) {}

  /// Hour by hour: what does not fit into one waits for the next. @param busiest  ascending.
  void serve(const std::vector<PoolHour>& hours, const std::vector<size_t>& busiest) {
    auto next = busiest.begin();
    for (size_t h = 0; h < hours.size(); ++h) {
      const bool is_busiest = next != busiest.end() && *next == h;
      if (is_busiest) ++next;
      if (hours[h].busy < 0) continue;
      one_hour(hours[h], is_busiest, into_[block_of_[h]]);
    }
  }

 private:
  void one_hour(const PoolHour& hour, bool is_busiest, BlockTimes& into) {
    const auto replicas = static_cast<double>(served_.replicas);
    const double there = served_.as_now && hour.there > 0 ? replicas / static_cast<double>(hour.there) : 1 / served_.part;
    const double load = served_.load(hour.busy, hour.beside) * there;
    const double burst = served_.load(hour.peak, hour.beside_peak) * there;
    const double rest = std::max(0.0, (load - kBurstPart * burst) / (1 - kBurstPart));
    const auto requests = static_cast<double>(hour.busy);
    const double in_burst = load > 0 ? requests * std::min(1.0, kBurstPart * burst / load) : 0;
    into.all += requests;
    if (is_busiest) into.busiest.all += requests;
    const bool before = waiting_ > 0;
    waiting_ = std::max(0.0, waiting_ + load - replicas);
    if (before || waiting_ > 0 || load >= replicas) {
      add_late(requests, is_busiest, into);
      return;
    }
    if (burst >= replicas)
      add_late(in_burst, is_busiest, into);
    else if (is_busiest)
      into.busiest.levels[level_of(burst)] += in_burst;
    if (is_busiest) into.busiest.levels[level_of(rest)] += requests - in_burst;
  }

  [[nodiscard]] int64_t level_of(double busy) const {
    return std::llround(busy / static_cast<double>(served_.replicas) * kLevelsPerReplica);
  }

  static void add_late(double requests, bool is_busiest, BlockTimes& into) {
    into.late += requests;
    if (is_busiest) into.busiest.late += requests;
  }

  const Served& served_;
  PoolBlocks& into_;
  const std::vector<size_t>& block_of_;
  double waiting_ = 0;  ///< hours of work of a replica
};

/// The same of replicas that gather batches, each for itself.
std::optional<double> p99_of_batches(const PoolTimes& times, const batching::BatchTable& curve) {
  double late = times.late, all = times.late;
  std::vector<std::pair<double, double>> levels;  // part of what it can take, requests
  for (const auto& [level, requests] : times.levels) {
    all += requests;
    const double share = static_cast<double>(level) / kLevelsPerReplica;
    if (share > batching::BatchTable::kMostShare)
      late += requests;
    else
      levels.emplace_back(share, requests);
  }
  if (late > all / kOneIn) return std::nullopt;
  const auto beyond = [&](double t) {
    double sum = late;
    for (const auto& [share, requests] : levels)
      sum += requests * curve.chance_beyond(share, t);
    return sum;
  };
  double low = 1, high = 2;
  while (beyond(high) > all / kOneIn && high < 1e6)
    high *= 2;
  for (int i = 0; i < 60; ++i)
    (beyond((low + high) / 2) > all / kOneIn ? low : high) = (low + high) / 2;
  return high;
}

/// × the time that a request takes by itself there; none: too many are late.
std::optional<double> p99_of(const PoolTimes& times, const Served& served, WorkTimes work) {
  if (served.curve != nullptr) return p99_of_batches(times, *served.curve);
  const int64_t replicas = served.replicas;
  std::vector<PoolLevel> levels;
  const auto most = static_cast<double>(replicas) * (1 - 0.5 / kLevelsPerReplica);
  for (const auto& [level, requests] : times.levels)
    levels.push_back({std::min(static_cast<double>(level) / kLevelsPerReplica * static_cast<double>(replicas), most), requests});
  if (times.late > 0) levels.push_back({static_cast<double>(replicas), times.late});
  const double found = batching::slowest_response({replicas, work}, levels, kOneIn);
  return std::isfinite(found) ? std::optional(found) : std::nullopt;
}

/// One service in all three: as it is, at the least and the most that is possible.
struct PoolOutcome {
  const ServiceReplicas* service = nullptr;
  Served now, least, most;
  PoolBlocks as_is, quick, slow;
};

PoolTimes busiest_of(const PoolBlocks& blocks) {
  PoolTimes sum;
  for (const BlockTimes& block : blocks)
    sum.merge(block.busiest);
  return sum;
}

double pct_of(const PoolTimes& before, const Served& now, const PoolTimes& after, const Served& then, WorkTimes work) {
  if (before.all <= 0) return 100;
  const auto was = p99_of(before, now, work);
  const auto is = p99_of(after, then, work);
  const auto late_part = [](const PoolTimes& times) { return times.late / times.all; };
  if (!is) return !was && late_part(after) <= late_part(before) + 1e-9 ? 100 : kCannotKeepUpPct;  // no worse than before
  return was ? std::min(100 * *is * then.speed.stretch / *was, kCannotKeepUpPct) : 100;
}

WorkTimes worse_times(const PoolOutcome& o) {
  const PoolTimes before = busiest_of(o.as_is);
  const PoolTimes after = busiest_of(o.slow);
  return pct_of(before, o.now, after, o.most, WorkTimes::kEqual) >= pct_of(before, o.now, after, o.most, WorkTimes::kExponential)
             ? WorkTimes::kEqual
             : WorkTimes::kExponential;
}

}  // namespace

struct PoolReplay::Impl {
 public:
  Impl(const FleetFacts& facts, const ServiceDraws& draws) : facts_(facts), draws_(draws) {
    for (size_t h = 0; h < facts.hour_count; ++h)
      block_of_.push_back(proof_block(draws.marks, Instant::from_hour_index(facts.first_hour + static_cast<int64_t>(h))));
  }

  void add(const ServiceReplicas& service, PoolSpeed least, PoolSpeed most) {
    PoolOutcome o;
    o.service = &service;
    o.now = {service.now, {}, 1, true, service.curve};
    o.least = {service.then, least, service.part, false, service.curve};
    o.most = {service.then, most, service.part, false, service.curve};
    const std::vector<size_t> busiest = busiest_hours(service);
    for (const auto& [served, into] : {std::pair(&o.now, &o.as_is), {&o.least, &o.quick}, {&o.most, &o.slow}}) {
      into->resize(draws_.marks.size() - 1);
      PoolServer(*served, *into, block_of_).serve(service.hours, busiest);
    }
    outcomes_.push_back(std::move(o));
  }

  [[nodiscard]] ServiceOutlook outlook() const {
    ServiceOutlook out;
    const PoolOutcome* worst = nullptr;
    double largest = -1;
    for (const PoolOutcome& o : outcomes_) {
      if (busiest_of(o.as_is).all <= 0) continue;
      out.busy = true;
      const ServiceP99 p99 = p99_of_service(o);
      out.each.push_back(p99);
      if (p99.most_pct / p99.bound.pct <= largest) continue;
      largest = p99.most_pct / p99.bound.pct;
      worst = &o;
      out.bound = p99.bound;
    }
    if (worst == nullptr) {
      out.p99_pct = out.in_time_pct = {100, 100, 100};
      return out;
    }
    const WorkTimes work = worse_times(*worst);
    const ServiceP99 p99 = p99_of_service(*worst);
    out.worst = p99.service;
    out.p99_now_ms = p99.now_ms;
    out.p99_least_pct = p99.least_pct;
    out.p99_pct = drawn_again(*worst, work);
    out.in_time_most_pct = in_time(&PoolOutcome::quick, nullptr);
    out.in_time_pct = in_time_drawn();
    return out;
  }

 private:
  [[nodiscard]] ServiceP99 p99_of_service(const PoolOutcome& o) const {
    const WorkTimes work = worse_times(o);
    return {o.service->service, pct_of(busiest_of(o.as_is), o.now, busiest_of(o.quick), o.least, work), most_pct(o, work),
            o.service->p99_ms, p99_bound(facts_, o.service->service, o.service->p99_ms)};
  }

  [[nodiscard]] double most_pct(const PoolOutcome& o, WorkTimes work) const {
    return pct_of(busiest_of(o.as_is), o.now, busiest_of(o.slow), o.most, work);
  }

  /// @param blocks  drawn; null = each once.
  [[nodiscard]] double in_time(PoolBlocks PoolOutcome::* then, const std::vector<size_t>* blocks) const {
    double now_in_time = 0;
    double then_in_time = 0;
    for (const PoolOutcome& o : outcomes_)
      for (size_t k = 0; k < o.as_is.size(); ++k) {
        const size_t b = blocks == nullptr ? k : (*blocks)[k];
        now_in_time += o.as_is[b].all - o.as_is[b].late;
        then_in_time += (o.*then)[b].all - (o.*then)[b].late;
      }
    return now_in_time > 0 ? 100 * then_in_time / now_in_time : 100;
  }

  [[nodiscard]] std::vector<std::vector<size_t>> draws() const {
    Prng prng(draws_.seed);
    const size_t blocks = draws_.marks.size() - 1;
    std::vector<std::vector<size_t>> all(static_cast<size_t>(draws_.draws), std::vector<size_t>(blocks));
    for (std::vector<size_t>& draw : all)
      for (size_t& block : draw)
        block = prng.below(blocks);
    return all;
  }

  [[nodiscard]] ProofFigure drawn_again(const PoolOutcome& o, WorkTimes work) const {
    std::vector<double> drawn;
    for (const std::vector<size_t>& blocks : draws()) {
      PoolTimes before, after;
      for (const size_t b : blocks) {
        before.merge(o.as_is[b].busiest);
        after.merge(o.slow[b].busiest);
      }
      drawn.push_back(pct_of(before, o.now, after, o.most, work));
    }
    return figure_of(most_pct(o, work), std::move(drawn));
  }

  [[nodiscard]] ProofFigure in_time_drawn() const {
    std::vector<double> drawn;
    for (const std::vector<size_t>& blocks : draws())
      drawn.push_back(in_time(&PoolOutcome::slow, &blocks));
    return figure_of(in_time(&PoolOutcome::slow, nullptr), std::move(drawn));
  }

  const FleetFacts& facts_;
  const ServiceDraws& draws_;
  std::vector<size_t> block_of_;
  std::vector<PoolOutcome> outcomes_;
};

PoolReplay::PoolReplay(const FleetFacts& facts, const ServiceDraws& draws) : impl_(std::make_unique<Impl>(facts, draws)) {}
PoolReplay::PoolReplay(PoolReplay&&) noexcept = default;
PoolReplay& PoolReplay::operator=(PoolReplay&&) noexcept = default;
PoolReplay::~PoolReplay() = default;
void PoolReplay::add(const ServiceReplicas& service, PoolSpeed least, PoolSpeed most) { impl_->add(service, least, most); }
ServiceOutlook PoolReplay::outlook() const { return impl_->outlook(); }

}  // namespace stint
