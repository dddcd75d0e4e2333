// Rows in JSON, as BigQuery and others write them, for importers of tables in CSV: an object a line, or an array of objects.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "codec/importer.h"

namespace stint {

struct JsonTableColumns {
  std::span<const std::string_view> all, required;
  std::string_view rest =
      {};  ///< a column more, for the members that are none of `all`, by their paths in one object; "" = they are left out
};

/// Reads objects one after another and gives them on as CSV with `columns` as its header. A member of an inner object is
/// `outer.inner`; `.` and `_` are one, case does not count. An array is its JSON text.
/// A line of the CSV is one object, the header is line 0. Of `columns` those in `required` are in the header only when the first object
/// has them; its members that are no column are there, too, and stay empty: so a wrong file is told by its header.
class JsonTableImporter final : public Importer {
 public:
  using MakeCsv = std::function<std::unique_ptr<Importer>(const ImportOptions&, Sink&)>;
  JsonTableImporter(const ImportOptions& options, Sink& sink, const JsonTableColumns& columns, const MakeCsv& make);
  ~JsonTableImporter() override;
  JsonTableImporter(const JsonTableImporter&) = delete;
  JsonTableImporter& operator=(const JsonTableImporter&) = delete;
  Status feed(std::string_view bytes) override;
  Status finish() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// CSV or, where the first byte that is no blank is `{` or `[`, JSON.
std::unique_ptr<Importer> make_csv_or_json_importer(const ImportOptions& options, Sink& sink, const JsonTableColumns& columns,
                                                    const JsonTableImporter::MakeCsv& make);

}  // namespace stint
