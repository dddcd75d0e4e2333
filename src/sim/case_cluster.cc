#include "sim/case_cluster.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/case_engine.h"
#include "sim/case_world.h"

namespace stint {
namespace {

using namespace sched;

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
  ClusterRun(const ClusterCase& c, const CaseSeats& seats, CaseEngine& engine)
      : case_(c), names_(seats.names), engine_(engine), initial_(engine.tasks()), now_(initial_) {
    for (uint32_t t = 0; t < initial_.size(); ++t) {
      initial_[t].state = seats.cluster.task(TaskId(t)).state;
      initial_[t].place = seats.cluster.task(TaskId(t)).place;
      class_of_.push_back({initial_[t].job, initial_[t].group, initial_[t].state, initial_[t].request, initial_[t].priority});
    }
    now_ = initial_;
  }

  CaseVerdict run() {
    for (int32_t r = 0; r < case_.rounds; ++r) {
      round(fmt::format("round {}", r + 1));
      if (!case_.single_step) settle();
    }
    if (!case_.single_step) before_ = now_;
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

  const Task& task(TaskId t) const { return now_[t.index()]; }
  const std::string& id_of(uint32_t t) const { return names_.tasks[t]->id; }

  /// Of a task since the last round began.
  std::string_view state_of(uint32_t t) const {
    const TaskState now = task(TaskId(t)).state;
    if (now == TaskState::kRunning && before_[t].state != TaskState::kRunning) return "bound";
    return name_of(now);
  }
  /// A start on free room where a case speaks of a promise is more than the promise.
  bool is_in(uint32_t t, std::string_view state) const {
    const std::string_view now = state_of(t);
    const bool only_allocates = case_.steps == std::vector<std::string>{"allocate"};
    return now == state || (now == "bound" && state == "nominated" && !only_allocates && engine_.starts_in_any_step());
  }

  void round(const std::string& name) {
    before_ = now_;
    engine_.round();
    now_ = engine_.tasks();
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
    engine_.settle();
    now_ = engine_.tasks();
  }

  void check_strict(const std::string& when) {
    for (const auto& [name, expected] : case_.expect.jobs)
      check_job(when, name, expected);
    check_tasks(when);
    check_victims(when);
  }

  void check_job(const std::string& when, const std::string& name, const CaseExpectation& expected) {
    const auto it = names_.job_ids.find(name);
    if (it == names_.job_ids.end()) return strict_.push_back(when + "no job " + name);
    const uint32_t first = names_.first_task[it->second.index()].index();
    const auto tasks = static_cast<uint32_t>(names_.jobs[it->second.index()]->tasks.size());
    int64_t asked = 0;
    int64_t granted = 0;
    for (uint32_t t = first; t < first + tasks; ++t) {
      if (!is_in(t, expected.state))
        strict_.push_back(fmt::format("{}task {} is {}, expected {}", when, id_of(t), state_of(t), expected.state));
      const Request& request = names_.tasks[t]->request;
      asked += int64_t{request.gpus} * kMilli + request.milli;
      if (task(TaskId(t)).active()) granted += engine_.cluster().amounts(task(TaskId(t)).request).gpu_milli;
    }
    if (expected.tasks && *expected.tasks != tasks)
      strict_.push_back(fmt::format("{}job {} has {} tasks, expected {}", when, name, tasks, *expected.tasks));
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
      const auto it = names_.task_ids.find(name);
      if (it == names_.task_ids.end())
        strict_.push_back(when + "no task " + name);
      else
        wanted[{class_of_[it->second.index()], expected.state}].push_back(name);
    }
    for (const auto& [key, names] : wanted) {
      size_t found = 0;
      for (uint32_t t = 0; t < class_of_.size(); ++t)
        if (class_of_[t] == key.first && is_in(t, key.second)) ++found;
      if (found >= names.size()) continue;
      std::vector<std::string> now;
      for (const std::string& name : names)
        now.push_back(fmt::format("{} is {}", name, state_of(names_.task_ids.at(name).index())));
      strict_.push_back(fmt::format("{}{} of {} tasks {}: {}", when, found, names.size(), key.second, fmt::join(now, ", ")));
    }
  }

  void check_victims(const std::string& when) {
    if (!case_.expect.victims) return;
    std::map<Class, int64_t> balance;
    for (const std::string& name : *case_.expect.victims)
      if (const auto it = names_.task_ids.find(name); it != names_.task_ids.end()) ++balance[class_of_[it->second.index()]];
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
      const auto it = names_.node_ids.find(name);
      if (it == names_.node_ids.end()) continue;
      const int64_t idle = engine_.cluster().free()[it->second].whole_free;
      const int64_t coming = engine_.cluster().coming()[it->second].whole_free;
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
      if (const auto it = names_.job_ids.find(name); it != names_.job_ids.end()) {
        const uint32_t first = names_.first_task[it->second.index()].index();
        for (uint32_t t = first; t < first + names_.jobs[it->second.index()]->tasks.size(); ++t)
          expected[t] = e;
      }
    for (const auto& [name, e] : case_.expect.tie_break_tasks)
      if (const auto it = names_.task_ids.find(name); it != names_.task_ids.end()) expected[it->second.index()] = e;
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
    if (is.on_node()) return engine_.cluster().node(is.place.node).name;
    return is.state == TaskState::kFailed && !names_.tasks[t]->node.empty() ? names_.tasks[t]->node : "nowhere";
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
  const CaseNames& names_;
  CaseEngine& engine_;
  std::vector<Task> initial_;
  std::vector<Task> now_;
  std::vector<Task> before_;  // the last round
  std::vector<Class> class_of_;
  std::vector<std::string> strict_;
  std::vector<std::string> ties_;
};

}  // namespace

CaseVerdict run_cluster_case(const ClusterCase& c,
                             const std::function<Result<std::unique_ptr<CaseEngine>>(const CaseSeats&)>& engine_of,
                             const std::function<std::string(const ClusterCase&, const CaseSeats&)>& foreign) {
  const auto not_run = [&](const Error& error) {
    CaseVerdict verdict;
    verdict.strict = "not run: " + error.message;
    verdict.has_tie_break = c.expect.has_tie_break;
    verdict.tie_break = c.expect.has_tie_break ? verdict.strict : "";
    return verdict;
  };
  const Result<CaseSeats> seats = seat_case(c);
  if (!seats) return not_run(seats.error());
  if (foreign) {
    CaseVerdict verdict;
    verdict.not_applicable = foreign(c, *seats);
    if (!verdict.not_applicable.empty()) return verdict;
  }
  const Result<std::unique_ptr<CaseEngine>> engine = engine_of(*seats);
  if (!engine) return not_run(engine.error());
  return ClusterRun(c, *seats, **engine).run();
}

}  // namespace stint
