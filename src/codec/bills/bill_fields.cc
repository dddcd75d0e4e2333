#include "codec/bills/bill_fields.h"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/bills/instance_name.h"

namespace stint {
namespace {

using SortedJson = nlohmann::json;

/// The text of a scalar; none for an object or array.
std::optional<std::string> scalar_text(const SortedJson& value) {
  if (value.is_string()) return value.get_ref<const std::string&>();
  if (value.is_null()) return std::string();
  if (value.is_structured() || value.is_binary()) return std::nullopt;
  return value.dump();
}

Error bad_tags(std::string_view json) {
  return invalid(R"('{}' is neither {{"key":"value"}} nor [{{"key":…,"value":…}}])", excerpt(json));
}

Result<std::vector<Tag>> tags_of_object(const SortedJson& object, std::string_view json) {
  std::vector<Tag> tags;
  for (const auto& [key, value] : object.items()) {
    auto text = scalar_text(value);
    if (!text) return bad_tags(json);
    tags.emplace_back(std::string(trim(key)), std::move(*text));
  }
  return tags;
}

Result<std::vector<Tag>> tags_of_array(const SortedJson& array, std::string_view json) {
  std::vector<Tag> tags;
  for (const SortedJson& entry : array) {
    const auto member = [&](const char* lower, const char* capital) -> std::optional<std::string> {
      if (!entry.is_object()) return std::nullopt;
      auto at = entry.find(lower);
      if (at == entry.end()) at = entry.find(capital);
      return at == entry.end() ? std::nullopt : scalar_text(*at);
    };
    auto key = member("key", "Key");
    auto value = member("value", "Value");
    if (!key || !value) return bad_tags(json);
    tags.emplace_back(std::move(*key), std::move(*value));
  }
  return tags;
}

/// The value of a key that is there to name the instance type, else a name found anywhere in `details`.
std::string instance_in_details(std::string_view provider, std::string_view details) {
  constexpr std::array<std::string_view, 4> kKeys = {"InstanceType", "instance_type", "MachineType",
                                                     "compute.googleapis.com/machine_spec"};
  const SortedJson parsed =
      details.starts_with('{') ? SortedJson::parse(details.begin(), details.end(), nullptr, false) : SortedJson();
  if (parsed.is_object())
    for (const std::string_view key : kKeys)
      for (const auto& [name, value] : parsed.items())
        if (value.is_string() && equals_ignoring_case(name, key)) return value.get<std::string>();
  return find_instance_type(provider, details);
}

}  // namespace

std::string_view bill_field(const CsvRecord& record, int column) {
  const std::string_view text = trim(record.at(column));
  return text == "NULL" || text == "null" ? std::string_view() : text;
}

Error in_column(std::string_view column, const Error& error) {
  return {error.code, fmt::format("{}: {}", column, error.message)};
}

Result<Money> parse_cost(std::string_view column, std::string_view text, Currency currency) {
  if (text.empty()) return invalid("{}: no value where an amount must stand", column);
  auto money = Money::parse(text, currency);
  if (!money.ok()) return in_column(column, money.error());
  return money;
}

Result<Money> add_costs(std::string_view column, Money a, Money b) {
  int64_t sum = 0;
  if (__builtin_add_overflow(a.count_nanos(), b.count_nanos(), &sum) || sum == std::numeric_limits<int64_t>::min())
    return invalid("{}: {} and {} are too large to add", column, a.to_decimal(), b.to_decimal());
  return Money::nanos(sum, a.currency());
}

Result<Instant> InstantField::parse(std::string_view column, std::string_view text, const LocalZone& zoneless) {
  if (text == text_ && !text.empty()) return value_;
  if (text.empty()) return invalid("{}: no value where a time must stand", column);
  // BigQuery writes the zone so.
  constexpr std::string_view kUtc = " UTC";
  const bool utc = text.ends_with(kUtc);
  const auto instant = utc ? parse_instant(text.substr(0, text.size() - kUtc.size())) : parse_instant(text, zoneless);
  if (!instant.ok()) return in_column(column, invalid("'{}' is no time: write it as 2026-10-01T00:00:00Z", excerpt(text)));
  text_ = text;
  return value_ = instant.value();
}

Result<std::vector<Tag>> parse_tags(std::string_view json) {
  if (json.empty()) return std::vector<Tag>();
  const bool bare = json.front() == '"';
  const SortedJson parsed = bare ? SortedJson::parse(fmt::format("{{{}}}", json), nullptr, false)
                                 : SortedJson::parse(json.begin(), json.end(), nullptr, false);
  if (parsed.is_object()) return tags_of_object(parsed, json);
  if (parsed.is_array()) return tags_of_array(parsed, json);
  return bad_tags(json);
}

Result<const std::vector<Tag>*> TagsField::parse(std::string_view json) {
  key_ = json;
  const auto found = known_.find(key_);
  if (found != known_.end()) return &found->second;
  TRY_ASSIGN(std::vector<Tag> tags, parse_tags(json));
  if (known_.size() >= kMaxRemembered) known_.clear();
  return &known_.emplace(key_, std::move(tags)).first->second;
}

void LineClassifier::classify(BillLine& line, std::string_view stated, std::string_view details) {
  key_.clear();
  for (const std::string_view part :
       {std::string_view(line.provider), std::string_view(line.service), std::string_view(line.service_category),
        std::string_view(line.resource_type), std::string_view(line.description), stated, details})
    key_.append(part).push_back('\0');
  auto found = known_.find(key_);
  if (found == known_.end()) {
    line.instance_type = stated;
    if (line.instance_type.empty()) line.instance_type = instance_in_details(line.provider, details);
    if (line.instance_type.empty()) line.instance_type = find_instance_type(line.provider, line.description);
    if (known_.size() >= kMaxRemembered) known_.clear();
    found = known_.emplace(key_, std::pair(line.instance_type, classify_spend(line))).first;
  }
  line.instance_type = found->second.first;
  line.spend = found->second.second;
}

bool is_hour_unit(std::string_view unit) {
  constexpr std::array<std::string_view, 7> kHourUnits = {"Hours", "Hour", "Hrs", "Hr", "h", "1 Hour", "1 Hours"};
  for (const std::string_view name : kHourUnits)
    if (equals_ignoring_case(unit, name)) return true;
  return false;
}

}  // namespace stint
