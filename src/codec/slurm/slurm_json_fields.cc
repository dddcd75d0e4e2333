#include "codec/slurm/slurm_json_fields.h"

#include <simdjson.h>

#include <cmath>

namespace stint::slurm_json {

using simdjson::SUCCESS;

std::string text_of(const Object& object, std::string_view key) {
  dom::element value;
  std::string_view text;
  if (!object || (*object)[key].get(value) != SUCCESS) return {};
  if (value.get(text) == SUCCESS) return std::string(text);
  // A list's first entry: flags such as DRAIN follow the state they belong to.
  dom::array list;
  if (value.get(list) == SUCCESS)
    for (const dom::element entry : list)
      if (entry.get(text) == SUCCESS) return std::string(text);
  return {};
}

std::vector<std::string> texts_of(const Object& object, std::string_view key) {
  dom::array list;
  if (!object || (*object)[key].get(list) != SUCCESS) return {};
  std::vector<std::string> out;
  std::string_view text;
  for (const dom::element entry : list)
    if (entry.get(text) == SUCCESS) out.emplace_back(text);
  return out;
}

std::optional<int64_t> number_of(const Object& object, std::string_view key) {
  dom::element value;
  if (!object || (*object)[key].get(value) != SUCCESS) return std::nullopt;
  dom::object wrapped;
  if (value.get(wrapped) == SUCCESS) {
    bool flag = true;
    if (wrapped["set"].get(flag) == SUCCESS && !flag) return std::nullopt;
    if (wrapped["infinite"].get(flag) == SUCCESS && flag) return std::nullopt;
    return number_of(wrapped, "number");
  }
  int64_t integer = 0;
  if (value.get(integer) == SUCCESS) return integer;
  double real = 0;
  if (value.get(real) == SUCCESS && std::abs(real) < 9e15) return static_cast<int64_t>(real);
  return std::nullopt;
}

Object object_of(const Object& object, std::string_view key) {
  dom::object inner;
  if (!object || (*object)[key].get(inner) != SUCCESS) return std::nullopt;
  return inner;
}

std::optional<Instant> time_of(const Object& object, std::string_view key) {
  const auto seconds = number_of(object, key);
  constexpr int64_t kLast = 8'000'000'000;  // the year 2223
  if (!seconds || *seconds <= 0 || *seconds > kLast) return std::nullopt;
  return Instant::from_seconds(*seconds);
}

std::optional<Duration> minutes_of(const Object& object, std::string_view key) {
  const auto minutes = number_of(object, key);
  constexpr int64_t kMost = 100LL * 366 * 24 * 60;
  if (!minutes || *minutes <= 0 || *minutes > kMost) return std::nullopt;  // 4294967295 is without limit
  return Duration::minutes(*minutes);
}

std::string nodes_of(const Object& object) {
  for (const Object& holder : {object, object_of(object, "job_resources")}) {
    if (std::string text = text_of(holder, "nodes"); !text.empty()) return text;
    if (std::string text = text_of(object_of(holder, "nodes"), "list"); !text.empty()) return text;
  }
  return {};
}

std::string error_of(const Object& root) {
  dom::array errors;
  if ((*root)["errors"].get(errors) != SUCCESS) return {};
  for (const dom::element entry : errors) {
    dom::object object;
    std::string_view text;
    if (entry.get(text) == SUCCESS) return std::string(text);
    if (entry.get(object) != SUCCESS) continue;
    for (const char* key : {"description", "error"})
      if (const std::string said = text_of(object, key); !said.empty()) return said;
    return "an error without words";
  }
  return {};
}

}  // namespace stint::slurm_json
