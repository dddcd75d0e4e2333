#include "codec/trails/cloud_trail.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <span>
#include <utility>

#include "base/text.h"
#include "codec/importer.h"
#include "codec/json_cursor.h"
#include "codec/json_mistake.h"

namespace stint {
namespace {

using Element = simdjson::dom::element;

/// The text that is reached by the keys; "" where it is not there, or is no text.
template <typename... Keys>
std::string_view trail_text(const Element& entry, Keys... keys) {
  std::array<std::string_view, sizeof...(Keys)> way{keys...};
  Element at = entry;
  for (const std::string_view key : way) {
    Element next;
    if (at[key].get(next) != simdjson::SUCCESS) return {};
    at = next;
  }
  std::string_view text;
  return at.get(text) == simdjson::SUCCESS ? text : std::string_view();
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

struct ActName {
  std::string_view name;
  MachineAct act;
};
std::optional<MachineAct> act_among(std::string_view name, std::span<const ActName> known) {
  for (const ActName& each : known)
    if (equals_ignoring_case(each.name, name)) return each.act;
  return std::nullopt;
}

/// @return error naming the field.
Result<Instant> time_of(std::string_view text, std::string_view field) {
  const Result<Instant> at = parse_instant(text);
  if (!at.ok()) return invalid("{} '{}' is no time such as 2026-10-01T08:00:00Z", field, excerpt(text));
  return *at;
}

// ---- AWS ------------------------------------------------------------------------------------------------------------

/// userIdentity: by its kind, the name that a person would look for.
std::string aws_actor(const Element& identity) {
  const std::string_view kind = trail_text(identity, "type");
  if (kind == "AWSService") return std::string(trail_text(identity, "invokedBy"));
  if (kind == "Root") return fmt::format("root of {}", trail_text(identity, "accountId"));
  const std::string_view arn = trail_text(identity, "arn");
  if (kind == "AssumedRole" || kind == "FederatedUser")
    if (const size_t slash = arn.find('/'); slash != std::string_view::npos) return std::string(arn.substr(slash + 1));
  if (const std::string_view user = trail_text(identity, "userName"); !user.empty()) return std::string(user);
  return std::string(!arn.empty() ? arn : trail_text(identity, "principalId"));
}

Result<bool> read_cloud_trail(const Element& entry, const std::function<void(MachineActRecord)>& take) {
  static constexpr std::array<ActName, 4> kActs = {{{"RunInstances", MachineAct::kMade},
                                                    {"StartInstances", MachineAct::kStarted},
                                                    {"StopInstances", MachineAct::kStopped},
                                                    {"TerminateInstances", MachineAct::kEnded}}};
  const std::string_view source = trail_text(entry, "eventSource");
  if (source.empty()) return false;
  const auto act = act_among(trail_text(entry, "eventName"), kActs);
  if (source != "ec2.amazonaws.com" || !act) return true;
  MachineActRecord record;
  TRY_ASSIGN(record.at, time_of(trail_text(entry, "eventTime"), "eventTime"));
  record.act = *act;
  if (Element identity; entry["userIdentity"].get(identity) == simdjson::SUCCESS) record.who = aws_actor(identity);
  record.from = trail_text(entry, "sourceIPAddress");
  record.by = trail_text(entry, "userAgent");
  record.failed = trail_text(entry, "errorCode");
  // What was made is in the answer alone; what was asked for, in the request.
  for (const std::string_view part : {"responseElements", "requestParameters"}) {
    simdjson::dom::array items;
    if (entry[part]["instancesSet"]["items"].get(items) != simdjson::SUCCESS) continue;
    bool any = false;
    for (const Element item : items) {
      record.machine = trail_text(item, "instanceId");
      if (record.machine.empty()) continue;
      any = true;
      take(record);
    }
    if (any) return true;
  }
  record.machine.clear();
  if (!record.failed.empty()) take(record);  // made nothing: it has no name
  return true;
}

// ---- Google ---------------------------------------------------------------------------------------------------------

Result<bool> read_gcp_audit(const Element& entry, const std::function<void(MachineActRecord)>& take) {
  static constexpr std::array<ActName, 8> kActs = {{{"insert", MachineAct::kMade},
                                                    {"start", MachineAct::kStarted},
                                                    {"startWithEncryptionKey", MachineAct::kStarted},
                                                    {"resume", MachineAct::kStarted},
                                                    {"stop", MachineAct::kStopped},
                                                    {"suspend", MachineAct::kStopped},
                                                    {"preempted", MachineAct::kStopped},
                                                    {"delete", MachineAct::kEnded}}};
  const std::string_view method = trail_text(entry, "protoPayload", "methodName");
  if (method.empty()) return !trail_text(entry, "logName").empty();
  constexpr std::string_view kMachines = "compute.instances.";
  const size_t at = method.find(kMachines);
  if (at == std::string_view::npos) return true;
  const auto act = act_among(method.substr(at + kMachines.size()), kActs);
  if (!act) return true;
  // Of an operation that takes a while there are two entries; the first says who asked.
  bool first = false, last = false;
  if (entry["operation"]["first"].get(first) != simdjson::SUCCESS) first = false;
  if (entry["operation"]["last"].get(last) != simdjson::SUCCESS) last = false;
  int64_t code = 0;
  if (entry["protoPayload"]["status"]["code"].get(code) != simdjson::SUCCESS) code = 0;
  if (last && !first && code == 0) return true;
  MachineActRecord record;
  TRY_ASSIGN(record.at, time_of(trail_text(entry, "timestamp"), "timestamp"));
  record.machine = last_part(trail_text(entry, "protoPayload", "resourceName"));
  record.act = *act;
  record.who = trail_text(entry, "protoPayload", "authenticationInfo", "principalEmail");
  record.from = trail_text(entry, "protoPayload", "requestMetadata", "callerIp");
  record.by = trail_text(entry, "protoPayload", "requestMetadata", "callerSuppliedUserAgent");
  if (code != 0) {
    const std::string_view why = trail_text(entry, "protoPayload", "status", "message");
    record.failed = why.empty() ? fmt::format("code {}", code) : std::string(why);
  }
  take(std::move(record));
  return true;
}

// ---- Azure ----------------------------------------------------------------------------------------------------------

/// The command's {"value": …} or the export's plain text.
std::string_view text_or_value(const Element& entry, std::string_view key) {
  const std::string_view plain = trail_text(entry, key);
  return plain.empty() ? trail_text(entry, key, "value") : plain;
}

Result<bool> read_azure_activity(const Element& entry, const std::function<void(MachineActRecord)>& take) {
  static constexpr std::array<ActName, 6> kActs = {{{"write", MachineAct::kMade},
                                                    {"start/action", MachineAct::kStarted},
                                                    {"restart/action", MachineAct::kStarted},
                                                    {"deallocate/action", MachineAct::kStopped},
                                                    {"powerOff/action", MachineAct::kStopped},
                                                    {"delete", MachineAct::kEnded}}};
  const std::string_view operation = text_or_value(entry, "operationName");
  if (operation.empty()) return false;
  constexpr std::string_view kMachines = "Microsoft.Compute/virtualMachines/";
  if (!equals_ignoring_case(operation.substr(0, kMachines.size()), kMachines)) return true;
  const auto act = act_among(operation.substr(kMachines.size()), kActs);
  // Started and accepted come before; what came of it is said once, at the end.
  const std::string_view came =
      entry.at_key("resultType").error() == simdjson::SUCCESS ? trail_text(entry, "resultType") : text_or_value(entry, "status");
  const bool done = equals_ignoring_case(came, "Succeeded") || equals_ignoring_case(came, "Success");
  const bool failed = equals_ignoring_case(came, "Failed") || equals_ignoring_case(came, "Failure");
  if (!act || (!done && !failed)) return true;
  MachineActRecord record;
  const std::string_view exported = trail_text(entry, "time");
  TRY_ASSIGN(record.at,
             exported.empty() ? time_of(trail_text(entry, "eventTimestamp"), "eventTimestamp") : time_of(exported, "time"));
  record.machine = last_part(text_or_value(entry, "resourceId"));
  record.act = *act;
  record.who = trail_text(entry, "caller");
  constexpr std::string_view kUser = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/upn";
  for (const std::string_view claim : {kUser, std::string_view("appid")})
    if (record.who.empty()) record.who = trail_text(entry, "identity", "claims", claim);
  record.from = trail_text(entry, "callerIpAddress");
  if (record.from.empty()) record.from = trail_text(entry, "httpRequest", "clientIpAddress");
  if (failed) {
    const std::string_view why = text_or_value(entry, "subStatus");
    record.failed = why.empty() ? "failed" : std::string(why);
  }
  take(std::move(record));
  return true;
}

}  // namespace

std::string_view name_of(MachineAct act) {
  constexpr std::array<std::string_view, 4> kNames = {"made", "started", "stopped", "ended"};
  return kNames[static_cast<size_t>(act)];
}

struct TrailReader::Parser {
  simdjson::dom::parser json;
};

TrailReader::TrailReader(TrailFormat format, std::string source, std::function<void(MachineActRecord)> take)
    : format_(format), source_(std::move(source)), take_(std::move(take)), parser_(std::make_unique<Parser>()) {}
TrailReader::~TrailReader() = default;

Status TrailReader::feed(std::string_view bytes) {
  buffer_.append(bytes);
  if (buffer_.size() > kMaxRecordBytes) return invalid("{}: a document above {} MiB", source_, kMaxRecordBytes >> 20);
  return buffer_.size() < worth_trying_ ? Status() : read();
}

/// Takes what is whole off the front: documents one after another, and elements of arrays of them.
Status TrailReader::read() {
  JsonCursor in{buffer_.data(), buffer_.data() + buffer_.size()};
  const char* begin = in.at;
  for (;;) {
    in.skip_blanks();
    while (in.take('[') || in.take(',') || in.take(']'))
      in.skip_blanks();
    begin = in.at;
    if (in.at_end()) break;
    const JsonStep step = in.skip_value();
    if (step == JsonStep::kMore) break;
    if (step == JsonStep::kBad) return invalid("{}: not JSON behind entry {}", source_, entries_);
    TRY(document({begin, static_cast<size_t>(in.at - begin)}));
  }
  buffer_.erase(0, static_cast<size_t>(begin - buffer_.data()));
  worth_trying_ = 2 * buffer_.size();
  return {};
}

Status TrailReader::document(std::string_view json) {
  Element root;
  if (const auto error = parser_->json.parse(json.data(), json.size()).get(root); error != simdjson::SUCCESS)
    return invalid("{}: not JSON behind entry {} ({})", source_, entries_, json_mistake_or(json, simdjson::error_message(error)));
  const auto read_entry = [this](const Element& entry) -> Status {
    ++entries_;
    if (!entry.is_object()) return {};
    const Result<bool> known = format_ == TrailFormat::kCloudTrail ? read_cloud_trail(entry, take_)
                               : format_ == TrailFormat::kGcpAudit ? read_gcp_audit(entry, take_)
                                                                   : read_azure_activity(entry, take_);
    if (!known.ok()) return invalid("{}: entry {}: {}", source_, entries_, known.error().message);
    known_ += *known ? 1 : 0;
    return {};
  };
  for (const std::string_view page : {"Records", "entries", "value"}) {
    simdjson::dom::array items;
    if (!root.is_object() || root[page].get(items) != simdjson::SUCCESS) continue;
    if (items.size() == 0) ++known_;  // a page without entries
    for (const Element item : items)
      TRY(read_entry(item));
    return {};
  }
  return read_entry(root);
}

Status TrailReader::finish() {
  TRY(read());
  if (!trim(buffer_).empty())
    return invalid("{}: ends in the middle of a document behind entry {}: the file is cut short, fetch it again", source_,
                   entries_);
  if (known_ == 0)
    return invalid("{}: no entry of {}", source_,
                   format_ == TrailFormat::kCloudTrail ? "AWS CloudTrail: give log files of a trail ({\"Records\": …})"
                   : format_ == TrailFormat::kGcpAudit
                       ? "Google's audit logs: give what `gcloud logging read --format=json` prints"
                       : "Azure's activity log: give what `az monitor activity-log list` prints");
  return {};
}

}  // namespace stint
