#include "codec/csv_importer.h"

#include "codec/bills/bill_guess.h"

namespace stint {
namespace {

CsvOptions with_source(CsvOptions csv, const ImportOptions& options) {
  csv.source = options.source;
  csv.first_line = options.header_line;
  return csv;
}

}  // namespace

CsvImporter::CsvImporter(CsvOptions csv, const ImportOptions& options, Sink& sink)
    : options_(options), sink_(sink), reader_(with_source(std::move(csv), options)) {}

Status CsvImporter::take(const CsvRecord& record) {
  if (width_ == 0) {
    if (record.malformed) return invalid("{}:{}: the header has text after a closing quote", options_.source, record.line);
    width_ = record.fields.size();
    const Status header = read_header(record);
    if (!header.ok()) return Error{header.error().code, fmt::format("{}: {}", options_.source, header.error().message)};
    return {};
  }
  if (record.malformed) {
    reject(record, fmt::format("text after a closing quote (lines {}–{}): write a quote inside a quoted field twice", record.line,
                               record.last_line));
  } else if (record.fields.size() != width_) {
    reject(record,
           fmt::format("{} fields where the header has {}{}", record.fields.size(), width_,
                       record.last_line > record.line ? fmt::format(" (lines {}–{})", record.line, record.last_line) : ""));
  } else {
    read_row(record);
  }
  return given_up_;
}

Status CsvImporter::feed(std::string_view bytes) {
  if (!seen_bytes_ && !bytes.empty()) {
    seen_bytes_ = true;
    if (const std::string_view kind = binary_kind(bytes); !kind.empty())
      return invalid("{}: is {}, not CSV: export or save it as CSV in UTF-8, plain, .gz or .zip", options_.source, kind);
  }
  for (;;) {
    TRY_ASSIGN(const bool ready, reader_.next(bytes));
    if (!ready) return {};
    TRY(take(reader_.record()));
  }
}

Status CsvImporter::finish() {
  TRY_ASSIGN(const bool ready, reader_.finish());
  if (ready) TRY(take(reader_.record()));
  if (width_ == 0) return invalid("{}: empty: a header line is expected first", options_.source);
  end_rows();
  return {};
}

}  // namespace stint
