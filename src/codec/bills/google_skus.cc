// google-skus: Compute Engine's SKUs as the Cloud Billing Catalog API lists them (services/6F81-5844-456A/skus), all pages one after
// another in one file. Google prices cores, memory, GPUs and local SSDs apart; a machine of the catalogue costs what it is made of:
//
//   A2, A3, G2, G4 Instance Core | Ram running in …, Spot Preemptible … , Commitment v1: A2 Cpu | Ram in … for 1 Year
//   Nvidia … GPU running in … | attached to Spot Preemptible VMs running in …, Commitment v1: Nvidia … GPU …
//   SSD backed Local Storage …: 375 GiB for each GPU of A2 Ultra, 750 of A3 (Google Cloud, "GPU machine types")
//
// Prices of calendar mode, of the dynamic workload scheduler, of reservations and premiums are other prices and passed over.
// They hold as of ImportOptions::at, else as of the newest of their parts. Source: Cloud Billing API reference, Sku.
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "base/text.h"
#include "catalog/catalog.h"
#include "codec/bills/price_answers.h"
#include "codec/json_mistake.h"
#include "codec/json_pieces.h"

namespace stint {
namespace {

namespace dom = simdjson::dom;

/// Machine types by how their names begin, and what Google calls their parts.
struct GoogleFamily {
  std::string_view types;   ///< prefix of the machine types
  std::string_view series;  ///< of cores and memory
  std::array<std::string_view, 3> gpus;
  int64_t ssd_gib_per_gpu = 0;
};
constexpr std::array<GoogleFamily, 7> kGoogleFamilies = {{
    {"a2-highgpu-", "A2", {"Nvidia Tesla A100 GPU"}, 0},
    {"a2-megagpu-", "A2", {"Nvidia Tesla A100 GPU"}, 0},
    {"a2-ultragpu-", "A2", {"Nvidia Tesla A100 80GB GPU", "Nvidia A100 80GB GPU"}, 375},
    {"a3-highgpu-", "A3", {"Nvidia H100 80GB GPU"}, 750},
    {"a3-megagpu-", "A3Plus", {"Nvidia H100 80GB Mega GPU", "Nvidia H100 Mega 80GB GPU", "Nvidia H100 80GB Plus GPU"}, 750},
    {"g2-standard-", "G2", {"Nvidia L4 GPU"}, 0},
    {"g4-standard-", "G4", {"RTX 6000 96GB", "Nvidia RTX PRO 6000 GPU"}, 0},
}};

constexpr std::string_view kGoogleSsd = "SSD backed Local Storage";
constexpr std::string_view kGoogleCommitment = "Commitment v1: ", kGoogleSpot = "Spot Preemptible ";
constexpr int64_t kHoursOfMonth = 730;  // by which Google turns months into hours

/// What an SKU prices: a part of machines, in a market.
struct GooglePart {
  std::string name;  ///< "A2 core", "A2 ram", "Nvidia L4 GPU", "ssd"
  Market market = Market::kOnDemand;
  CommitmentTerm term = CommitmentTerm::kNone;
};

/// @return none for what is no part of a machine of the catalogue, or sold in another way.
std::optional<GooglePart> part_of(std::string_view description, std::string_view usage) {
  for (const std::string_view other : {"Calendar Mode", "DWS ", "Reserved ", "Premium", "Custom ", "Sole Tenancy", "Overcommit"})
    if (description.find(other) != std::string_view::npos) return std::nullopt;
  GooglePart part;
  if (description.starts_with(kGoogleCommitment)) {
    description.remove_prefix(kGoogleCommitment.size());
    part.market = Market::kReserved;
    if (description.ends_with("for 1 Year"))
      part.term = CommitmentTerm::kOneYear;
    else if (description.ends_with("for 3 Years") || description.ends_with("for 3 Year"))
      part.term = CommitmentTerm::kThreeYears;
    else
      return std::nullopt;
  } else if (description.find(trim(kGoogleSpot)) != std::string_view::npos) {
    // Not by the usage type: some spot prices are filed as OnDemand.
    part.market = Market::kSpot;
    if (description.starts_with(kGoogleSpot)) description.remove_prefix(kGoogleSpot.size());
  } else if (usage != "OnDemand") {
    return std::nullopt;
  }
  const bool committed = part.market == Market::kReserved;
  const auto begins = [&](const std::string& words) { return description.starts_with(words); };
  for (const GoogleFamily& family : kGoogleFamilies) {
    if (begins(fmt::format("{} {}", family.series, committed ? "Cpu in" : "Instance Core ")))
      return part.name = fmt::format("{} core", family.series), part;
    if (begins(fmt::format("{} {}", family.series, committed ? "Ram in" : "Instance Ram ")))
      return part.name = fmt::format("{} ram", family.series), part;
    for (const std::string_view gpu : family.gpus)
      if (!gpu.empty() && begins(fmt::format("{} ", gpu))) return part.name = family.gpus[0], part;
  }
  if (description.starts_with(committed ? "Local SSD in" : kGoogleSsd)) return part.name = "ssd", part;
  return std::nullopt;
}

class GoogleSkusImporter final : public Importer {
 public:
  GoogleSkusImporter(const ImportOptions& options, Sink& sink)
      : options_(options),
        sink_(sink),
        pieces_(
            options.source, [this](const JsonPieces::Path& path) { return plan(path); },
            [this](const JsonPieces::Path& path, std::string_view json) { return take(path, json); }) {}
  GoogleSkusImporter(const GoogleSkusImporter&) = delete;
  GoogleSkusImporter& operator=(const GoogleSkusImporter&) = delete;

  Status feed(std::string_view bytes) override { return pieces_.feed(bytes); }

  Status finish() override {
    TRY(pieces_.finish());
    if (!found_)
      return invalid(
          "{}: no `skus`: save https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus, all pages in one file",
          options_.source);
    if (goes_on_)
      sink_.reject(0,
                   "the list goes on behind its last page here (nextPageToken): what is on the others is not known: put all "
                   "pages into one file");
    put_machines();
    return {};
  }

 private:
  using Plan = JsonPieces::Plan;
  struct UnitPrice {
    Money amount;  ///< of a core, a GiB, a GPU for an hour
    Instant since;
  };
  using Where = std::tuple<std::string, Market, CommitmentTerm>;  // region

  /// Pages are documents one after another, or an array of them.
  Plan plan(const JsonPieces::Path& path) {
    const size_t page = !path.empty() && path[0].empty() ? 1 : 0;
    if (path.size() <= page) return Plan::kEnter;
    const std::string& member = path[page];
    if (member == "nextPageToken") return path.size() == page + 1 ? Plan::kTake : Plan::kSkip;
    if (member != "skus") return Plan::kSkip;
    found_ = true;
    return path.size() == page + 1 ? Plan::kEnter : Plan::kTake;
  }

  Status take(const JsonPieces::Path& path, std::string_view json) {
    dom::element entry;
    if (const auto error = parser_.parse(json.data(), json.size()).get(entry); error != simdjson::SUCCESS)
      return invalid("{}: not JSON ({})", options_.source, json_mistake_or(json, simdjson::error_message(error)));
    if (path.back() == "nextPageToken") {
      std::string_view token;
      goes_on_ = entry.get(token) == simdjson::SUCCESS && !token.empty();
    } else {
      take_sku(entry);
    }
    return {};
  }

  static std::string_view text_of(const dom::element& object, std::string_view key) {
    std::string_view text;
    return object[key].get(text) == simdjson::SUCCESS ? text : std::string_view();
  }

  void take_sku(const dom::element& sku) {
    dom::element category;
    if (sku["category"].get(category) != simdjson::SUCCESS) return;
    const std::string_view description = text_of(sku, "description");
    const auto part = part_of(description, text_of(category, "usageType"));
    if (!part) return;
    const auto price = price_of(sku, part->name);
    dom::array regions;
    if (!price.ok() || sku["serviceRegions"].get(regions) != simdjson::SUCCESS)
      return sink_.reject(0,
                          fmt::format("{}: {}", excerpt(description), price.ok() ? "no serviceRegions" : price.error().message));
    for (const dom::element region : regions) {
      std::string_view name;
      if (region.get(name) != simdjson::SUCCESS) continue;
      // Of several of one kind the cheapest counts.
      const auto [at, fresh] = parts_[{std::string(name), part->market, part->term}].try_emplace(part->name, *price);
      if (!fresh && price->amount.currency() == at->second.amount.currency() && price->amount < at->second.amount)
        at->second = *price;
    }
  }

  /// An hour's price of one unit.
  static Result<UnitPrice> price_of(const dom::element& sku, std::string_view part) {
    dom::element info, expression;
    dom::array all, rates;
    if (sku["pricingInfo"].get(all) != simdjson::SUCCESS || all.size() == 0) return invalid("no pricingInfo");
    info = all.at(all.size() - 1).value();
    if (info["pricingExpression"].get(expression) != simdjson::SUCCESS ||
        expression["tieredRates"].get(rates) != simdjson::SUCCESS || rates.size() == 0)
      return invalid("no pricingExpression.tieredRates");
    dom::element unit_price;
    if (rates.at(rates.size() - 1)["unitPrice"].get(unit_price) != simdjson::SUCCESS) return invalid("no unitPrice");
    TRY_ASSIGN(const Currency currency, Currency::parse(text_of(unit_price, "currencyCode")));
    const std::string_view units = text_of(unit_price, "units");
    const auto whole = units.empty() ? std::optional<int64_t>(0) : parse_int(units);
    int64_t nanos = 0;
    if (unit_price["nanos"].get(nanos) != simdjson::SUCCESS) nanos = 0;
    if (!whole || *whole < 0 || *whole > kMaxUnitsPerHour || nanos < 0 || nanos >= 1'000'000'000)
      return invalid("unitPrice: '{}' and {} nanos are no price", excerpt(units), nanos);
    UnitPrice price{Money::units(*whole, currency) + Money::nanos(nanos, currency), Instant()};
    const std::string_view unit = text_of(expression, "usageUnit");
    const bool monthly = unit == "GiBy.mo";
    if (monthly && part == "ssd")
      price.amount = scale(price.amount, 1, kHoursOfMonth);
    else if (unit != (part == "ssd" || part.ends_with(" ram") ? "GiBy.h" : "h"))
      return invalid("usageUnit '{}': not an hour's price of {}", excerpt(unit), part);
    if (price.amount.is_zero()) return invalid("no price above zero");
    if (const auto since = parse_instant(text_of(info, "effectiveTime")); since.ok()) price.since = *since;
    return price;
  }

  void put_machines() {
    for (const InstanceType& type : Catalog::built_in().instances()) {
      if (type.provider != "gcp" || type.gpu_milli == 0) continue;
      const auto family =
          std::ranges::find_if(kGoogleFamilies, [&](const GoogleFamily& f) { return type.name.starts_with(f.types); });
      if (family == kGoogleFamilies.end()) continue;
      for (const auto& [where, parts] : parts_)
        put_machine(type, *family, where, parts);
    }
  }

  void put_machine(const InstanceType& type, const GoogleFamily& family, const Where& where,
                   const std::map<std::string, UnitPrice>& parts) {
    constexpr int64_t kGib = int64_t{1} << 30;
    if (!parts.contains(std::string(family.gpus[0]))) return;  // not sold there in that way
    struct Need {
      std::string part;
      int64_t amount, of;  ///< so many `of`-ths of the unit
    };
    const std::array<Need, 4> needs = {{{fmt::format("{} core", family.series), type.vcpus, 1},
                                        {fmt::format("{} ram", family.series), type.memory.count(), kGib},
                                        {std::string(family.gpus[0]), type.gpu_milli, 1000},
                                        {"ssd", family.ssd_gib_per_gpu * type.gpu_milli, 1000}}};
    const auto& [region, market, term] = where;
    PriceRow row;
    std::optional<Money> sum;
    for (const Need& need : needs) {
      if (need.amount == 0) continue;
      const auto at = parts.find(need.part);
      const bool other_currency = at != parts.end() && sum && sum->currency() != at->second.amount.currency();
      if (at == parts.end() || other_currency)
        return sink_.reject(0, fmt::format("{} in {}, {}{}: {} for its {}: not priced", type.name, region, name_of(market),
                                           term == CommitmentTerm::kNone ? "" : fmt::format(" {}", name_of(term)),
                                           other_currency ? "another currency" : "no price", need.part));
      const Money part = scale(at->second.amount, need.amount, need.of);
      sum = sum ? *sum + part : part;
      row.as_of = std::max(row.as_of, at->second.since);
    }
    row.provider = "gcp";
    row.region = region;
    row.instance_type = type.name;
    row.market = market;
    row.term = term;
    row.payment = term == CommitmentTerm::kNone ? row.payment : PaymentOption::kNoUpfront;
    row.rate = Rate::per_hour(*sum);
    row.source = "Google Cloud SKUs, " + options_.source;
    if (options_.at) row.as_of = *options_.at;
    sink_.price(row);
  }

  const ImportOptions options_;
  Sink& sink_;
  JsonPieces pieces_;
  dom::parser parser_;
  std::map<Where, std::map<std::string, UnitPrice>> parts_;
  bool found_ = false, goes_on_ = false;
};

}  // namespace

std::unique_ptr<Importer> make_google_skus_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<GoogleSkusImporter>(options, sink);
}

}  // namespace stint
