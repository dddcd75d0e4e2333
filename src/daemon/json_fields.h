// The fields of a JSON object as values: each is asked for by name, the first wrong one is kept, and what was not asked for
// is an error, so that a misspelt field is never passed over.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "daemon/api/simdjson_fwd.h"

namespace stint {

/// Nesting is the parser's stack.
inline constexpr int kDeepestJson = 64;

/// Before it is parsed: a text of brackets alone would cost a parser much, and this next to nothing.
bool nested_deeper_than(std::string_view json, int depth);

class JsonFields {
 public:
  /// @param where  for messages: "job request", "fleet.json: node 3".
  JsonFields(simdjson::dom::element element, std::string where);
  ~JsonFields();
  JsonFields(JsonFields&&) noexcept;
  JsonFields& operator=(JsonFields&&) = delete;

  [[nodiscard]] bool has(std::string_view name) const;
  /// The field itself; a null element when it is not there or null. Counts as asked for.
  simdjson::dom::element raw(std::string_view name);

  std::string text(std::string_view name, std::string_view fallback = "");
  int64_t integer(std::string_view name, int64_t least, int64_t most, int64_t fallback);
  double number(std::string_view name, double least, double most, double fallback);
  bool flag(std::string_view name, bool fallback);
  /// Seconds as a number, or a text such as "1h30m".
  Duration duration(std::string_view name, Duration fallback);
  /// A text such as "2026-10-01T08:00:00Z".
  Instant instant(std::string_view name, Instant fallback);
  /// Bytes as a number, or a text such as "80GiB".
  Bytes size(std::string_view name, Bytes fallback);
  std::vector<std::string> texts(std::string_view name);
  std::vector<int64_t> integers(std::string_view name, int64_t least, int64_t most);
  /// An object of texts, in the order in which they stand.
  std::vector<std::pair<std::string, std::string>> pairs(std::string_view name);

  /// An amount as a text, such as "32.77", not below 0; 0 when it is absent.
  Money money(std::string_view name, Currency currency);
  /// Each object of a list, with where it stands ("fleet.json: nodes 3"), until visit returns an error, which is returned.
  Status each_object(std::string_view name,
                     const std::function<Status(simdjson::dom::element object, const std::string& where)>& visit);

  void wrong(std::string_view name, std::string_view expected);
  [[nodiscard]] const std::string& where() const { return where_; }
  /// The first thing that was wrong; a field that was not asked for is.
  [[nodiscard]] Status finish() const;

 private:
  struct Field;
  Field* find(std::string_view name);

  std::string where_;
  std::vector<Field> fields_;
  Status status_;
};

/// A parser for one thread; an element lives until the next document.
class JsonParser {
 public:
  JsonParser();
  ~JsonParser();
  JsonParser(JsonParser&&) noexcept;
  JsonParser& operator=(JsonParser&&) noexcept;
  /// @param where  for the message.
  Result<simdjson::dom::element> parse(std::string_view json, std::string_view where);

 private:
  std::unique_ptr<simdjson::dom::parser> parser_;
};

}  // namespace stint
