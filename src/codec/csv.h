// CSV: a streaming reader of records for every comma- or bar-separated format.
//
// Pieces may be cut anywhere. Fields are views into the piece itself where a record lies whole in it, else into
// a buffer that is reused: no allocation per record once the buffers have grown. Quoting as RFC 4180: a field
// that begins with a quote ends at the next single quote and may hold separators, newlines and doubled quotes;
// a quote inside an unquoted field is an ordinary character. Quoted and unquoted fields may be mixed; lines end
// in LF or CRLF; a byte order mark and empty lines are skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/importer.h"

namespace stint {

enum class CsvQuotes { kRfc4180, kNone };  // kNone: a quote is a letter like any other (sacct -P)

struct CsvOptions {
  char separator = ',';
  CsvQuotes quotes = CsvQuotes::kRfc4180;
  std::string source;  ///< file name, for messages
  size_t max_record_bytes = kMaxRecordBytes;
  uint64_t first_line = 1;
};

/// One record. Views are valid until the next call of the reader, and no longer than the piece it was fed.
struct CsvRecord {
  uint64_t line = 0;                         ///< 1-based line its first byte stands on
  uint64_t last_line = 0;                    ///< larger than `line` when a quoted field holds newlines
  std::span<const std::string_view> fields;  ///< unquoted and unescaped; at least one
  bool malformed = false;                    ///< text between a closing quote and the next separator
  /// "" for a column that is not there (−1).
  [[nodiscard]] std::string_view at(int column) const {
    return column < 0 ? std::string_view() : fields[static_cast<size_t>(column)];
  }
};

class CsvReader {
 public:
  explicit CsvReader(CsvOptions options) : options_(std::move(options)), next_line_(options_.first_line) {}

  /// Takes one record off the front of `bytes`: `while (TRY next(bytes)) use(record())`.
  /// @return true: record() is ready and `bytes` is what follows it; false: all of `bytes` is taken in and no
  /// record is complete. Error: a record is longer than max_record_bytes.
  Result<bool> next(std::string_view& bytes);
  /// End of input. @return true when a last record without newline is ready; error when a quote never closes.
  Result<bool> finish();
  [[nodiscard]] const CsvRecord& record() const { return record_; }

 private:
  enum class State : uint8_t { kFieldStart, kBare, kQuoted, kQuoteSeen, kQuoteThenCr };
  struct Extent {
    size_t begin;
    size_t end;
    bool doubled;  // holds doubled quotes
  };

  bool scan(std::string_view text);
  void end_field(size_t end);
  bool skip_byte_order_mark(std::string_view& bytes);
  void publish(std::string_view text);
  void begin_record();
  [[nodiscard]] Error too_long() const;

  CsvOptions options_;
  CsvRecord record_;
  // The record being read; positions count from its first byte, so that they stay true when the buffer moves.
  State state_ = State::kFieldStart;
  bool done_ = false;  // record_ is published: the next call begins a new one
  bool doubled_ = false;
  bool any_quoted_ = false;
  bool any_doubled_ = false;
  bool malformed_ = false;
  size_t position_ = 0;
  size_t field_begin_ = 0;
  std::vector<Extent> extents_;
  std::string carry_;  // the record so far, when it began in an earlier piece
  std::string unescaped_;
  std::vector<std::string_view> views_;
  uint64_t next_line_;
  int mark_bytes_ = 0;  // bytes of the byte order mark seen; −1 = past it
};

/// How column names are told apart. kExact lets `user:Owner` and `user:owner` stand side by side.
enum class CsvNames { kIgnoringCase, kExact };

/// The first record: columns by name.
class CsvHeader {
 public:
  CsvHeader() = default;
  /// @return error when a required column is missing (naming what is missing and what was found) or a name
  /// stands twice.
  static Result<CsvHeader> create(const CsvRecord& record, std::span<const std::string_view> required,
                                  CsvNames names = CsvNames::kIgnoringCase);
  /// Index by name: exact spelling first, then without case. −1 = no such column.
  [[nodiscard]] int find(std::string_view name) const;
  /// The first of `names` that is there; −1 = none.
  [[nodiscard]] int find_any(std::span<const std::string_view> names) const;
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] size_t size() const { return names_.size(); }

 private:
  std::vector<std::string> names_;
};

}  // namespace stint
