// What a page shows of now and of the last hours, each in one answer: it is asked every few seconds by everybody who looks.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/view_json.h"
#include "daemon/spending.h"
#include "report/waiting_line.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kRunningShown = 1'000;
constexpr size_t kWaitingShown = 200;
constexpr int64_t kMostWhys = 20;
constexpr int64_t kMostHours = 24 * 14;
constexpr int64_t kMostRuns = 10'000;
constexpr int64_t kMostPieces = 500;

auto may_see_client(const Principal& who) {
  return [&who](std::string_view client) { return who.may(Permission::kSeeJobs, client); };
}

/// What lists show of a job: a third of the whole, as there may be a thousand every second.
Json job_line(const JobView& job, const Principal& who) {
  Json placed = Json::array();
  for (const TaskView& task : job.placed)
    placed.push_back({{"node", task.node}, {"gpus", task.gpus}});
  Json line = {{"id", public_id(job)},
               {"name", job.name},
               {"queue", job.queue},
               {"user", job.user},
               {"state", name_of(job.state)},
               {"reason", job.reason},
               {"gpu_milli", job.gpu_milli},
               {"gpu_part", job.gpu_part},
               {"submitted", format_utc(job.submitted)},
               {"started", job.started ? Json(format_utc(*job.started)) : Json()},
               {"placed", std::move(placed)},
               {"cost", {{"amount", job.cost.to_decimal()}, {"currency", job.cost.currency().code()}}},
               {"control", who.may(Permission::kControl, job.client, job.user)},
               {"decide", may_decide(who, job)}};
  if (job.array > 0) line["array"] = array_json(job);
  return line;
}

bool on_machines(JobState state) { return state == JobState::kRunning || state == JobState::kLeaving; }

/// Jobs that run, each for itself, as each is somewhere; or those that wait, arrays as wholes. The newest `limit` of each state that the
/// caller sees, together oldest first.
std::vector<JobView> active_jobs(const Engine& engine, const Principal& who, bool running, size_t limit, bool& more) {
  std::vector<JobView> jobs;
  for (int s = 0; !has_ended(static_cast<JobState>(s)); ++s) {
    const auto state = static_cast<JobState>(s);
    if (on_machines(state) != running) continue;
    JobPage page = jobs_seen(engine, who, {.state = state, .arrays_as_one = !running}, INT64_MAX, limit);
    std::ranges::move(page.jobs, std::back_inserter(jobs));
    more = more || page.next.has_value();
  }
  std::ranges::sort(jobs, {}, &JobView::id);
  // An array may have jobs in several states.
  const auto twice = std::ranges::unique(jobs, {}, &JobView::id);
  jobs.erase(twice.begin(), twice.end());
  return jobs;
}

/// Of an array as a whole: as what of it waits, which is what the list is of.
JobView part_that_waits(JobView array) {
  int64_t active = 0, waiting = 0;
  for (const auto& [state, jobs] : array.array_jobs) {
    if (has_ended(state)) continue;
    active += jobs;
    if (on_machines(state)) continue;
    waiting += jobs;
    if (on_machines(array.state)) array.state = state;  // what waits for room comes before what waits for somebody
  }
  array.gpu_milli = active == 0 ? 0 : array.gpu_milli / active * waiting;
  array.placed.clear();
  return array;
}

/// Prices per hour: of the machines that are there, of what runs on them, and of the rest. Those who do not see all jobs learn what
/// their own cost: the difference would tell what the others' do.
Json money_of(const Engine& engine, const Principal& who, const std::vector<NodeView>& nodes) {
  const EngineView view = engine.overview();
  const Currency currency = view.burn.per_hour().currency();
  Json json = {{"currency", currency.code()}};
  if (!who.may_everywhere(Permission::kSeeJobs)) {
    Money own = Money::nanos(0, currency);
    for (const RunView& run : engine.runs(engine.now(), may_see_client(who)))
      if (!run.ended) own += run.burn.per_hour();
    json.update({{"jobs_per_hour", own.to_decimal()}, {"fleet_per_hour", nullptr}, {"idle_per_hour", nullptr}});
    return json;
  }
  Money fleet = Money::nanos(0, currency);
  for (const NodeView& node : nodes)
    if (node.state != NodeState::kDown) fleet += rate_now(node).per_hour();
  json.update({{"jobs_per_hour", view.burn.per_hour().to_decimal()},
               {"fleet_per_hour", fleet.to_decimal()},
               {"idle_per_hour", (fleet - view.burn.per_hour()).to_decimal()}});
  return json;
}

/// What is in the way of a waiting job in one line, and when it starts as things stand. Others' jobs are not named.
void add_why(Json& line, const Engine& engine, const Principal& who, const JobView& waits) {
  if (waits.state == JobState::kNeedsApproval && waits.approval) {
    line["why"] = waits.approval->why;
    line["starts_at"] = nullptr;
    return;
  }
  const auto next = waits.whole_array ? engine.next_of_array(waits.id) : std::nullopt;
  const auto explanation = engine.explain(next ? next->id : waits.id);
  if (!explanation) return;
  const WaitingNames names = {.job =
                                  [&](sched::JobId other) {
                                    const auto job = engine.job(engine.id_of(other));
                                    return job && may_see(who, *job) ? public_id(*job) : "of another client";
                                  },
                              .queue = [&](sched::QueueId queue) { return engine.queues()[queue.index()].path; },
                              .node = [&](NodeId node) { return engine.nodes()[node.index()].name; }};
  line["why"] = waiting_line(*explanation, names);
  line["starts_at"] = nullptr;
  for (const sched::Remedy& remedy : explanation->remedies)
    if (remedy.kind == sched::RemedyKind::kWait) line["starts_at"] = format_utc(remedy.at);
}

/// Who asks, and the routes (by operationId) that are not refused to them as a whole: what a page need not offer is not among them.
Json me_of(const Principal& who) {
  Json roles = Json::array();
  for (const Grant& grant : who.grants)
    roles.push_back(format_grant(grant));
  Json may = Json::array();
  for (const ApiRoute& route : api_routes())
    if (route.needs && who.may_somewhere(*route.needs)) may.push_back(route.name);
  return {{"user", who.user},
          {"roles", std::move(roles)},
          {"sees_all", who.may_everywhere(Permission::kSeeJobs)},
          {"may", std::move(may)}};
}

Json run_json(const RunView& run) {
  return {{"job", public_id(run.client, run.number, run.array_index)},
          {"name", run.name},
          {"queue", run.queue},
          {"user", run.user},
          {"task", run.task},
          {"attempt", run.attempt},
          {"node", run.node},
          {"gpus", gpu_indexes(run.gpus)},
          {"gpu_milli", run.gpu_milli},
          {"started", format_utc(run.started)},
          {"ended", run.ended ? Json(format_utc(*run.ended)) : Json()},
          {"end", run.end}};
}

/// Runs of jobs that have left memory are not shown: some that ended by then. null = all are.
Json complete_from(const Engine& engine, const Principal& who) {
  const auto from = engine.runs_complete_from(may_see_client(who));
  return from ? Json(format_utc(*from)) : Json();
}

}  // namespace

// The first start makes the clients known that the configuration names.
Instant first_started(const ApiContext& api) {
  Instant first = api.options.clock();
  for (const Client& client : api.governor.state().clients)
    first = std::min(first, client.created);
  return first;
}

void api_board(const ApiContext& api, const Call& call) {
  const auto whys = integer_parameter(call, "why", 0, 0, kMostWhys);
  if (!whys.ok()) return api.answer(call, whys.error());
  api.service.ask([api, call, whys = static_cast<size_t>(*whys)](const Engine& engine) {
    const Principal& who = call->who;
    const std::vector<NodeView> nodes = nodes_shown(api, engine);
    const EngineView view = engine.overview();
    Json body = {{"now", format_utc(api.options.clock())},
                 {"begins", format_utc(first_started(api))},
                 {"version", api.options.version},
                 {"backend", view.backend},
                 {"notes", view.notes},
                 {"read_only", view.read_only ? Json(*view.read_only) : Json()},
                 {"me", me_of(who)},
                 {"money", money_of(engine, who, nodes)}};
    body["nodes"] = Json::array();
    for (const NodeView& node : nodes)
      body["nodes"].push_back(node_for(who, node, engine));
    body["queues"] = Json::array();
    for (const QueueView& queue : engine.queues())
      if (may_see_queue(who, queue)) body["queues"].push_back(to_json(queue));
    bool more_running = false;
    body["running"] = Json::array();
    for (const JobView& job : active_jobs(engine, who, true, kRunningShown, more_running))
      body["running"].push_back(job_line(job, who));
    bool more_waiting = false;
    body["waiting"] = Json::array();
    for (const JobView& job : active_jobs(engine, who, false, kWaitingShown, more_waiting)) {
      Json line = job_line(job.whole_array ? part_that_waits(job) : job, who);
      if (body["waiting"].size() < whys) add_why(line, engine, who, job);
      body["waiting"].push_back(std::move(line));
    }
    body["more_running"] = more_running;
    body["more_waiting"] = more_waiting;
    api.answer(call, 200, body);
  });
}

void api_timeline(const ApiContext& api, const Call& call) {
  const auto hours = integer_parameter(call, "hours", 6, 1, kMostHours);
  const auto limit = integer_parameter(call, "limit", 2'000, 1, kMostRuns);
  if (!hours.ok()) return api.answer(call, hours.error());
  if (!limit.ok()) return api.answer(call, limit.error());
  api.service.ask([api, call, hours = *hours, limit = static_cast<size_t>(*limit)](const Engine& engine) {
    const Instant to = api.options.clock();
    const Instant from = to - Duration::hours(hours);
    const std::vector<RunView> runs = engine.runs(from, may_see_client(call->who));
    const size_t left_out = runs.size() - std::min(limit, runs.size());
    Json list = Json::array();
    for (size_t i = left_out; i < runs.size(); ++i)
      list.push_back(run_json(runs[i]));
    api.answer(call, 200,
               {{"from", format_utc(from)},
                {"to", format_utc(to)},
                {"complete_from", complete_from(engine, call->who)},
                {"runs", std::move(list)},
                {"left_out", left_out}});
  });
}

void api_spending(const ApiContext& api, const Call& call) {
  const auto hours = integer_parameter(call, "hours", 6, 1, kMostHours);
  const auto pieces = integer_parameter(call, "pieces", 72, 1, kMostPieces);
  if (!hours.ok()) return api.answer(call, hours.error());
  if (!pieces.ok()) return api.answer(call, pieces.error());
  api.service.ask([api, call, hours = *hours, pieces = static_cast<size_t>(*pieces)](const Engine& engine) {
    const Instant to = api.options.clock();
    const Interval window{to - Duration::hours(hours), to};
    const Currency currency = engine.overview().burn.per_hour().currency();
    const auto curve = spending_over(engine.runs(window.begin, may_see_client(call->who)), window, pieces, currency);
    Json list = Json::array();
    for (const SpendingPiece& piece : curve)
      list.push_back({{"from", format_utc(piece.from)},
                      {"cost", piece.cost.to_decimal()},
                      {"gpu_hours", static_cast<double>(piece.gpu_milli_ms) / 1e3 / 3'600'000}});
    api.answer(call, 200,
               {{"currency", currency.code()},
                {"complete_from", complete_from(engine, call->who)},
                {"piece_s", window.length().to_seconds() / static_cast<double>(pieces)},
                {"pieces", std::move(list)}});
  });
}

}  // namespace stint
