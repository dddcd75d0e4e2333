#include "daemon/service.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace stint {
namespace {

constexpr Duration kWriteAgainAfter = Duration::seconds(1);
constexpr Duration kLongestServiceSleep = Duration::seconds(10);

}  // namespace

struct Service::Impl {
  /// Stages itself and returns what answers when the step is durable, or has failed.
  using Outcome = std::function<void(const Engine&, const Status&)>;
  using Command = std::function<Outcome(Engine&)>;

  Impl(Engine the_engine, Backend& the_backend, EventClock the_clock, const ServiceOptions& service_options)
      : engine(std::move(the_engine)), backend(the_backend), clock(the_clock), options(service_options) {}

  void run();
  void round();
  void commit(std::vector<Outcome>& outcomes);
  Instant time();
  [[nodiscard]] std::chrono::nanoseconds until_next();
  bool enter(Command command);
  template <typename Stage, typename View, typename T>
  void put(Stage stage, View view, Answer<T> answer);

  // The service's thread alone.
  Engine engine;
  Backend& backend;
  EventClock clock;
  ServiceOptions options;
  Instant tried;  // to write, while read-only
  int64_t told_events = 0;

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Command> commands;                           // guarded
  std::vector<std::function<void(const Engine&)>> reads;  // guarded
  std::function<void(int64_t)> listener;                  // guarded
  bool news = false;                                      // guarded: the backend has something to tell
  bool stopping = false;                                  // guarded
  bool ended = false;                                     // guarded: the thread touches the engine no more
  std::recursive_mutex reading;                           // who asks then; a read may ask
  std::jthread thread;
};

Service::Service(Engine engine, Backend& backend, EventClock clock, const ServiceOptions& options)
    : impl_(std::make_unique<Impl>(std::move(engine), backend, clock, options)) {
  impl_->told_events = impl_->engine.last_event();
  backend.on_events([impl = impl_.get()] {
    {
      const std::lock_guard lock(impl->mutex);
      impl->news = true;
    }
    impl->wake.notify_one();
  });
  impl_->thread = std::jthread([impl = impl_.get()] { impl->run(); });
}

EventClock Service::clock() const { return impl_->clock; }

Service::~Service() { stop(); }

void Service::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  if (impl_->thread.joinable()) impl_->thread.join();
  impl_->backend.on_events({});
}

void Service::Impl::run() {
  for (;;) {
    round();
    std::unique_lock lock(mutex);
    if (stopping && commands.empty() && reads.empty()) break;
    if (!commands.empty() || !reads.empty() || news) continue;
    lock.unlock();
    const auto sleep = until_next();
    lock.lock();
    wake.wait_for(lock, sleep, [&] { return stopping || news || !commands.empty() || !reads.empty(); });
  }
  // Without a mark the next start compares less; nothing else is lost.
  (void)engine.mark();
  for (;;) {
    std::vector<std::function<void(const Engine&)>> asked;
    {
      const std::lock_guard lock(mutex);
      asked.swap(reads);
      ended = asked.empty();
      if (ended) return;
    }
    for (const auto& read : asked)
      read(engine);
  }
}

/// While jobs run, what is added to the wall clock is not added to them.
Instant Service::Impl::time() {
  clock.may_step(!engine.runs_jobs());
  return clock.now();
}

void Service::Impl::round() {
  std::deque<Command> taken;
  std::vector<std::function<void(const Engine&)>> asked;
  std::function<void(int64_t)> told;
  {
    const std::lock_guard lock(mutex);
    taken.swap(commands);
    asked.swap(reads);
    told = listener;
    news = false;
  }
  std::vector<Outcome> outcomes;
  for (const Command& command : taken)
    outcomes.push_back(command(engine));
  const Instant now = time();
  if (engine.read_only() && now - tried >= kWriteAgainAfter) {
    tried = now;
    const Status tried_again = engine.try_to_write();
    if (!tried_again.ok() && tried_again.error().code == ErrorCode::kConflict && options.on_superseded)
      std::exchange(options.on_superseded, {})(tried_again.error().message);
  }
  engine.poll_backend(now);
  if (engine.has_staged() || (!engine.read_only() && engine.next_wakeup() <= now))
    commit(outcomes);
  else if (engine.writes_snapshot() && !engine.read_only())
    (void)engine.write_snapshot_part();
  engine.look(time());
  for (const Outcome& outcome : outcomes)
    outcome(engine, {});
  for (const auto& read : asked)
    read(engine);
  if (told && engine.last_event() > told_events) told(engine.last_event());
  told_events = engine.last_event();
}

/// Answers those whose commands were in the step; what they staged follows from it, so none is answered before.
void Service::Impl::commit(std::vector<Outcome>& outcomes) {
  const Status committed = engine.commit(time());
  for (const Outcome& outcome : outcomes)
    outcome(engine, committed);
  outcomes.clear();
}

std::chrono::nanoseconds Service::Impl::until_next() {
  if (engine.writes_snapshot() && !engine.read_only()) return {};
  const Instant now = time();
  Duration sleep = std::min(options.poll, kLongestServiceSleep);
  // A backend that says when it has news need not be asked before.
  if (const auto next = backend.next_event_at()) sleep = std::min(kLongestServiceSleep, *next - now);
  if (engine.read_only())
    sleep = std::min(sleep, kWriteAgainAfter);
  else if (const Instant next = engine.next_wakeup(); next != sched::kNever)
    sleep = std::min(sleep, next - now);
  return std::chrono::nanoseconds(std::max<int64_t>(sleep.count_ns(), 0));
}

bool Service::Impl::enter(Command command) {
  {
    const std::lock_guard lock(mutex);
    if (stopping || commands.size() >= options.most_waiting) return false;
    commands.push_back(std::move(command));
  }
  wake.notify_one();
  return true;
}

/// @param stage  Engine& → Result of what the view is made from. @param view  const Engine&, that → T.
template <typename Stage, typename View, typename T>
void Service::Impl::put(Stage stage, View view, Answer<T> answer) {
  auto shared = std::make_shared<Answer<T>>(std::move(answer));
  const bool entered = enter([shared, stage = std::move(stage), view = std::move(view)](Engine& e) -> Outcome {
    auto staged = stage(e);
    return [shared, staged = std::move(staged), view](const Engine& after, const Status& committed) {
      if (!staged.ok()) return (*shared)(staged.error());
      if (!committed.ok()) return (*shared)(committed.error());
      (*shared)(view(after, *staged));
    };
  });
  if (!entered) (*shared)(make_error(ErrorCode::kUnavailable, "the daemon is stopping or has too much to do: try again"));
}

namespace {

/// A command about a job or node, with what it is about as its result.
template <typename Of>
Result<Of> of(Status status, Of of_what) {
  if (!status.ok()) return status.error();
  return of_what;
}

JobView job_of(const Engine& engine, int64_t id) {
  JobView unread;  // it has left memory, and the log cannot be read just now
  unread.id = id;
  return engine.job(id).value_or(std::move(unread));
}

/// Of an array's first: the array.
JobView submitted_of(const Engine& engine, int64_t id) {
  auto array = engine.array(id);
  return array ? std::move(*array) : job_of(engine, id);
}

/// Of an array all jobs are decided on together.
JobView decided_of(const Engine& engine, int64_t id) {
  auto array = engine.array_with(id);
  return array ? std::move(*array) : job_of(engine, id);
}

NodeView node_of(const Engine& engine, const std::string& name) {
  const std::vector<NodeView> nodes = engine.nodes();
  return *std::ranges::find(nodes, name, &NodeView::name);
}

}  // namespace

void Service::submit(JobRequest request, CommandInfo by, Answer<JobView> answer) {
  impl_->put([request = std::move(request), by = std::move(by)](Engine& e) { return e.stage_submit(request, by); }, submitted_of,
             std::move(answer));
}

void Service::cancel(int64_t job, CommandInfo by, Answer<JobView> answer) {
  impl_->put([job, by = std::move(by)](Engine& e) { return of(e.stage_cancel(job, by), job); }, job_of, std::move(answer));
}

void Service::hold(int64_t job, CommandInfo by, Answer<JobView> answer) {
  impl_->put([job, by = std::move(by)](Engine& e) { return of(e.stage_hold(job, by), job); }, job_of, std::move(answer));
}

void Service::release(int64_t job, CommandInfo by, Answer<JobView> answer) {
  impl_->put([job, by = std::move(by)](Engine& e) { return of(e.stage_release(job, by), job); }, job_of, std::move(answer));
}

void Service::control_array(JobControl what, int64_t first, CommandInfo by, Answer<ControlledArray> answer) {
  impl_->put([=, by = std::move(by)](Engine& e) { return e.stage_array(what, first, by); },
             [first](const Engine& e, const std::vector<int32_t>& jobs) {
               return ControlledArray{.array = submitted_of(e, first), .jobs = jobs};
             },
             std::move(answer));
}

void Service::approve(int64_t job, CommandInfo by, Answer<JobView> answer) {
  impl_->put([job, by = std::move(by)](Engine& e) { return of(e.stage_approve(job, by), job); }, decided_of, std::move(answer));
}

void Service::refuse(int64_t job, std::string reason, CommandInfo by, Answer<JobView> answer) {
  impl_->put(
      [job, reason = std::move(reason), by = std::move(by)](Engine& e) { return of(e.stage_refuse(job, reason, by), job); },
      decided_of, std::move(answer));
}

void Service::submit_pipeline(std::vector<PipelineStage> stages, CommandInfo by, Answer<std::vector<JobView>> answer) {
  impl_->put([stages = std::move(stages), by = std::move(by)](Engine& e) { return e.stage_pipeline(stages, by); },
             [](const Engine& e, const std::vector<int64_t>& ids) {
               std::vector<JobView> jobs;
               for (const int64_t id : ids)
                 jobs.push_back(submitted_of(e, id));
               return jobs;
             },
             std::move(answer));
}

void Service::set_budget(BudgetRule rule, CommandInfo by, Answer<BudgetView> answer) {
  impl_->put([rule = std::move(rule), by = std::move(by)](Engine& e) { return of(e.stage_budget(rule, by), rule.name); },
             [](const Engine& e, const std::string& name) {
               const std::vector<BudgetView> all = e.budgets();
               // Removed again in the same step: shown as nothing but its name.
               const auto found = std::ranges::find(all, name, &BudgetView::name);
               return found == all.end() ? BudgetView{.name = name} : *found;
             },
             std::move(answer));
}

void Service::remove_budget(std::string name, CommandInfo by, Answer<bool> answer) {
  impl_->put([name = std::move(name), by = std::move(by)](Engine& e) { return of(e.stage_remove_budget(name, by), true); },
             [](const Engine&, bool) { return true; }, std::move(answer));
}

void Service::checkpoint(int64_t job, CommandInfo by, Answer<JobView> answer) {
  impl_->put([job, by = std::move(by)](Engine& e) { return of(e.stage_checkpoint(job, by), job); }, job_of, std::move(answer));
}

void Service::report_trial(int64_t job, int32_t rung, int64_t loss_micro, CommandInfo by, Answer<JobView> answer) {
  impl_->put([=, by = std::move(by)](Engine& e) { return of(e.stage_trial(job, rung, loss_micro, by), job); }, job_of,
             std::move(answer));
}

void Service::drain_node(std::string node, CommandInfo by, Answer<NodeView> answer) {
  impl_->put([node, by = std::move(by)](Engine& e) { return of(e.stage_drain(node, by), node); }, node_of, std::move(answer));
}

void Service::node_up(std::string node, CommandInfo by, Answer<NodeView> answer) {
  impl_->put([node, by = std::move(by)](Engine& e) { return of(e.stage_up(node, by), node); }, node_of, std::move(answer));
}

void Service::tell_health(std::string node, std::string failure) {
  impl_->put([node = std::move(node),
              failure = std::move(failure)](Engine& e) { return e.stage_health(node, failure), Result<bool>(true); },
             [](const Engine&, bool) { return true; }, Answer<bool>([](const Result<bool>&) {}));
}

void Service::report_machines(std::vector<MachineReport> reports) {
  impl_->put(
      [reports = std::move(reports)](Engine& e) {
        for (const MachineReport& report : reports)
          e.stage_machine(report);
        return Result<bool>(true);
      },
      [](const Engine&, bool) { return true; }, Answer<bool>([](const Result<bool>&) {}));
}

void Service::change_fleet(FleetConfig fleet, CommandInfo by, Answer<EngineView> answer) {
  impl_->put([fleet = std::move(fleet), by = std::move(by)](Engine& e) { return of(e.stage_fleet(fleet, by), true); },
             [](const Engine& e, bool) { return e.overview(); }, std::move(answer));
}

void Service::append(std::vector<SideRow> rows, std::vector<EventView> notices, Answer<bool> answer) {
  impl_->put(
      [rows = std::move(rows), notices = std::move(notices)](Engine& e) {
        for (const SideRow& row : rows)
          e.stage_side_row(row);
        for (const EventView& notice : notices)
          e.stage_notice(notice);
        return Result<bool>(true);
      },
      [](const Engine&, bool) { return true; }, std::move(answer));
}

void Service::renew(std::string stream, std::vector<SideRow> rows, Answer<bool> answer) {
  impl_->put(
      [stream = std::move(stream), rows = std::move(rows)](Engine& e) {
        for (const SideRow& row : rows)
          e.stage_side_row(row);
        e.stage_side_renewal(stream);
        return Result<bool>(true);
      },
      [](const Engine&, bool) { return true; }, std::move(answer));
}

void Service::ask(std::function<void(const Engine&)> read) {
  bool ended = false;
  {
    const std::lock_guard lock(impl_->mutex);
    ended = impl_->ended;
    if (!ended) impl_->reads.push_back(std::move(read));
  }
  if (!ended) return impl_->wake.notify_one();
  const std::lock_guard lock(impl_->reading);
  read(impl_->engine);
}

void Service::on_events(std::function<void(int64_t)> listener) {
  const std::lock_guard lock(impl_->mutex);
  impl_->listener = std::move(listener);
}

}  // namespace stint
