// Random scenarios: every feature is on in some of them, so that features meet.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/prng.h"
#include "sim/explore.h"
#include "sim/explore_time.h"
#include "sim/faults.h"
#include "sim/market.h"

namespace stint::sim {
namespace {

const Instant kBegin = Instant::from_seconds(1'800'000'000);

class Maker {
 public:
  Maker(uint64_t seed, Duration length) : prng_(seed), length_(length) { made_.seed = seed; }

  Scenario make() {
    made_.workload.name = fmt::format("explore-{}", made_.seed);
    nodes();
    queues();
    requests();
    keep_owners_apart();
    bound_slowdowns();
    jobs();
    pipelines();
    budgets();
    faults();
    draw_time_and_demand(made_);
    policy();
    options();
    return std::move(made_);
  }

 private:
  bool one_in(uint64_t n) { return prng_.below(n) == 0; }
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(prng_.below(static_cast<uint64_t>(high - low + 1)));
  }
  template <typename T, size_t N>
  T pick(const std::array<T, N>& of) {
    return of[prng_.below(N)];
  }
  Duration seconds_between(int64_t low, int64_t high) { return Duration::seconds(between(low, high)); }

  void nodes() {
    Workload& w = made_.workload;
    const int64_t count = one_in(8) ? between(20, 40) : between(1, 10);
    const int32_t gpus = pick(std::array{1, 2, 4, 8, 8});
    const bool mixed = one_in(3);
    mig_ = one_in(4);
    if (one_in(3))
      w.prices.push_back(
          draw_prices({.on_demand = Rate::per_hour(Money::units(10))}, {kBegin, kBegin + length_ * 3}, prng_.next(), "spot"));
    for (int64_t i = 0; i < count; ++i) {
      SimNode node;
      node.node.name = fmt::format("n{:03}", i);
      node.node.gpus = mixed ? pick(std::array{1, 2, 4, 8}) : gpus;
      node.node.gpu_model = mixed && one_in(2) ? "T4" : "A100";
      node.node.gpu_memory = Bytes::gibi(int64_t{40});
      node.node.cpu_milli = int64_t{16'000} * node.node.gpus;
      node.node.memory = Bytes::gibi(int64_t{128}) * node.node.gpus;
      node.node.labels.push_back({"rack", fmt::format("r{}", i / 4)});
      if (mig_ && !one_in(3)) instances(node.node);
      node.market = pick(std::array{Market::kOwned, Market::kOnDemand, Market::kSpot, Market::kSpot});
      node.rate = Rate::per_hour(Money::nanos(between(100'000'000, 40'000'000'000)));
      if (node.market == Market::kSpot && !w.prices.empty()) node.prices = 0;
      if (one_in(10)) node.present_from = kBegin + seconds_between(1, length_.whole_seconds() / 2);
      if (one_in(12)) node.present_until = kBegin + length_ + seconds_between(0, length_.whole_seconds());
      gpus_ += node.node.gpus;
      w.nodes.push_back(node);
    }
  }

  // GPUs that are cut as needed, or instances that stay as they are beside or instead of whole GPUs.
  void instances(NodeSpec& node) {
    node.gpu_model = "A100-40GB";
    if (!one_in(4)) {
      node.repartition = true;
      return;
    }
    node.static_mig = {{"1g.5gb", static_cast<int32_t>(between(1, 7))}, {"3g.20gb", static_cast<int32_t>(between(1, 2))}};
    node.whole_gpus = one_in(2);
  }

  void queues() {
    Workload& w = made_.workload;
    const int64_t departments = one_in(4) ? 0 : between(1, 3);
    const int64_t milli = gpus_ * 1000;
    for (int64_t d = 0; d < departments; ++d) {
      sched::QueueSpec department;
      department.name = fmt::format("d{}", d);
      department.deserved.gpu_milli = milli / departments;
      if (one_in(4)) department.limit.gpu_milli = std::max<int64_t>(milli * between(3, 9) / 10, 1000);
      w.queues.push_back(department);
    }
    const int64_t leaves = departments == 0 ? between(1, 3) : departments * between(1, 2);
    for (int64_t q = 0; q < leaves; ++q) {
      sched::QueueSpec queue;
      queue.name = fmt::format("q{}", q);
      if (departments > 0) queue.parent = sched::QueueId(static_cast<uint32_t>(q % departments));
      if (!one_in(4)) queue.deserved.gpu_milli = one_in(5) ? 0 : milli / leaves / 1000 * 1000;
      if (one_in(4)) queue.limit.gpu_milli = std::max<int64_t>(milli * between(2, 8) / 10 / 1000 * 1000, 1000);
      queue.over_quota_weight = one_in(4) ? 0 : static_cast<double>(between(1, 4));
      queue.priority = one_in(4) ? 200 : 100;
      queue.created = static_cast<int32_t>(q);
      leaves_.push_back(sched::QueueId(static_cast<uint32_t>(w.queues.size())));
      w.queues.push_back(queue);
    }
  }

  void requests() {
    const bool shares = one_in(3), cpus = one_in(3), constraints = one_in(4), no_gpu = one_in(6), neighbours = one_in(5);
    const int64_t kinds = between(1, 6);
    auto& requests = made_.workload.requests;
    for (int64_t i = 0; i < kinds; ++i) {
      sched::Request r;
      if (mig_ && !one_in(3))
        r.mig = {{pick(std::array{"1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb", "7g.40gb"}), 1}};
      else if (shares && one_in(3))
        r.gpu_memory = Bytes::gibi(between(1, 40));
      else if (shares && one_in(2))
        r.milli = pick(std::array{100, 250, 300, 500, 810});
      else if (no_gpu && one_in(2))
        r.cpu_milli = 1'000 * between(1, 16);
      else
        r.gpus = pick(std::array{1, 1, 1, 2, 4, 8});
      if (cpus && r.cpu_milli == 0) r.cpu_milli = 1'000 * between(1, 24) * std::max(r.gpus, 1);
      if (cpus) r.memory = Bytes::gibi(between(1, 160));
      if (constraints && one_in(2)) r.gpu_models = {mig_ ? "A100-40GB" : one_in(2) ? "A100" : "T4"};
      if (constraints && one_in(4)) r.node_labels = {{"rack", "r0"}};
      if (neighbours) {
        const auto apps = [&] { return std::vector<Label>{{"app", one_in(2) ? "a" : "b"}}; };
        const auto level = [&] { return std::string(one_in(2) ? "rack" : "node"); };
        if (one_in(2)) r.labels = apps();
        if (one_in(4)) r.affinity = {{apps(), level()}};
        if (one_in(3)) r.anti_affinity = {{apps(), level()}};
      }
      if (std::ranges::find(requests, r) == requests.end()) requests.push_back(r);
    }
  }

  /// Parts of GPUs of two owners, in every other scenario. With numbers of its own: the rest is drawn as without.
  void keep_owners_apart() {
    Prng prng(made_.seed ^ 0x6f776e657273ULL);
    if (prng.below(2) == 0) return;
    for (sched::Request& r : made_.workload.requests)
      if (r.milli > 0 || r.gpu_memory.count() > 0) r.shares_with = prng.below(2) == 0 ? "a" : "b";
  }

  /// Kinds of work that slow each other, and what those that hold parts of GPUs bear, in every third scenario. With numbers of its own.
  void bound_slowdowns() {
    Prng prng(made_.seed ^ 0x736c6f776564ULL);
    if (prng.below(3) != 0) return;
    for (sched::Request& r : made_.workload.requests) {
      if (r.milli == 0 && r.gpu_memory.count() == 0) continue;
      r.work_kind = std::array{"", "serve", "train"}[prng.below(3)];
      if (prng.below(2) == 0) continue;
      r.max_slowdown_percent = std::array{0, 10, 40, 700}[prng.below(4)];
      r.slowdowns = {{.beside = "serve", .percent = static_cast<int32_t>(prng.below(40))}};
      if (prng.below(2) == 0) r.slowdowns.push_back({.beside = "train", .percent = static_cast<int32_t>(prng.below(40))});
    }
  }

  Duration run_time() {
    // Heavy-tailed: each further factor of four in one job of three.
    int64_t most_s = between(60, 3'600);
    while (one_in(3) && most_s < 100'000)
      most_s *= 4;
    return seconds_between(30, most_s);
  }

  void gang(SimJob& job) {
    sched::Gang g;
    (one_in(3) ? g.topology.preferred_level : g.topology.required_level) = "rack";
    g.topology.levels = {"rack"};
    auto& gangs = made_.workload.gangs;
    auto at = std::ranges::find(gangs, g);
    if (at == gangs.end()) at = gangs.insert(at, g);
    job.spec.gang = sched::GangId(static_cast<uint32_t>(at - gangs.begin()));
  }

  void jobs() {
    Workload& w = made_.workload;
    const bool elastic = one_in(3), gangs = one_in(2), topology = one_in(5), firm = one_in(3), limits = one_in(3);
    const bool needs = one_in(4), cancels = one_in(3), failures = one_in(3), checkpoints = !one_in(3), delays = one_in(4);
    const bool priorities = one_in(2), known = one_in(2), minimum = one_in(3);
    const double load = 0.2 + 1.3 * prng_.uniform();
    double left = load * static_cast<double>(gpus_) * length_.to_seconds();
    std::vector<Instant> times;
    for (int i = 0; left > 0 && i < 1'500; ++i) {
      SimJob job;
      job.name = fmt::format("j{}", i);
      job.spec.queue = leaves_[prng_.below(leaves_.size())];
      job.spec.kin = {.user = job.spec.queue.index() + uint64_t{1}, .name = static_cast<uint64_t>(i % 7)};
      job.spec.request = sched::RequestId(static_cast<uint32_t>(prng_.below(w.requests.size())));
      if (gangs && one_in(3)) job.spec.tasks = static_cast<int32_t>(between(2, one_in(4) ? 16 : 4));
      job.spec.min_tasks = job.spec.tasks;
      if (topology && job.spec.tasks > 1) gang(job);
      if (job.spec.gang.valid() && elastic && one_in(2))
        job.spec.min_tasks = static_cast<int32_t>(between(1, job.spec.tasks));
      else if (job.spec.gang.valid())
        job.spec.min_tasks = job.spec.tasks;
      else if (elastic && one_in(2)) {
        job.spec.tasks = std::max(job.spec.tasks, static_cast<int32_t>(between(2, 6)));
        job.spec.min_tasks = static_cast<int32_t>(between(1, job.spec.tasks));
      }
      if (priorities) job.spec.priority = pick(std::array{25, 50, 50, 75, 100});
      job.spec.preemptible = !(firm && one_in(4));
      job.run_time = run_time();
      if (known) job.spec.expected = job.run_time;
      if (limits && one_in(2)) job.spec.time_limit = Duration::nanoseconds(job.run_time.count_ns() / 4 * between(2, 12));
      if (minimum && one_in(2)) job.spec.min_runtime = seconds_between(1, 1'800);
      if (checkpoints && !one_in(3))
        job.spec.checkpoint = {seconds_between(120, 3'600), seconds_between(0, 180), seconds_between(0, 300)};
      if (one_in(8)) job.spec.deadline = Instant();  // set below, from the submission
      if (failures && one_in(6)) {
        job.failures = static_cast<int32_t>(between(1, 3));
        job.fails_after = Duration::nanoseconds(job.run_time.count_ns() / between(2, 9));
        job.spec.retries = static_cast<int32_t>(between(0, 3));
      }
      left -= job.run_time.to_seconds() * static_cast<double>(gpu_milli_of(w, job)) / 1000 + 1;
      w.jobs.push_back(job);
      times.push_back(kBegin + seconds_between(0, length_.whole_seconds()));
    }
    std::ranges::sort(times);
    for (uint32_t i = 0; i < w.jobs.size(); ++i) {
      SimJob& job = w.jobs[i];
      job.spec.submitted = times[i];
      if (job.spec.deadline != sched::kNever) job.spec.deadline = times[i] + job.run_time * between(1, 5);
      if (delays && one_in(4)) job.spec.not_before = times[i] + seconds_between(0, 7'200);
      if (cancels && one_in(10)) job.cancelled = times[i] + seconds_between(0, 7'200);
      for (int64_t k = needs && i > 0 && one_in(3) ? between(1, 2) : 0; k > 0; --k)
        if (const sched::JobId after(static_cast<uint32_t>(prng_.below(i)));
            std::ranges::find(job.spec.after, after) == job.spec.after.end())
          job.spec.after.push_back(after);
    }
  }

  // Draws for itself, so that what it adds changes nothing else of a seed's scenario.
  void pipelines() {
    Prng prng(made_.seed ^ 0x9e3779b97f4a7c15ULL);
    const bool arrays = prng.below(6) == 0, products = prng.below(6) == 0;
    Workload& w = made_.workload;
    const auto at_once = static_cast<int32_t>(1 + prng.below(6));
    if (arrays) w.arrays = {"a0", "a1", "a2"};
    if (products) w.products = {"p0", "p1", "p2", "p3"};
    for (SimJob& job : w.jobs) {
      if (arrays && prng.below(2) == 0) {
        job.spec.array = sched::ArrayId(static_cast<uint32_t>(prng.below(w.arrays.size())));
        job.spec.at_once = at_once;
      }
      if (products && prng.below(8) == 0) job.spec.makes = sched::ProductId(static_cast<uint32_t>(prng.below(w.products.size())));
    }
  }

  // Draws for itself, as pipelines() does.
  void budgets() {
    Prng prng(made_.seed ^ 0xd1b54a32d192ed03ULL);
    if (prng.below(5) != 0) return;
    Workload& w = made_.workload;
    for (sched::QueueSpec& queue : w.queues) {
      if (prng.below(2) == 0) continue;
      // Mean rates are about 20 an hour for each node.
      const double nodes_worth = 20 * static_cast<double>(w.nodes.size()) * (0.05 + prng.uniform());
      const Duration period = Duration::hours(static_cast<int64_t>(1 + prng.below(48)));
      queue.budget = sched::Budget{.amount = Money::estimate(nodes_worth * period.to_hours() / 10),
                                   .period = prng.below(4) == 0 ? Duration() : period,
                                   .from = kBegin + Duration::minutes(static_cast<int64_t>(prng.below(600)) - 300)};
    }
  }

  void faults() {
    FaultModel model;
    if (one_in(2)) model.node_mtbf = Duration::hours(between(10, 500));
    if (one_in(3)) model.node_shape = 0.7;
    if (one_in(4)) model.gpu_mtbf = Duration::hours(between(100, 5'000));
    if (one_in(2)) model.spot_per_hour = 0.01 + 0.5 * prng_.uniform();
    model.spot_notice = one_in(2) ? Duration::seconds(120) : Duration::seconds(30);
    model.repair_mean = seconds_between(60, 36'000);
    model.spot_return_mean = seconds_between(60, 7'200);
    Workload& w = made_.workload;
    w.outages = draw_outages(model, w.nodes, {kBegin, kBegin + length_}, prng_.next());
  }

  void policy() {
    sched::Policy& p = made_.policy;
    p.order = static_cast<sched::Order>(prng_.below(6));
    p.backfill = static_cast<sched::Backfill>(prng_.below(3));
    p.placement = static_cast<sched::Placement>(prng_.below(9));
    p.victims = one_in(2) ? sched::VictimOrder::kPriorityYoungest : sched::VictimOrder::kLeastLostWork;
    p.preempt = !one_in(4);
    p.reclaim = !one_in(4);
    p.consolidate = !one_in(4);
    p.ageing = one_in(4) ? Duration() : Duration::hours(between(1, 24));
    p.usage_half_life = one_in(4) ? Duration() : Duration::hours(between(1, 168));
    p.seed = prng_.next();
    if (p.seed % 2 == 0) p.durations = sched::Durations::kLearnt;
  }

  // How long the whole fleet would need for all the work if nothing stood idle.
  [[nodiscard]] Duration backlog() const {
    const Workload& w = made_.workload;
    double cpu = 0, memory = 0, hours = 0;
    for (const SimNode& node : w.nodes) {
      cpu += static_cast<double>(node.node.cpu_milli);
      memory += static_cast<double>(node.node.memory.count());
    }
    for (const SimJob& job : w.jobs) {
      const sched::Request& request = w.requests[job.spec.request.index()];
      const double share = std::max({static_cast<double>(gpu_milli_of(w, job)) / (1000.0 * static_cast<double>(gpus_)),
                                     static_cast<double>(request.cpu_milli * job.spec.tasks) / cpu,
                                     static_cast<double>(request.memory.count() * job.spec.tasks) / memory});
      hours += share * job.run_time.to_hours();
    }
    return Duration::seconds(static_cast<int64_t>(hours * 3600));
  }

  void options() {
    made_.options.grace = one_in(4) ? Duration() : Duration::seconds(between(10, 180));
    made_.options.save_when_leaving = !one_in(3);
    made_.options.leaving = one_in(2) ? Duration() : Duration::seconds(between(1, 120));
    made_.options.announce_checkpoints = !one_in(4);
    made_.options.timeline_points = 16;
    made_.options.occupancies = 0;
    made_.options.patience = length_ * 20 + Duration::hours(1'000);
    made_.checks.promise = made_.options.leaving + Duration::minutes(5);
    const sched::Order order = made_.policy.order;
    made_.checks.strict_order =
        (order == sched::Order::kFifo || order == sched::Order::kSjfOracle) && made_.policy.backfill == sched::Backfill::kNone;
    made_.checks.count_evictions = order != sched::Order::kSrtf;
    // Only where waiting counts and the first in line does not hold up the rest. The bound is generous; starving is for ever.
    // One may have to wait until all the others are done, though: queues with a higher priority go first.
    const bool by_age = order == sched::Order::kFair || order == sched::Order::kStint;
    if (by_age && made_.policy.ageing > Duration()) {
      Duration longest;
      for (const SimJob& job : made_.workload.jobs)
        longest = std::max(longest, job.run_time);
      made_.checks.starved_after = made_.policy.ageing * 10 + longest * 4 + Duration::hours(72) + backlog() * 3;
    }
    made_.copy_at_step = one_in(2) ? between(0, 400) : -1;
  }

  Prng prng_;
  Duration length_;
  int64_t gpus_ = 0;
  bool mig_ = false;
  std::vector<sched::QueueId> leaves_;
  Scenario made_;
};

}  // namespace

Scenario make_scenario(uint64_t seed, Duration length) {
  // Neighbouring seeds share nothing: the generator is started from a draw.
  Scenario scenario = Maker(Prng(seed).next(), length).make();
  scenario.seed = seed;
  const Status sound = check_workload(scenario.workload);
  CHECK(sound.ok(), "scenario {}: {}", seed, sound.error().message);
  return scenario;
}

}  // namespace stint::sim
