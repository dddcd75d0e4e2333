// Prices as the providers' own interfaces answer, saved to a file:
//
// aws-prices       AWS Price List: an offer file of AmazonEC2 ("products", "terms"; also as CSV, aws_price_csv.cc), or what `aws
//                  pricing get-products` prints ("PriceList", an array of documents, each often JSON within a string). Linux without
//                  other software, shared tenancy, machines with GPUs, on demand and standard reservations. They hold as of the
//                  list's publication.
// aws-spot-prices  `aws ec2 describe-spot-price-history` ("SpotPriceHistory"). Linux. A region's price is that of its cheapest zone
//                  now, a zone's price its newest. They hold as of the newest row.
// azure-prices     Azure Retail Prices ("Items"). Virtual machines of the N series, without Windows: on demand, spot, reservations,
//                  which are priced for their whole term. They hold as of ImportOptions::at, else as of when each became valid.
//
// Documents may be of any size: they are read entry by entry. What is of another kind is passed over; what is of this kind and cannot be read is rejected with its place.
// Sources: AWS Price List API, "Reading the service price list file"; EC2 API reference, SpotPrice; Azure Retail Prices REST API.
#include "codec/bills/price_answers.h"

#include <simdjson.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "codec/csv_or_json.h"
#include "codec/importer.h"
#include "codec/json_mistake.h"
#include "codec/json_pieces.h"

namespace stint {
namespace {

namespace dom = simdjson::dom;

std::string_view price_text_of(const dom::element& object, std::string_view key) {
  std::string_view text;
  return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
}

/// Takes the entries of a document one after another.
class PriceAnswerImporter : public Importer {
 public:
  using Path = JsonPieces::Path;
  using Plan = JsonPieces::Plan;
  PriceAnswerImporter(const ImportOptions& options, Sink& sink)
      : options_(options),
        sink_(sink),
        pieces_(
            options.source, [this](const Path& path) { return plan(path); },
            [this](const Path& path, std::string_view json) { return take(path, json); }) {}
  PriceAnswerImporter(const PriceAnswerImporter&) = delete;
  PriceAnswerImporter& operator=(const PriceAnswerImporter&) = delete;

  Status feed(std::string_view bytes) override { return pieces_.feed(bytes); }

  Status finish() override {
    TRY(pieces_.finish());
    if (!found_) return nothing_found();
    TRY(end());
    prices_.give(sink_);
    return {};
  }

 protected:
  /// Which members are entered and which entries taken. Must say when it meets what makes a document one of the format.
  virtual Plan plan(const Path& path) = 0;
  virtual Status read(const Path& path, const dom::element& entry) = 0;
  virtual Status end() { return {}; }
  /// What to save instead.
  [[nodiscard]] virtual Error nothing_found() const = 0;

  void found() { found_ = true; }
  void keep(PriceRow row) { prices_.keep(std::move(row)); }
  void reject(std::string_view what, const Error& why) { sink_.reject(0, fmt::format("{}: {}", excerpt(what), why.message)); }
  [[nodiscard]] const ImportOptions& options() const { return options_; }

 private:
  Status take(const Path& path, std::string_view json) {
    dom::element entry;
    if (const auto error = parser_.parse(json.data(), json.size()).get(entry); error != simdjson::SUCCESS)
      return invalid("{}: not JSON ({})", options_.source, json_mistake_or(json, simdjson::error_message(error)));
    return read(path, entry);
  }

  ImportOptions options_;
  Sink& sink_;
  JsonPieces pieces_;
  dom::parser parser_;
  CheapestPrices prices_;
  bool found_ = false;
};

class AwsPricesImporter final : public PriceAnswerImporter {
 public:
  using PriceAnswerImporter::PriceAnswerImporter;

 private:
  Plan plan(const Path& path) override {
    if (path.empty()) return Plan::kEnter;
    const std::string& member = path[0];
    if (member == "publicationDate") return path.size() == 1 ? Plan::kTake : Plan::kSkip;
    if (member != "products" && member != "terms" && member != "PriceList") return Plan::kSkip;
    if (member != "terms") found();
    has_products_ |= member == "products";
    if (member == "terms" && path.size() == 2 && path[1] != "OnDemand" && path[1] != "Reserved") return Plan::kSkip;
    return path.size() < (member == "terms" ? 3U : 2U) ? Plan::kEnter : Plan::kTake;
  }

  Status read(const Path& path, const dom::element& entry) override {
    if (path[0] == "publicationDate") {
      std::string_view text;
      const auto at = parse_instant(entry.get(text) == simdjson::SUCCESS ? text : std::string_view());
      if (at.ok()) published_ = *at;
    } else if (path[0] == "products") {
      if (auto row = machine_of(entry)) machines_.insert_or_assign(path[1], std::move(*row));
    } else if (path[0] == "terms") {
      if (!has_products_)
        return invalid("{}: its terms come before its products: save the offer file as AWS publishes it", options().source);
      if (const auto machine = machines_.find(path[2]); machine != machines_.end())
        take_terms(machine->second, entry, path[1], published_.value_or(options().at.value_or(Instant())));
    } else {
      read_document(entry);
    }
    return {};
  }

  [[nodiscard]] Error nothing_found() const override {
    return invalid("{}: neither `products` nor `PriceList`: save the offer file of AmazonEC2, or `aws pricing get-products`",
                   options().source);
  }

  /// An entry of PriceList: a product with its terms, often as a string.
  void read_document(const dom::element& entry) {
    std::string_view text;
    dom::element document = entry, product;
    if (entry.get(text) == simdjson::SUCCESS && inner_.parse(text.data(), text.size()).get(document) != simdjson::SUCCESS)
      return reject("an entry of PriceList", invalid("not JSON"));
    if (document["product"].get(product) != simdjson::SUCCESS) return reject("an entry of PriceList", invalid("no product"));
    const auto machine = machine_of(product);
    if (!machine) return;
    const auto at = parse_instant(price_text_of(document, "publicationDate"));
    for (const std::string_view kind : {"OnDemand", "Reserved"}) {
      dom::element terms;
      if (document["terms"][kind].get(terms) == simdjson::SUCCESS)
        take_terms(*machine, terms, kind, at.ok() ? *at : options().at.value_or(Instant()));
    }
  }

  /// What is priced, where; none for what is passed over.
  [[nodiscard]] std::optional<PriceRow> machine_of(const dom::element& product) const {
    dom::element attributes;
    if (product["attributes"].get(attributes) != simdjson::SUCCESS) return std::nullopt;
    const auto text = [&](std::string_view name) { return price_text_of(attributes, name); };
    const AwsMachine machine{text("gpu"), text("operatingSystem"), text("tenancy"), text("preInstalledSw"),
                             text("capacitystatus")};
    if (!machine.is_priced()) return std::nullopt;
    PriceRow row;
    row.provider = "aws";
    row.instance_type = text("instanceType");
    row.region = text("regionCode");
    row.source = "AWS Price List, " + options().source;
    return row;
  }

  /// @param terms  of the machine, by their ids.
  void take_terms(const PriceRow& machine, const dom::element& terms, std::string_view kind, Instant published) {
    dom::object by_id;
    if (terms.get(by_id) != simdjson::SUCCESS) return;
    PriceRow row = machine;
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

  static bool set_commitment(const dom::element& term, PriceRow& row) {
    dom::element attributes;
    return term["termAttributes"].get(attributes) == simdjson::SUCCESS &&
           set_aws_commitment(price_text_of(attributes, "LeaseContractLength"), price_text_of(attributes, "OfferingClass"),
                              price_text_of(attributes, "PurchaseOption"), row);
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
      TRY_ASSIGN(const Money amount, aws_hourly_part(price_text_of(dimension, "unit"), decimal, first.key, length));
      if (sum && sum->currency() != amount.currency()) return invalid("two currencies");
      sum = sum ? *sum + amount : amount;
    }
    if (!sum || sum->is_zero()) return invalid("no price above zero");
    return Rate::per_hour(*sum);
  }

  bool has_products_ = false;
  std::optional<Instant> published_;
  std::map<std::string, PriceRow> machines_;  // by SKU
  dom::parser inner_;
};

class AwsSpotPricesImporter final : public PriceAnswerImporter {
 public:
  using PriceAnswerImporter::PriceAnswerImporter;

 private:
  Plan plan(const Path& path) override {
    if (path.empty()) return Plan::kEnter;
    if (path[0] != "SpotPriceHistory") return Plan::kSkip;
    found();
    return path.size() == 1 ? Plan::kEnter : Plan::kTake;
  }

  Status read(const Path&, const dom::element& row) override {
    const std::string_view what = price_text_of(row, "ProductDescription");
    if (what != "Linux/UNIX" && what != "Linux/UNIX (Amazon VPC)") return {};
    const std::string_view zone = price_text_of(row, "AvailabilityZone"), type = price_text_of(row, "InstanceType");
    const auto at = parse_instant(price_text_of(row, "Timestamp"));
    const auto rate = parse_price_per_hour(price_text_of(row, "SpotPrice"));
    if (zone.empty() || type.empty() || !at.ok() || !rate.ok()) {
      reject(fmt::format("{} in {}", type, zone), !rate.ok() ? rate.error()
                                                  : !at.ok() ? at.error()
                                                             : invalid("no InstanceType or no AvailabilityZone"));
      return {};
    }
    if (region_of_zone(zone).empty()) return {};
    last_ = std::max(last_, *at);
    const auto [known, is_new] = newest_.try_emplace({std::string(type), std::string(zone)}, ZonePrice{*at, *rate});
    if (!is_new && known->second.at < *at) known->second = {*at, *rate};
    return {};
  }

  Status end() override {
    for (const auto& [key, price] : newest_) {
      PriceRow row;
      row.provider = "aws";
      row.instance_type = key.first;
      row.region = region_of_zone(key.second);
      row.market = Market::kSpot;
      row.rate = price.rate;
      row.source = "EC2 spot price history, " + options().source;
      row.as_of = last_;
      keep(std::move(row));
    }
    return {};
  }

  [[nodiscard]] Error nothing_found() const override {
    return invalid("{}: no `SpotPriceHistory`: save what `aws ec2 describe-spot-price-history` prints", options().source);
  }

  /// us-east-1a → us-east-1; "" for local zones (us-east-1-bos-1a), which no region's work is moved to.
  static std::string_view region_of_zone(std::string_view zone) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (zone.size() < 2 || is_digit(zone.back())) return {};
    zone.remove_suffix(1);
    return is_digit(zone.back()) && std::ranges::count_if(zone, is_digit) == 1 ? zone : std::string_view();
  }

  struct ZonePrice {
    Instant at;
    Rate rate;
  };
  std::map<std::pair<std::string, std::string>, ZonePrice> newest_;  // instance type, zone
  Instant last_;
};

class AzurePricesImporter final : public PriceAnswerImporter {
 public:
  using PriceAnswerImporter::PriceAnswerImporter;

 private:
  Plan plan(const Path& path) override {
    if (path.empty()) return Plan::kEnter;
    if (path[0] != "Items") return Plan::kSkip;
    found();
    return path.size() == 1 ? Plan::kEnter : Plan::kTake;
  }

  Status read(const Path&, const dom::element& item) override {
    const auto row = read_item(item);
    if (!row.ok())
      reject(fmt::format("{} in {}", price_text_of(item, "armSkuName"), price_text_of(item, "armRegionName")), row.error());
    else if (*row)
      keep(**row);
    return {};
  }

  [[nodiscard]] Error nothing_found() const override {
    return invalid("{}: no `Items`: save an answer of https://prices.azure.com/api/retail/prices", options().source);
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

void CheapestPrices::keep(PriceRow row) {
  const auto [at, is_new] =
      rows_.try_emplace({row.instance_type, row.region, row.market, row.term, row.payment, row.rate.per_hour().currency()}, row);
  if (!is_new && row.rate < at->second.rate) at->second = std::move(row);
}

void CheapestPrices::give(Sink& sink) const {
  for (const auto& [key, row] : rows_)
    sink.price(row);
}

bool set_aws_commitment(std::string_view length, std::string_view offering_class, std::string_view purchase_option,
                        PriceRow& row) {
  if (offering_class != "standard" || (length != "1yr" && length != "3yr")) return false;
  row.term = length == "1yr" ? CommitmentTerm::kOneYear : CommitmentTerm::kThreeYears;
  row.payment = purchase_option == "All Upfront"       ? PaymentOption::kAllUpfront
                : purchase_option == "Partial Upfront" ? PaymentOption::kPartialUpfront
                                                       : PaymentOption::kNoUpfront;
  return purchase_option == "No Upfront" || row.payment != PaymentOption::kNoUpfront;
}

Result<Money> aws_hourly_part(std::string_view unit, std::string_view decimal, std::string_view currency, CommitmentTerm term) {
  TRY_ASSIGN(const Currency in, Currency::parse(currency));
  TRY_ASSIGN(Money amount, Money::parse(decimal, in));
  if (unit == "Quantity" && term != CommitmentTerm::kNone)
    amount = scale(amount, 1, kHoursOfYear * (term == CommitmentTerm::kOneYear ? 1 : 3));
  else if (unit != "Hrs")
    return invalid("unit '{}': neither an hour's price nor a fee at the beginning", excerpt(unit));
  if (amount.count_nanos() < 0 || amount > Money::units(kMaxUnitsPerHour, in))
    return invalid("{} an hour is no price", amount.to_text());
  return amount;
}

std::unique_ptr<Importer> make_aws_prices_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<CsvOrJsonImporter>(
      options, sink, make_aws_price_csv_importer,
      [](const ImportOptions& o, Sink& s) -> std::unique_ptr<Importer> { return std::make_unique<AwsPricesImporter>(o, s); });
}

std::unique_ptr<Importer> make_aws_spot_prices_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<AwsSpotPricesImporter>(options, sink);
}

std::unique_ptr<Importer> make_azure_prices_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<AzurePricesImporter>(options, sink);
}

}  // namespace stint
