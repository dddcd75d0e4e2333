// The thread-safe door to the engine. Anybody may knock; one thread does everything.
//
// Commands that come while a step is being made durable go into the next one together: under load a thousand submits cost as
// many syncs as fit into a second, not a thousand. Answers come on the service's thread, after the step is durable: they must
// be short. Time is the wall clock's, but never goes back: see EventClock.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/engine/engine.h"
#include "host/event_clock.h"

namespace stint {

struct ServiceOptions {
  Duration poll = Duration::milliseconds(50);  ///< how often a backend that does not say when it has news is asked
  size_t most_waiting = 100'000;               ///< commands not yet answered; more are refused as kUnavailable
  /// Called on the service's thread, once: another daemon has taken over the log. {} = nothing; once that one is gone, this one goes on.
  std::function<void(const std::string& why)> on_superseded = {};
};

class Service {
 public:
  template <typename T>
  using Answer = std::function<void(Result<T>)>;

  /// Takes over the engine. @param backend  the engine's; both are used by the service's thread alone from here on.
  Service(Engine engine, Backend& backend, EventClock clock, const ServiceOptions& options = {});
  /// Stops.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// The one that its events have their times from.
  [[nodiscard]] EventClock clock() const;

  /// The view of the job, or of the array as a whole.
  void submit(JobRequest request, CommandInfo by, Answer<JobView> answer);
  void cancel(int64_t job, CommandInfo by, Answer<JobView> answer);
  void hold(int64_t job, CommandInfo by, Answer<JobView> answer);
  void release(int64_t job, CommandInfo by, Answer<JobView> answer);
  struct ControlledArray {
    JobView array;
    std::vector<int32_t> jobs;  ///< that had not ended, by their places in it
  };
  void control_array(JobControl what, int64_t first, CommandInfo by, Answer<ControlledArray> answer);
  void approve(int64_t job, CommandInfo by, Answer<JobView> answer);
  void refuse(int64_t job, std::string reason, CommandInfo by, Answer<JobView> answer);
  /// All stages or none; the view of each stage's job, or array as a whole.
  void submit_pipeline(std::vector<PipelineStage> stages, CommandInfo by, Answer<std::vector<JobView>> answer);
  void set_budget(BudgetRule rule, CommandInfo by, Answer<BudgetView> answer);
  void remove_budget(std::string name, CommandInfo by, Answer<bool> answer);
  /// It has saved its work: less is lost when it is stopped, and no alert is raised.
  void checkpoint(int64_t job, CommandInfo by, Answer<JobView> answer);
  /// A trial has reached a rung of its study.
  void report_trial(int64_t job, int32_t rung, int64_t loss_micro, CommandInfo by, Answer<JobView> answer);
  void drain_node(std::string node, CommandInfo by, Answer<NodeView> answer);
  void node_up(std::string node, CommandInfo by, Answer<NodeView> answer);
  /// A machine whose GPUs do not all answer gets no new work, until they do. @param failure  what one of them says; empty = all answer.
  void tell_health(std::string node, std::string failure);
  /// What became of machines that a Capacity makes, in order.
  void report_machines(std::vector<MachineReport> reports);
  void change_fleet(FleetConfig fleet, CommandInfo by, Answer<EngineView> answer);
  /// Rows for side streams of the log, and what goes into the stream of events with them; answered when they are durable.
  void append(std::vector<SideRow> rows, std::vector<EventView> notices, Answer<bool> answer);

  /// These rows in place of all that the stream has, which is only their writer's.
  void renew(std::string stream, std::vector<SideRow> rows, Answer<bool> answer);

  /// Runs `read` on the service's thread between two steps, after the stop on the caller's. Views are values: take them
  /// with you.
  void ask(std::function<void(const Engine&)> read);
  /// The same, as a future; not on the service's own thread, which would wait for itself.
  template <typename Read>
  auto get(Read read) -> std::future<std::invoke_result_t<Read, const Engine&>> {
    using T = std::invoke_result_t<Read, const Engine&>;
    auto promise = std::make_shared<std::promise<T>>();
    ask([promise, read = std::move(read)](const Engine& engine) { promise->set_value(read(engine)); });
    return promise->get_future();
  }

  /// Called on the service's thread after each step that made events, with the number of the last one. One listener.
  void on_events(std::function<void(int64_t)> listener);

  /// No more commands (they are refused as kUnavailable); what was taken is made durable and answered, the state marked.
  /// What runs goes on. Returns when all that is done.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
