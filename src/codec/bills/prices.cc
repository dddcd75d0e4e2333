// Price list CSV: the columns of PriceText (docs/formats.md), matched by header name; provider, region, instance_type,
// market, per_hour and as_of must be there. One row is one price; a bad row is refused with its line.
#include <vector>

#include "codec/csv_importer.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 6> kPricesRequired = {"provider", "region",   "instance_type",
                                                             "market",   "per_hour", "as_of"};

class PricesImporter final : public CsvImporter {
 public:
  PricesImporter(const ImportOptions& options, Sink& sink) : CsvImporter({}, options, sink) {}

 private:
  Status read_header(const CsvRecord& record) override {
    TRY_ASSIGN(const CsvHeader header, CsvHeader::create(record, kPricesRequired));
    for (size_t i = 0; i < kPriceColumns.size(); ++i)
      columns_[i] = header.find(kPriceColumns[i]);
    return {};
  }

  void read_row(const CsvRecord& r) override {
    const auto text = [&](size_t column) { return r.at(columns_[column]); };
    PriceText price{text(0), text(1), text(2), text(3), text(4), text(5), text(6), text(7), text(8), text(9), text(10)};
    if (price.source.empty()) price.source = options().source;
    const auto row = parse_price(price);
    if (row.ok())
      sink().price(*row);
    else
      reject(r, row.error().message);
  }

  std::array<int, kPriceColumns.size()> columns_{};
};

}  // namespace

std::unique_ptr<Importer> make_prices_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<PricesImporter>(options, sink);
}

}  // namespace stint
