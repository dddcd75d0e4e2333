// What importers of bills as CSV share beside their fields: a row becomes a line, or is refused with its reason.
#pragma once

#include "codec/bills/bill_fields.h"
#include "codec/csv_importer.h"

namespace stint {

class BillImporter : public CsvImporter {
 public:
  using CsvImporter::CsvImporter;

 protected:
  /// Sets every member of line_ but those that are the same on all rows. @return error: why the row is none.
  virtual Status read_line(const CsvRecord& record) = 0;

  void read_row(const CsvRecord& record) override {
    const Status done = read_line(record);
    if (done.ok())
      sink().bill_line(line_);
    else
      reject(record, done.error().message);
  }

  BillLine line_;  // reused, so that its strings keep their room
};

}  // namespace stint
