// An offer file of AmazonEC2 in CSV, of any size. Five lines say what it is (`"Publication Date"`, `"OfferCode"`), a header follows, then
// a row a price dimension: a reservation with a fee at the beginning has two, with one SKU and one offer term code, near each other or
// not. Source: AWS Price List user guide, "Reading the service price list file for an AWS service", CSV.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/bills/price_answers.h"
#include "codec/csv.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 9> kAwsPriceRequired = {
    "SKU", "OfferTermCode", "TermType", "Unit", "PricePerUnit", "Instance Type", "Region Code", "Operating System", "Currency"};

class AwsPriceCsvImporter final : public Importer {
 public:
  AwsPriceCsvImporter(const ImportOptions& options, Sink& sink)
      : options_(options), sink_(sink), reader_({.source = options.source}) {}

  Status feed(std::string_view bytes) override {
    for (;;) {
      TRY_ASSIGN(const bool ready, reader_.next(bytes));
      if (!ready) return {};
      TRY(take(reader_.record()));
    }
  }

  Status finish() override {
    TRY_ASSIGN(const bool last, reader_.finish());
    if (last) TRY(take(reader_.record()));
    if (header_.size() == 0)
      return invalid("{}: no offer file of AmazonEC2: no line with the columns SKU, OfferTermCode, … came", options_.source);
    CheapestPrices prices;
    for (auto& [key, price] : prices_) {
      if (!price.sum) continue;  // its rows were rejected
      if (price.sum->is_zero()) {
        sink_.reject(price.line, fmt::format("{} in {}: no price above zero", price.row.instance_type, price.row.region));
        continue;
      }
      price.row.rate = Rate::per_hour(*price.sum);
      price.row.as_of = published_.value_or(options_.at.value_or(Instant()));
      prices.keep(std::move(price.row));
    }
    prices.give(sink_);
    return {};
  }

 private:
  struct Price {
    PriceRow row;
    std::optional<Money> sum;  // of what its dimensions add to an hour
    uint64_t line = 0;
    bool refused = false;
  };

  Status take(const CsvRecord& r) {
    if (header_.size() == 0) return take_head(r);
    if (r.fields.size() != header_.size() || r.malformed) {
      sink_.reject(r.line, fmt::format("{} fields where the header has {}", r.fields.size(), header_.size()));
      return {};
    }
    take_row(r);
    return {};
  }

  /// What stands before the header, and that.
  Status take_head(const CsvRecord& r) {
    if (r.fields[0] == "Publication Date" && r.fields.size() > 1) {
      const auto at = parse_instant(r.fields[1]);
      if (at.ok()) published_ = *at;
    } else if (r.fields[0] == "OfferCode" && r.fields.size() > 1 && r.fields[1] != "AmazonEC2") {
      return invalid("{}: an offer file of {}: the prices of machines are in that of AmazonEC2", options_.source,
                     excerpt(r.fields[1]));
    } else if (r.fields[0] == "SKU") {
      TRY_ASSIGN(header_, CsvHeader::create(r, kAwsPriceRequired));
      for (size_t i = 0; i < kColumns.size(); ++i)
        columns_[i] = header_.find(kColumns[i]);
    } else if (r.line > 20) {
      return invalid("{}: no offer file of AmazonEC2: no line with the columns SKU, OfferTermCode, … among the first 20",
                     options_.source);
    }
    return {};
  }

  enum Column : size_t {
    kSku,
    kTerm,
    kKind,
    kUnit,
    kAmount,
    kCurrency,
    kLength,
    kOption,
    kClass,
    kType,
    kRegion,
    kSystem,
    kTenancy,
    kSoftware,
    kCapacity,
    kGpu,
    kCount
  };
  static constexpr std::array<std::string_view, kCount> kColumns = {"SKU",
                                                                    "OfferTermCode",
                                                                    "TermType",
                                                                    "Unit",
                                                                    "PricePerUnit",
                                                                    "Currency",
                                                                    "LeaseContractLength",
                                                                    "PurchaseOption",
                                                                    "OfferingClass",
                                                                    "Instance Type",
                                                                    "Region Code",
                                                                    "Operating System",
                                                                    "Tenancy",
                                                                    "Pre Installed S/W",
                                                                    "CapacityStatus",
                                                                    "GPU"};

  void take_row(const CsvRecord& r) {
    const auto text = [&](Column column) { return trim(r.at(columns_[column])); };
    const std::string_view kind = text(kKind);
    const AwsMachine machine{text(kGpu), text(kSystem), text(kTenancy), text(kSoftware), text(kCapacity)};
    if (!machine.is_priced() || (kind != "OnDemand" && kind != "Reserved")) return;
    Price price{.line = r.line};
    price.row.provider = "aws";
    price.row.instance_type = text(kType);
    price.row.region = text(kRegion);
    price.row.source = "AWS Price List, " + options_.source;
    price.row.market = kind == "OnDemand" ? Market::kOnDemand : Market::kReserved;
    if (price.row.market == Market::kReserved && !set_aws_commitment(text(kLength), text(kClass), text(kOption), price.row))
      return;
    if (price.row.instance_type.empty() || price.row.region.empty())
      return sink_.reject(r.line, "its row names no Instance Type or no Region Code");
    Price& kept = prices_.try_emplace(fmt::format("{}.{}", text(kSku), text(kTerm)), std::move(price)).first->second;
    if (kept.refused) return;
    const auto part = aws_hourly_part(text(kUnit), text(kAmount), text(kCurrency), kept.row.term);
    if (part.ok() && (!kept.sum || kept.sum->currency() == part->currency())) {
      kept.sum = kept.sum ? *kept.sum + *part : *part;
      return;
    }
    kept.refused = true;
    kept.sum.reset();
    sink_.reject(r.line, fmt::format("{} in {}: {}", kept.row.instance_type, kept.row.region,
                                     part.ok() ? "two currencies" : part.error().message));
  }

  const ImportOptions options_;
  Sink& sink_;
  CsvReader reader_;
  CsvHeader header_;
  std::array<int, kCount> columns_{};
  std::optional<Instant> published_;
  std::map<std::string, Price> prices_;  // by SKU and offer term code
};

}  // namespace

std::unique_ptr<Importer> make_aws_price_csv_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<AwsPriceCsvImporter>(options, sink);
}

}  // namespace stint
