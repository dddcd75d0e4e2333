#include "advise/prove/service_pools.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "advise/find/resize_fit.h"
#include "advise/prove/proof_weeks.h"
#include "base/prng.h"
#include "batching/replica_pool.h"

namespace stint {
namespace {

using batching::PoolLevel;
using batching::ReplicaPool;
using batching::WorkTimes;

constexpr double kBurstPart = 1.0 / 12;  // of an hour
constexpr double kBusiestPart = 0.05;    // of the hours
constexpr double kOneIn = 100;           // p99
constexpr double kLevelsPerReplica = 200;

/// One hour of a service, in replicas of now; an hour without telemetry has −1 in `busy` and counts nowhere.
struct PoolHour {
  float busy = -1;  ///< on average
  float peak = 0;   ///< in the burst; ≥ busy
  float there = 0;  ///< replicas
};

struct ServiceReplicas {
  std::string service;
  int64_t together = 1;  ///< GPUs that a replica spans
  int64_t now = 1;
  int64_t then = 1;
  double part = 1;  ///< of its replica that it gets then; below 1 where services share
  std::vector<PoolHour> hours;
  std::optional<double> p99_ms;
};

/// Adds a GPU to its service's hours: seen, not seen though there, or not there.
class PoolHours {
 public:
  explicit PoolHours(size_t hours) : busy_(hours), peak_(hours), seen_(hours), there_(hours) {}

  void add(const NodeFacts& node, const GpuLoad& gpu) {
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

  /// GPUs that were not seen did as much as the others. @param together  GPUs of a replica.
  [[nodiscard]] std::vector<PoolHour> hours(int64_t together) const {
    std::vector<PoolHour> out(busy_.size());
    for (size_t h = 0; h < out.size(); ++h) {
      if (seen_[h] == 0) continue;
      const double scale = there_[h] / seen_[h] / static_cast<double>(together);
      out[h] = {static_cast<float>(busy_[h] * scale), static_cast<float>(peak_[h] * scale),
                static_cast<float>(there_[h] / static_cast<double>(together))};
    }
    return out;
  }

 private:
  std::vector<double> busy_, peak_, seen_, there_;
};

std::vector<ServiceReplicas> replicas_now(const ResizeNodes& change, const FleetFacts& facts) {
  struct Found {
    PoolHours hours;
    int64_t gpus = 0;
    int64_t together = 1;
    std::optional<double> p99_ms;
  };
  std::map<std::string, Found> found;
  for (const NodeFacts& node : facts.nodes) {
    if (node.kind != WorkloadKind::kRealtimeInference || std::ranges::find(change.nodes, node.name) == change.nodes.end())
      continue;
    std::map<std::string, int64_t> gang;
    for (const GpuLoad& gpu : node.gpus) {
      if (!gpu.in_use) continue;
      const std::string name = service_name(node, gpu);
      Found& f = found.try_emplace(name, Found{PoolHours(facts.hour_count), 0, 1, {}}).first->second;
      f.hours.add(node, gpu);
      ++f.gpus;
      if (gpu.in_gang) f.together = std::max(f.together, ++gang[name]);
      if (gpu.p99_ms) f.p99_ms = std::max(f.p99_ms.value_or(0), *gpu.p99_ms);
    }
  }
  std::vector<ServiceReplicas> out;
  for (const auto& [name, f] : found)
    out.push_back({name, f.together, std::max<int64_t>(1, f.gpus / f.together), 1, 1, f.hours.hours(f.together), f.p99_ms});
  return out;
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

/// GPUs: a replica each, then each to the service of which a request would most likely find no free one in its busiest hours; ties by name.
/// Fewer GPUs than services are shared by all, by their work.
void deal_replicas(std::vector<ServiceReplicas>& services, int64_t gpus, double stretch) {
  std::vector<double> busiest;
  std::vector<double> work;
  for (const ServiceReplicas& s : services) {
    double sum = 0;
    double most = 0;
    for (const size_t h : busiest_hours(s))
      most = std::max(most, static_cast<double>(s.hours[h].peak) * stretch);
    for (const PoolHour& hour : s.hours)
      sum += std::max(0.0F, hour.busy);
    busiest.push_back(most);
    work.push_back(sum * static_cast<double>(s.together));
  }
  int64_t least = 0;
  for (const ServiceReplicas& s : services)
    least += s.together;
  if (gpus < least) {
    const double all = std::accumulate(work.begin(), work.end(), 0.0);
    for (size_t i = 0; i < services.size(); ++i)
      services[i].part = std::clamp(
          (all > 0 ? std::max(work[i] / all, 1e-9) : 1.0) * static_cast<double>(gpus) / static_cast<double>(services[i].together),
          1e-9, 1.0);
    return;
  }
  const auto need = [&](size_t i) {
    const auto replicas = static_cast<double>(services[i].then);
    return busiest[i] >= replicas ? 1 + busiest[i] / replicas : batching::chance_of_waiting(services[i].then, busiest[i]);
  };
  std::vector<double> needs;
  for (size_t i = 0; i < services.size(); ++i)
    needs.push_back(need(i));
  for (int64_t left = gpus - least;;) {
    std::optional<size_t> next;
    for (size_t i = 0; i < services.size(); ++i)
      if (services[i].together <= left && (!next || needs[i] > needs[*next])) next = i;
    if (!next) return;
    left -= services[*next].together;
    ++services[*next].then;
    needs[*next] = need(*next);
  }
}

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
  double stretch = 1;
  double part = 1;
  bool as_now = false;  ///< replicas that were not there in an hour did not serve in it
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
    const double load = static_cast<double>(hour.busy) * served_.stretch * there;
    const double burst = static_cast<double>(hour.peak) * served_.stretch * there;
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

/// × the time that a request takes by itself there; none: too many are late.
std::optional<double> p99_of(const PoolTimes& times, int64_t replicas, WorkTimes work) {
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
  const auto was = p99_of(before, now.replicas, work);
  const auto is = p99_of(after, then.replicas, work);
  const auto late_part = [](const PoolTimes& times) { return times.late / times.all; };
  if (!is) return !was && late_part(after) <= late_part(before) + 1e-9 ? 100 : kCannotKeepUpPct;  // no worse than before
  return was ? std::min(100 * *is * then.stretch / *was, kCannotKeepUpPct) : 100;
}

WorkTimes worse_times(const PoolOutcome& o) {
  const PoolTimes before = busiest_of(o.as_is);
  const PoolTimes after = busiest_of(o.slow);
  return pct_of(before, o.now, after, o.most, WorkTimes::kEqual) >= pct_of(before, o.now, after, o.most, WorkTimes::kExponential)
             ? WorkTimes::kEqual
             : WorkTimes::kExponential;
}

class PoolReplay {
 public:
  PoolReplay(const FleetFacts& facts, const ServiceDraws& draws) : facts_(facts), draws_(draws) {
    for (size_t h = 0; h < facts.hour_count; ++h)
      block_of_.push_back(proof_block(draws.marks, Instant::from_hour_index(facts.first_hour + static_cast<int64_t>(h))));
  }

  void add(const ServiceReplicas& service, double stretch_least, double stretch_most) {
    PoolOutcome o;
    o.service = &service;
    o.now = {service.now, 1, 1, true};
    o.least = {service.then, stretch_least, service.part, false};
    o.most = {service.then, stretch_most, service.part, false};
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

}  // namespace

Result<ServiceOutlook> replay_pools(const ResizeNodes& change, const FleetFacts& facts, const Catalog& catalog,
                                    const ServiceDraws& draws) {
  std::vector<ServiceReplicas> services = replicas_now(change, facts);
  PoolReplay replay(facts, draws);
  if (services.empty()) return replay.outlook();
  const auto first = std::ranges::find_if(facts.nodes, [&](const NodeFacts& node) {
    return node.kind == WorkloadKind::kRealtimeInference && std::ranges::find(change.nodes, node.name) != change.nodes.end();
  });
  const InstanceType* type = catalog.find_instance(first->provider, change.to_instance_type);
  const GpuFacts* now = catalog.find_gpu(first->gpu_model);
  const GpuFacts* then = type == nullptr ? nullptr : catalog.find_gpu(type->gpu_model, type->gpu_memory);
  const auto speed = now == nullptr || then == nullptr ? std::nullopt : relative_throughput(*then, *now);
  if (!speed || speed->low <= 0) return invalid("how fast requests are on a {} is not known", change.to_instance_type);
  deal_replicas(services, type->whole_gpus() * change.to_count, 1 / speed->low);
  int64_t seats = 0;
  for (const ServiceReplicas& service : services) {
    replay.add(service, 1 / speed->high, 1 / speed->low);
    seats += service.now * service.together;
  }
  ServiceOutlook out = replay.outlook();
  out.seats = seats;
  out.measured = speed->low == speed->high;
  out.pooled = true;
  return out;
}

}  // namespace stint
