// Fields of a JSON document that a person may have written: each taken with its type and range, errors with the line of the object
// they are in. Malformed is thrown and caught within codec only, like the exceptions of the JSON library.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint::json_fields {

using Json = nlohmann::ordered_json;

/// Every object gets the number of its line as a member of this name, which no file can hold as it is no sensible name.
inline constexpr const char* kLine = "\x01line";

struct Malformed : std::runtime_error {
  Malformed(const Json& where, const std::string& what);
  int64_t line;
};

/// Throws what the JSON library throws.
Json parse_with_lines(std::string_view bytes);

// Each throws Malformed when the member is missing (but for _or_empty), of another type or out of range.
const Json& member(const Json& object, const char* name);
std::string text_of(const Json& object, const char* name);
std::string text_or_empty(const Json& object, const char* name);
int64_t integer_of(const Json& object, const char* name, int64_t least, int64_t most);
double number_of(const Json& object, const char* name, double least, double most);
std::vector<std::string> texts_of(const Json& object, const char* name);
const Json& array_of(const Json& object, const char* name);

template <typename T>
T taken(const Json& object, Result<T> value) {
  if (!value.ok()) throw Malformed(object, value.error().message);
  return std::move(value.value());
}

/// Calls `read(document)`. @return an error naming file and line of what it threw.
Status use_document(std::string_view bytes, const std::string& source, const std::function<void(const Json&)>& read);

/// @return the value of `read(document)`, or an error as use_document() has it.
template <typename T, typename Read>
Result<T> read_document(std::string_view bytes, const std::string& source, Read read) {
  std::optional<T> value;
  TRY(use_document(bytes, source, [&](const Json& document) { value.emplace(read(document)); }));
  return std::move(*value);
}

}  // namespace stint::json_fields
