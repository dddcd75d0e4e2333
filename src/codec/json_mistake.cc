#include "codec/json_mistake.h"

#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

constexpr size_t kLongestMistake = 200;

/// Keeps nothing but the first complaint.
struct MistakeFinder : nlohmann::json_sax<nlohmann::json> {
  std::string mistake;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) override {
    mistake = error.what();
    return false;
  }
};

/// Cuts what stands up to the end of `mark`, where it stands there at all.
std::string after(std::string text, std::string_view mark) {
  const size_t at = text.find(mark);
  return at == std::string::npos ? text : text.substr(at + mark.size());
}

}  // namespace

std::string json_mistake(std::string_view text) {
  MistakeFinder finder;
  nlohmann::json::sax_parse(text.begin(), text.end(), &finder);
  if (finder.mistake.empty()) return "";
  // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while parsing object - unexpected …"
  const std::string placed = after(finder.mistake, "parse error at ");
  const size_t colon = placed.find(": ");
  if (colon == std::string::npos) return excerpt(placed, kLongestMistake);
  std::string what = placed.substr(colon + 2);
  if (what.starts_with("syntax error")) what = after(what, " - ");
  return placed.substr(0, colon) + ": " + excerpt(what, kLongestMistake);
}

std::string json_complaint(std::string_view what) { return excerpt(after(std::string(what), "] "), kLongestMistake); }

std::string json_mistake_or(std::string_view text, std::string_view otherwise) {
  std::string mistake = json_mistake(text);
  return mistake.empty() ? std::string(otherwise) : mistake;
}

}  // namespace stint
