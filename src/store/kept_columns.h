// What bills say in columns that their lines have no place for (codec/bills/source_columns.h), packed many lines together: one line's
// columns differ from the next one's in a few digits, so a block of them takes a tenth of what the lines take one by one.
//
// A block is deflated (RFC 1950): for each line, ascending, its id less the one before (the first: less the block's first id) and the
// text's length, both LEB128, then the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/sqlite.h"

namespace stint {

/// Gathers the texts of an import's lines and writes them, a block at a time.
class KeptColumnsWriter {
 public:
  /// What it writes a block with.
  static Result<Statement> prepare(Database& database);
  KeptColumnsWriter(Statement insert, int64_t import_id) : insert_(std::move(insert)), import_id_(import_id) {}
  /// @param line  id of a bill line, ascending.
  Status add(int64_t line, std::string_view text);
  /// What is not written yet.
  Status flush();

 private:
  Statement insert_;
  int64_t import_id_;
  int64_t first_ = 0, last_ = 0;
  std::string block_;
};

/// Gives texts back. Reads each block once where lines are asked for in ascending order.
class KeptColumnsReader {
 public:
  static Result<KeptColumnsReader> prepare(Database& database);
  /// @return "" where the line has none; error for a damaged block.
  Result<std::string> of_line(int64_t line);

 private:
  struct Kept {
    int64_t line;
    size_t begin, length;  // in text_
  };
  KeptColumnsReader(Statement find, std::string path) : find_(std::move(find)), path_(std::move(path)) {}
  Status take_block();
  Statement find_;
  std::string path_;
  int64_t first_ = 0, last_ = -1;  // lines of which all is known
  std::string text_;
  std::vector<Kept> kept_;  // ascending by line
};

/// Reads every block. @return error for the first that is damaged.
Status check_kept_columns(Database& database);

}  // namespace stint
