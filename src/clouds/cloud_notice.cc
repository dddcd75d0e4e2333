#include "clouds/cloud_notice.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "clouds/cloud_http.h"
#include "clouds/json_member.h"

namespace stint {
namespace {

using Json = nlohmann::json;

constexpr Duration kNoticeTolerance = Duration::seconds(30);
// AWS: "two minutes before"; it is looked for every 5 s.
constexpr Duration kAwsLongest = Duration::minutes(2);
constexpr Duration kAwsTypical = Duration::seconds(115);
// Google: 30 s from the signal to the end of a spot machine; an hour before the host maintenance of machines with GPUs.
constexpr Duration kGooglePreempted = Duration::seconds(30);
constexpr Duration kGoogleMaintenance = Duration::hours(1);
// Azure: Preempt at least 30 s, Terminate 5 to 15 minutes as its owner set, Reboot and Redeploy 10 to 15.
constexpr Duration kAzureLongest = Duration::minutes(15);
constexpr Duration kAzurePreempt = Duration::seconds(30);
constexpr Duration kAzureOther = Duration::minutes(5);

Result<Json> object_of(std::string_view text, const char* what) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return invalid("{}: the answer is no JSON object: {}", what, excerpt(text, 80));
  return json;
}

/// Does the event end the machine? A pause (Freeze) does not.
std::optional<CloudNotice> azure_kind(std::string_view type) {
  if (type == "Preempt") return CloudNotice{.kind = CloudNoticeKind::kTaken, .longest = kAzureLongest, .typical = kAzurePreempt};
  if (type == "Terminate" || type == "Reboot" || type == "Redeploy")
    return CloudNotice{.kind = CloudNoticeKind::kMaintenance, .longest = kAzureLongest, .typical = kAzureOther};
  return std::nullopt;
}

/// none = it does not end this machine.
Result<std::optional<CloudNotice>> azure_event(const Json& event, std::string_view machine) {
  std::optional<CloudNotice> notice = azure_kind(text_member(event, "EventType"));
  const std::string status = text_member(event, "EventStatus");
  const auto resources = event.is_object() ? event.find("Resources") : event.end();
  if (!notice || (status != "Scheduled" && status != "Started")) return std::optional<CloudNotice>();
  if (resources == event.end() || !resources->is_array()) return invalid("Scheduled Events: an event without its Resources");
  const bool ours = std::any_of(resources->begin(), resources->end(), [&](const Json& name) {
    return name.is_string() && equals_ignoring_case(name.get_ref<const std::string&>(), machine);
  });
  if (!ours) return std::optional<CloudNotice>();
  notice->what = text_member(event, "EventType");
  notice->id = text_member(event, "EventId");
  notice->alone = resources->size() == 1;
  if (const std::string at = text_member(event, "NotBefore"); !at.empty()) {
    notice->at = parse_http_date(at);
    if (!notice->at) return invalid("Scheduled Events: NotBefore '{}' is no time", excerpt(at));
  }
  // It has begun: there is no time left that one could count on.
  if (!notice->at) notice->longest = notice->typical = Duration();
  return notice;
}

}  // namespace

std::string_view word_of(CloudNoticeKind kind) {
  switch (kind) {
    case CloudNoticeKind::kNone: return "none";
    case CloudNoticeKind::kRebalance: return "rebalance";
    case CloudNoticeKind::kMaintenance: return "maintenance";
    case CloudNoticeKind::kTaken: return "taken";
  }
  return "";
}

Duration time_left(const CloudNotice& notice, Instant now) {
  if (!notice.at) return notice.typical;
  const Duration left = *notice.at - now;
  if (left > notice.longest + kNoticeTolerance || left < Duration() - kNoticeTolerance) return notice.typical;
  return std::clamp(left, Duration(), notice.longest);
}

Result<CloudNotice> parse_aws_instance_action(std::string_view text) {
  TRY_ASSIGN(const Json json, object_of(text, "spot/instance-action"));
  CloudNotice notice{
      .kind = CloudNoticeKind::kTaken, .what = text_member(json, "action"), .longest = kAwsLongest, .typical = kAwsTypical};
  if (notice.what != "terminate" && notice.what != "stop" && notice.what != "hibernate")
    return invalid("spot/instance-action: '{}' is no known action", excerpt(notice.what));
  const auto at = parse_instant(text_member(json, "time"));
  if (!at.ok()) return invalid("spot/instance-action: its time: {}", at.error().message);
  notice.at = *at;
  return notice;
}

Result<CloudNotice> parse_aws_rebalance(std::string_view text) {
  TRY_ASSIGN(const Json json, object_of(text, "events/recommendations/rebalance"));
  const auto at = parse_instant(text_member(json, "noticeTime"));
  if (!at.ok()) return invalid("events/recommendations/rebalance: its noticeTime: {}", at.error().message);
  return CloudNotice{.kind = CloudNoticeKind::kRebalance, .what = "rebalance"};
}

Result<CloudNotice> parse_google_preempted(std::string_view text) {
  const std::string_view word = trim(text);
  if (word == "FALSE") return CloudNotice{};
  if (word != "TRUE") return invalid("instance/preempted: '{}' is neither TRUE nor FALSE", excerpt(word));
  return CloudNotice{.kind = CloudNoticeKind::kTaken,
                     .what = "preempted",
                     .longest = kGooglePreempted,
                     .typical = kGooglePreempted,
                     .alone = true};
}

Result<CloudNotice> parse_google_maintenance(std::string_view text) {
  const std::string_view word = trim(text);
  if (word == "NONE" || word == "MIGRATE_ON_HOST_MAINTENANCE") return CloudNotice{};
  if (word != "TERMINATE_ON_HOST_MAINTENANCE") return invalid("instance/maintenance-event: '{}' is not known", excerpt(word));
  return CloudNotice{.kind = CloudNoticeKind::kMaintenance,
                     .what = "TERMINATE_ON_HOST_MAINTENANCE",
                     .longest = kGoogleMaintenance,
                     .typical = kGoogleMaintenance,
                     .alone = true};
}

Result<CloudNotice> parse_azure_events(std::string_view text, std::string_view machine) {
  TRY_ASSIGN(const Json json, object_of(text, "Scheduled Events"));
  const auto events = json.find("Events");
  if (events == json.end() || !events->is_array()) return invalid("Scheduled Events: the answer has no Events");
  CloudNotice found;
  for (const Json& event : *events) {
    TRY_ASSIGN(const std::optional<CloudNotice> notice, azure_event(event, machine));
    // One that has begun is the most urgent, then the one that comes first.
    const bool sooner =
        notice && (found.kind == CloudNoticeKind::kNone || (found.at && (!notice->at || *notice->at < *found.at)));
    if (sooner) found = *notice;
  }
  return found;
}

}  // namespace stint
