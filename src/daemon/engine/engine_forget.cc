// Jobs that have ended leave memory: a record says when, so that a replay of the log forgets at the same step; the same step
// writes them down as rows, from which views are made again. Format stint-ended/1, docs/formats.md.
#include <simdjson.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "base/text.h"
#include "daemon/api/job_request_fields.h"
#include "daemon/engine/engine_impl.h"
#include "daemon/json_values.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const ApprovalView& approval) {
  Json json = {{"why", approval.why}, {"asked_by", approval.asked_by}, {"most_cost_nanos", approval.most_cost.count_nanos()}};
  if (!approval.decided) return json;
  json.update({{"by", approval.by}, {"decided_ns", approval.decided->ns()}, {"approved", approval.approved}});
  if (!approval.reason.empty()) json["reason"] = approval.reason;
  return json;
}

/// @param approval  nullptr: it needed none.
std::string encode(const JobBook& job, const ApprovalView* approval) {
  Json json = {
      {"number", job.number}, {"array", job.array_first}, {"index", job.array_index}, {"submitted_ns", job.submitted.ns()}};
  if (job.reason) json["reason"] = words_of(*job.reason);
  const auto put = [&](const char* name, const std::optional<Instant>& at) {
    if (at) json[name] = at->ns();
  };
  put("first_started_ns", job.first_started);
  put("started_ns", job.started);
  put("ended_ns", job.ended);
  json["starts"] = job.starts;
  json["failures"] = job.failures;
  json["cost_nanos"] = job.posted.count_nanos();
  json["currency"] = job.posted.currency().code();
  json["micro_gpu_hours"] = job.posted_micro_gpu_hours;
  if (approval != nullptr) json["approval"] = json_of(*approval);
  for (const EndView& end : job.ends) {
    Json one = {{"task", end.task},           {"attempt", end.attempt}, {"node", end.node}, {"started_ns", end.started.ns()},
                {"ended_ns", end.ended.ns()}, {"code", end.exit_code},  {"gpus", end.gpus}, {"gpu_milli", end.gpu_milli}};
    if (end.signal != 0) one["signal"] = end.signal;
    if (!end.detail.empty()) one["detail"] = end.detail;
    json["ends"].push_back(std::move(one));
  }
  std::string text = compact_text(json);
  text.back() = ',';
  return text + "\"request\":" + to_json(*job.request) + "}";
}

EndView decode_end(const simdjson::dom::element& json) {
  JsonFields fields(json, "end of a job");
  const auto small = [&](const char* name) { return static_cast<int32_t>(fields.integer(name, INT32_MIN, INT32_MAX, 0)); };
  const auto at = [&](const char* name) { return Instant::from_ns(fields.integer(name, INT64_MIN, INT64_MAX, 0)); };
  return {.task = small("task"),
          .attempt = small("attempt"),
          .node = fields.text("node"),
          .started = at("started_ns"),
          .ended = at("ended_ns"),
          .exit_code = small("code"),
          .signal = small("signal"),
          .detail = fields.text("detail"),
          .gpus = static_cast<uint64_t>(fields.integer("gpus", 0, INT64_MAX, 0)),
          .gpu_milli = fields.integer("gpu_milli", 0, INT64_MAX, 0)};
}

Result<ApprovalView> decode_approval(const simdjson::dom::element& json, Currency currency) {
  JsonFields fields(json, "approval of a job");
  ApprovalView approval;
  approval.why = fields.text("why");
  approval.asked_by = fields.text("asked_by");
  approval.most_cost = Money::nanos(fields.integer("most_cost_nanos", INT64_MIN, INT64_MAX, 0), currency);
  approval.by = fields.text("by");
  if (fields.has("decided_ns")) approval.decided = Instant::from_ns(fields.integer("decided_ns", INT64_MIN, INT64_MAX, 0));
  approval.approved = fields.flag("approved", false);
  approval.reason = fields.text("reason");
  TRY(fields.finish());
  return approval;
}

/// What encode() wrote, but for the queue.
struct Decoded {
  JobBook job;
  std::string reason;  ///< in words
  std::optional<ApprovalView> approval;
};

Result<Decoded> decode(std::string_view payload) {
  JsonParser parser;
  TRY_ASSIGN(const simdjson::dom::element json, parser.parse(payload, "ended job"));
  JsonFields fields(json, "ended job");
  Decoded decoded;
  JobBook& job = decoded.job;
  const auto small = [&](const char* name) { return static_cast<int32_t>(fields.integer(name, 0, INT32_MAX, 0)); };
  const auto at = [&](const char* name) {
    return fields.has(name) ? std::optional(Instant::from_ns(fields.integer(name, INT64_MIN, INT64_MAX, 0))) : std::nullopt;
  };
  job.number = fields.integer("number", 1, UINT32_MAX, 0);
  job.array_first = fields.integer("array", 0, UINT32_MAX, 0);
  job.array_index = small("index");
  job.submitted = at("submitted_ns").value_or(Instant());
  decoded.reason = fields.text("reason");
  job.first_started = at("first_started_ns");
  job.started = at("started_ns");
  job.ended = at("ended_ns");
  job.starts = small("starts");
  job.failures = small("failures");
  TRY_ASSIGN(const Currency currency, Currency::parse(fields.text("currency")));
  job.posted = Money::nanos(fields.integer("cost_nanos", INT64_MIN, INT64_MAX, 0), currency);
  job.posted_micro_gpu_hours = fields.integer("micro_gpu_hours", 0, INT64_MAX, 0);
  if (simdjson::dom::array ends; fields.has("ends") && fields.raw("ends").get_array().get(ends) == simdjson::SUCCESS)
    for (const simdjson::dom::element end : ends)
      job.ends.push_back(decode_end(end));
  if (fields.has("approval")) {
    TRY_ASSIGN(decoded.approval, decode_approval(fields.raw("approval"), currency));
  }
  if (!fields.has("request")) return invalid("ended job: no field 'request'");
  TRY_ASSIGN(JobRequest request, read_job_request(fields.raw("request")));
  job.request = std::make_shared<const JobRequest>(std::move(request));
  TRY(fields.finish());
  return decoded;
}

}  // namespace

/// Those that have ended, but for the last `keep`: who ended first goes first, of those the older. Of an array that waits for
/// approval none goes before all do.
std::vector<bool> Engine::Impl::who_leaves(int64_t keep) const {
  std::vector<uint32_t> ended;
  for (uint32_t j = 0; j < jobs.size(); ++j)
    if (has_ended(jobs[j].state)) ended.push_back(j);
  std::ranges::stable_sort(ended, {}, [&](uint32_t j) { return jobs[j].ended.value_or(Instant()); });
  std::vector<bool> gone(jobs.size());
  for (size_t i = 0; static_cast<int64_t>(i) < std::ssize(ended) - keep; ++i)
    gone[ended[i]] = scheduler->may_forget(sched::JobId(ended[i])) && !may_still_be_decided(jobs[ended[i]]);
  return gone;
}

bool Engine::Impl::may_still_be_decided(const JobBook& job) const {
  const ApprovalView* approval = governance.approval_of(job);
  return approval != nullptr && !approval->decided && governance.first_unapproved(governance.first_decided_with(job)) != 0;
}

/// What the log keeps of those whom these records make it forget.
std::vector<EndedJob> Engine::Impl::ended_jobs_of(const std::vector<Record>& records) const {
  std::vector<EndedJob> ended;
  for (const Record& record : records) {
    if (record.kind != RecordKind::kForget) continue;
    const std::vector<bool> gone = who_leaves(record.keep);
    for (size_t j = 0; j < gone.size(); ++j)
      if (gone[j])
        ended.push_back({.id = jobs[j].id,
                         .queue = queue_name(jobs[j].queue),
                         .user = jobs[j].request->user,
                         .name = jobs[j].request->name,
                         .state = static_cast<int32_t>(jobs[j].state),
                         .payload = encode(jobs[j], governance.approval_of(jobs[j]))});
  }
  return ended;
}

void Engine::Impl::forget(int64_t keep) {
  const std::vector<bool> gone = who_leaves(keep);
  std::vector<uint32_t> renumbered;  // of those that are gone: as the next that stays
  renumbered.reserve(gone.size());
  for (uint32_t to = 0, j = 0; j < gone.size(); ++j) {
    renumbered.push_back(to);
    to += gone[j] ? 0U : 1U;
    if (!gone[j]) continue;
    Instant& until = forgotten_until[client_of(jobs[j].queue)];
    until = std::max(until, jobs[j].ended.value_or(now));
  }
  CHECK(touched.empty(), "jobs are forgotten after others were touched");
  std::erase_if(owed, [&](const sched::Event& e) { return gone[e.job.index()]; });
  std::erase_if(events, [&](const sched::Event& e) { return e.job.valid() && gone[e.job.index()]; });
  // Tasks are named by their place in the job meanwhile.
  for (std::vector<sched::Event>* of : {&owed, &events})
    for (sched::Event& e : *of)
      if (e.job.valid() && e.task.valid()) e.task = sched::TaskId(e.task.index() - book(e.job).first_task);
  for (std::vector<sched::Event>* of : {&owed, &events})
    for (sched::Event& e : *of)
      if (e.job.valid()) e.job = sched::JobId(renumbered[e.job.index()]);
  std::set<uint32_t> on_nodes;
  for (const uint32_t j : govern.on_nodes) {
    CHECK(!gone[j], "job {} is forgotten with tasks on nodes", jobs[j].id);
    on_nodes.insert(on_nodes.end(), renumbered[j]);
  }
  govern.on_nodes = std::move(on_nodes);

  arrays = scheduler->forget(gone);
  size_t to = 0;
  for (size_t from = 0; from < jobs.size(); ++from) {
    if (gone[from]) continue;
    if (to != from) jobs[to] = std::move(jobs[from]);
    ++to;
  }
  ended_in_memory -= std::ssize(jobs) - static_cast<int64_t>(to);
  jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(to), jobs.end());
  if (jobs.capacity() > 2 * jobs.size()) jobs.shrink_to_fit();
  // Of an array as long as one of its jobs is there. Jobs ascend, so those who are decided together lie together.
  auto job = jobs.begin();
  std::erase_if(govern.approvals, [&](const auto& approval) {
    job = std::find_if(job, jobs.end(), [&](const JobBook& of) { return governance.first_decided_with(of) >= approval.first; });
    return job == jobs.end() || governance.first_decided_with(*job) != approval.first;
  });
  for (uint32_t j = 0; j < jobs.size(); ++j)
    jobs[j].first_task = static_cast<uint32_t>(scheduler->tasks_of(sched::JobId(j)).data() - scheduler->cluster().tasks().data());
  for (std::vector<sched::Event>* of : {&owed, &events})
    for (sched::Event& e : *of)
      if (e.job.valid() && e.task.valid()) e.task = sched::TaskId(e.task.index() + book(e.job).first_task);
}

std::optional<JobView> Engine::Impl::view_of(const EndedJob& ended) const {
  auto decoded = decode(ended.payload);
  const auto queue = queue_ids.find(ended.queue);
  if (!decoded.ok() || queue == queue_ids.end()) return std::nullopt;
  JobBook& job = decoded->job;
  job.id = ended.id;
  if (job.number == 0) job.number = ended.id;
  job.queue = queue->second;
  job.state = static_cast<JobState>(ended.state);
  JobView view = view_of(job);
  if (view.reason.empty()) view.reason = std::move(decoded->reason);  // else it names the job it waited for in vain
  view.approval = std::move(decoded->approval);
  return view;
}

std::string Engine::Impl::public_id_of(int64_t id) const {
  if (const sched::JobId found = find(id); found.valid()) {
    const JobBook& job = jobs[found.index()];
    return public_id(client_of(job.queue), job.number, job.place_in_array());
  }
  const auto ended = log.ended_job(id);
  if (!ended.ok() || !*ended) return "unknown";
  const auto decoded = decode((*ended)->payload);
  return public_id(client_of_queue((*ended)->queue), decoded.ok() && decoded->job.number > 0 ? decoded->job.number : id,
                   decoded.ok() ? decoded->job.place_in_array() : std::nullopt);
}

std::optional<int64_t> Engine::find_job(const PublicId& name) const {
  const auto first = impl_->find_number(name.client, name.number);
  if (!first || !name.index) return first;
  const auto array = job(*first);
  if (!array || array->array != *first || *name.index >= array->array_size) return std::nullopt;
  return *first + *name.index;
}

std::optional<int64_t> Engine::Impl::find_number(const std::string& client, int64_t number) const {
  const Impl& s = *this;
  if (number <= s.unnumbered) return number >= 1 ? std::optional(number) : std::nullopt;
  const auto known = s.numbered.find(client);
  if (known == s.numbered.end() || number > known->second) return std::nullopt;
  std::optional<int64_t> id;
  const Status read = s.log.read_side_rows(kNumberStream + client, number - s.unnumbered - 1, 1,
                                           [&](int64_t, std::string_view payload) -> Status {
                                             id = parse_int(payload);
                                             return {};
                                           });
  if (read.ok() && id) return id;
  // The log cannot be read just now: who is in memory can be found all the same.
  const auto found =
      std::ranges::find_if(s.jobs, [&](const JobBook& job) { return job.number == number && s.client_of(job.queue) == client; });
  return found == s.jobs.end() ? std::nullopt : std::optional(found->id);
}

std::optional<JobRequest> Engine::request_of(int64_t id) const {
  const Impl& s = *impl_;
  if (const sched::JobId found = s.find(id); found.valid()) return *s.jobs[found.index()].request;
  if (id < 1 || id > s.accepted) return std::nullopt;
  const auto ended = s.log.ended_job(id);
  if (!ended.ok() || !*ended) return std::nullopt;
  const auto decoded = decode((*ended)->payload);
  return decoded.ok() ? std::optional(*decoded->job.request) : std::nullopt;
}

}  // namespace stint
