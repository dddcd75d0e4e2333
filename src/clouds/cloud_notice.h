// What a cloud tells one of its machines about that machine's end. Pure.
//
// Sources: AWS "Spot Instance interruption notices" and "EC2 instance rebalance recommendations"; Google "Preemptible VM instances",
// "Host maintenance events" and "Query VM metadata"; Azure "Azure Metadata Service: Scheduled Events for Linux VMs" (version 2020-07-01).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

enum class CloudNoticeKind : uint8_t {
  kNone,
  kRebalance,    ///< it is more likely than others to be taken back; nothing is decided
  kMaintenance,  ///< it will be stopped or started anew, for work of the provider or on its owner's wish
  kTaken,        ///< it will be taken back
};
/// `none`, `rebalance`, `maintenance`, `taken`.
std::string_view word_of(CloudNoticeKind kind);

struct CloudNotice {
  CloudNoticeKind kind = CloudNoticeKind::kNone;
  std::string what;           ///< in the provider's words: `terminate`, `Preempt`
  std::optional<Instant> at;  ///< not before; by the provider's clock. none = at once, or it does not say
  Duration longest;           ///< from the notice to the end, as the provider documents it
  Duration typical;           ///< what is left of it when it has just been found and no clock can be trusted
  std::string id;             ///< what it is acknowledged by; "" = it cannot be
  bool alone = false;         ///< it concerns this machine and no other

  bool operator==(const CloudNotice&) const = default;
};

/// How long until the end it announces: never more than `longest`, never negative.
/// @param now  by the provider's clock, where its answer said; else by ours, which may be wrong: a time that no notice can have is not believed.
Duration time_left(const CloudNotice& notice, Instant now);

/// `spot/instance-action` of AWS. @return kInvalidInput when it is no such answer, as of all below.
Result<CloudNotice> parse_aws_instance_action(std::string_view json);
/// `events/recommendations/rebalance` of AWS.
Result<CloudNotice> parse_aws_rebalance(std::string_view json);
/// `instance/preempted` of Google.
Result<CloudNotice> parse_google_preempted(std::string_view text);
/// `instance/maintenance-event` of Google. A live migration is none.
Result<CloudNotice> parse_google_maintenance(std::string_view text);
/// Scheduled Events of Azure: the most urgent one that ends this machine. A pause of seconds (Freeze) is none.
/// @param machine  its name, as the metadata service tells it.
Result<CloudNotice> parse_azure_events(std::string_view json, std::string_view machine);

}  // namespace stint
