#include "codec/csv_table.h"

#include <fmt/ranges.h>

namespace stint {

Result<bool> CsvTable::next_record() {
  if (finished_) return false;
  TRY_ASSIGN(const bool ready, reader_.next(bytes_));
  if (ready) return true;
  finished_ = true;
  return reader_.finish();
}

Status CsvTable::read_header(std::span<const std::string_view> required, std::string_view described) {
  TRY_ASSIGN(const bool there, next_record());
  if (!there)
    return invalid("{}: empty; expected the columns {}", source_,
                   described.empty() ? fmt::format("{}", fmt::join(required, ",")) : std::string(described));
  Result<CsvHeader> made = CsvHeader::create(reader_.record(), required);
  if (!made.ok()) return invalid("{}: {}", source_, made.error().message);
  header_ = std::move(made).value();
  return {};
}

Result<bool> CsvTable::next() {
  TRY_ASSIGN(const bool ready, next_record());
  if (!ready) return false;
  const CsvRecord& record = reader_.record();
  if (record.malformed || record.fields.size() != header_.size())
    return wrong("{} fields, expected {}", record.fields.size(), header_.size());
  return true;
}

Result<int64_t> CsvTable::whole(std::string_view column, int64_t most, std::string_view advice) const {
  const std::optional<int64_t> value = parse_int(text(column));
  if (value && *value >= 0 && *value <= most) return *value;
  return wrong("{} is `{}`, expected a whole number from 0 to {}{}{}", column, excerpt(text(column)), most,
               advice.empty() ? "" : " ", advice);
}

}  // namespace stint
