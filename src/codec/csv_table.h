// A table in CSV that lies whole in memory and must be right in every row: the first wrong one ends the reading.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "codec/csv.h"

namespace stint {

/// `TRY(table.read_header(…)); while (TRY table.next()) use(table.text("name"))`. Errors name file and line.
class CsvTable {
 public:
  /// @param bytes, source  outlive the table.
  CsvTable(std::string_view bytes, const std::string& source) : bytes_(bytes), source_(source), reader_({.source = source}) {}
  CsvTable(const CsvTable&) = delete;
  CsvTable& operator=(const CsvTable&) = delete;

  /// @param described  what to say where the table is empty; "" = the required columns.
  Status read_header(std::span<const std::string_view> required, std::string_view described = {});
  /// Goes to the next row. @return false at the end; error when it has another number of fields, or quotes go wrong.
  Result<bool> next();

  [[nodiscard]] const CsvHeader& header() const { return header_; }
  /// Line of the record last read; 1-based.
  [[nodiscard]] uint64_t line() const { return reader_.record().line; }
  /// Without blanks around it; "" for a column that is not there.
  [[nodiscard]] std::string_view text(std::string_view column) const { return trim(reader_.record().at(header_.find(column))); }
  /// A whole number from 0 to `most`. @param advice  added to the error.
  [[nodiscard]] Result<int64_t> whole(std::string_view column, int64_t most, std::string_view advice = {}) const;
  /// An error at the record last read.
  template <typename... Args>
  [[nodiscard]] Error wrong(fmt::format_string<Args...> text, Args&&... args) const {
    return invalid("{}:{}: {}", source_, line(), fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  Result<bool> next_record();

  std::string_view bytes_;
  const std::string& source_;
  CsvReader reader_;
  CsvHeader header_;
  bool finished_ = false;
};

}  // namespace stint
