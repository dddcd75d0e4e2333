// Reads JSON of a writer who is not trusted: an object's fields are taken one by one, and what is left over is an error.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/text.h"

namespace stint {

inline constexpr int kDeepestStrictJson = 8;

/// Throws std::runtime_error, or the library's own errors, which name what is wrong.
inline nlohmann::json parse_strict_json(std::string_view text) {
  return nlohmann::json::parse(text, [](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth > kDeepestStrictJson) throw std::runtime_error("too deep");
    return true;
  });
}

class StrictObject {
 public:
  explicit StrictObject(const nlohmann::json& json) : json_(json) {
    if (!json.is_object()) throw std::runtime_error("no object where one is expected");
    for (const auto& [name, value] : json.items())
      left_.insert(name);
  }

  const nlohmann::json& take(const char* name) {
    const auto found = json_.find(name);
    if (found == json_.end()) throw std::runtime_error(std::string("no field '") + name + "'");
    left_.erase(name);
    return *found;
  }
  [[nodiscard]] bool has(const char* name) const { return json_.contains(name); }

  /// Unlike the library's own conversion no number becomes another one.
  int64_t whole(const char* name, int64_t least, int64_t most) {
    const nlohmann::json& value = take(name);
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)))
      wrong(name);
    const auto number = value.get<int64_t>();
    if (number < least || number > most) wrong(name);
    return number;
  }
  std::string text(const char* name) {
    const nlohmann::json& value = take(name);
    if (!value.is_string()) wrong(name);
    return value.get<std::string>();
  }
  bool flag(const char* name) {
    const nlohmann::json& value = take(name);
    if (!value.is_boolean()) wrong(name);
    return value.get<bool>();
  }
  const nlohmann::json& list(const char* name) {
    const nlohmann::json& value = take(name);
    if (!value.is_array()) wrong(name);
    return value;
  }
  /// All fields that there may be were taken.
  void finish() const {
    if (!left_.empty()) throw std::runtime_error("field '" + excerpt(*left_.begin()) + "' may not be asked for");
  }
  [[noreturn]] static void wrong(const char* name) {
    throw std::runtime_error(std::string("field '") + name + "' is not as it must be");
  }

 private:
  const nlohmann::json& json_;
  std::set<std::string> left_;
};

}  // namespace stint
