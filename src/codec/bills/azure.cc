// Azure cost exports in CSV: "Cost and usage details", actual and amortized, by the column names of the Enterprise Agreement
// (CostInBillingCurrency, BillingCurrencyCode), the Microsoft Customer Agreement (costInBillingCurrency, billingCurrency) and the
// older schemas (PreTaxCost, Currency, UsageDateTime, InstanceId). Source: Microsoft Learn, "Cost and usage details dataset schema".
//
// An export holds one cost a row. Of an amortized one that is the effective cost: usage that a commitment covers was paid by the
// commitment's purchase, which only the actual export holds, so its billed cost is 0. Of an actual one it is what was billed.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/bills/bill_guess.h"
#include "codec/bills/bill_importer.h"
#include "codec/bills/source_columns.h"

namespace stint {
namespace {

enum class AzureCost { kAmortized, kActual };

struct AzureColumns {
  int date, cost, currency, billing_start, account, profile, subscription, invoice, charge_type, pricing_model, publisher_type;
  int meter_category, meter_subcategory, meter_name, meter_id, product, service, location, zone, resource, resource_name;
  int quantity, unit, list_price, additional, tags, reservation, benefit, cost_center, resource_group;
};

AzureColumns azure_columns(const CsvHeader& h) {
  const auto any = [&](std::initializer_list<std::string_view> names) {
    return h.find_any(std::span(names.begin(), names.size()));
  };
  AzureColumns c{};
  c.date = any({"Date", "UsageDateTime", "UsageDate"});
  c.cost = any({"CostInBillingCurrency", "PreTaxCost", "Cost"});
  c.currency = any({"BillingCurrency", "BillingCurrencyCode", "Currency"});
  c.billing_start = any({"BillingPeriodStartDate"});
  c.account = any({"BillingAccountId", "EnrollmentNumber"}), c.profile = any({"BillingProfileId"});
  c.subscription = any({"SubscriptionId", "SubscriptionGuid"}), c.invoice = any({"InvoiceId"});
  c.charge_type = any({"ChargeType"}), c.pricing_model = any({"PricingModel"}), c.publisher_type = any({"PublisherType"});
  c.meter_category = any({"MeterCategory"}), c.meter_subcategory = any({"MeterSubCategory"}), c.meter_name = any({"MeterName"});
  c.meter_id = any({"MeterId"}), c.product = any({"ProductName", "Product"}), c.service = any({"ConsumedService"});
  c.location = any({"ResourceLocation", "MeterRegion"}), c.zone = any({"AvailabilityZone"});
  c.resource = any({"ResourceId", "InstanceId"}), c.resource_name = any({"ResourceName", "InstanceName"});
  c.quantity = any({"Quantity", "UsageQuantity"}), c.unit = any({"UnitOfMeasure"}), c.list_price = any({"PayGPrice"});
  c.additional = any({"AdditionalInfo"}), c.tags = any({"Tags"});
  c.reservation = any({"ReservationId"}), c.benefit = any({"BenefitId"});
  c.cost_center = any({"CostCenter"}), c.resource_group = any({"ResourceGroup", "ResourceGroupName"});
  return c;
}

/// `10/31/2026`, as exports write days, as well as what every other importer reads. @return the text to parse.
std::string azure_date(std::string_view text) {
  if (text.size() < 8 || text.find('/') == std::string_view::npos || text.find('/') > 2) return std::string(text);
  const auto parts = split(text, '/');
  if (parts.size() != 3) return std::string(text);
  return fmt::format("{:0>4}-{:0>2}-{:0>2}", parts[2], parts[0], parts[1]);
}

class AzureImporter final : public BillImporter {
 public:
  AzureImporter(AzureCost kind, const ImportOptions& options, Sink& sink) : BillImporter({}, options, sink), kind_(kind) {
    line_.provider = "azure";
  }

 private:
  [[nodiscard]] std::string_view format() const { return kind_ == AzureCost::kActual ? "azure-actual" : "azure"; }

  Status read_header(const CsvRecord& record) override {
    TRY_ASSIGN(const CsvHeader header, CsvHeader::create(record, {}));
    columns_ = azure_columns(header);
    std::string missing;
    const auto need = [&](int column, std::string_view names) {
      if (column < 0) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", names);
    };
    need(columns_.date, "Date");
    need(columns_.cost, "CostInBillingCurrency");
    need(columns_.currency, "BillingCurrency");
    need(columns_.meter_category, "MeterCategory");
    if (!missing.empty()) return wrong_bill(format(), header, missing);
    others_.read_header(header, [&](const std::string& name) { return is_kept(header.find(name)); });
    return {};
  }

  /// Does a line keep all that the column says? What is mapped, or only chosen where another one is empty, says more.
  [[nodiscard]] bool is_kept(int column) const {
    const AzureColumns& c = columns_;
    const std::array kept = {c.date,    c.cost,           c.currency,          c.profile,  c.subscription,
                             c.invoice, c.meter_category, c.meter_subcategory, c.meter_id, c.product,
                             c.zone,    c.resource,       c.resource_name,     c.quantity, c.unit,
                             c.tags,    c.cost_center};
    return std::ranges::find(kept, column) != kept.end();
  }

  static std::string_view text(const CsvRecord& r, int column) { return bill_field(r, column); }

  Status read_line(const CsvRecord& r) override {
    TRY(read_times(r));
    TRY(read_money(r));
    const auto tags = tags_.parse(text(r, columns_.tags));
    if (!tags.ok()) return in_column("Tags", tags.error());
    line_.tags = *tags.value();
    if (const std::string_view center = text(r, columns_.cost_center); !center.empty())
      line_.tags.emplace_back("costcenter", center);
    read_texts(r);
    others_.add_to(line_, r);
    return {};
  }

  Result<Instant> day(std::string_view column, std::string_view text) {
    if (text.empty()) return invalid("{}: no value where a day must stand", column);
    if (text != day_text_) {
      const auto parsed = parse_instant(azure_date(text), options().zoneless);
      if (!parsed.ok()) return in_column(column, invalid("'{}' is no day: 10/31/2026 or 2026-10-31 expected", excerpt(text)));
      day_text_ = text;
      day_ = *parsed;
    }
    return day_;
  }

  Status read_times(const CsvRecord& r) {
    if (!text(r, columns_.billing_start).empty()) {
      TRY_ASSIGN(const Instant begin, day("BillingPeriodStartDate", text(r, columns_.billing_start)));
      line_.billing_period = month_of(begin);
    }
    TRY_ASSIGN(line_.charge_period.begin, day("Date", text(r, columns_.date)));
    line_.charge_period.end = line_.charge_period.begin + Duration::hours(24);
    if (text(r, columns_.billing_start).empty()) line_.billing_period = month_of(line_.charge_period.begin);
    return {};
  }

  Status read_money(const CsvRecord& r) {
    const std::string_view code = text(r, columns_.currency);
    if (code != currency_.code()) {
      const auto parsed = Currency::parse(code);
      if (!parsed.ok()) return in_column("BillingCurrency", parsed.error());
      currency_ = parsed.value();
    }
    TRY_ASSIGN(const Money cost, parse_cost("CostInBillingCurrency", text(r, columns_.cost), currency_));
    const std::string_view charge = text(r, columns_.charge_type);
    const std::string_view model = text(r, columns_.pricing_model);
    const std::string_view reservation = text(r, columns_.reservation);
    line_.commitment_id = reservation.empty() ? text(r, columns_.benefit) : reservation;
    line_.commitment_unused =
        equals_ignoring_case(charge, "UnusedReservation") || equals_ignoring_case(charge, "UnusedSavingsPlan");
    line_.correction = equals_ignoring_case(charge, "Refund");
    const bool purchase = equals_ignoring_case(charge, "Purchase");
    line_.category = purchase                                       ? ChargeCategory::kPurchase
                     : line_.correction                             ? ChargeCategory::kAdjustment
                     : contains_ignoring_case(charge, "Adjustment") ? ChargeCategory::kAdjustment
                     : equals_ignoring_case(charge, "Tax")          ? ChargeCategory::kTax
                     : contains_ignoring_case(charge, "Credit")     ? ChargeCategory::kCredit
                                                                    : ChargeCategory::kUsage;
    const bool by_commitment = equals_ignoring_case(model, "Reservation") || equals_ignoring_case(model, "SavingsPlan");
    line_.market = by_commitment || line_.commitment_unused  ? Market::kReserved
                   : equals_ignoring_case(model, "Spot")     ? Market::kSpot
                   : equals_ignoring_case(model, "OnDemand") ? Market::kOnDemand
                                                             : Market::kUnknown;
    const bool of_commitment = by_commitment || !line_.commitment_id.empty();
    line_.billed = line_.effective = cost;
    if (kind_ == AzureCost::kAmortized) {
      if (purchase && of_commitment && !cost.is_zero())
        give_up(invalid(
            "line {}: holds the purchase of a commitment, so it is an export of actual cost: import it as azure-actual, or "
            "export amortized cost",
            r.line));
      if (line_.commitment_unused || (of_commitment && line_.category == ChargeCategory::kUsage))
        line_.billed = Money::nanos(0, currency_);
    } else if (line_.commitment_unused) {
      give_up(invalid("line {}: holds the unused part of a commitment, so it is an export of amortized cost: import it as azure",
                      r.line));
    }
    line_.quantity = text(r, columns_.quantity);
    line_.pricing_unit = text(r, columns_.unit);
    line_.list_unit_price.reset();
    if (is_hour_unit(line_.pricing_unit) && !text(r, columns_.list_price).empty()) {
      TRY_ASSIGN(const Money price, parse_cost("PayGPrice", text(r, columns_.list_price), currency_));
      if (!price.is_zero()) line_.list_unit_price = Rate::per_hour(price);
    }
    return {};
  }

  void read_texts(const CsvRecord& r) {
    line_.billing_account = text(r, columns_.profile);
    if (line_.billing_account.empty()) line_.billing_account = text(r, columns_.account);
    line_.sub_account = text(r, columns_.subscription);
    line_.invoice_id = text(r, columns_.invoice);
    line_.service = text(r, columns_.meter_category);
    line_.service_category = line_.service == "Virtual Machines" ? "Compute" : std::string_view();
    line_.resource_type = text(r, columns_.meter_subcategory);
    line_.description = text(r, columns_.product);
    if (line_.description.empty()) line_.description = text(r, columns_.meter_name);
    line_.region = text(r, columns_.location);
    line_.zone = text(r, columns_.zone);
    line_.resource_id = text(r, columns_.resource);
    line_.resource_name = text(r, columns_.resource_name);
    if (line_.resource_name.empty() && !line_.resource_id.empty())
      line_.resource_name = line_.resource_id.substr(line_.resource_id.rfind('/') + 1);
    line_.sku = text(r, columns_.meter_id);
    const bool machine =
        contains_ignoring_case(line_.service, "Virtual Machines") || contains_ignoring_case(line_.service, "Machine Learning");
    classifier_.classify(line_, machine ? service_type(text(r, columns_.additional)) : std::string_view(),
                         text(r, columns_.meter_name));
    if (contains_ignoring_case(text(r, columns_.publisher_type), "Marketplace") ||
        contains_ignoring_case(line_.service, "Licenses"))
      line_.spend = SpendKind::kOther;
  }

  /// `"ServiceType":"Standard_NC24ads_A100_v4"` of AdditionalInfo, which may lack its braces like Tags.
  std::string_view service_type(std::string_view additional) {
    const auto facts = additional_.parse(additional);
    if (!facts.ok()) return {};
    for (const Tag& fact : *facts.value())
      if (equals_ignoring_case(fact.first, "ServiceType")) return fact.second;
    return {};
  }

  const AzureCost kind_;
  AzureColumns columns_{};
  SourceColumns others_;
  Currency currency_;
  std::string day_text_;
  Instant day_;
  TagsField tags_, additional_;
  LineClassifier classifier_;
};

}  // namespace

std::unique_ptr<Importer> make_azure_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<AzureImporter>(AzureCost::kAmortized, options, sink);
}

std::unique_ptr<Importer> make_azure_actual_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<AzureImporter>(AzureCost::kActual, options, sink);
}

}  // namespace stint
