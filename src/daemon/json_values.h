// Small pieces of JSON that several families of answers, records and tokens share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"

namespace stint {

/// A UTC text; null: there is none.
nlohmann::ordered_json time_or_null(const std::optional<Instant>& at);
/// An object of texts, in their order.
nlohmann::ordered_json text_object(const std::vector<std::pair<std::string, std::string>>& pairs);
/// On one line; bytes that are no UTF-8 are replaced.
std::string compact_text(const nlohmann::ordered_json& json);
/// The member of that name; empty when it is not there or no text.
std::string text_member(const nlohmann::json& object, const std::string& name);

}  // namespace stint
