// What bill importers share: absent values, money and times of a field with the column named in the reason, and
// memories of repeated texts. A bill repeats the same hours, tags and descriptions on thousands of rows; each is
// interpreted once. Every memory is bounded: beyond its limit it starts afresh.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/local_zone.h"
#include "base/money.h"
#include "codec/csv.h"
#include "model/bill.h"

namespace stint {

/// The field, without blanks around it; "" for a literal NULL and for a column that is not there.
std::string_view bill_field(const CsvRecord& record, int column);

/// "COLUMN: what is wrong".
Error in_column(std::string_view column, const Error& error);

/// Money or an error naming `column`; an empty text is an error.
Result<Money> parse_cost(std::string_view column, std::string_view text, Currency currency);

/// a + b or an error naming `column` when the sum does not fit: figures of a file are not to be trusted.
Result<Money> add_costs(std::string_view column, Money a, Money b);

/// Remembers the last text: hourly bills repeat few instants in long stretches.
class InstantField {
 public:
  Result<Instant> parse(std::string_view column, std::string_view text, const LocalZone& zoneless);

 private:
  std::string text_;
  Instant value_;
};

/// An object {"k":"v"}, an array [{"key":"k","value":"v"}], or an object without its braces (older Azure exports).
/// Numbers and booleans become text, null an empty value. @return error for anything else.
Result<std::vector<Tag>> parse_tags(std::string_view json);

/// parse_tags with a memory.
class TagsField {
 public:
  /// The reference is valid until the next call.
  Result<const std::vector<Tag>*> parse(std::string_view json);

 private:
  static constexpr size_t kMaxRemembered = 1024;
  std::unordered_map<std::string, std::vector<Tag>> known_;
  std::string key_;
};

/// Instance type and SpendKind of a line, remembered by the texts they depend on.
class LineClassifier {
 public:
  /// Sets line.instance_type and line.spend. The type is `stated` where that is not empty, else what `details`
  /// names (FOCUS SkuPriceDetails and its relatives: JSON with a key InstanceType, or free text), else what the
  /// description names.
  void classify(BillLine& line, std::string_view stated, std::string_view details);

 private:
  static constexpr size_t kMaxRemembered = 8192;
  std::unordered_map<std::string, std::pair<std::string, SpendKind>> known_;
  std::string key_;
};

/// Whether a price unit is one hour of a whole machine: "Hours", "Hrs", "1 Hour"; not "vCPU-Hours".
bool is_hour_unit(std::string_view unit);

}  // namespace stint
