// What every importer of a CSV format with a header shares: reading records, checking their width, and
// rejecting what is malformed with its line.
#pragma once

#include <string>
#include <string_view>

#include "codec/csv.h"
#include "codec/importer.h"

namespace stint {

class CsvImporter : public Importer {
 public:
  CsvImporter(CsvOptions csv, const ImportOptions& options, Sink& sink);
  Status feed(std::string_view bytes) final;
  Status finish() final;

 protected:
  /// The first record. @return error when this is another format; "SOURCE: " is put before its message.
  virtual Status read_header(const CsvRecord& record) = 0;
  /// A later record with as many fields as the header. Bad values go to reject().
  virtual void read_row(const CsvRecord& record) = 0;
  /// After the last row.
  virtual void end_rows() {}

  /// Refuses the row on `record.line`.
  void reject(const CsvRecord& record, std::string_view reason) { sink_.reject(record.line, reason); }
  /// Ends the import after this row: it is not of the format after all.
  void give_up(Error error) { given_up_ = Error{error.code, options_.source + ": " + error.message}; }
  [[nodiscard]] const ImportOptions& options() const { return options_; }
  [[nodiscard]] Sink& sink() { return sink_; }

 private:
  Status take(const CsvRecord& record);

  ImportOptions options_;
  Sink& sink_;
  CsvReader reader_;
  Status given_up_;
  bool seen_bytes_ = false;
  size_t width_ = 0;  // fields of the header; 0 = not seen yet
};

}  // namespace stint
