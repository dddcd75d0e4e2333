#include "daemon/engine/ended_job.h"

#include <simdjson.h>
#include <nlohmann/json.hpp>

#include "daemon/api/job_request_fields.h"
#include "daemon/engine/job_runs.h"
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

}  // namespace

std::string encode_ended(const JobBook& job, const ApprovalView* approval) {
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

Result<DecodedJob> decode_ended(std::string_view payload) {
  JsonParser parser;
  TRY_ASSIGN(const simdjson::dom::element json, parser.parse(payload, "ended job"));
  JsonFields fields(json, "ended job");
  DecodedJob decoded;
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

}  // namespace stint
