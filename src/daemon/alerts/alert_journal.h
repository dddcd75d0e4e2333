// Entries of the alert book as rows of the event log's side stream "alerts": JSON objects, docs/formats.md.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/json_fields.h"
#include "telemetry/alert_book.h"

namespace stint {

inline constexpr std::string_view kAlertStream = "alerts";

std::string encode(const AlertEntry& entry);
/// @return error for what encode() does not write.
Result<AlertEntry> decode_alert_entry(JsonParser& parser, std::string_view row);

}  // namespace stint
