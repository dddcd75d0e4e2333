#include "daemon/engine/record.h"

#include <simdjson.h>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "base/text.h"
#include "daemon/api/job_request_fields.h"
#include "daemon/json_values.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostId = UINT32_MAX;
constexpr std::array kCauses = {EndCause::kItself, EndCause::kStopped, EndCause::kTimeLimit, EndCause::kOutOfMemory,
                                EndCause::kNotStarted};

constexpr std::array kMachineCauses = {MachineCause::kOther, MachineCause::kSpot, MachineCause::kMaintenance,
                                       MachineCause::kBroken};

std::string encode_report(const Report& report, bool done) {
  Json json = {{"job", report.key.job},
               {"attempt", report.key.attempt},
               {"task", report.key.task},
               {"at_ns", report.at.ns()},
               {"code", report.status.code}};
  if (report.status.signal != 0) json["signal"] = report.status.signal;
  if (report.cause != EndCause::kItself) json["cause"] = name_of(report.cause);
  if (!report.detail.empty()) json["detail"] = report.detail;
  if (done) json["done"] = true;
  return compact_text(json);
}

Report decode_report(JsonFields& fields, RecordKind kind) {
  Report report;
  report.kind = kind == RecordKind::kLost ? ReportKind::kLost : ReportKind::kEnded;
  report.key = {.job = fields.integer("job", 1, kMostId, 0),
                .attempt = static_cast<int32_t>(fields.integer("attempt", 0, INT32_MAX, 0)),
                .task = static_cast<int32_t>(fields.integer("task", 0, kMostTasks, 0))};
  report.at = Instant::from_ns(fields.integer("at_ns", INT64_MIN, INT64_MAX, 0));
  report.status.code = static_cast<int>(fields.integer("code", INT32_MIN, INT32_MAX, 0));
  report.status.signal = static_cast<int>(fields.integer("signal", 0, INT32_MAX, 0));
  const std::string cause = fields.text("cause", name_of(EndCause::kItself));
  const auto known = std::ranges::find(kCauses, cause, [](EndCause c) { return name_of(c); });
  if (known == kCauses.end())
    fields.wrong("cause", "a cause of an end");
  else
    report.cause = *known;
  report.detail = fields.text("detail");
  return report;
}

void decode_node(JsonFields& fields, Record& record) {
  record.node = fields.text("node");
  record.detail = fields.text("detail");
  if (fields.has("until_ns")) record.until = Instant::from_ns(fields.integer("until_ns", INT64_MIN, INT64_MAX, 0));
  if (!fields.has("cause")) return;
  const std::string cause = fields.text("cause");
  const auto known = std::ranges::find(kMachineCauses, cause, [](MachineCause c) { return name_of(c); });
  if (known == kMachineCauses.end())
    fields.wrong("cause", "why a machine goes");
  else
    record.cause = *known;
}

/// A line for each: user, name, milli-GPU, seconds, how it ended, when; tabs between them.
std::string encode_lengths(std::span<const sim::RunLength> lengths) {
  std::string lines;
  for (const sim::RunLength& l : lengths)
    lines += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", l.user, l.name, l.gpu_milli, l.ran.whole_seconds(), static_cast<int>(l.how),
                         l.ended.seconds());
  return lines;
}

Result<std::vector<sim::RunLength>> decode_lengths(std::string_view lines) {
  std::vector<sim::RunLength> lengths;
  for (const std::string_view line : split(lines, '\n')) {
    if (line.empty()) continue;
    const std::vector<std::string_view> cells = split(line, '\t');
    const auto number = [&](size_t cell) { return cell < cells.size() ? parse_int(cells[cell]) : std::nullopt; };
    const auto gpus = number(2), ran = number(3), how = number(4), ended = number(5);
    if (cells.size() != 6 || !gpus || !ran || !how || !ended || *how < 0 || *how > static_cast<int>(sched::RunEnd::kCutOff))
      return invalid("record: field 'runs' has a line that is none: '{}'", excerpt(line));
    lengths.push_back({.user = std::string(cells[0]),
                       .name = std::string(cells[1]),
                       .gpu_milli = *gpus,
                       .ran = Duration::seconds(*ran),
                       .how = static_cast<sched::RunEnd>(*how),
                       .ended = Instant::from_seconds(*ended)});
  }
  return lengths;
}

}  // namespace

LogRecord encode(const Record& record) {
  LogRecord out{.kind = static_cast<int32_t>(record.kind), .payload = {}};
  const auto actor = [&](Json json) {
    if (!record.actor.empty()) json["actor"] = record.actor;
    return compact_text(json);
  };
  switch (record.kind) {
    case RecordKind::kFleet: out.payload = actor({{"fleet", record.fleet}}); break;
    case RecordKind::kBudget:
    case RecordKind::kBudgetGone: out.payload = actor({{"budget", record.budget}}); break;
    case RecordKind::kForget: out.payload = actor({{"keep", record.keep}}); break;
    case RecordKind::kLearn: out.payload = actor({{"runs", encode_lengths(record.lengths)}}); break;
    case RecordKind::kMachine: out.payload = actor({{"machine", record.machine}}); break;
    case RecordKind::kNodeUp:
    case RecordKind::kNodeDrain:
    case RecordKind::kNodeClear:
    case RecordKind::kNodeDown:
    case RecordKind::kNodeGone: {
      Json json = {{"node", record.node}};
      if (record.cause) json["cause"] = name_of(*record.cause);
      if (record.until) json["until_ns"] = record.until->ns();
      if (!record.detail.empty()) json["detail"] = record.detail;
      out.payload = actor(std::move(json));
      break;
    }
    case RecordKind::kEnded:
    case RecordKind::kLost: out.payload = encode_report(record.report, record.done); break;
    case RecordKind::kCheckpoint:
    case RecordKind::kCancel:
    case RecordKind::kHold:
    case RecordKind::kRelease:
    case RecordKind::kApprove: out.payload = actor({{"job", record.job}}); break;
    case RecordKind::kTrial:
      out.payload = actor({{"job", record.job}, {"rung", record.rung}, {"loss_micro", record.loss_micro}});
      break;
    case RecordKind::kRefuse: out.payload = actor({{"job", record.job}, {"reason", record.reason}}); break;
    case RecordKind::kAdopt: out.payload = actor({{"job", record.job}, {"nodes", record.nodes}}); break;
    case RecordKind::kSubmit: {
      Json json = {{"id", record.job}};
      if (record.number > 0) json["number"] = record.number;
      if (!record.reason.empty()) json["approval"] = record.reason;
      // The request is JSON already: put in as it is, not parsed and printed again.
      out.payload = actor(std::move(json));
      out.payload.back() = ',';
      out.payload += "\"request\":" + to_json(record.request) + "}";
      break;
    }
    case RecordKind::kNotice: {
      Json json = {{"kind", record.notice.kind},   {"job", record.notice.job},   {"number", record.notice.job_number},
                   {"queue", record.notice.queue}, {"node", record.notice.node}, {"detail", record.notice.detail}};
      if (record.notice.array_index) json["index"] = *record.notice.array_index;
      out.payload = compact_text(json);
      break;
    }
    case RecordKind::kTick: break;
  }
  return out;
}

Result<Record> decode(JsonParser& parser, int32_t kind, std::string_view payload) {
  Record record;
  record.kind = static_cast<RecordKind>(kind);
  if (record.kind == RecordKind::kTick) return record;
  TRY_ASSIGN(const simdjson::dom::element json, parser.parse(payload, "record"));
  JsonFields fields(json, "record");
  switch (record.kind) {
    case RecordKind::kFleet: record.fleet = fields.text("fleet"); break;
    case RecordKind::kBudget:
    case RecordKind::kBudgetGone: record.budget = fields.text("budget"); break;
    case RecordKind::kForget: record.keep = fields.integer("keep", 0, kMostId, 0); break;
    case RecordKind::kLearn: {
      TRY_ASSIGN(record.lengths, decode_lengths(fields.text("runs")));
      break;
    }
    case RecordKind::kMachine: record.machine = fields.text("machine"); break;
    case RecordKind::kNodeUp:
    case RecordKind::kNodeDrain:
    case RecordKind::kNodeClear:
    case RecordKind::kNodeDown:
    case RecordKind::kNodeGone: decode_node(fields, record); break;
    case RecordKind::kEnded:
    case RecordKind::kLost:
      record.report = decode_report(fields, record.kind);
      record.done = fields.flag("done", false);
      break;
    case RecordKind::kCheckpoint:
    case RecordKind::kCancel:
    case RecordKind::kHold:
    case RecordKind::kRelease:
    case RecordKind::kApprove: record.job = fields.integer("job", 1, kMostId, 0); break;
    case RecordKind::kTrial:
      record.job = fields.integer("job", 1, kMostId, 0);
      record.rung = static_cast<int32_t>(fields.integer("rung", 0, INT32_MAX, 0));
      record.loss_micro = fields.integer("loss_micro", INT64_MIN, INT64_MAX, 0);
      break;
    case RecordKind::kRefuse:
      record.job = fields.integer("job", 1, kMostId, 0);
      record.reason = fields.text("reason");
      break;
    case RecordKind::kAdopt:
      record.job = fields.integer("job", 1, kMostId, 0);
      record.nodes = fields.texts("nodes");
      break;
    case RecordKind::kSubmit: {
      record.job = fields.integer("id", 1, kMostId, 0);
      record.number = fields.integer("number", 1, kMostId, 0);
      record.reason = fields.text("approval");
      TRY_ASSIGN(record.request, read_job_request(fields.raw("request")));
      break;
    }
    case RecordKind::kNotice:
      record.notice.kind = fields.text("kind");
      record.notice.job = fields.integer("job", 0, kMostId, 0);
      record.notice.job_number = fields.integer("number", 0, kMostId, record.notice.job);
      if (fields.has("index")) record.notice.array_index = static_cast<int32_t>(fields.integer("index", 0, kMostOfArray - 1, 0));
      record.notice.queue = fields.text("queue");
      record.notice.node = fields.text("node");
      record.notice.detail = fields.text("detail");
      break;
    case RecordKind::kTick: break;
    default: return invalid("record of unknown kind {}: written by a newer Stint", kind);
  }
  record.actor = fields.text("actor");
  TRY(fields.finish());
  return record;
}

}  // namespace stint
