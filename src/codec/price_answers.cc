// Prices as the providers' own interfaces answer, saved to a file:
//
// aws-prices       AWS Price List: an offer file of AmazonEC2 ("products", "terms"), or what `aws pricing get-products` prints
//                  ("PriceList", an array of documents, each often JSON within a string). Linux without other software, shared
//                  tenancy, machines with GPUs, on demand and standard reservations. They hold as of the list's publication.
// aws-spot-prices  `aws ec2 describe-spot-price-history` ("SpotPriceHistory"). Linux. A region's price is that of its cheapest zone
//                  now, a zone's price its newest. They hold as of the newest row.
// azure-prices     Azure Retail Prices ("Items"). Virtual machines of the N series, without Windows: on demand, spot, reservations,
//                  which are priced for their whole term. They hold as of ImportOptions::at, else as of when each became valid.
//
// What is of another kind is passed over; what is of this kind and cannot be read is rejected with its place.
// Sources: AWS Price List API, "Reading the service price list file"; EC2 API reference, SpotPrice; Azure Retail Prices REST API.
#include <simdjson.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "codec/importer.h"
#include "codec/json_mistake.h"

namespace stint {
namespace {

namespace dom = simdjson::dom;

constexpr int64_t kHoursOfYear = 8'760;

std::string_view price_text_of(const dom::element& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

/// A document as a whole: the answers of the providers' interfaces are pages, not streams.
class PriceAnswerImporter : public Importer {
 public:
  PriceAnswerImporter(const ImportOptions& options, Sink& sink) : options_(options), sink_(sink) {}

  Status feed(std::string_view bytes) override {
    if (document_.size() + bytes.size() > kMaxRecordBytes)
      return invalid("{}: larger than {} MiB: ask for one region, or for the instance types you use", options_.source,
                     kMaxRecordBytes >> 20);
    document_ += bytes;
    return {};
  }

  Status finish() override {
    dom::parser parser;
    dom::element root;
    if (const auto error = parser.parse(document_.data(), document_.size()).get(root); error != simdjson::SUCCESS)
      return invalid("{}: not JSON ({})", options_.source, json_mistake_or(document_, simdjson::error_message(error)));
    TRY(read(root));
    for (const auto& [key, row] : rows_)
      sink_.price(row);
    return {};
  }

 protected:
  virtual Status read(const dom::element& root) = 0;

  /// Of several of one key the cheapest counts.
  void keep(PriceRow row) {
    const auto [at, is_new] = rows_.try_emplace(
        {row.instance_type, row.region, row.market, row.term, row.payment, row.rate.per_hour().currency()}, row);
    if (!is_new && row.rate < at->second.rate) at->second = std::move(row);
  }
  void reject(std::string_view what, const Error& why) { sink_.reject(0, fmt::format("{}: {}", excerpt(what), why.message)); }
  [[nodiscard]] const ImportOptions& options() const { return options_; }

 private:
  using Key = std::tuple<std::string, std::string, Market, CommitmentTerm, PaymentOption, Currency>;
  ImportOptions options_;
  Sink& sink_;
  std::string document_;
  std::map<Key, PriceRow> rows_;
};

class AwsPricesImporter final : public PriceAnswerImporter {
 public:
  using PriceAnswerImporter::PriceAnswerImporter;

 private:
  Status read(const dom::element& root) override {
    dom::object products;
    dom::array list;
    if (root["products"].get(products) == simdjson::SUCCESS) {
      const Instant published = published_at(root);
      for (const auto& [sku, product] : products)
        for (const std::string_view kind : {"OnDemand", "Reserved"}) {
          dom::element terms;
          if (root["terms"][kind][sku].get(terms) == simdjson::SUCCESS) take(product, terms, kind, published);
        }
      return {};
    }
    if (root["PriceList"].get(list) != simdjson::SUCCESS)
      return invalid("{}: neither `products` nor `PriceList`: save the offer file of AmazonEC2, or `aws pricing get-products`",
                     options().source);
    dom::parser inner;
    for (const dom::element entry : list) {
      std::string_view text;
      dom::element document = entry;
      if (entry.get(text) == simdjson::SUCCESS && inner.parse(text.data(), text.size()).get(document) != simdjson::SUCCESS) {
        reject("an entry of PriceList", invalid("not JSON"));
        continue;
      }
      dom::element product;
      if (document["product"].get(product) != simdjson::SUCCESS) {
        reject("an entry of PriceList", invalid("no product"));
        continue;
      }
      for (const std::string_view kind : {"OnDemand", "Reserved"}) {
        dom::element terms;
        if (document["terms"][kind].get(terms) == simdjson::SUCCESS) take(product, terms, kind, published_at(document));
      }
    }
    return {};
  }

  [[nodiscard]] Instant published_at(const dom::element& document) const {
    const auto at = parse_instant(price_text_of(document, "publicationDate"));
    return at.ok() ? *at : options().at.value_or(Instant());
  }

  /// @param terms  of the product, by their ids.
  void take(const dom::element& product, const dom::element& terms, std::string_view kind, Instant published) {
    dom::element attributes;
    dom::object by_id;
    if (product["attributes"].get(attributes) != simdjson::SUCCESS || terms.get(by_id) != simdjson::SUCCESS) return;
    const auto is = [&](std::string_view name, std::string_view value) { return price_text_of(attributes, name) == value; };
    if (price_text_of(attributes, "gpu").empty() || !is("operatingSystem", "Linux") || !is("tenancy", "Shared") ||
        !is("preInstalledSw", "NA") || !(is("capacitystatus", "Used") || price_text_of(attributes, "capacitystatus").empty()))
      return;
    PriceRow row;
    row.provider = "aws";
    row.instance_type = price_text_of(attributes, "instanceType");
    row.region = price_text_of(attributes, "regionCode");
    row.source = "AWS Price List, " + options().source;
    row.as_of = published;
    row.market = kind == "OnDemand" ? Market::kOnDemand : Market::kReserved;
    for (const auto& [id, term] : by_id) {
      if (row.instance_type.empty() || row.region.empty()) {
        reject(id, invalid("its product names no instanceType or no regionCode"));
        continue;
      }
      if (row.market == Market::kReserved && !set_commitment(term, row)) continue;
      const auto rate = rate_of(term, row.term);
      if (!rate.ok()) {
        reject(fmt::format("{} in {}, {}", row.instance_type, row.region, id), rate.error());
        continue;
      }
      row.rate = *rate;
      keep(row);
    }
  }

  /// @return whether it is one that can be bought as a plan has it: standard, one or three years.
  static bool set_commitment(const dom::element& term, PriceRow& row) {
    dom::element attributes;
    if (term["termAttributes"].get(attributes) != simdjson::SUCCESS) return false;
    const std::string_view length = price_text_of(attributes, "LeaseContractLength");
    const std::string_view payment = price_text_of(attributes, "PurchaseOption");
    if (price_text_of(attributes, "OfferingClass") != "standard" || (length != "1yr" && length != "3yr")) return false;
    row.term = length == "1yr" ? CommitmentTerm::kOneYear : CommitmentTerm::kThreeYears;
    row.payment = payment == "All Upfront"       ? PaymentOption::kAllUpfront
                  : payment == "Partial Upfront" ? PaymentOption::kPartialUpfront
                                                 : PaymentOption::kNoUpfront;
    return payment == "No Upfront" || row.payment != PaymentOption::kNoUpfront;
  }

  /// Hourly, with what is paid at the beginning spread over the term.
  static Result<Rate> rate_of(const dom::element& term, CommitmentTerm length) {
    dom::object dimensions;
    if (term["priceDimensions"].get(dimensions) != simdjson::SUCCESS) return invalid("no priceDimensions");
    std::optional<Money> sum;
    for (const auto& [id, dimension] : dimensions) {
      dom::object prices;
      if (dimension["pricePerUnit"].get(prices) != simdjson::SUCCESS || prices.size() == 0) return invalid("pricePerUnit: none");
      const auto first = *prices.begin();
      std::string_view decimal;
      if (first.value.get(decimal) != simdjson::SUCCESS) return invalid("pricePerUnit: no text");
      TRY_ASSIGN(const Currency currency, Currency::parse(first.key));
      TRY_ASSIGN(Money amount, Money::parse(decimal, currency));
      const std::string_view unit = price_text_of(dimension, "unit");
      if (unit == "Quantity" && length != CommitmentTerm::kNone)
        amount = scale(amount, 1, kHoursOfYear * (length == CommitmentTerm::kOneYear ? 1 : 3));
      else if (unit != "Hrs")
        return invalid("unit '{}': neither an hour's price nor a fee at the beginning", excerpt(unit));
      if (sum && sum->currency() != amount.currency()) return invalid("two currencies");
      if (amount.count_nanos() < 0 || amount > Money::units(kMaxUnitsPerHour, amount.currency()))
        return invalid("{} an hour is no price", amount.to_text());
      sum = sum ? *sum + amount : amount;
    }
    if (!sum || sum->is_zero()) return invalid("no price above zero");
    return Rate::per_hour(*sum);
  }
};

class AwsSpotPricesImporter final : public PriceAnswerImporter {
 public:
  using PriceAnswerImporter::PriceAnswerImporter;

 private:
  Status read(const dom::element& root) override {
    dom::array history;
    if (root["SpotPriceHistory"].get(history) != simdjson::SUCCESS)
      return invalid("{}: no `SpotPriceHistory`: save what `aws ec2 describe-spot-price-history` prints", options().source);
    struct ZonePrice {
      Instant at;
      Rate rate;
    };
    std::map<std::pair<std::string, std::string>, ZonePrice> newest;  // instance type, zone
    Instant last;
    for (const dom::element row : history) {
      const std::string_view what = price_text_of(row, "ProductDescription");
      if (what != "Linux/UNIX" && what != "Linux/UNIX (Amazon VPC)") continue;
      const std::string_view zone = price_text_of(row, "AvailabilityZone"), type = price_text_of(row, "InstanceType");
      const auto at = parse_instant(price_text_of(row, "Timestamp"));
      const auto rate = parse_price_per_hour(price_text_of(row, "SpotPrice"));
      if (zone.empty() || type.empty() || !at.ok() || !rate.ok()) {
        reject(fmt::format("{} in {}", type, zone), !rate.ok() ? rate.error()
                                                    : !at.ok() ? at.error()
                                                               : invalid("no InstanceType or no AvailabilityZone"));
        continue;
      }
      if (region_of_zone(zone).empty()) continue;
      last = std::max(last, *at);
      const auto [known, is_new] = newest.try_emplace({std::string(type), std::string(zone)}, ZonePrice{*at, *rate});
      if (!is_new && known->second.at < *at) known->second = {*at, *rate};
    }
    for (const auto& [key, price] : newest) {
      PriceRow row;
      row.provider = "aws";
      row.instance_type = key.first;
      row.region = region_of_zone(key.second);
      row.market = Market::kSpot;
      row.rate = price.rate;
      row.source = "EC2 spot price history, " + options().source;
      row.as_of = last;
      keep(std::move(row));
    }
    return {};
  }

  /// us-east-1a → us-east-1; "" for local zones (us-east-1-bos-1a), which no region's work is moved to.
  static std::string_view region_of_zone(std::string_view zone) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (zone.size() < 2 || is_digit(zone.back())) return {};
    zone.remove_suffix(1);
    return is_digit(zone.back()) && std::ranges::count_if(zone, is_digit) == 1 ? zone : std::string_view();
  }
};

class AzurePricesImporter final : public PriceAnswerImporter {
 public:
  using PriceAnswerImporter::PriceAnswerImporter;

 private:
  Status read(const dom::element& root) override {
    dom::array items;
    if (root["Items"].get(items) != simdjson::SUCCESS)
      return invalid("{}: no `Items`: save an answer of https://prices.azure.com/api/retail/prices", options().source);
    for (const dom::element item : items) {
      const auto row = read_item(item);
      if (!row.ok())
        reject(fmt::format("{} in {}", price_text_of(item, "armSkuName"), price_text_of(item, "armRegionName")), row.error());
      else if (*row)
        keep(**row);
    }
    return {};
  }

  /// @return none for what is passed over.
  [[nodiscard]] Result<std::optional<PriceRow>> read_item(const dom::element& item) const {
    PriceRow row;
    row.provider = "azure";
    row.instance_type = price_text_of(item, "armSkuName");
    row.region = price_text_of(item, "armRegionName");
    const std::string_view type = price_text_of(item, "type"), sku = price_text_of(item, "skuName");
    if (!row.instance_type.starts_with("Standard_N") || contains_ignoring_case(price_text_of(item, "productName"), "windows") ||
        sku.ends_with("Low Priority") || (type != "Consumption" && type != "Reservation"))
      return std::optional<PriceRow>();
    if (row.region.empty()) return invalid("no armRegionName: a price holds in one region");
    if (price_text_of(item, "unitOfMeasure") != "1 Hour")
      return invalid("unitOfMeasure '{}' is not 1 Hour", excerpt(price_text_of(item, "unitOfMeasure")));
    TRY_ASSIGN(const Currency currency, Currency::parse(price_text_of(item, "currencyCode")));
    double price = 0;
    if (item["retailPrice"].get(price) != simdjson::SUCCESS || !(price > 0) || price > 1e9)
      return invalid("retailPrice: none above zero");
    TRY_ASSIGN(Money amount, Money::parse(fmt::format("{:.9f}", price), currency));
    if (type == "Reservation") {
      const std::string_view term = price_text_of(item, "reservationTerm");
      if (term != "1 Year" && term != "3 Years") return std::optional<PriceRow>();
      row.market = Market::kReserved;
      row.term = term == "1 Year" ? CommitmentTerm::kOneYear : CommitmentTerm::kThreeYears;
      row.payment = PaymentOption::kNoUpfront;  // paid by month at the same price
      amount = scale(amount, 1, kHoursOfYear * (term == "1 Year" ? 1 : 3));
    } else {
      row.market = sku.ends_with(" Spot") ? Market::kSpot : Market::kOnDemand;
    }
    TRY_ASSIGN(row.rate, parse_price_per_hour(amount.to_decimal(), currency));
    row.source = "Azure Retail Prices, " + options().source;
    const auto since = parse_instant(price_text_of(item, "effectiveStartDate"));
    if (!options().at && !since.ok()) return invalid("effectiveStartDate: no time");
    row.as_of = options().at ? *options().at : *since;
    return std::optional(std::move(row));
  }
};

}  // namespace

std::unique_ptr<Importer> make_aws_prices_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<AwsPricesImporter>(options, sink);
}

std::unique_ptr<Importer> make_aws_spot_prices_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<AwsSpotPricesImporter>(options, sink);
}

std::unique_ptr<Importer> make_azure_prices_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<AzurePricesImporter>(options, sink);
}

}  // namespace stint
