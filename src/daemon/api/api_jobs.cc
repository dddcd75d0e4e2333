// Jobs: submitted, listed, shown, explained, cancelled, held, released; and what they print.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/backend.h"
#include "base/counted.h"
#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/problem.h"
#include "daemon/api/view_json.h"
#include "daemon/engine/admission.h"
#include "daemon/finding_book.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestKey = 128;
constexpr size_t kLongestReason = 500;
constexpr int64_t kMostLogBytes = int64_t{1} << 20;
constexpr int64_t kLastOutputBytes = 4'096;
constexpr size_t kLastOutputLines = 20;

/// What is said of a queue that is not there, or not for this user: alike.
Error no_such_queue(std::string_view queue) {
  return invalid("field 'queue': there is no queue '{}' that you may submit to: `stint queue --queues` lists yours",
                 excerpt(queue));
}

/// Such tags say what a job is to the daemon.
Status check_own_tags(const JobRequest& request) {
  for (const auto& [key, value] : request.tags)
    if (key.starts_with(kOwnTags))
      return invalid("field 'tags': {}: tags that begin with {} are the daemon's own", key, kOwnTags);
  return {};
}

/// What the request asks of its client's rules: all that is missing at once.
Status check_client_rules(const Governor& governor, std::string_view name, const JobRequest& request) {
  const auto client = governor.client(name);
  if (!client) return {};
  if (client->disabled) return invalid("client {} takes no new jobs: an operator can enable it", name);
  std::vector<std::string> missing, remedy;
  for (const std::string& tag : client->mandatory_tags) {
    const auto given = std::find_if(request.tags.begin(), request.tags.end(), [&tag](const auto& t) { return t.first == tag; });
    if (given != request.tags.end() && !given->second.empty()) continue;
    missing.push_back(tag);
    remedy.push_back(fmt::format("--tag {}=VALUE", tag));
  }
  if (missing.empty()) return {};
  return invalid("field 'tags': client {} wants {} on every job; missing here: {}: add {}", name,
                 fmt::join(client->mandatory_tags, ", "), fmt::join(missing, ", "), fmt::join(remedy, " "));
}

/// Those whose jobs they may see.
std::vector<std::string> clients_seen(const Engine& engine, const Principal& who) {
  std::vector<std::string> clients = who.clients_for(Permission::kSeeJobs);
  if (who.may_everywhere(Permission::kSeeJobs)) {
    clients.clear();
    for (const QueueView& queue : engine.queues())
      if (queue.parent.empty()) clients.push_back(queue.path);
  }
  return clients;
}

/// The client a number without one is of: the only one whose jobs they may see. Empty = there are several.
std::string only_client(const Engine& engine, const Principal& who) {
  const std::vector<std::string> clients = clients_seen(engine, who);
  return clients.size() == 1 ? clients[0] : "";
}

/// The job, or the array as a whole, that a route is about, when the caller may see it. @param then  on the service's thread.
void with_job_or_array(const ApiContext& api, const Call& call, std::function<void(const Engine&, JobView)> then) {
  api.service.ask([api, call, then = std::move(then)](const Engine& engine) {
    auto view = job_called(engine, call->who, call->names[0]);
    if (!view) return api.answer(call, no_such_job(engine, call->who, call->names[0]));
    call->client = view->client;
    then(engine, std::move(*view));
  });
}

/// The same for what only a single job has.
void with_job(const ApiContext& api, const Call& call, std::function<void(const Engine&, JobView)> then) {
  with_job_or_array(api, call, [api, call, then = std::move(then)](const Engine& engine, JobView job) {
    if (!job.whole_array) return then(engine, std::move(job));
    api.answer(call, invalid("{} is an array of {}: name one of them, such as {}", public_id(job), counted(job.array_size, "job"),
                             public_id(job.client, job.number, 0)));
  });
}

Service::Answer<JobView> answer_with_job(const ApiContext& api, const Call& call) {
  return [api, call](const Result<JobView>& job) {
    if (!job.ok()) return api.answer(call, job.error());
    api.answer(call, 200, to_json(*job));
  };
}

bool is_their_own(const Principal& who, const JobView& job) {
  return job.user == who.user || (job.approval && job.approval->asked_by == who.user);
}

/// Approving or refusing: not by who asks. @param then  with the job's id; of an array that of one that waits, which stands for all.
void decide(const ApiContext& api, const Call& call, std::function<void(int64_t)> then) {
  with_job_or_array(api, call, [api, call, then = std::move(then)](const Engine& engine, const JobView& job) {
    if (!call->who.may(Permission::kApprove, job.client))
      return api.answer(call, problem(403, fmt::format("an admin of client {} or an operator approves its jobs", job.client)));
    if (is_their_own(call->who, job) && !call->who.may_everywhere(Permission::kApprove))
      return api.answer(call, problem(403, "you cannot approve your own job: ask another admin of the client, or an operator"));
    if (!job.whole_array) return then(job.id);
    const JobPage waiting = engine.jobs({.state = JobState::kNeedsApproval, .array = job.id}, std::nullopt, 1);
    then(waiting.jobs.empty() ? job.id : waiting.jobs[0].id);
  });
}

using ControlJob = void (Service::*)(int64_t, CommandInfo, Service::Answer<JobView>);

HttpReply not_theirs(const JobView& job) {
  return problem(403, fmt::format("job {} is {}'s: they or an admin of its client can do that", public_id(job), job.user));
}

/// The job whose running task shows its own token; none: it is another's, or that launch is over.
std::optional<JobView> job_of_task(const Engine& engine, const Principal& who, const std::string& name) {
  const auto launch = parse_key(who.launch);
  const auto job = launch ? engine.job(launch->job) : std::nullopt;
  if (!job || (name != public_id(*job) && name != std::to_string(job->number))) return std::nullopt;
  const bool runs = std::ranges::any_of(
      job->placed, [&](const TaskView& task) { return task.task == launch->task && task.attempt == launch->attempt; });
  return runs ? job : std::nullopt;
}

/// The job that a route for its tasks is about, where it is the caller's to control, or the caller's own. @param then  on the service's
/// thread
void with_told_job(const ApiContext& api, const Call& call, std::function<void(const JobView&)> then) {
  if (call->who.launch.empty())
    return with_job(api, call, [api, call, then = std::move(then)](const Engine&, const JobView& job) {
      if (!call->who.may(Permission::kControl, job.client, job.user)) return api.answer(call, not_theirs(job));
      then(job);
    });
  api.service.ask([api, call, then = std::move(then)](const Engine& engine) {
    const auto job = job_of_task(engine, call->who, call->names[0]);
    if (!job) return api.answer(call, problem(403, "this token is of a task of another job, or of one that has ended"));
    call->client = job->client;
    call->who.user = job->user;
    call->detail = fmt::format("by task {} itself", call->who.launch);
    then(*job);
  });
}

/// A task hears what has become of its job, and no more of it.
Service::Answer<JobView> answer_to_teller(const ApiContext& api, const Call& call) {
  if (call->who.launch.empty()) return answer_with_job(api, call);
  return [api, call](const Result<JobView>& job) {
    if (!job.ok()) return api.answer(call, job.error());
    api.answer(call, 200, {{"id", public_id(*job)}, {"name", job->name}, {"state", name_of(job->state)}});
  };
}

/// Ascending: "0-2,5".
std::string ranges_of(const std::vector<int32_t>& places) {
  std::string text;
  for (size_t i = 0, end = 0; i < places.size(); i = end) {
    for (end = i + 1; end < places.size() && places[end] == places[end - 1] + 1;)
      ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", places[i]);
    if (end - i > 1) text += fmt::format("-{}", places[end - 1]);
  }
  return text;
}

/// All jobs of an array are of one user and one queue: who may control one may control all.
void control_array(const ApiContext& api, const Call& call, const JobView& array, JobControl what) {
  using Controlled = Service::ControlledArray;
  api.service.control_array(what, array.id, by_caller(call), [api, call](const Result<Controlled>& done) {
    if (!done.ok()) return api.answer(call, done.error());
    call->detail = fmt::format("{}: {}_{}", counted(done->jobs.size(), "job"), public_id(done->array), ranges_of(done->jobs));
    api.answer(call, 200, to_json(done->array));
  });
}

void control(const ApiContext& api, const Call& call, ControlJob command, JobControl of_array) {
  with_job_or_array(api, call, [api, call, command, of_array](const Engine&, const JobView& job) {
    if (!call->who.may(Permission::kControl, job.client, job.user)) return api.answer(call, not_theirs(job));
    if (job.whole_array) return control_array(api, call, job, of_array);
    (api.service.*command)(job.id, by_caller(call), answer_with_job(api, call));
  });
}

/// Whose job it is, and what of it only an admin may choose.
Result<JobRequest> own_request(const ApiContext& api, const Call& call, JobRequest request) {
  const std::string client(client_of_queue(request.queue));
  if (!call->who.may(Permission::kSubmit, client)) return no_such_queue(request.queue);
  call->client = client;
  if (request.user.empty()) request.user = call->who.user;
  // Whoever may control everybody's jobs of the client may also submit on their behalf.
  if (request.user != call->who.user && !call->who.may(Permission::kControl, client))
    return invalid("field 'user': only an admin of client {} submits on behalf of others; leave it out", client);
  TRY(check_own_tags(request));
  TRY(check_client_rules(api.governor, client, request));
  // A change that was carried out holds jobs of that name to a limit.
  if (api.findings != nullptr && !request.name.empty()) {
    const auto asks = api.findings->asks();
    if (const auto limit = asks->time_limits.find(request.name); limit != asks->time_limits.end())
      request.time_limit = std::min(request.time_limit, limit->second);
  }
  return request;
}

/// Who submits, under the key of the request: a key is its user's own, another's cannot be guessed at.
Result<CommandInfo> submitter_of(const Call& call) {
  const std::string* key = call->request.header("idempotency-key");
  if (key != nullptr && (key->empty() || key->size() > kLongestKey))
    return invalid("header Idempotency-Key: give 1 to {} characters", kLongestKey);
  return CommandInfo{.actor = call->who.user,
                     .idempotency_key = key == nullptr ? "" : call->who.user + "/" + *key,
                     .refusal = std::make_shared<AdmissionRefusal>()};
}

/// With the figures of the limit that kept it out, where it was one.
HttpReply refused(const Error& error, const AdmissionRefusal& why) {
  if (why.by.empty()) return problem(error);
  const auto or_null = [](const std::optional<std::string>& text) { return text ? Json(*text) : Json(); };
  // What is over by itself: once some have started, or tomorrow.
  const bool passes = why.by == "max_waiting" || why.by == "records_per_day" || why.by == "mebibytes_per_day";
  return problem(passes ? 429 : 422, error.message, "urn:stint:refused",
                 {{"refusal",
                   {{"by", why.by},
                    {"of", why.of},
                    {"name", why.name},
                    {"limit", or_null(why.limit)},
                    {"used", or_null(why.used)},
                    {"asked", why.asked},
                    {"unit", why.unit}}}});
}

void submit(const ApiContext& api, const Call& call, JobRequest request, const CommandInfo& by) {
  api.service.submit(std::move(request), by, [api, call, why = by.refusal](Result<JobView> job) {
    if (!job.ok()) return api.answer(call, refused(job.error(), *why));
    call->detail = fmt::format("{} {}", job->whole_array ? "array" : "job", public_id(*job));
    api.answer(call, 201, to_json(*job));
  });
}

Result<JobFilter> filter_of(const Call& call) {
  JobFilter filter;
  for (const auto& [name, value] : call->request.parts.parameters) {
    if (name == "state") {
      filter.state = parse_job_state(value);
      if (value == "active" || value == "ended")
        filter.ended = value == "ended";
      else if (!filter.state)
        return invalid("parameter 'state': {}: give active, ended, waiting, running, succeeded, failed, cancelled, …",
                       excerpt(value));
    } else if (name == "queue") {
      filter.queue = value;
    } else if (name == "user") {
      filter.user = value;
    } else if (name == "name") {
      filter.name = value;
    } else if (name == "study") {
      filter.study = value;
    } else if (name == "arrays") {
      if (value != "apart" && value != "as-one") return invalid("parameter 'arrays': give apart or as-one");
      filter.arrays_as_one = value == "as-one";
    } else if (name != "limit" && name != "cursor" && name != "array") {
      return invalid("there is no parameter '{}' here", excerpt(name));
    }
  }
  return filter;
}

/// Newest first over the clients one sees: each client's page, merged and cut.
JobPage jobs_of_clients(const Engine& engine, JobFilter filter, const std::vector<std::string>& clients, int64_t before,
                        size_t limit) {
  JobPage merged;
  const std::string queue = filter.queue;
  for (const std::string& client : clients) {
    if (!queue.empty() && client_of_queue(queue) != client) continue;
    if (queue.empty()) filter.queue = client;
    JobPage page = engine.jobs(filter, before, limit);
    std::move(page.jobs.begin(), page.jobs.end(), std::back_inserter(merged.jobs));
    if (page.next) merged.next = 0;
  }
  std::sort(merged.jobs.begin(), merged.jobs.end(), [](const JobView& a, const JobView& b) { return a.id > b.id; });
  if (merged.jobs.size() > limit) {
    merged.jobs.resize(limit);
    merged.next = 0;
  }
  if (merged.next) merged.next = merged.jobs.empty() ? std::nullopt : std::optional(merged.jobs.back().id);
  return merged;
}

/// The launch whose log is wanted: of the task, the newest that began, or the attempt asked for.
std::optional<LaunchKey> launch_of(const JobView& job, int32_t task, int32_t attempt) {
  std::optional<LaunchKey> found;
  const auto consider = [&](int32_t t, int32_t a) {
    if (t == task && (attempt < 0 || a == attempt) && (!found || a > found->attempt)) found = LaunchKey{job.id, a, t};
  };
  for (const EndView& end : job.ends)
    consider(end.task, end.attempt);
  for (const TaskView& placed : job.placed)
    consider(placed.task, placed.attempt);
  return found;
}

/// Whether that launch has.
bool launch_ended(const JobView& job, const LaunchKey& key) {
  return std::ranges::any_of(job.ends, [&](const EndView& e) { return e.task == key.task && e.attempt == key.attempt; });
}

/// The streams that are kept: a path that a job names is read with the rights of its user, not with the daemon's.
LogQuery log_query(const LaunchKey& key, const JobRequest& request) {
  return {.key = key, .output = request.output_path.empty(), .error = request.error_path.empty()};
}

/// The last lines that a job printed before it failed; none = it did not, or keeps none.
std::optional<LogQuery> last_output_of(const JobView& job, const JobRequest& request) {
  if (!has_ended(job.state) || job.state == JobState::kSucceeded || job.ends.empty()) return std::nullopt;
  const auto failed = [](const EndView& e) { return e.exit_code != 0 || e.signal != 0; };
  auto end = std::find_if(job.ends.rbegin(), job.ends.rend(), failed);
  if (end == job.ends.rend()) end = job.ends.rbegin();
  LogQuery query = log_query({.job = job.id, .attempt = end->attempt, .task = end->task}, request);
  if (!query.output && !query.error) return std::nullopt;
  query.offset = -kLastOutputBytes;
  query.limit = kLastOutputBytes;
  query.ended = true;
  return query;
}

std::optional<std::string> last_lines(const Result<LogPiece>& piece) {
  if (!piece.ok() || piece->bytes.empty()) return std::nullopt;
  std::vector<std::string_view> lines = split(piece->bytes, '\n');
  if (lines.back().empty()) lines.pop_back();
  if (piece->offset > 0 && lines.size() > 1) lines.erase(lines.begin());  // begins somewhere within
  if (lines.size() > kLastOutputLines) lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kLastOutputLines));
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

/// "failed: exit code 3", "dependency-failed: job agency-1 failed".
std::string ending_of(const JobView& job) {
  const std::string state(name_of(job.state));
  if (job.state == JobState::kSucceeded) return state;
  if (job.state != JobState::kFailed) return job.reason.empty() || job.reason == state ? state : state + ": " + job.reason;
  const auto failed = [](const EndView& e) { return e.exit_code != 0 || e.signal != 0; };
  const auto end = std::find_if(job.ends.rbegin(), job.ends.rend(), failed);
  if (end == job.ends.rend()) return state;
  const std::string how = end->signal != 0 ? fmt::format("signal {}", end->signal) : fmt::format("exit code {}", end->exit_code);
  return fmt::format("{}: {}{}{}", state, how, end->detail.empty() ? "" : ", ", end->detail);
}

/// @param asked  where the piece was to begin; below 0: so many bytes before the end.
void answer_with_log(const ApiContext& api, const Call& call, Result<LogPiece> piece, int32_t attempt, bool ended,
                     int64_t asked) {
  // Nothing is kept: nothing was printed, for all that can be shown.
  if (!piece.ok() && piece.error().code == ErrorCode::kNotFound) piece = LogPiece();
  if (!piece.ok()) return api.answer(call, piece.error());
  HttpReply reply{200, "text/plain; charset=utf-8", {}, std::move(piece->bytes)};
  const auto next = piece->offset + static_cast<int64_t>(reply.body.size());
  const int64_t begin = asked < 0 ? std::max<int64_t>(0, piece->size + asked) : std::min(asked, piece->offset);
  reply.headers = {{"Stint-Log-Offset", std::to_string(piece->offset)},
                   {"Stint-Log-Next", std::to_string(next)},
                   {"Stint-Log-Attempt", std::to_string(attempt)},
                   // Of what was asked for, so many bytes are not kept any more.
                   {"Stint-Log-Gone", std::to_string(piece->offset - begin)},
                   // Nothing will follow: the job has ended, and this is the end.
                   {"Stint-Log-Complete", ended && next >= piece->size ? "true" : "false"}};
  api.answer(call, std::move(reply));
}

}  // namespace

Error no_such_job(const Engine& engine, const Principal& who, std::string_view id) {
  const auto asked = parse_public_id(id);
  std::vector<std::string> candidates;
  if (asked && asked->client.empty())
    for (const std::string& client : clients_seen(engine, who))
      if (engine.find_job({client, asked->number, asked->index}))
        candidates.push_back(public_id(client, asked->number + asked->index.value_or(0), asked->index));
  if (!candidates.empty())
    return make_error(ErrorCode::kNotFound, "job {} of which client? There is {}", excerpt(id), fmt::join(candidates, " and "));
  return make_error(ErrorCode::kNotFound, "there is no job {}: `stint queue` lists those there are", excerpt(id));
}

std::optional<JobView> job_called(const Engine& engine, const Principal& who, std::string_view name) {
  auto id = parse_public_id(name);
  if (id && id->client.empty()) id->client = only_client(engine, who);
  // Not looked for where it may not be seen: how long that takes would tell.
  if (!id || !who.may(Permission::kSeeJobs, id->client)) return std::nullopt;
  const auto found = engine.find_job(*id);
  auto view = found ? engine.job(*found) : std::nullopt;
  if (!view || view->client != id->client || view->number != id->number + id->index.value_or(0)) return std::nullopt;
  // The number of an array's first is that of the array.
  return view->array == view->id && !id->index ? engine.array(view->id) : view;
}

JobPage jobs_seen(const Engine& engine, const Principal& who, const JobFilter& filter, int64_t before, size_t limit) {
  return who.may_everywhere(Permission::kSeeJobs)
             ? engine.jobs(filter, before, limit)
             : jobs_of_clients(engine, filter, who.clients_for(Permission::kSeeJobs), before, limit);
}

bool may_see(const Principal& who, const JobView& job) { return who.may(Permission::kSeeJobs, job.client); }

bool may_decide(const Principal& who, const JobView& job) {
  if (job.state != JobState::kNeedsApproval || !who.may(Permission::kApprove, job.client)) return false;
  return who.may_everywhere(Permission::kApprove) || !is_their_own(who, job);
}

void api_submit(const ApiContext& api, const Call& call) {
  const Result<CommandInfo> by = submitter_of(call);
  if (!by.ok()) return api.answer(call, problem(400, by.error().message));
  std::vector<std::string> after;
  Result<JobRequest> parsed = parse_job_request(call->request.body, after);
  if (!parsed.ok()) return api.answer(call, parsed.error());
  Result<JobRequest> request = own_request(api, call, std::move(*parsed));
  if (!request.ok()) return api.answer(call, request.error());
  if (after.empty()) return submit(api, call, std::move(*request), *by);
  // To wait for a job is to learn when it ends: only for those one sees.
  api.service.ask([api, call, by = *by, after = std::move(after), request = std::move(*request)](const Engine& engine) mutable {
    for (const std::string& name : after) {
      const auto job = job_called(engine, call->who, name);
      if (!job) return api.answer(call, invalid("field 'after': {}", no_such_job(engine, call->who, name).message));
      for (int64_t of = 0; of < (job->whole_array ? job->array_size : 1); ++of)
        request.after.push_back(job->id + of);
    }
    submit(api, call, std::move(request), by);
  });
}

void api_submit_pipeline(const ApiContext& api, const Call& call) {
  const Result<CommandInfo> by = submitter_of(call);
  if (!by.ok()) return api.answer(call, problem(400, by.error().message));
  Result<std::vector<PipelineStage>> stages = parse_pipeline(call->request.body);
  if (!stages.ok()) return api.answer(call, stages.error());
  for (PipelineStage& stage : *stages) {
    Result<JobRequest> own = own_request(api, call, std::move(stage.request));
    if (!own.ok()) return api.answer(call, own.error());
    stage.request = std::move(*own);
  }
  api.service.submit_pipeline(std::move(*stages), *by, [api, call, why = by->refusal](const Result<std::vector<JobView>>& jobs) {
    if (!jobs.ok()) return api.answer(call, refused(jobs.error(), *why));
    Json list = Json::array();
    for (const JobView& job : *jobs) {
      call->detail += fmt::format("{}{}", call->detail.empty() ? "jobs " : ", ", public_id(job));
      list.push_back(to_json(job));
    }
    api.answer(call, 201, {{"jobs", std::move(list)}});
  });
}

void api_list_jobs(const ApiContext& api, const Call& call) {
  const Result<JobFilter> filter = filter_of(call);
  if (!filter.ok()) return api.answer(call, filter.error());
  const Result<int64_t> limit = integer_parameter(call, "limit", 100, 1, 1000);
  if (!limit.ok()) return api.answer(call, limit.error());
  const std::string* cursor = call->request.parts.parameter("cursor");
  const std::string* array = call->request.parts.parameter("array");
  if (array != nullptr && filter->arrays_as_one)
    return api.answer(call, invalid("parameter 'arrays': of one array all jobs are apart"));
  api.service.ask(
      [api, call, cursor, array, filter = *filter, limit = static_cast<size_t>(*limit)](const Engine& engine) mutable {
        int64_t before = INT64_MAX;
        if (array != nullptr) {
          const auto whole = job_called(engine, call->who, *array);
          if (!whole) return api.answer(call, invalid("parameter 'array': {}", no_such_job(engine, call->who, *array).message));
          if (!whole->whole_array) return api.answer(call, invalid("parameter 'array': {} is no array", excerpt(*array)));
          filter.array = whole->id;
        }
        if (cursor != nullptr) {
          const auto job = job_called(engine, call->who, *cursor);
          if (!job) return api.answer(call, invalid("parameter 'cursor': {}: give `next` of the page before", excerpt(*cursor)));
          before = job->id;
        }
        const JobPage page = jobs_seen(engine, call->who, filter, before, limit);
        Json jobs = Json::array();
        for (const JobView& job : page.jobs)
          jobs.push_back(to_json(job));
        api.answer(call, 200, {{"jobs", std::move(jobs)}, {"next", page.next ? Json(public_id(page.jobs.back())) : Json()}});
      });
}

void api_show_job(const ApiContext& api, const Call& call) {
  with_job_or_array(api, call, [api, call](const Engine& engine, const JobView& job) {
    Json body = to_json(job);
    body["control"] = call->who.may(Permission::kControl, job.client, job.user);
    body["decide"] = may_decide(call->who, job);
    const auto request = engine.request_of(job.id);
    const bool shows_logs = request && !job.whole_array && call->who.may(Permission::kSeeLogs, job.client);
    const auto query = shows_logs ? last_output_of(job, *request) : std::nullopt;
    if (!query) return api.answer(call, 200, body);
    api.options.read_log(*query, [api, call, body = std::move(body)](const Result<LogPiece>& piece) mutable {
      if (auto lines = last_lines(piece)) body["last_output"] = std::move(*lines);
      api.answer(call, 200, body);
    });
  });
}

/// What submits the same once more. What was about the one time only is left out: when, after which jobs, of which study; of a single job of an
/// array, also the array.
void api_job_request(const ApiContext& api, const Call& call) {
  with_job_or_array(api, call, [api, call](const Engine& engine, const JobView& job) {
    if (!call->who.may(Permission::kControl, job.client, job.user)) return api.answer(call, not_theirs(job));
    JobRequest request = *engine.request_of(job.id);
    if (request.user == call->who.user) request.user.clear();
    std::erase_if(request.tags, [](const auto& tag) { return tag.first.starts_with(kOwnTags); });
    const JobRequest none;
    request.on_hold = none.on_hold;
    request.not_before = none.not_before;
    request.deadline = none.deadline;
    request.deferrable = none.deferrable;
    request.after.clear();
    if (!job.whole_array) {
      request.array = none.array;
      request.at_once = none.at_once;
    }
    request.study.clear();
    request.rungs = none.rungs;
    api.answer(call, 200, Json::parse(to_json(request)));
  });
}

void api_cancel_job(const ApiContext& api, const Call& call) { control(api, call, &Service::cancel, JobControl::kCancel); }
void api_hold_job(const ApiContext& api, const Call& call) { control(api, call, &Service::hold, JobControl::kHold); }
void api_checkpoint_job(const ApiContext& api, const Call& call) {
  with_told_job(api, call, [api, call](const JobView& job) {
    api.service.checkpoint(job.id, by_caller(call), answer_to_teller(api, call));
  });
}
void api_release_job(const ApiContext& api, const Call& call) { control(api, call, &Service::release, JobControl::kRelease); }

void api_report_trial(const ApiContext& api, const Call& call) {
  constexpr std::array<std::string_view, 2> kFields = {"rung", "loss"};
  constexpr double kMostLoss = 1e12;
  const Result<nlohmann::json> body = body_object(call, kFields);
  if (!body.ok()) return api.answer(call, body.error());
  const auto rung = body->find("rung"), loss = body->find("loss");
  if (rung == body->end() || !rung->is_number_integer() || rung->get<double>() < 0 || rung->get<double>() > INT32_MAX)
    return api.answer(call, invalid("field 'rung': give the rung that was reached, an integer from 0"));
  if (loss == body->end() || !loss->is_number() || !(std::abs(loss->get<double>()) <= kMostLoss))
    return api.answer(
        call, invalid("field 'loss': give a number within ±1e12, smaller is better; of a trial that diverged a great one"));
  with_told_job(api, call, [api, call, rung = rung->get<int32_t>(), loss = loss->get<double>()](const JobView& job) {
    api.service.report_trial(job.id, rung, std::llround(loss * 1e6), by_caller(call), answer_to_teller(api, call));
  });
}

void api_approve_job(const ApiContext& api, const Call& call) {
  decide(api, call, [api, call](int64_t job) { api.service.approve(job, by_caller(call), answer_with_job(api, call)); });
}

void api_refuse_job(const ApiContext& api, const Call& call) {
  constexpr std::array<std::string_view, 1> kFields = {"reason"};
  const Result<nlohmann::json> body = body_object(call, kFields);
  if (!body.ok()) return api.answer(call, body.error());
  const auto reason = body->find("reason");
  if (reason != body->end() && (!reason->is_string() || reason->get_ref<const std::string&>().size() > kLongestReason))
    return api.answer(call, invalid("field 'reason': give a text of at most {} bytes", kLongestReason));
  const std::string why = reason == body->end() ? "" : reason->get<std::string>();
  call->detail = excerpt(why, kLongestReason);
  decide(api, call, [api, call, why](int64_t job) { api.service.refuse(job, why, by_caller(call), answer_with_job(api, call)); });
}

void api_list_approvals(const ApiContext& api, const Call& call) {
  api.service.ask([api, call](const Engine& engine) {
    Json jobs = Json::array();
    for (const JobView& job : engine.approvals())
      if (may_see(call->who, job)) jobs.push_back(to_json(engine.array_with(job.id).value_or(job)));
    api.answer(call, 200, {{"jobs", std::move(jobs)}});
  });
}

void api_why(const ApiContext& api, const Call& call) {
  with_job_or_array(api, call, [api, call](const Engine& engine, const JobView& asked) {
    const auto next = asked.whole_array ? engine.next_of_array(asked.id) : std::nullopt;
    const JobView& job = next ? *next : asked;
    const auto may_name = [&engine, &who = call->who](int64_t other) {
      const auto view = engine.job(other);
      return view && may_see(who, *view);
    };
    std::string text = asked.whole_array && !next ? "none of them waits\n" : *engine.why(job.id, may_name);
    if (has_ended(job.state) && !asked.whole_array) text += fmt::format("  {}\n", ending_of(job));
    if (asked.whole_array)
      text = fmt::format("array {}: {}\n{}{}", public_id(asked), text_of(asked.array_jobs),
                         next ? fmt::format("next is job {}:\n", public_id(*next)) : "", text);
    Json body = {{"job", public_id(asked)}, {"state", name_of(asked.state)}, {"text", std::move(text)}};
    body["explanation"] = Json::parse(*engine.why_json(job.id, may_name));
    api.answer(call, 200, body);
  });
}

void api_logs(const ApiContext& api, const Call& call) {
  const std::string* stream = call->request.parts.parameter("stream");
  if (stream != nullptr && *stream != "output" && *stream != "error" && *stream != "both")
    return api.answer(call, invalid("parameter 'stream': give output, error or both"));
  const auto task = integer_parameter(call, "task", 0, 0, kMostTasks);
  const auto attempt = integer_parameter(call, "attempt", -1, 0, INT32_MAX);
  const auto offset = integer_parameter(call, "offset", 0, INT64_MIN, INT64_MAX);
  const auto limit = integer_parameter(call, "limit", kMostLogBytes, 1, kMostLogBytes);
  for (const auto* wanted : {&task, &attempt, &offset, &limit})
    if (!wanted->ok()) return api.answer(call, wanted->error());
  const std::string wanted = stream == nullptr ? "output" : *stream;
  with_job(api, call, [=](const Engine& engine, const JobView& job) {
    if (!call->who.may(Permission::kSeeLogs, job.client))
      return api.answer(call, problem(403, "your role does not show what jobs print"));
    const auto request = engine.request_of(job.id);
    const auto key = launch_of(job, static_cast<int32_t>(*task), static_cast<int32_t>(*attempt));
    LogQuery query = log_query(key.value_or(LaunchKey()), *request);
    query.output &= wanted != "error";
    query.error &= wanted != "output";
    if (!query.output && !query.error)
      return api.answer(call, make_error(ErrorCode::kNotFound, "job {} writes to a file it names: {}", public_id(job),
                                         wanted == "error" ? request->error_path : request->output_path));
    if (!key) return answer_with_log(api, call, LogPiece(), -1, has_ended(job.state), 0);
    query.offset = *offset;
    query.limit = *limit;
    query.ended = launch_ended(job, *key);
    api.options.read_log(query, [=, ended = has_ended(job.state), of = key->attempt, asked = *offset](Result<LogPiece> piece) {
      answer_with_log(api, call, std::move(piece), of, ended, asked);
    });
  });
}

}  // namespace stint
