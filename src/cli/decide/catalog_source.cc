#include "cli/decide/catalog_source.h"

#include <fmt/format.h>

#include "cli/output.h"
#include "host/file.h"
#include "store/history_file.h"

namespace stint {

Result<Catalog> open_catalog(const std::string& history_path) {
  if (history_path.empty()) return Catalog::built_in();
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(history_path, OpenMode::kReadOnly));
  TRY_ASSIGN(const History history, file.load());
  return Catalog::built_in().with_prices(history.prices);
}

namespace {

Result<std::string> text_of_file(const std::string& path) {
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  std::string text;
  for (;;) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) return text;
    text += piece;
  }
}

}  // namespace

Result<std::vector<GpuMeasurement>> read_measurements(const std::string& path) {
  TRY_ASSIGN(const std::string text, text_of_file(path));
  return parse_measurements(path, text);
}

Result<std::vector<PairMeasurement>> read_pairs(const std::string& path) {
  TRY_ASSIGN(const std::string text, text_of_file(path));
  return parse_pairs(path, text);
}

Result<Catalog> open_catalog(const std::string& history_path, const std::string& measured_path) {
  TRY_ASSIGN(Catalog catalog, open_catalog(history_path));
  if (measured_path.empty()) return catalog;
  TRY_ASSIGN(const auto rows, read_measurements(measured_path));
  return catalog.with_measurements(rows);
}

void warn_of_stale_prices(size_t stale, size_t shown) {
  if (stale > 0)
    tell("stint: {} of {} prices {} older than {:.0f} days; take newer ones: stint catalog refresh FILE --history DB\n", stale,
         shown, stale == 1 ? "is" : "are", kPriceStaleAfter.to_hours() / 24);
}

}  // namespace stint
