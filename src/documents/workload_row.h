// One row of a workload file: its cells as values, and the values as cells. Integers throughout: what is written is read back
// exactly.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "base/units.h"
#include "codec/csv.h"
#include "model/change.h"

namespace stint {

/// `1.5` with three places is 1500. none for signs, exponents, more places than that, or what does not fit.
std::optional<int64_t> parse_scaled(std::string_view text, int places);
std::string format_scaled(int64_t value, int places);
/// `80GiB`, `512MiB` or bytes.
std::optional<Bytes> parse_size(std::string_view text);
std::string format_size(Bytes size);
/// `20:00-06:00`, whole hours of each day, as the other hours of the week. none for anything else, and for an empty span.
std::optional<WeekHours> parse_closed_hours(std::string_view open);
/// none when the hours are not the same each day, or not in one piece.
std::optional<std::string> format_open_hours(const WeekHours& closed);
/// Quoted where it must be.
std::string csv_cell(std::string_view text);

/// Cells by column. The first wrong one is kept in status(); reading goes on with the fallback.
class WorkloadRow {
 public:
  WorkloadRow(const CsvRecord& record, const CsvHeader& header) : record_(record), header_(header) {}

  /// "" for an empty cell or a column that is not there.
  [[nodiscard]] std::string_view text(std::string_view column) const { return record_.at(header_.find(column)); }
  int64_t integer(std::string_view column, int64_t least, int64_t most, int64_t fallback);
  /// Not negative; see parse_scaled().
  int64_t scaled(std::string_view column, int places, int64_t fallback);
  Duration duration(std::string_view column, Duration fallback);  ///< seconds with decimals, or `1h30m`; to 100 years
  Instant instant(std::string_view column, Instant fallback);
  Bytes size(std::string_view column);
  bool flag(std::string_view column, bool fallback);
  void wrong(std::string_view column, std::string_view expected);
  [[nodiscard]] Status status() const { return status_; }

 private:
  const CsvRecord& record_;
  const CsvHeader& header_;
  Status status_;
};

}  // namespace stint
