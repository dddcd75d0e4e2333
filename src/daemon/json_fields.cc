#include "daemon/json_fields.h"
#include "base/text.h"

#include <simdjson.h>
#include <algorithm>

#include "codec/json_mistake.h"
#include "documents/workload_row.h"

namespace stint {
namespace {

constexpr size_t kMostFields = 500;

}  // namespace

struct JsonFields::Field {
  std::string_view name;
  simdjson::dom::element value;
  bool asked = false;
};

JsonFields::JsonFields(JsonFields&&) noexcept = default;
JsonFields::~JsonFields() = default;

JsonFields::JsonFields(simdjson::dom::element element, std::string where) : where_(std::move(where)) {
  simdjson::dom::object object;
  if (element.get(object) != simdjson::SUCCESS) {
    status_ = invalid("{}: must be a JSON object", where_);
    return;
  }
  if (object.size() > kMostFields) {
    status_ = invalid("{}: {} fields; {} at most", where_, object.size(), kMostFields);
    return;
  }
  for (const simdjson::dom::key_value_pair field : object) {
    if (find(field.key) != nullptr && status_.ok()) status_ = invalid("{}: field '{}' stands twice", where_, excerpt(field.key));
    fields_.push_back({field.key, field.value, false});
  }
}

JsonFields::Field* JsonFields::find(std::string_view name) {
  const auto at = std::ranges::find(fields_, name, &Field::name);
  return at == fields_.end() ? nullptr : &*at;
}

bool JsonFields::has(std::string_view name) const { return std::ranges::find(fields_, name, &Field::name) != fields_.end(); }

simdjson::dom::element JsonFields::raw(std::string_view name) {
  Field* field = find(name);
  if (field == nullptr) return {};
  field->asked = true;
  return field->value;
}

void JsonFields::wrong(std::string_view name, std::string_view expected) {
  if (status_.ok()) status_ = invalid("{}: field '{}' must be {}", where_, name, expected);
}

std::string JsonFields::text(std::string_view name, std::string_view fallback) {
  if (!has(name)) return std::string(fallback);
  std::string_view value;
  if (raw(name).get(value) != simdjson::SUCCESS) wrong(name, "a text");
  return std::string(value);
}

int64_t JsonFields::integer(std::string_view name, int64_t least, int64_t most, int64_t fallback) {
  if (!has(name)) return fallback;
  int64_t value = 0;
  if (raw(name).get(value) != simdjson::SUCCESS || value < least || value > most) {
    wrong(name, fmt::format("a whole number from {} to {}", least, most));
    return fallback;
  }
  return value;
}

double JsonFields::number(std::string_view name, double least, double most, double fallback) {
  if (!has(name)) return fallback;
  double value = 0;
  if (raw(name).get(value) != simdjson::SUCCESS || !(value >= least && value <= most)) {
    wrong(name, fmt::format("a number from {} to {}", least, most));
    return fallback;
  }
  return value;
}

bool JsonFields::flag(std::string_view name, bool fallback) {
  if (!has(name)) return fallback;
  bool value = fallback;
  if (raw(name).get(value) != simdjson::SUCCESS) wrong(name, "true or false");
  return value;
}

Duration JsonFields::duration(std::string_view name, Duration fallback) {
  if (!has(name)) return fallback;
  constexpr double kHundredYears_s = 3.2e9;
  const simdjson::dom::element value = raw(name);
  std::string_view text;
  double seconds = 0;
  if (value.get(text) == simdjson::SUCCESS) {
    const Result<Duration> parsed = parse_duration(text);
    if (parsed.ok() && *parsed >= Duration()) return *parsed;
  } else if (int64_t whole = 0;
             value.get(whole) == simdjson::SUCCESS && whole >= 0 && static_cast<double>(whole) <= kHundredYears_s) {
    return Duration::seconds(whole);
  } else if (value.get(seconds) == simdjson::SUCCESS && seconds >= 0 && seconds <= kHundredYears_s) {
    return Duration::from_seconds(seconds);
  }
  wrong(name, "seconds as a number from 0 to 100 years, or a text such as \"1h30m\"");
  return fallback;
}

Instant JsonFields::instant(std::string_view name, Instant fallback) {
  if (!has(name)) return fallback;
  std::string_view text;
  if (raw(name).get(text) == simdjson::SUCCESS)
    if (const Result<Instant> parsed = parse_instant(text); parsed.ok()) return *parsed;
  wrong(name, "a time such as \"2026-10-01T08:00:00Z\"");
  return fallback;
}

Bytes JsonFields::size(std::string_view name, Bytes fallback) {
  if (!has(name)) return fallback;
  const simdjson::dom::element value = raw(name);
  std::string_view text;
  int64_t bytes = 0;
  if (value.get(bytes) == simdjson::SUCCESS && bytes >= 0) return Bytes::of(bytes);
  if (value.get(text) == simdjson::SUCCESS)
    if (const auto parsed = parse_size(text)) return *parsed;
  wrong(name, "bytes as a number, or a text such as \"80GiB\"");
  return fallback;
}

std::vector<std::string> JsonFields::texts(std::string_view name) {
  std::vector<std::string> all;
  if (!has(name)) return all;
  simdjson::dom::array array;
  if (raw(name).get(array) != simdjson::SUCCESS) {
    wrong(name, "a list of texts");
    return all;
  }
  for (const simdjson::dom::element element : array) {
    std::string_view value;
    if (element.get(value) != simdjson::SUCCESS) wrong(name, "a list of texts");
    all.emplace_back(value);
  }
  return all;
}

std::vector<int64_t> JsonFields::integers(std::string_view name, int64_t least, int64_t most) {
  std::vector<int64_t> all;
  if (!has(name)) return all;
  simdjson::dom::array array;
  if (raw(name).get(array) != simdjson::SUCCESS) {
    wrong(name, "a list of whole numbers");
    return all;
  }
  for (const simdjson::dom::element element : array) {
    int64_t value = 0;
    if (element.get(value) != simdjson::SUCCESS || value < least || value > most)
      wrong(name, fmt::format("a list of whole numbers from {} to {}", least, most));
    else
      all.push_back(value);
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> JsonFields::pairs(std::string_view name) {
  std::vector<std::pair<std::string, std::string>> all;
  if (!has(name)) return all;
  simdjson::dom::object object;
  if (raw(name).get(object) != simdjson::SUCCESS) {
    wrong(name, "an object of texts");
    return all;
  }
  for (const simdjson::dom::key_value_pair field : object) {
    std::string_view value;
    if (field.value.get(value) != simdjson::SUCCESS) wrong(name, "an object of texts");
    all.emplace_back(field.key, value);
  }
  return all;
}

Money JsonFields::money(std::string_view name, Currency currency) {
  const Result<Money> amount = Money::parse(text(name, "0"), currency);
  if (amount.ok() && amount->count_nanos() >= 0) return *amount;
  wrong(name, "an amount as a text, such as \"32.77\"");
  return Money::nanos(0, currency);
}

Status JsonFields::each_object(std::string_view name,
                               const std::function<Status(simdjson::dom::element, const std::string&)>& visit) {
  if (!has(name)) return {};
  simdjson::dom::array array;
  if (raw(name).get(array) != simdjson::SUCCESS) {
    wrong(name, "a list of objects");
    return {};
  }
  size_t number = 0;
  for (const simdjson::dom::element element : array)
    TRY(visit(element, fmt::format("{}: {} {}", where_, name, ++number)));
  return {};
}

Status JsonFields::finish() const {
  TRY(status_);
  for (const Field& field : fields_)
    if (!field.asked) return invalid("{}: unknown field '{}'", where_, excerpt(field.name));
  return {};
}

bool nested_deeper_than(std::string_view json, int depth) {
  int open = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') in_text = !in_text;
    if (in_text) {
      if (c == '\\') ++i;
      continue;
    }
    if (c == '[' || c == '{') ++open;
    if (c == ']' || c == '}') --open;
    if (open > depth) return true;
  }
  return false;
}

JsonParser::JsonParser() : parser_(std::make_unique<simdjson::dom::parser>()) {}
JsonParser::JsonParser(JsonParser&&) noexcept = default;
JsonParser& JsonParser::operator=(JsonParser&&) noexcept = default;
JsonParser::~JsonParser() = default;

Result<simdjson::dom::element> JsonParser::parse(std::string_view json, std::string_view where) {
  if (parser_->max_depth() != kDeepestJson)
    if (parser_->allocate(std::max<size_t>(parser_->capacity(), 1 << 12), kDeepestJson) != simdjson::SUCCESS)
      return make_error(ErrorCode::kUnavailable, "{}: out of memory", where);
  simdjson::dom::element element;
  if (const auto error = parser_->parse(json.data(), json.size()).get(element); error != simdjson::SUCCESS)
    return invalid("{}: not valid JSON: {}", where, json_mistake_or(json, simdjson::error_message(error)));
  return element;
}

}  // namespace stint
