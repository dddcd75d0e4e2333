#include "sim/case_cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sched/round.h"
#include "sim/case_world.h"

namespace stint {
namespace {

using namespace sched;

Step step_of(const std::string& name) {
  if (name == "consolidation") return Step::kConsolidate;
  if (name == "reclaim") return Step::kReclaim;
  if (name == "preempt") return Step::kPreempt;
  if (name == "stale_gang") return Step::kStaleGang;
  return Step::kAllocate;
}

std::string_view name_of(TaskState state) {
  switch (state) {
    case TaskState::kPending: return "pending";
    case TaskState::kNominated: return "nominated";
    case TaskState::kRunning: return "running";
    case TaskState::kReleasing: return "releasing";
    case TaskState::kFailed: return "failed";
    case TaskState::kDone: return "done";
  }
  return "";
}

/// Runs a case and collects what differs.
class ClusterRun {
 public:
  ClusterRun(const ClusterCase& c, CaseWorld world)
      : case_(c),
        world_(std::move(world)),
        initial_(world_.state.cluster().tasks().begin(), world_.state.cluster().tasks().end()) {
    for (const std::string& name : c.steps)
      steps_.push_back(step_of(name));
    for (uint32_t t = 0; t < initial_.size(); ++t)
      class_of_.push_back({initial_[t].job, initial_[t].group, initial_[t].state, initial_[t].request, initial_[t].priority});
  }

  CaseVerdict run() {
    for (int32_t r = 0; r < case_.rounds; ++r) {
      round(fmt::format("round {}", r + 1));
      if (!case_.single_step) settle();
    }
    if (!case_.single_step) before_ = current();
    check_strict("");
    check_nodes();
    check_tie_break();
    for (int32_t r = 0; r < case_.stable_rounds; ++r) {
      const std::string name = fmt::format("stable round {}", r + 1);
      round(name);
      check_strict(name + ": ");
      settle();
    }
    CaseVerdict verdict;
    verdict.strict = fmt::format("{}", fmt::join(strict_, "; "));
    verdict.has_tie_break = case_.expect.has_tie_break;
    verdict.tie_break = fmt::format("{}", fmt::join(ties_, "; "));
    return verdict;
  }

 private:
  /// What makes tasks interchangeable.
  using Class = std::tuple<JobId, int32_t, TaskState, RequestId, int32_t>;

  std::vector<Task> current() const {
    const std::span<const Task> tasks = world_.state.cluster().tasks();
    return {tasks.begin(), tasks.end()};
  }
  const Task& task(TaskId t) const { return world_.state.cluster().task(t); }
  const std::string& id_of(uint32_t t) const { return world_.tasks[t]->id; }

  /// Of a task since the last round began.
  std::string_view state_of(uint32_t t) const {
    const TaskState now = task(TaskId(t)).state;
    if (now == TaskState::kRunning && before_[t].state != TaskState::kRunning) return "bound";
    return name_of(now);
  }

  void round(const std::string& name) {
    before_ = current();
    run_round(world_.state, steps_);
    int64_t binds = 0;
    int64_t evictions = 0;
    int64_t nominations = 0;
    for (uint32_t t = 0; t < before_.size(); ++t) {
      const TaskState was = before_[t].state;
      const Task& is = task(TaskId(t));
      binds += is.state == TaskState::kRunning && was != TaskState::kRunning ? 1 : 0;
      evictions += was == TaskState::kRunning && is.state != TaskState::kRunning ? 1 : 0;
      nominations +=
          is.state == TaskState::kNominated && (was != TaskState::kNominated || is.place.node != before_[t].place.node);
    }
    const CasePerRound& most = case_.expect.per_round;
    const auto check = [&](const char* what, int64_t count, std::optional<int64_t> bound) {
      if (bound && count > *bound) strict_.push_back(fmt::format("{}: {} {}, at most {} expected", name, count, what, *bound));
    };
    check("binds", binds, most.max_binds);
    check("evictions", evictions, most.max_evictions);
    check("nominations", nominations, most.max_nominations);
  }

  /// What time brings after a round: promises lapse, those who were told to leave have left.
  void settle() {
    for (uint32_t t = 0; t < before_.size(); ++t) {
      const TaskState state = task(TaskId(t)).state;
      const bool stays = world_.jobs[task(TaskId(t)).job.index()]->deleted_when_evicted;
      if (state == TaskState::kNominated || (state == TaskState::kReleasing && !stays))
        world_.state.gone(TaskId(t), TaskState::kPending);
    }
  }

  void check_strict(const std::string& when) {
    for (const auto& [name, expected] : case_.expect.jobs)
      check_job(when, name, expected);
    check_tasks(when);
    check_victims(when);
  }

  void check_job(const std::string& when, const std::string& name, const CaseExpectation& expected) {
    const auto it = world_.job_ids.find(name);
    if (it == world_.job_ids.end()) return strict_.push_back(when + "no job " + name);
    const JobRun& run = world_.state.job(it->second);
    int64_t asked = 0;
    int64_t granted = 0;
    for (uint32_t t = run.first.index(); t < run.first.index() + static_cast<uint32_t>(run.spec.tasks); ++t) {
      if (state_of(t) != expected.state)
        strict_.push_back(fmt::format("{}task {} is {}, expected {}", when, id_of(t), state_of(t), expected.state));
      const Request& request = world_.tasks[t]->request;
      asked += int64_t{request.gpus} * kMilli + request.milli;
      if (task(TaskId(t)).active()) granted += world_.state.cluster().amounts(task(TaskId(t)).request).gpu_milli;
    }
    if (expected.tasks && *expected.tasks != run.spec.tasks)
      strict_.push_back(fmt::format("{}job {} has {} tasks, expected {}", when, name, run.spec.tasks, *expected.tasks));
    if (expected.gpu_milli && *expected.gpu_milli != asked)
      strict_.push_back(fmt::format("{}job {} asks for {} milli-GPU, expected {}", when, name, asked, *expected.gpu_milli));
    if (expected.gpu_milli_granted && *expected.gpu_milli_granted != granted)
      strict_.push_back(
          fmt::format("{}job {} was given {} milli-GPU, expected {}", when, name, granted, *expected.gpu_milli_granted));
  }

  /// As many interchangeable tasks in each state as expected of those that are named.
  void check_tasks(const std::string& when) {
    std::map<std::pair<Class, std::string>, std::vector<std::string>> wanted;
    for (const auto& [name, expected] : case_.expect.tasks) {
      const auto it = world_.task_ids.find(name);
      if (it == world_.task_ids.end())
        strict_.push_back(when + "no task " + name);
      else
        wanted[{class_of_[it->second.index()], expected.state}].push_back(name);
    }
    for (const auto& [key, names] : wanted) {
      size_t found = 0;
      for (uint32_t t = 0; t < class_of_.size(); ++t)
        if (class_of_[t] == key.first && state_of(t) == key.second) ++found;
      if (found >= names.size()) continue;
      std::vector<std::string> now;
      for (const std::string& name : names)
        now.push_back(fmt::format("{} is {}", name, state_of(world_.task_ids.at(name).index())));
      strict_.push_back(fmt::format("{}{} of {} tasks {}: {}", when, found, names.size(), key.second, fmt::join(now, ", ")));
    }
  }

  void check_victims(const std::string& when) {
    if (!case_.expect.victims) return;
    std::map<Class, int64_t> balance;
    for (const std::string& name : *case_.expect.victims)
      if (const auto it = world_.task_ids.find(name); it != world_.task_ids.end()) ++balance[class_of_[it->second.index()]];
    std::vector<std::string> victims;
    for (uint32_t t = 0; t < initial_.size(); ++t) {
      const TaskState is = task(TaskId(t)).state;
      if (initial_[t].state != TaskState::kRunning || (is != TaskState::kPending && is != TaskState::kReleasing)) continue;
      --balance[class_of_[t]];
      victims.push_back(id_of(t));
    }
    if (std::all_of(balance.begin(), balance.end(), [](const auto& b) { return b.second == 0; })) return;
    strict_.push_back(
        fmt::format("{}victims [{}], expected [{}]", when, fmt::join(victims, ", "), fmt::join(*case_.expect.victims, ", ")));
  }

  void check_nodes() {
    for (const auto& [name, expected] : case_.expect.nodes) {
      const auto it = world_.node_ids.find(name);
      if (it == world_.node_ids.end()) continue;
      const int64_t idle = world_.state.cluster().free()[it->second].whole_free;
      const int64_t coming = world_.state.cluster().coming()[it->second].whole_free;
      if (expected.idle_gpus && *expected.idle_gpus != idle)
        strict_.push_back(fmt::format("node {} has {} idle GPUs, expected {}", name, idle, *expected.idle_gpus));
      if (expected.releasing_gpus && *expected.releasing_gpus != coming - idle)
        strict_.push_back(
            fmt::format("node {} has {} releasing GPUs, expected {}", name, coming - idle, *expected.releasing_gpus));
    }
  }

  void check_tie_break() {
    std::map<uint32_t, CaseExpectation> expected;
    for (const auto& [name, e] : case_.expect.tie_break_jobs)
      if (const auto it = world_.job_ids.find(name); it != world_.job_ids.end()) {
        const JobRun& run = world_.state.job(it->second);
        for (int32_t i = 0; i < run.spec.tasks; ++i)
          expected[run.first.index() + static_cast<uint32_t>(i)] = e;
      }
    for (const auto& [name, e] : case_.expect.tie_break_tasks)
      if (const auto it = world_.task_ids.find(name); it != world_.task_ids.end()) expected[it->second.index()] = e;
    for (const auto& [t, e] : expected)
      if (!e.node.empty()) {
        const std::string node = place_of(t);
        if (node != e.node) ties_.push_back(fmt::format("task {} is on {}, expected {}", id_of(t), node, e.node));
      }
    check_shared_gpus(expected);
    check_moved();
  }

  /// Name of its node; of a failed task, the node it failed on.
  std::string place_of(uint32_t t) const {
    const Task& is = task(TaskId(t));
    if (is.on_node()) return world_.state.cluster().node(is.place.node).name;
    return is.state == TaskState::kFailed && !world_.tasks[t]->node.empty() ? world_.tasks[t]->node : "nowhere";
  }

  /// The labels mean nothing but who shares with whom.
  void check_shared_gpus(const std::map<uint32_t, CaseExpectation>& expected) {
    for (const auto& [a, ea] : expected)
      for (const auto& [b, eb] : expected) {
        if (a >= b || ea.gpu_group.empty() || eb.gpu_group.empty() || ea.node != eb.node) continue;
        const Task& ta = task(TaskId(a));
        const Task& tb = task(TaskId(b));
        if (!ta.on_node() || !tb.on_node()) continue;
        const bool together = ta.place.node == tb.place.node && (ta.place.gpus & tb.place.gpus) != 0;
        if (together != (ea.gpu_group == eb.gpu_group))
          ties_.push_back(fmt::format("tasks {} and {} {}", id_of(a), id_of(b), together ? "share a GPU" : "do not share a GPU"));
      }
  }

  void check_moved() {
    if (!case_.expect.moved) return;
    std::set<std::string> moved;
    for (uint32_t t = 0; t < initial_.size(); ++t) {
      const Task& is = task(TaskId(t));
      if (initial_[t].state == TaskState::kRunning && is.active() &&
          !(is.state == TaskState::kRunning && is.place == initial_[t].place))
        moved.insert(id_of(t));
    }
    const std::set<std::string> wanted(case_.expect.moved->begin(), case_.expect.moved->end());
    if (moved != wanted)
      ties_.push_back(fmt::format("moved [{}], expected [{}]", fmt::join(moved, ", "), fmt::join(wanted, ", ")));
  }

  const ClusterCase& case_;
  CaseWorld world_;
  std::vector<Task> initial_;
  std::vector<Task> before_;  // the last round
  std::vector<Class> class_of_;
  std::vector<Step> steps_;
  std::vector<std::string> strict_;
  std::vector<std::string> ties_;
};

}  // namespace

CaseVerdict run_cluster_case(const ClusterCase& c, VictimOrder victims) {
  Result<CaseWorld> world = build_case_world(c, victims);
  if (!world) {
    CaseVerdict verdict;
    verdict.strict = "not run: " + world.error().message;
    verdict.has_tie_break = c.expect.has_tie_break;
    verdict.tie_break = c.expect.has_tie_break ? verdict.strict : "";
    return verdict;
  }
  return ClusterRun(c, std::move(world).value()).run();
}

}  // namespace stint
