// Jobs: submitted, listed, shown, explained, cancelled, held, released; and what they print.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api_routes.h"
#include "daemon/problem.h"
#include "daemon/view_json.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestKey = 128;
constexpr int64_t kMostLogBytes = int64_t{1} << 20;

/// What is said of a queue that is not there, or not for this user: alike.
Error no_such_queue(std::string_view queue) {
  return invalid("field 'queue': there is no queue '{}' that you may submit to: `stint queue --queues` lists yours",
                 excerpt(queue));
}

/// What the request asks of its client's rules.
Status check_client_rules(const Governor& governor, std::string_view name, const JobRequest& request) {
  const auto client = governor.client(name);
  if (!client) return {};
  if (client->disabled) return invalid("client {} takes no new jobs: an operator can enable it", name);
  for (const std::string& tag : client->mandatory_tags)
    if (std::none_of(request.tags.begin(), request.tags.end(), [&tag](const auto& t) { return t.first == tag; }))
      return invalid("field 'tags': client {} wants the tag '{}' on every job: add --tag {}=VALUE", name, tag, tag);
  return {};
}

/// The job a route is about, when the caller may see it. @param then  on the service's thread.
void with_job(const ApiContext& api, const Call& call, std::function<void(const Engine&, JobView)> then) {
  const Result<int64_t> id = job_id_in_path(call);
  if (!id.ok()) return api.answer(call, id.error());
  api.service.ask([api, call, job = *id, then = std::move(then)](const Engine& engine) {
    auto view = engine.job(job);
    if (!view || !may_see(call->who, *view)) return api.answer(call, no_such_job(call->names[0]));
    call->client = view->client;
    then(engine, std::move(*view));
  });
}

CommandInfo info_of(const Call& call) { return {.actor = call->who.user, .idempotency_key = ""}; }

using ControlJob = void (Service::*)(int64_t, CommandInfo, Service::Answer<JobView>);

void control(const ApiContext& api, const Call& call, ControlJob command) {
  with_job(api, call, [api, call, command](const Engine&, const JobView& job) {
    if (!call->who.may(Permission::kControl, job.client, job.user))
      return api.answer(
          call, problem(403, fmt::format("job {} is {}'s: they or an admin of its client can do that", job.id, job.user)));
    (api.service.*command)(job.id, info_of(call), [api, call](Result<JobView> changed) {
      if (!changed.ok()) return api.answer(call, changed.error());
      api.answer(call, 200, to_json(*changed));
    });
  });
}

/// Whose job it is, and what of it nobody but an admin may choose.
Result<JobRequest> own_request(const Call& call) {
  TRY_ASSIGN(JobRequest request, parse_job_request(call->request.body));
  const std::string client(client_of_queue(request.queue));
  if (!call->who.may(Permission::kSubmit, client)) return no_such_queue(request.queue);
  call->client = client;
  if (request.user.empty()) request.user = call->who.user;
  // Whoever may control everybody's jobs of the client may also submit on their behalf.
  if (request.user != call->who.user && !call->who.may(Permission::kControl, client))
    return invalid("field 'user': only an admin of client {} submits on behalf of others; leave it out", client);
  return request;
}

void submit(const ApiContext& api, const Call& call, JobRequest request) {
  const std::string* key = call->request.header("idempotency-key");
  // A key is its user's own: another's cannot be guessed at.
  const CommandInfo by{.actor = call->who.user, .idempotency_key = key == nullptr ? "" : call->who.user + "/" + *key};
  api.service.submit(std::move(request), by, [api, call](Result<JobView> job) {
    if (!job.ok()) return api.answer(call, job.error());
    call->detail = fmt::format("job {}", job->id);
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
    } else if (name != "limit" && name != "cursor") {
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

struct Piece {
  std::string bytes;
  int64_t offset = 0;  ///< of the first byte
  int64_t size = 0;    ///< of the file, now
};

/// @param offset  below 0: from so many bytes before the end. A file that is not there has printed nothing yet.
Result<Piece> read_piece(const std::string& path, int64_t offset, int64_t limit) {
  Piece piece;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return piece;
  struct stat status = {};
  const bool regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  if (regular) {
    piece.size = status.st_size;
    piece.offset = std::clamp<int64_t>(offset < 0 ? piece.size + offset : offset, 0, piece.size);
    piece.bytes.resize(static_cast<size_t>(std::min(limit, piece.size - piece.offset)));
    const ssize_t got = pread(file, piece.bytes.data(), piece.bytes.size(), piece.offset);
    piece.bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  }
  ::close(file);
  if (!regular) return make_error(ErrorCode::kNotFound, "the log is no regular file");
  return piece;
}

}  // namespace

Error no_such_job(std::string_view id) {
  return make_error(ErrorCode::kNotFound, "there is no job {}: `stint queue` lists those there are", excerpt(id));
}

Result<int64_t> job_id_in_path(const Call& call) {
  const auto id = parse_int(call->names[0]);
  if (!id || *id < 1 || *id > UINT32_MAX) return no_such_job(call->names[0]);
  return *id;
}

bool may_see(const Principal& who, const JobView& job) { return who.may(Permission::kSeeJobs, job.client); }

void api_submit(const ApiContext& api, const Call& call) {
  const std::string* key = call->request.header("idempotency-key");
  if (key != nullptr && (key->empty() || key->size() > kLongestKey))
    return api.answer(call, problem(400, fmt::format("header Idempotency-Key: give 1 to {} characters", kLongestKey)));
  Result<JobRequest> request = own_request(call);
  if (!request.ok()) return api.answer(call, request.error());
  if (const Status rules = check_client_rules(api.governor, call->client, *request); !rules.ok())
    return api.answer(call, rules.error());
  if (request->after.empty()) return submit(api, call, std::move(*request));
  // To wait for a job is to learn when it ends: only for those one sees.
  api.service.ask([api, call, request = std::move(*request)](const Engine& engine) mutable {
    for (const int64_t id : request.after) {
      const auto job = engine.job(id);
      if (!job || !may_see(call->who, *job)) return api.answer(call, invalid("field 'after': there is no job {}", id));
    }
    submit(api, call, std::move(request));
  });
}

void api_list_jobs(const ApiContext& api, const Call& call) {
  const Result<JobFilter> filter = filter_of(call);
  if (!filter.ok()) return api.answer(call, filter.error());
  const Result<int64_t> limit = integer_parameter(call, "limit", 100, 1, 1000);
  if (!limit.ok()) return api.answer(call, limit.error());
  const Result<int64_t> before = integer_parameter(call, "cursor", INT64_MAX, 1, INT64_MAX);
  if (!before.ok()) return api.answer(call, before.error());
  api.service.ask([api, call, filter = *filter, limit = static_cast<size_t>(*limit), before = *before](const Engine& engine) {
    const JobPage page = call->who.may_everywhere(Permission::kSeeJobs)
                             ? engine.jobs(filter, before, limit)
                             : jobs_of_clients(engine, filter, call->who.clients_for(Permission::kSeeJobs), before, limit);
    Json jobs = Json::array();
    for (const JobView& job : page.jobs)
      jobs.push_back(to_json(job));
    api.answer(call, 200, {{"jobs", std::move(jobs)}, {"next", page.next ? Json(std::to_string(*page.next)) : Json()}});
  });
}

void api_show_job(const ApiContext& api, const Call& call) {
  with_job(api, call, [api, call](const Engine&, const JobView& job) { api.answer(call, 200, to_json(job)); });
}

void api_cancel_job(const ApiContext& api, const Call& call) { control(api, call, &Service::cancel); }
void api_hold_job(const ApiContext& api, const Call& call) { control(api, call, &Service::hold); }
void api_release_job(const ApiContext& api, const Call& call) { control(api, call, &Service::release); }

void api_why(const ApiContext& api, const Call& call) {
  with_job(api, call, [api, call](const Engine& engine, const JobView& job) {
    const auto may_name = [&engine, &who = call->who](int64_t other) {
      const auto view = engine.job(other);
      return view && may_see(who, *view);
    };
    Json body = {{"job", job.id}, {"state", name_of(job.state)}, {"text", *engine.why(job.id, may_name)}};
    body["explanation"] = Json::parse(*engine.why_json(job.id, may_name));
    api.answer(call, 200, body);
  });
}

void api_logs(const ApiContext& api, const Call& call) {
  const std::string* stream = call->request.parts.parameter("stream");
  if (stream != nullptr && *stream != "output" && *stream != "error")
    return api.answer(call, invalid("parameter 'stream': give output or error"));
  const auto task = integer_parameter(call, "task", 0, 0, kMostTasks);
  const auto attempt = integer_parameter(call, "attempt", -1, 0, INT32_MAX);
  const auto offset = integer_parameter(call, "offset", 0, INT64_MIN, INT64_MAX);
  const auto limit = integer_parameter(call, "limit", kMostLogBytes, 1, kMostLogBytes);
  for (const auto* wanted : {&task, &attempt, &offset, &limit})
    if (!wanted->ok()) return api.answer(call, wanted->error());
  const LogStream wanted = stream != nullptr && *stream == "error" ? LogStream::kError : LogStream::kOutput;
  with_job(api, call, [=](const Engine& engine, const JobView& job) {
    if (!call->who.may(Permission::kSeeLogs, job.client))
      return api.answer(call, problem(403, "your role does not show what jobs print"));
    const auto request = engine.request_of(job.id);
    const std::string& own = wanted == LogStream::kError ? request->error_path : request->output_path;
    // A path that a job names is read with the rights of its user, not with the daemon's: not here.
    if (!own.empty())
      return api.answer(call, make_error(ErrorCode::kNotFound, "job {} writes to a file of its own: {}", job.id, own));
    const auto key = launch_of(job, static_cast<int32_t>(*task), static_cast<int32_t>(*attempt));
    Result<Piece> piece = key ? read_piece(api.options.log_path(*key, wanted), *offset, *limit) : Piece();
    if (!piece.ok()) return api.answer(call, piece.error());
    HttpReply reply{200, "text/plain; charset=utf-8", {}, std::move(piece->bytes)};
    const auto next = piece->offset + static_cast<int64_t>(reply.body.size());
    reply.headers = {{"Stint-Log-Offset", std::to_string(piece->offset)},
                     {"Stint-Log-Next", std::to_string(next)},
                     {"Stint-Log-Attempt", std::to_string(key ? key->attempt : -1)},
                     // Nothing will follow: the job has ended, and this is the end.
                     {"Stint-Log-Complete", has_ended(job.state) && next >= piece->size ? "true" : "false"}};
    api.answer(call, std::move(reply));
  });
}

}  // namespace stint
