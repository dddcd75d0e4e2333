// What a bill says in columns that a BillLine has no place for, kept beside it for FOCUS out: as JSON, in a tag that is no tag.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/csv.h"
#include "model/bill.h"

namespace stint {

/// Key of the tag that carries them from the importer into the History, and to write_focus_ledger(). The History gives lines without it.
inline constexpr std::string_view kSourceColumnsTag = "focus:columns";

/// A column that holds, as a JSON object, members of a row that are no column of the table (json_table.h).
inline constexpr std::string_view kRestColumn = "x_Rest";

/// `text` as a JSON string; bytes that are no UTF-8 become U+FFFD.
void append_quoted_json(std::string& out, std::string_view text);

/// Gathers them from the rows of a table, those of kRestColumn among them.
class SourceColumns {
 public:
  /// @param is_kept  whether a line keeps all that a column of this name says.
  void read_header(const CsvHeader& header, const std::function<bool(const std::string& name)>& is_kept);
  /// Adds to the tags of the line what its row says in the other columns.
  void add_to(BillLine& line, const CsvRecord& record);

 private:
  std::vector<std::pair<int, std::string>> columns_;  // index and `"Name":`
  int rest_ = -1;
  std::string text_;
};

}  // namespace stint
