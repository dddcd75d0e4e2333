#include "cli/catalog_source.h"

#include <fmt/format.h>

#include "store/history_file.h"

namespace stint {

Result<Catalog> open_catalog(const std::string& history_path) {
  if (history_path.empty()) return Catalog::built_in();
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(history_path, OpenMode::kReadOnly));
  TRY_ASSIGN(const History history, file.load());
  return Catalog::built_in().with_prices(history.prices);
}

void warn_of_stale_prices(size_t stale, size_t shown) {
  if (stale > 0)
    fmt::print(stderr,
               "stint: {} of {} prices are older than {:.0f} days; import newer ones: stint import prices FILE --history DB\n",
               stale, shown, kPriceStaleAfter.to_hours() / 24);
}

}  // namespace stint
