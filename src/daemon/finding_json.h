// What is read of an audit, and the decisions on its findings as JSON: bytes in, values out.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "daemon/finding_book.h"

namespace stint {

/// Of what `stint audit --json` writes; the rest of it is not looked at. An older audit says nothing of days and prices.
/// @param source  for messages.
Result<AuditContents> read_audit(std::string_view json, const std::string& source);
/// decisions.json. @return error naming the finding that is wrong.
Result<std::map<std::string, FindingDecision>> parse_decisions(const std::string& json, const std::string& source);
std::string format_decisions(const std::map<std::string, FindingDecision>& decisions);
/// changes.json. @return error naming the change that is wrong.
Result<std::map<std::string, CarriedChange>> parse_carried(const std::string& json, const std::string& source);
std::string format_carried(const std::map<std::string, CarriedChange>& changes);
/// Field `off_hours_of_week` of an object; none of them = it has none. @return error for what is no hour of the week.
Result<WeekHours> read_week_hours(const nlohmann::json& object, const std::string& source);
/// Fields `replicas` and `time_limits_s` of an object into the change; what it has none of stays empty. @return error naming the field.
Status read_change_limits(const nlohmann::json& object, const std::string& source, CarriedChange& change);
nlohmann::ordered_json carried_json(const std::string& id, const CarriedChange& change);

}  // namespace stint
