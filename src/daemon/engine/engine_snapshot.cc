// The engine's state as bytes, and back. What is not in it follows from the rest, or is of one step alone.
//
// Another program that lays things out in another way does not read it: kSnapshotVersion says so, and the fingerprint is compared. It
// is a way to start faster and nothing else: the records are the truth.
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/packed.h"
#include "daemon/engine/engine_impl.h"
#include "daemon/engine/snapshot_version.h"
#include "sched/policy_text.h"

namespace stint {
namespace {

struct EngineParts {
  template <typename T>
  static T fresh() {
    return T();
  }
  template <typename A>
  static void of(A& a, Label& v) {
    auto& [key, value] = v;
    a(key, value);
  }
  template <typename A>
  static void of(A& a, JobGroup& v) {
    auto& [name, within, each] = v;
    a(name, within, each);
  }
  template <typename A>
  static void of(A& a, JobRequest& v) {
    auto& [name, queue, user, tags, command, script, arguments, image, folder, environment, output_path, error_path, gpus,
           gpu_milli, gpu_memory, mig_profile, shares_with, work_kind, max_slowdown_percent, gpu_models, cpu_milli, memory,
           node_labels, machines, labels, affinity, anti_affinity, groups, tasks, min_tasks, required_topology,
           preferred_topology, priority, preemptible, on_hold, time_limit, expected, min_runtime, not_before, deadline,
           deferrable, retries, checkpoint, grace, after, makes, array, at_once, study, rungs, simulated_duration] = v;
    a(name, queue, user, tags, command, script, arguments, image, folder, environment, output_path, error_path, gpus, gpu_milli,
      gpu_memory, mig_profile, shares_with, work_kind, max_slowdown_percent, gpu_models, cpu_milli, memory, node_labels, machines,
      labels, affinity, anti_affinity, groups, tasks, min_tasks, required_topology, preferred_topology, priority, preemptible,
      on_hold, time_limit, expected, min_runtime, not_before, deadline, deferrable, retries, checkpoint, grace, after, makes,
      array, at_once, study, rungs, simulated_duration);
  }
  template <typename A>
  static void of(A& a, EndView& v) {
    auto& [task, attempt, node, started, ended, exit_code, signal, detail, gpus, gpu_milli] = v;
    a(task, attempt, node, started, ended, exit_code, signal, detail, gpus, gpu_milli);
  }
  template <typename A>
  static void of(A& a, Account& v) {
    auto& [queue, user, project, spent, promised, gpu_milli, waiting] = v;
    a(queue, user, project, spent, promised, gpu_milli, waiting);
  }
  template <typename A>
  static void of(A& a, BudgetRule& v) {
    auto& [name, queue, project, per_month, thresholds_percent, at_limit] = v;
    a(name, queue, project, per_month, thresholds_percent, at_limit);
  }
  template <typename A>
  static void of(A& a, ApprovalView& v) {
    auto& [why, asked_by, most_cost, by, decided, approved, reason] = v;
    a(why, asked_by, most_cost, by, decided, approved, reason);
  }
  /// All but the kinds of machines, which follow from the machines.
  template <typename A>
  static void of(A& a, GovernBook& v) {
    auto& [spend, budgets, approvals, told, on_nodes, changed, watched, kinds] = v;
    if constexpr (A::kReads) {
      std::vector<Account> accounts;
      Interval month;
      a(accounts, month);
      spend = SpendBook::restored(std::move(accounts), month);
    } else {
      a(spend.accounts(), spend.month());
    }
    a(budgets, approvals, told, on_nodes, changed, watched);
  }
  /// All but its request, which others of its array share, and its first task, which the scheduler knows.
  template <typename A>
  static void of(A& a, JobBook& v) {
    auto& [id, number, request, queue, state, reason, leaves_as, on_hold, cancelled, failing, first_task, launches, starts,
           failures, losses, array_first, array_index, submitted, first_started, started, ended, placed, ends, posted,
           posted_micro_gpu_hours, account, promised, claimed_milli, reports] = v;
    a(id, number, queue, state, reason, leaves_as, on_hold, cancelled, failing, launches, starts, failures, losses, array_first,
      array_index, submitted, first_started, started, ended, placed, ends, posted, posted_micro_gpu_hours, account, promised,
      claimed_milli, reports);
  }
  template <typename A>
  static void of(A& a, StudyBook& v) {
    auto& [client, name, rungs] = v;
    a(client, name, rungs);
  }
};

/// A node beside its description.
struct NodeFlags {
  bool is_machine = false, down = false, draining = false, named = true, reported = false, leaving = false, lost = false,
       cleared = false;
};

/// What is written of the books in other words than their own: configurations as JSON, nodes beside their descriptions, and the
/// scheduler as it saves itself.
struct SavedApart {
  std::string fleet, all;  ///< the second with the machines that are no longer named, each at its price
  std::vector<NodeFlags> states;
  std::vector<std::optional<Instant>> untils;
  std::vector<std::string> details;
  std::string scheduler;
};

/// The books in the order that they have always had, but for jobs and events, which come behind. `queue_ids` and `node_ids` follow from
/// names, `price_times` from prices; those named in SavedApart are there.
template <typename A>
void archive(A& a, EngineBooks& books, SavedApart& apart) {
  auto& [fleet, scheduler, now, step, sequence, jobs, accepted, ended_in_memory, forgotten_until, nodes, machines_come, queues,
         node_ids, queue_ids, govern, arrays, studies, products, unnumbered, numbered, event_counts, owed, event_views,
         last_event, price_times] = books;
  a(apart.fleet, apart.all, apart.states, apart.untils, apart.details, machines_come, apart.scheduler, now, step, sequence,
    queues, accepted, ended_in_memory, forgotten_until, arrays, studies, products, unnumbered, numbered, event_counts, owed,
    last_event, govern);
}

/// An event with its texts as numbers of a table: few are told apart.
struct FlatEvent {
  int64_t number = 0, told = 0;
  Instant at;
  int64_t job = 0, job_number = 0;
  int64_t array_index = -1;  ///< -1 = of none
  uint32_t kind = 0, queue = 0, node = 0, detail = 0;
};

void save_events(PackedWriter<EngineParts>& out, const std::deque<EventView>& events) {
  std::vector<std::string> texts;
  std::unordered_map<std::string_view, uint32_t> known;
  const auto number_of = [&](const std::string& text) {
    const auto [at, is_new] = known.try_emplace(text, static_cast<uint32_t>(texts.size()));
    if (is_new) texts.push_back(text);
    return at->second;
  };
  std::vector<FlatEvent> flat;
  flat.reserve(events.size());
  for (const EventView& e : events)
    flat.push_back({.number = e.number,
                    .told = e.told,
                    .at = e.at,
                    .job = e.job,
                    .job_number = e.job_number,
                    .array_index = e.array_index.value_or(-1),
                    .kind = number_of(e.kind),
                    .queue = number_of(e.queue),
                    .node = number_of(e.node),
                    .detail = number_of(e.detail)});
  out(texts, flat);
}

bool load_events(PackedReader<EngineParts>& in, std::deque<EventView>& events) {
  std::vector<std::string> texts;
  std::vector<FlatEvent> flat;
  in(texts, flat);
  for (const FlatEvent& e : flat) {
    if (std::max({e.kind, e.queue, e.node, e.detail}) >= texts.size()) return false;
    events.push_back({.number = e.number,
                      .told = e.told,
                      .at = e.at,
                      .kind = texts[e.kind],
                      .job = e.job,
                      .job_number = e.job_number,
                      .array_index = e.array_index < 0 ? std::nullopt : ArrayIndex(static_cast<int32_t>(e.array_index)),
                      .queue = texts[e.queue],
                      .node = texts[e.node],
                      .detail = texts[e.detail]});
  }
  return in.finished();
}

}  // namespace

std::string Engine::Impl::save() const {
  PackedWriter<EngineParts> out(saved_bytes + saved_bytes / 8);
  FleetConfig all = fleet;
  all.nodes.clear();
  SavedApart apart{.fleet = to_json(fleet), .all = {}, .states = {}, .untils = {}, .details = {}, .scheduler = scheduler->save()};
  for (const NodeBook& node : nodes) {
    // Prices of its own and of the rules, and what it has cost lately, follow from the rest.
    const auto& [machine, price_rules, charged, rates, rates_until, down, draining, named, reported, leaving, lost, until,
                 cleared, detail] = node;
    if (node.is_machine()) all.nodes.push_back(machine);
    apart.states.push_back({node.is_machine(), down, draining, named, reported, leaving, lost, cleared});
    apart.untils.push_back(until);
    apart.details.push_back(detail);
  }
  apart.all = to_json(all);
  archive(out, const_cast<Impl&>(*this), apart);  // which only reads when it is given a writer
  std::vector<const JobRequest*> requests;
  std::vector<uint32_t> request_of_job;
  std::map<const JobRequest*, uint32_t> known;
  for (const JobBook& job : jobs) {
    const auto [at, added] = known.try_emplace(job.request.get(), static_cast<uint32_t>(requests.size()));
    if (added) requests.push_back(job.request.get());
    request_of_job.push_back(at->second);
  }
  out(requests.size());
  for (const JobRequest* request : requests)
    out(*request);
  out(request_of_job, jobs);
  save_events(out, event_views);
  return out.take();
}

/// Into an Impl that has applied nothing. @return false: these bytes are no state; nothing of this Impl is to be used then.
bool Engine::Impl::load(std::string_view saved) {
  PackedReader<EngineParts> in(saved);
  SavedApart apart;
  archive(in, *this, apart);
  size_t request_count = 0;
  in(request_count);
  std::vector<std::shared_ptr<const JobRequest>> requests;
  for (size_t r = 0; r < request_count && in.ok(); ++r) {
    JobRequest request;
    in(request);
    requests.push_back(std::make_shared<const JobRequest>(std::move(request)));
  }
  std::vector<uint32_t> request_of_job;
  in(request_of_job, jobs);
  if (!load_events(in, event_views)) return false;
  Result<FleetConfig> named = parse_fleet_config(apart.fleet, "fleet");
  Result<FleetConfig> all = parse_fleet_config(apart.all, "fleet");
  if (!named.ok() || !all.ok() || apart.untils.size() != apart.states.size() || apart.details.size() != apart.states.size() ||
      std::ranges::count(apart.states, true, &NodeFlags::is_machine) != std::ssize(all->nodes) ||
      request_of_job.size() != jobs.size())
    return false;
  const Result<sched::Policy> policy = sched::parse_policy(named->policy);
  if (!policy.ok()) return false;
  scheduler = sched::Scheduler::load(*policy, apart.scheduler);
  if (!scheduler) return false;
  fleet = std::move(*named);
  auto machine = all->nodes.begin();
  for (uint32_t n = 0; n < apart.states.size(); ++n) {
    const NodeFlags& is = apart.states[n];
    NodeBook& node = nodes.emplace_back();
    node = {.machine = {},
            .down = is.down,
            .draining = is.draining,
            .named = is.named,
            .reported = is.reported,
            .leaving = is.leaving,
            .lost = is.lost,
            .until = apart.untils[n],
            .cleared = is.cleared,
            .detail = std::move(apart.details[n])};
    if (!is.is_machine) continue;
    node.machine = std::move(*machine++);
    node_ids.emplace(node.machine.node.name, NodeId(n));
    node.price_rules = rules_naming(node.machine.node.name, fleet.prices);
    node.charge_from(now, prices.of(node).at(now));
  }
  for (uint32_t q = 0; q < fleet.queues.size(); ++q)
    queue_ids.emplace(fleet.queues[q].name, sched::QueueId(q));
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    if (request_of_job[j] >= requests.size()) return false;
    jobs[j].request = requests[request_of_job[j]];
    jobs[j].first_task = static_cast<uint32_t>(scheduler->tasks_of(sched::JobId(j)).data() - scheduler->cluster().tasks().data());
    if (jobs[j].queue.index() >= queue_ids.size() || jobs[j].account >= govern.spend.accounts().size()) return false;
  }
  prices.restored();
  governance.set_kinds();
  return std::ranges::all_of(govern.on_nodes, [&](uint32_t j) { return j < jobs.size(); });
}

/// Takes the state as it is now; what follows writes it.
void Engine::Impl::begin_snapshot() {
  growing = {.snapshot = {.step = step,
                          .sequence = sequence,
                          .version = kSnapshotVersion,
                          .fingerprint = scheduler->fingerprint(),
                          .payload = save()}};
  saved_bytes = growing->snapshot.payload.size();
  snapshot_at = sequence;
}

/// Commands wait as long as one part takes, not as long as all of it.
Status Engine::Impl::put_snapshot_part() {
  const Status put = log.put_snapshot_part(growing->snapshot, growing->written);
  if (!put.ok() || growing->written == growing->snapshot.payload.size()) growing.reset();
  return put;
}

/// The newest that can be read and is what was noted with it. @return null: there is none.
/// @param bad  grows with those passed over.
Result<std::unique_ptr<Engine::Impl>> Engine::Impl::from_snapshot(EventLog& log, const EngineOptions& options, int64_t& bad) {
  for (int64_t before = INT64_MAX;;) {
    TRY_ASSIGN(const std::optional<LogSnapshot> found, log.snapshot_before(before, kSnapshotVersion));
    if (!found) return std::unique_ptr<Impl>();
    auto read = std::make_unique<Impl>(log, options);
    if (read->load(found->payload) && read->step == found->step && read->sequence == found->sequence &&
        read->step <= log.last_step() && read->scheduler->fingerprint() == found->fingerprint) {
      read->recovery.snapshot_step = read->marked_at = found->step;
      read->snapshot_at = found->sequence;
      return read;
    }
    ++bad;
    before = found->step;
  }
}

}  // namespace stint
