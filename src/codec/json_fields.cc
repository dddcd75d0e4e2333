#include "codec/json_fields.h"

#include <nlohmann/json.hpp>

#include "codec/json_mistake.h"

namespace stint::json_fields {
namespace {

/// Bytes that count their lines as they are read.
class CountingBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  CountingBytes(const char* at, int64_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingBytes& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  bool operator==(const CountingBytes& other) const { return at_ == other.at_; }
  bool operator!=(const CountingBytes& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  int64_t* line_;
};

int64_t line_of(const Json& object) { return object.is_object() && object.contains(kLine) ? object[kLine].get<int64_t>() : 1; }

}  // namespace

Malformed::Malformed(const Json& where, const std::string& what) : std::runtime_error(what), line(line_of(where)) {}

Json parse_with_lines(std::string_view bytes) {
  int64_t line = 1;
  std::vector<int64_t> begun;
  const auto note = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) begun.push_back(line);
    if (event == Json::parse_event_t::object_end) {
      parsed[kLine] = begun.back();
      begun.pop_back();
    }
    return true;
  };
  return Json::parse(CountingBytes(bytes.data(), &line), CountingBytes(bytes.data() + bytes.size(), &line), note);
}

const Json& member(const Json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end()) throw Malformed(object, fmt::format("'{}' is missing", name));
  return *it;
}

std::string text_of(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_string()) throw Malformed(object, fmt::format("'{}' is no text", name));
  return value.get<std::string>();
}

std::string text_or_empty(const Json& object, const char* name) {
  return object.contains(name) ? text_of(object, name) : std::string();
}

int64_t integer_of(const Json& object, const char* name, int64_t least, int64_t most) {
  const Json& value = member(object, name);
  if (!value.is_number_integer() || value.get<double>() < static_cast<double>(least) ||
      value.get<double>() > static_cast<double>(most))
    throw Malformed(object, fmt::format("'{}' is no integer from {} to {}", name, least, most));
  return value.get<int64_t>();
}

double number_of(const Json& object, const char* name, double least, double most) {
  const Json& value = member(object, name);
  if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most))
    throw Malformed(object, fmt::format("'{}' is no number from {:g} to {:g}", name, least, most));
  return value.get<double>();
}

std::vector<std::string> texts_of(const Json& object, const char* name) {
  const Json& value = member(object, name);
  std::vector<std::string> texts;
  if (!value.is_array()) throw Malformed(object, fmt::format("'{}' is no array", name));
  for (const Json& text : value) {
    if (!text.is_string()) throw Malformed(object, fmt::format("'{}' holds something that is no text", name));
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

const Json& array_of(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_array()) throw Malformed(object, fmt::format("'{}' is no array", name));
  return value;
}

Status use_document(std::string_view bytes, const std::string& source, const std::function<void(const Json&)>& read) {
  try {
    read(parse_with_lines(bytes));
    return {};
  } catch (const Malformed& e) {
    return invalid("{}:{}: {}", source, e.line, e.what());
  } catch (const Json::parse_error& e) {
    return invalid("{}: not valid JSON: {}", source, json_mistake_or(bytes, json_complaint(e.what())));
  } catch (const Json::exception& e) {
    return invalid("{}: {}", source, json_complaint(e.what()));
  }
}

}  // namespace stint::json_fields
