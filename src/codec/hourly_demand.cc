#include "codec/hourly_demand.h"

#include <array>
#include <optional>

#include "base/text.h"
#include "base/time.h"
#include "codec/csv.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 4> kValueNames = {"instances", "gpus", "demand", "count"};

/// Hours since some fixed hour: the number itself, or since 1970.
std::optional<int64_t> parse_hour(std::string_view text) {
  if (const auto number = parse_int(text)) return *number >= 0 && *number < INT64_MAX ? number : std::nullopt;
  const Result<Instant> at = parse_instant(text);
  if (!at.ok() || *at != at->hour_start()) return std::nullopt;
  return at->hour_index();
}

class Reader {
 public:
  explicit Reader(const std::string& source) : source_(source) {}

  Status take(const CsvRecord& record) {
    if (header_.size() == 0) return header(record);
    if (record.malformed || record.fields.size() != header_.size())
      return invalid("{}:{}: {} fields, expected {}", source_, record.line, record.fields.size(), header_.size());
    const std::string_view hour_text = trim(record.at(hour_)), value_text = trim(record.at(value_));
    const std::optional<int64_t> hour = parse_hour(hour_text);
    if (!hour)
      return invalid("{}:{}: hour `{}` is neither a whole number from 0 on nor an instant on the hour", source_, record.line,
                     excerpt(hour_text));
    if (last_hour_ && *hour != *last_hour_ + 1)
      return invalid("{}:{}: hour {} follows hour {}; every hour must be there once, in order (one without use as 0)", source_,
                     record.line, *hour, *last_hour_);
    const std::optional<int64_t> value = parse_int(value_text);
    if (!value || *value < 0 || *value > kMaxDemandInstances)
      return invalid("{}:{}: {} is `{}`, expected a whole number from 0 to {} (round a mean up)", source_, record.line,
                     header_.names()[static_cast<size_t>(value_)], excerpt(value_text), kMaxDemandInstances);
    if (std::ssize(demand_) == kMaxDemandHours)
      return invalid("{}:{}: more than {} hours; give the last years alone", source_, record.line, kMaxDemandHours);
    last_hour_ = hour;
    demand_.push_back(*value);
    return {};
  }

  Result<std::vector<int64_t>> finish() {
    if (header_.size() == 0) return invalid("{}: empty; expected the columns hour and instances", source_);
    if (demand_.empty()) return invalid("{}: a header and no hours; a plan needs at least one", source_);
    return std::move(demand_);
  }

 private:
  Status header(const CsvRecord& record) {
    constexpr std::array<std::string_view, 1> kRequired = {"hour"};
    Result<CsvHeader> made = CsvHeader::create(record, kRequired);
    if (!made.ok()) return invalid("{}: {}", source_, made.error().message);
    header_ = std::move(made).value();
    hour_ = header_.find("hour");
    value_ = header_.find_any(kValueNames);
    if (value_ < 0)
      return invalid("{}:{}: no column instances, gpus, demand or count; expected `hour,instances`", source_, record.line);
    return {};
  }

  const std::string& source_;
  CsvHeader header_;
  int hour_ = -1;
  int value_ = -1;
  std::optional<int64_t> last_hour_;
  std::vector<int64_t> demand_;
};

}  // namespace

Result<std::vector<int64_t>> read_hourly_demand(std::string_view bytes, const std::string& source) {
  CsvReader csv({.source = source});
  Reader reader(source);
  while (true) {
    TRY_ASSIGN(const bool ready, csv.next(bytes));
    if (!ready) break;
    TRY(reader.take(csv.record()));
  }
  TRY_ASSIGN(const bool last, csv.finish());
  if (last) TRY(reader.take(csv.record()));
  return reader.finish();
}

}  // namespace stint
