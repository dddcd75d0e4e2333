#include "daemon/live/live_collector.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>

#include "daemon/live/foreign_use.h"
#include "daemon/live/live_inputs.h"
#include "daemon/live/live_runs.h"
#include "host/recurring.h"

namespace stint {
namespace {

constexpr Duration kFollowEvery = Duration::seconds(1);
constexpr Duration kLookForForeignEvery = Duration::seconds(5);
constexpr size_t kEventsCollected = 10'000;
constexpr size_t kJobsAtOnce = 500;
constexpr size_t kLocalThreads = 2;  // one may be writing the history
constexpr size_t kMostScrapeThreads = 4;

std::string host_name() {
  std::array<char, 256> name = {};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

/// What this machine is called: as configured, else the only machine there is, else by its host name.
std::string this_node(const LiveCollectorOptions& options) {
  if (!options.config.node.empty()) return options.config.node;
  if (options.nodes.size() == 1) return *options.nodes.begin();
  const std::string host = host_name();
  const std::string shorter = host.substr(0, host.find('.'));
  return !options.nodes.contains(host) && options.nodes.contains(shorter) ? shorter : host;
}

/// What happened with the jobs since the last look.
struct News {
  bool any = false;
  int64_t last_event = 0;  ///< seen
  std::vector<EventView> events;
  LiveWork work;  ///< as of the newest event there is
};

/// @param born  events up to this one had happened before this daemon's start: nothing is counted for them.
News news_since(const Engine& engine, int64_t seen, int64_t born) {
  News news;
  news.work.last_event = news.last_event = engine.last_event();
  news.any = born < 0 || news.last_event != seen;
  if (!news.any) return news;
  news.events = engine.events_since(seen, kEventsCollected);
  if (!news.events.empty()) news.last_event = news.events.back().number;
  LiveWork& work = news.work;
  work.nodes = engine.nodes();
  std::set<int64_t> running;
  for (const NodeView& node : work.nodes)
    running.insert(node.jobs.begin(), node.jobs.end());
  for (const int64_t id : running)
    work.running.push_back(*engine.job(id));
  for (const EventView& event : news.events) {
    if (born < 0 || event.number <= born) continue;
    if (event.kind == "node.down") work.interrupted.push_back(event.node);
    if (event.kind != "job.started") continue;
    if (auto job = engine.job(event.job); job && job->starts == 1) work.started.push_back(std::move(*job));
  }
  return news;
}

}  // namespace

struct LiveCollector::Impl {
  Impl(Service& the_service, LiveTelemetry& telemetry, LiveCollectorOptions the_options)
      : service(the_service), options(std::move(the_options)), target{telemetry, nullptr, options.nodes} {}

  void make_inputs();
  Duration follow_jobs();
  Duration look_for_foreign();
  Duration write_history();
  std::set<int64_t> jobs_to_write();
  void tell_runs(const std::set<int64_t>& ids, const std::function<void(const Run&)>& take);
  [[nodiscard]] Recurring::Work looking(LiveInput& input) const {
    return [this, &input] { return input.look(options.clock()); };
  }

  Service& service;
  LiveCollectorOptions options;
  LiveTarget target;
  std::unique_ptr<LiveHistory> history;
  std::vector<std::unique_ptr<LiveInput>> local, scraped;

  // Of the thread that follows the jobs.
  int64_t seen_event = 0;
  int64_t born = -1;          ///< the newest event at the start; −1 = not known yet
  std::mutex mutex;           // of the rest
  std::set<int64_t> touched;  ///< jobs whose runs are to be written
  ForeignUse foreign;

  std::unique_ptr<Recurring> local_threads, scrape_threads;
};

void LiveCollector::Impl::make_inputs() {
  const LiveConfig& config = options.config;
  const std::string node = this_node(options);
  if (options.simulated)
    local.push_back(std::make_unique<SimulatedInput>(target));
  else if (config.local)
    local.push_back(std::make_unique<LocalGpuInput>(
        target, config, node, options.tasks, [this, node](const std::string& failure) { service.tell_health(node, failure); }));
  if (config.local && !options.simulated) local.push_back(std::make_unique<HostCpuInput>(target, node));
  for (const ScrapeTarget& address : config.exporters)
    scraped.push_back(std::make_unique<ScrapeInput>(target, LiveSourceKind::kExporter, address, options.secrets_key));
  for (const ScrapeTarget& address : config.prometheus)
    scraped.push_back(std::make_unique<ScrapeInput>(target, LiveSourceKind::kPrometheus, address, options.secrets_key));
}

LiveCollector::LiveCollector(Service& service, LiveTelemetry& telemetry, LiveCollectorOptions options)
    : impl_(std::make_unique<Impl>(service, telemetry, std::move(options))) {
  Impl& s = *impl_;
  if (s.options.config.history) {
    s.history = std::make_unique<LiveHistory>(
        LiveHistory::Options{.path = s.options.history_path,
                             .source = s.options.simulated ? "stint daemon, simulated GPUs" : "stint daemon",
                             .retention = s.options.config.retention});
    s.target.history = s.history.get();
  }
  s.make_inputs();
  // GPUs are known before the first sample of one comes.
  s.follow_jobs();
  std::vector<Recurring::Work> works = {[&s] { return s.follow_jobs(); }};
  for (const auto& input : s.local)
    works.push_back(s.looking(*input));
  if (s.history) {
    works.push_back([&s] { return s.look_for_foreign(); });
    works.push_back([&s] { return s.write_history(); });
  }
  s.local_threads = std::make_unique<Recurring>(std::move(works), kLocalThreads);
  works.clear();
  for (const auto& input : s.scraped)
    works.push_back(s.looking(*input));
  if (works.empty()) return;
  const size_t threads = std::min(works.size(), kMostScrapeThreads);
  s.scrape_threads = std::make_unique<Recurring>(std::move(works), threads);
}

LiveCollector::~LiveCollector() {
  impl_->scrape_threads.reset();
  impl_->local_threads.reset();
  if (impl_->history) impl_->write_history();
}

Duration LiveCollector::Impl::follow_jobs() {
  const News news = service.get([this](const Engine& engine) { return news_since(engine, seen_event, born); }).get();
  if (!news.any) return kFollowEvery;
  target.telemetry.put_work(news.work);
  const std::lock_guard lock(mutex);
  for (const EventView& event : news.events)
    if (event.job > 0) touched.insert(event.job);
  seen_event = news.last_event;
  if (born < 0) born = news.work.last_event;
  return kFollowEvery;
}

/// Those that something has happened to, and those that run.
std::set<int64_t> LiveCollector::Impl::jobs_to_write() {
  std::set<int64_t> ids;
  {
    const std::lock_guard lock(mutex);
    ids.swap(touched);
  }
  for (const LiveGpu& gpu : target.telemetry.snapshot().gpus)
    for (const LiveHolder& holder : gpu.holders)
      ids.insert(holder.job);
  return ids;
}

/// A piece at a time: others do not wait long for the engine meanwhile.
void LiveCollector::Impl::tell_runs(const std::set<int64_t>& ids, const std::function<void(const Run&)>& take) {
  for (auto it = ids.begin(); it != ids.end();) {
    std::vector<int64_t> piece;
    for (; it != ids.end() && piece.size() < kJobsAtOnce; ++it)
      piece.push_back(*it);
    const std::vector<JobView> jobs = service
                                          .get([piece](const Engine& engine) {
                                            std::vector<JobView> views;
                                            for (const int64_t id : piece)
                                              if (auto view = engine.job(id)) views.push_back(std::move(*view));
                                            return views;
                                          })
                                          .get();
    for (const JobView& job : jobs)
      for (const Run& run : runs_of(job))
        take(run);
  }
}

Duration LiveCollector::Impl::look_for_foreign() {
  const LiveSnapshot snapshot = target.telemetry.snapshot();
  const std::lock_guard lock(mutex);
  foreign.look(snapshot);
  return kLookForForeignEvery;
}

Duration LiveCollector::Impl::write_history() {
  look_for_foreign();
  std::vector<Node> nodes;
  const Instant now = options.clock();
  for (const NodeView& node : service.get([](const Engine& engine) { return engine.nodes(); }).get()) {
    nodes.push_back(history_node(node));
    if (options.off != nullptr && !is_paid_while_off(node.market)) nodes.back().absent = options.off->absences(node.name, now);
  }
  const std::set<int64_t> jobs = jobs_to_write();
  std::vector<Run> foreign_runs;
  {
    const std::lock_guard lock(mutex);
    foreign_runs = foreign.take();
  }
  const auto tell = [&](const auto& take) {
    tell_runs(jobs, take);
    std::ranges::for_each(foreign_runs, take);
  };
  history->write(nodes, tell, now);
  LiveHistoryState state = history->state();
  if (state.failed == now) {
    const std::lock_guard lock(mutex);
    touched.insert(jobs.begin(), jobs.end());
    foreign.put_back(std::move(foreign_runs));
  }
  target.telemetry.put_history(std::move(state));
  return options.config.history_every;
}

}  // namespace stint
