// JSON as people read it: a field of the daemon's answers in a table, and whole documents with an indent.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace stint {

/// A string as it is, null as nothing, all else as JSON.
std::string text_of(const nlohmann::ordered_json& value);

/// "12.29 USD" of {"amount", "currency"}, as short_money() has it; null as nothing.
std::string money_of(const nlohmann::ordered_json& money);
/// "2026-10-01 00:00:05" of a time, UTC; null as nothing.
std::string time_of(const nlohmann::ordered_json& time);

/// Two blanks deep, without a line's end; bytes that are not UTF-8 are replaced.
std::string indented(const nlohmann::ordered_json& json);
std::string indented(const nlohmann::json& json);

}  // namespace stint
