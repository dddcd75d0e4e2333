// One machine as Compute Engine is asked for it: the body of instances.insert. Pure.
//
// Spot machines are deleted when they are taken back; and each is deleted by Google itself when its time is over, whatever becomes of
// who made it (`maxRunDuration` with `instanceTerminationAction`).
// Source: Compute Engine API v1, instances (discovery document, revision 20261106); "Limit the run time of a VM".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace stint {

/// "The duration must be between 30 seconds and 120 days."
inline constexpr Duration kGceLongestRun = kHour * 24 * 120;

struct GceMachine {
  std::string name;  ///< unique in the project
  std::string zone, machine_type;
  std::string image;  ///< `projects/P/global/images/I`, or a family's
  int64_t disk_gib = 100;
  std::string network, subnetwork;  ///< as the API takes them; both empty = the default network
  bool public_address = true;
  std::string service_account;  ///< an address; "" = none
  bool spot = false;
  std::optional<Duration> ends_after;
  std::vector<std::pair<std::string, std::string>> labels;
  std::string user_data;  ///< as cloud-init reads it
};

/// JSON. The same machine gives the same bytes.
std::string gce_insert_body(const GceMachine& machine);

/// A text as the value of a label: lower case letters, digits, `-`; of others `_` and two hexadecimal digits. At most 63 characters hold.
std::string gce_label_of(std::string_view text);
/// @return what was written so; what was not stays as it is.
std::string text_of_gce_label(std::string_view label);

/// As Google takes it for an order that may be told twice: of an owner's name for a machine, and what is to be done.
std::string gce_request_id(std::string_view owner, std::string_view machine, std::string_view what);

}  // namespace stint
