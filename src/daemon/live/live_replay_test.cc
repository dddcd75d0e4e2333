// The live daemon decides as the replay does: one day of five tenants, once through sim::replay, once through engine and log.
#include <gtest/gtest.h>

#include <map>

#include "base/prng.h"
#include "daemon/engine/engine.h"
#include "daemon/testing_daemon.h"
#include "sched/policy_text.h"
#include "sched/scheduler.h"
#include "sim/checkers.h"
#include "sim/faults.h"
#include "sim/replay.h"

namespace stint {
namespace {

using sched::EventKind;

/// No job leaves memory here: the daemon counts from 1, the scheduler from 0.
int64_t job_id_of(sched::JobId job) { return int64_t{job.index()} + 1; }

/// Five tenants share four machines for a day: gangs, parts of GPUs, priorities, limits, checkpoints, failures, owners who take
/// jobs back, machines that break.
sim::Workload five_tenants(uint64_t seed) {
  Prng prng(seed);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(prng.below(static_cast<uint64_t>(high - low + 1)));
  };
  sim::Workload w;
  w.name = "five tenants";
  const Instant begin = Instant::from_seconds(1'800'000'000);
  for (int n = 0; n < 4; ++n) {
    sim::SimNode node;
    node.node.name = fmt::format("n{}", n);
    node.node.gpu_model = "A100-80GB";
    node.node.gpus = 8;
    node.node.gpu_memory = Bytes::gibi(int64_t{80});
    node.node.cpu_milli = 128'000;
    node.node.memory = Bytes::gibi(int64_t{1024});
    node.market = Market::kOwned;
    node.rate = Rate::per_hour(Money::nanos(16'123'456'789));
    w.nodes.push_back(node);
  }
  for (int q = 0; q < 5; ++q) {
    sched::QueueSpec queue;
    queue.name = fmt::format("tenant{}", q);
    queue.deserved.gpu_milli = 6'000;
    queue.created = q;
    w.queues.push_back(queue);
  }
  for (const int gpus : {1, 2, 4, 8}) {
    sched::Request request;
    request.gpus = gpus;
    request.cpu_milli = 8'000 * gpus;
    w.requests.push_back(request);
  }
  sched::Request part;
  part.milli = 250;
  w.requests.push_back(part);
  std::vector<Instant> times;
  for (int i = 0; i < 160; ++i)
    times.push_back(begin + Duration::seconds(between(0, 86'400)));
  std::ranges::sort(times);
  for (int i = 0; i < 160; ++i) {
    sim::SimJob job;
    job.name = fmt::format("j{}", i);
    job.spec.queue = sched::QueueId(static_cast<uint32_t>(prng.below(5)));
    job.spec.request = sched::RequestId(static_cast<uint32_t>(prng.below(w.requests.size())));
    if (prng.below(5) == 0) job.spec.tasks = job.spec.min_tasks = static_cast<int32_t>(between(2, 4));
    job.spec.priority = static_cast<int32_t>(25 * between(1, 3));
    job.spec.submitted = times[static_cast<size_t>(i)];
    job.run_time = Duration::seconds(between(60, prng.below(4) == 0 ? 40'000 : 8'000));
    if (prng.below(3) == 0) job.spec.time_limit = Duration::nanoseconds(job.run_time.count_ns() / 4 * between(2, 12));
    if (prng.below(2) == 0)
      job.spec.checkpoint = {Duration::seconds(between(300, 1'800)), Duration::seconds(between(0, 60)),
                             Duration::seconds(between(0, 120))};
    if (prng.below(8) == 0) {
      job.failures = static_cast<int32_t>(between(1, 2));
      job.fails_after = Duration::nanoseconds(job.run_time.count_ns() / 3);
      job.spec.retries = static_cast<int32_t>(between(0, 2));
    }
    if (prng.below(12) == 0) job.cancelled = job.spec.submitted + Duration::seconds(between(1, 7'200));
    if (i > 10 && prng.below(20) == 0)
      job.spec.after.emplace_back(static_cast<uint32_t>(i - 1 - static_cast<int>(prng.below(10))));
    w.jobs.push_back(job);
  }
  // As the daemon does it: a part of a GPU goes beside parts of its own tenant alone.
  for (sim::SimJob& job : w.jobs) {
    if (w.requests[job.spec.request.index()].milli == 0) continue;
    part.shares_with = w.queues[job.spec.queue.index()].name;
    const auto known = std::ranges::find(w.requests, part);
    job.spec.request = sched::RequestId(static_cast<uint32_t>(known - w.requests.begin()));
    if (known == w.requests.end()) w.requests.push_back(part);
  }
  w.outages = sim::draw_outages({.node_mtbf = Duration::hours(60)}, w.nodes, {begin, begin + Duration::hours(24)}, seed);
  CHECK(sim::check_workload(w).ok(), "{}", sim::check_workload(w).error().message);
  return w;
}

/// The same on two racks with prices that change: every third job may wait for cheap hours, gangs want one rack, some tenants' jobs keep
/// off each other's machines, some results are made once.
sim::Workload particular(sim::Workload w) {
  Prng prng(7);
  const Instant begin = w.jobs.front().spec.submitted.hour_start();
  sim::PriceSeries series{.name = "tariff", .points = {}};
  for (int64_t h = 1; h < 60; h += 3)
    series.points.push_back({begin + Duration::hours(h), Rate::per_hour(Money::units(h % 2 == 0 ? 4 : 24 + h % 5))});
  w.prices = {series};
  for (size_t n = 0; n < w.nodes.size(); ++n) {
    w.nodes[n].node.labels = {{"rack", n < 2 ? "r0" : "r1"}};
    if (n % 2 == 0) w.nodes[n].prices = 0;
  }
  sched::Gang one_rack;
  one_rack.topology = {.required_level = "rack", .preferred_level = "", .levels = {"rack"}};
  w.gangs = {one_rack};
  for (int q = 0; q < 2; ++q) {
    sched::Request shy = w.requests.front();
    shy.labels = {{"app", fmt::format("t{}", q)}};
    shy.anti_affinity = {{.labels = shy.labels, .topology_key = "node"}};
    w.requests.push_back(shy);
  }
  w.products = {"p0", "p1", "p2"};
  for (sim::SimJob& job : w.jobs) {
    if (job.spec.tasks > 1) job.spec.gang = sched::GangId(0);
    if (const uint32_t q = job.spec.queue.index(); q < 2 && job.spec.tasks == 1 && prng.below(3) == 0)
      job.spec.request = sched::RequestId(static_cast<uint32_t>(w.requests.size() - 2 + q));
    // Products are a client's own.
    if (job.spec.queue.index() < 3 && prng.below(6) == 0) job.spec.makes = sched::ProductId(job.spec.queue.index());
    if (prng.below(3) != 0) continue;
    job.spec.time_limit = job.run_time * 2;
    job.spec.deadline = job.spec.submitted + job.spec.time_limit + Duration::hours(static_cast<int64_t>(prng.below(20)));
    job.spec.deferrable = true;
  }
  CHECK(sim::check_workload(w).ok(), "{}", sim::check_workload(w).error().message);
  return w;
}

JobRequest request_of(const sim::Workload& w, const sim::SimJob& job) {
  const sched::JobSpec& spec = job.spec;
  const sched::Request& each = w.requests[spec.request.index()];
  JobRequest r;
  r.name = job.name;
  r.queue = w.queues[spec.queue.index()].name;
  r.command = {"./run"};
  r.gpus = each.gpus;
  r.gpu_milli = each.milli;
  r.cpu_milli = each.cpu_milli;
  r.tasks = spec.tasks;
  r.priority = spec.priority;
  r.time_limit = spec.time_limit;
  r.checkpoint = spec.checkpoint;
  r.retries = spec.retries;
  r.deadline = spec.deadline;
  r.deferrable = spec.deferrable;
  r.labels = each.labels;
  for (const sched::AffinityTerm& term : each.anti_affinity)
    r.anti_affinity.push_back(fmt::format("{}={}@{}", term.labels[0].key, term.labels[0].value, term.topology_key));
  if (spec.gang.valid()) r.required_topology = w.gangs[spec.gang.index()].topology.required_level;
  if (spec.makes.valid()) r.makes = w.products[spec.makes.index()];
  for (const sched::JobId after : spec.after)
    r.after.push_back(job_id_of(after));
  return r;
}

/// The world's events as a daemon would hear of them.
class LiveWorld {
 public:
  LiveWorld(const sim::Workload& workload, const std::string& path)
      : workload_(workload), world_(workload, {}), checker_(workload, {}) {
    uint32_t task = 0;
    for (const sim::SimJob& job : workload.jobs) {
      first_task_.push_back(task);
      task += static_cast<uint32_t>(job.spec.tasks);
    }
    auto log = EventLog::open(path, {.sync = false});
    CHECK(log.ok(), "{}", log.error().message);
    log_.emplace(std::move(log).value());
  }

  /// @param restart_every  steps after which the engine is made anew from its log; 0 = never.
  sim::ReplayResult run(const FleetConfig& fleet, int restart_every) {
    open(fleet);
    for (int steps = 1; world_.advance(engine_->next_wakeup()); ++steps) {
      for (const sched::Event& event : world_.events())
        tell(event);
      const Status committed = engine_->commit(world_.now());
      CHECK(committed.ok(), "{}", committed.error().message);
      if (restart_every > 0 && steps % restart_every == 0) open(fleet);
    }
    return world_.finish();
  }
  [[nodiscard]] const std::optional<sim::Violation>& violation() const { return checker_.violation(); }
  Engine& engine() { return *engine_; }

 private:
  void open(const FleetConfig& fleet) {
    EngineOptions options;
    options.carry_out = false;
    options.watcher = [this](Instant now, std::span<const sched::Event> events, std::span<const sched::Decision> decisions) {
      if (recovered_) saw(now, events, decisions);
    };
    if (engine_) CHECK(engine_->mark().ok(), "no mark");
    recovered_ = false;
    engine_.reset();
    auto engine = Engine::open(*log_, backend_, fleet, options, world_.now());
    CHECK(engine.ok(), "{}", engine.error().message);
    engine_.emplace(std::move(engine).value());
    recovered_ = true;
  }

  /// Tasks of jobs that are added one by one have other numbers than those of jobs that are all known before: in between lie
  /// the scheduler's stand-ins. All jobs here are rigid, so the first place of a start says where a job's tasks begin.
  void saw(Instant now, std::span<const sched::Event> events, std::span<const sched::Decision> decisions) {
    std::vector<sched::Event> told(events.begin(), events.end());
    for (sched::Event& event : told)
      if (event.task.valid()) event.task = in_workload(event.job, event.task);
    std::vector<std::vector<sched::Place>> places;
    std::vector<sched::Decision> made(decisions.begin(), decisions.end());
    places.reserve(made.size());
    for (sched::Decision& decision : made) {
      if (decision.kind == sched::DecisionKind::kStart)
        live_first_[decision.job] = std::ranges::min(decision.places, {}, &sched::Place::task).task.index();
      places.emplace_back(decision.places.begin(), decision.places.end());
      for (sched::Place& place : places.back())
        place.task = in_workload(decision.job, place.task);
      decision.places = places.back();
    }
    (void)checker_.saw(now, told, made);
    world_.carry_out(made);
  }

  [[nodiscard]] sched::TaskId in_workload(sched::JobId job, sched::TaskId task) const {
    return sched::TaskId(first_task_[job.index()] + task.index() - live_first_.at(job));
  }

  void tell(const sched::Event& event) {
    Engine& e = *engine_;
    Status told;
    switch (event.kind) {
      case EventKind::kSubmit: {
        const auto id = e.stage_submit(request_of(workload_, workload_.jobs[event.job.index()]), {});
        CHECK(id.ok() && *id == job_id_of(event.job), "job {}", event.job.index());
        return;
      }
      case EventKind::kCancel: told = e.stage_cancel(job_id_of(event.job), {}); break;
      case EventKind::kCheckpoint: told = e.stage_checkpoint(job_id_of(event.job)); break;
      case EventKind::kNodeUp: told = e.stage_up(name(event.node), {}); break;
      case EventKind::kNodeDrain: told = e.stage_drain(name(event.node), {}); break;
      case EventKind::kNodeDown: told = e.stage_down(name(event.node), {}); break;
      case EventKind::kPrice: return;  // its configuration says so
      case EventKind::kFinished:
      case EventKind::kFailed:
      case EventKind::kEvicted: return report(event);
      default: CHECK(false, "event {}", static_cast<int>(event.kind));
    }
    CHECK(told.ok(), "{}", told.error().message);
  }

  const std::string& name(NodeId node) { return workload_.nodes[node.index()].node.name; }

  void report(const sched::Event& event) {
    const int64_t id = job_id_of(event.job);
    const JobView job = *engine_->job(id);
    for (const TaskView& placed : job.placed) {
      if (event.kind == EventKind::kEvicted &&
          first_task_[event.job.index()] + static_cast<uint32_t>(placed.task) != event.task.index())
        continue;
      Report report{
          .kind = ReportKind::kEnded, .key = {.job = id, .attempt = placed.attempt, .task = placed.task}, .at = world_.now()};
      report.status.code = event.kind == EventKind::kFailed ? 1 : 0;
      if (event.kind == EventKind::kEvicted) report.cause = EndCause::kStopped;
      engine_->stage_report(report);
    }
  }

  const sim::Workload& workload_;
  sim::World world_;
  sim::Checker checker_;
  std::vector<uint32_t> first_task_;             // of each job in the workload
  std::map<sched::JobId, uint32_t> live_first_;  // in the live scheduler
  SimulatedBackend backend_;
  std::optional<EventLog> log_;
  std::optional<Engine> engine_;
  bool recovered_ = false;
};

/// The workload's prices as those of a configuration.
std::vector<PriceRule> rules_of(const sim::Workload& w) {
  std::vector<PriceRule> rules;
  for (size_t p = 0; p < w.prices.size(); ++p) {
    PriceRule& rule = rules.emplace_back();
    for (const sim::SimNode& node : w.nodes)
      if (node.prices == static_cast<int32_t>(p)) rule.machines.push_back(node.node.name);
    for (const RatePoint& point : w.prices[p].points)
      rule.points.push_back({point.from, point.rate});
  }
  return rules;
}

void expect_live_is_replay(const std::string& policy, int restart_every, bool is_particular = false) {
  const uint64_t seed = 20261121;
  const sim::Workload workload = is_particular ? particular(five_tenants(seed)) : five_tenants(seed);
  sched::Scheduler scheduler(*sched::parse_policy(policy));
  const sim::ReplayResult replayed = sim::replay(scheduler, workload);
  const ScratchDir dir;
  LiveWorld live(workload, dir / "log.db");
  FleetConfig fleet;
  fleet.policy = policy;
  fleet.nodes.assign(workload.nodes.begin(), workload.nodes.end());
  fleet.queues = workload.queues;
  fleet.prices = rules_of(workload);
  const sim::ReplayResult result = live.run(fleet, restart_every);
  EXPECT_EQ(result.fingerprint, replayed.fingerprint) << policy << ", seed " << seed;
  EXPECT_EQ(result.decisions, replayed.decisions);
  EXPECT_FALSE(live.violation().has_value()) << live.violation()->what;
  for (uint32_t j = 0; j < workload.jobs.size(); ++j) {
    const std::string_view ending = sim::name_of(result.jobs[j].ending);
    ASSERT_EQ(name_of(live.engine().job(job_id_of(sched::JobId(j)))->state), ending == "made-already" ? "skipped" : ending) << j;
  }
  if (!is_particular) return;
  std::map<std::string_view, int> endings;
  int waited = 0;
  for (uint32_t j = 0; j < workload.jobs.size(); ++j) {
    ++endings[sim::name_of(result.jobs[j].ending)];
    const Instant started = result.jobs[j].first_start;
    waited += workload.jobs[j].spec.deferrable && started > workload.jobs[j].spec.submitted ? 1 : 0;
  }
  EXPECT_GT(endings["made-already"], 0);
  EXPECT_GT(waited, 5);
}

TEST(LiveReplay, ADayOfFiveTenantsIsDecidedAsTheReplayDecidesIt) { expect_live_is_replay("stint", 0); }

TEST(LiveReplay, AlsoInOrderWithBackfill) { expect_live_is_replay("fifo:backfill=easy", 0); }

TEST(LiveReplay, AlsoWhenTheDaemonIsStartedAnewAgainAndAgain) { expect_live_is_replay("stint", 900); }

TEST(LiveReplay, AlsoPricesRacksNeighboursAndResultsThatAreMadeOnce) { expect_live_is_replay("stint", 0, true); }

TEST(LiveReplay, TheseAlsoOverRestarts) { expect_live_is_replay("fair", 500, true); }

}  // namespace
}  // namespace stint
