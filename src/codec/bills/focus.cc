// FOCUS 1.0–1.4 bills, the dataset Cost and Usage: https://focus.finops.org, "Columns". Columns are found by name in any order; those
// Stint has no use for are ignored. Real exports write NULL for absent, mix quoted and bare values and leave T and
// zone out of times: all of that is read.
#include <algorithm>
#include <array>
#include <span>

#include "base/counted.h"
#include "base/text.h"
#include "codec/bills/bill_guess.h"
#include "codec/bills/bill_importer.h"
#include "codec/bills/json_table.h"
#include "codec/bills/source_columns.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 6> kFocusRequired = {"BilledCost",     "EffectiveCost",     "BillingCurrency",
                                                            "ChargeCategory", "ChargePeriodStart", "ChargePeriodEnd"};
// 1.3 splits ProviderName into who sells and who hosts; the host is where the machines are.
constexpr std::array<std::string_view, 4> kProviderNames = {"ProviderName", "HostProviderName", "ServiceProviderName",
                                                            "PublisherName"};
// Columns that state the instance type, and columns that may name it among other things, most telling first.
constexpr std::array<std::string_view, 2> kStatedNames = {"x_InstanceType", "x_MachineSpec"};
constexpr std::array<std::string_view, 4> kDetailsNames = {"SkuPriceDetails", "x_SkuDetails", "SkuMeter", "x_SkuMeterName"};
// Owners that exports carry outside Tags; the part after x_ is the tag's key.
constexpr std::array<std::string_view, 6> kOwnerNames = {"x_Client",      "x_Project",  "x_Team",
                                                         "x_Environment", "x_Workload", "x_CostCenter"};

/// Every column that is read: what rows in JSON are looked through for.
constexpr std::array<std::string_view, 63> kFocusRead = {"x_SourceColumns",
                                                         "BillingAccountName",
                                                         "SubAccountName",
                                                         "SkuPriceId",
                                                         "CommitmentDiscountCategory",
                                                         "CommitmentDiscountName",
                                                         "ContractedUnitPrice",
                                                         "InvoiceIssuerName",
                                                         "ChargeFrequency",
                                                         "x_Assumed",
                                                         "x_ServiceCategory",
                                                         "x_SpendKind",
                                                         "BilledCost",
                                                         "EffectiveCost",
                                                         "BillingCurrency",
                                                         "ChargeCategory",
                                                         "ChargePeriodStart",
                                                         "ChargePeriodEnd",
                                                         "ProviderName",
                                                         "HostProviderName",
                                                         "ServiceProviderName",
                                                         "PublisherName",
                                                         "x_InstanceType",
                                                         "x_MachineSpec",
                                                         "SkuPriceDetails",
                                                         "x_SkuDetails",
                                                         "SkuMeter",
                                                         "x_SkuMeterName",
                                                         "x_Client",
                                                         "x_Project",
                                                         "x_Team",
                                                         "x_Environment",
                                                         "x_Workload",
                                                         "x_CostCenter",
                                                         "ListCost",
                                                         "ContractedCost",
                                                         "ListUnitPrice",
                                                         "ChargeClass",
                                                         "BillingPeriodStart",
                                                         "BillingPeriodEnd",
                                                         "BillingAccountId",
                                                         "SubAccountId",
                                                         "ServiceName",
                                                         "ServiceCategory",
                                                         "ChargeDescription",
                                                         "RegionId",
                                                         "RegionName",
                                                         "AvailabilityZone",
                                                         "ResourceId",
                                                         "ResourceName",
                                                         "ResourceType",
                                                         "SkuId",
                                                         "InvoiceId",
                                                         "PricingCategory",
                                                         "PricingUnit",
                                                         "PricingQuantity",
                                                         "ConsumedUnit",
                                                         "ConsumedQuantity",
                                                         "CommitmentDiscountId",
                                                         "CommitmentDiscountStatus",
                                                         "CommitmentDiscountType",
                                                         "Tags",
                                                         "AllocatedTags"};

/// What FOCUS 1.3 and 1.4 deliver beside the charges: a column that only that dataset has, and its name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kOtherDatasets = {
    {{"ContractCommitmentId", "Contract Commitment"},
     {"InvoiceDetailId", "Invoice Detail"},
     {"BillingPeriodStatus", "Billing Period"}}};

/// Columns of which a line keeps everything, and those that Stint itself writes.
constexpr std::array<std::string_view, 48> kFocusKept = {"BilledCost",
                                                         "EffectiveCost",
                                                         "ListCost",
                                                         "ContractedCost",
                                                         "BillingCurrency",
                                                         "ChargeCategory",
                                                         "ChargeClass",
                                                         "ChargePeriodStart",
                                                         "ChargePeriodEnd",
                                                         "BillingPeriodStart",
                                                         "BillingPeriodEnd",
                                                         "BillingAccountId",
                                                         "SubAccountId",
                                                         "ServiceName",
                                                         "ServiceCategory",
                                                         "ChargeDescription",
                                                         "RegionId",
                                                         "AvailabilityZone",
                                                         "ResourceId",
                                                         "ResourceName",
                                                         "ResourceType",
                                                         "SkuId",
                                                         "InvoiceId",
                                                         "PricingUnit",
                                                         "PricingQuantity",
                                                         "CommitmentDiscountId",
                                                         "CommitmentDiscountStatus",
                                                         "Tags",
                                                         "AllocatedMethodDetails",
                                                         "AllocatedMethodId",
                                                         "AllocatedResourceId",
                                                         "AllocatedResourceName",
                                                         "AllocatedTags",
                                                         "x_Assumed",
                                                         "x_Client",
                                                         "x_Environment",
                                                         "x_GpuModel",
                                                         "x_IdleCause",
                                                         "x_InstanceType",
                                                         "x_Project",
                                                         "x_ServiceCategory",
                                                         "x_SourceColumns",
                                                         "x_SpendKind",
                                                         "x_Team",
                                                         "x_Workload",
                                                         "x_WorkloadKind",
                                                         "x_CostCenter",
                                                         "x_MachineSpec"};

struct FocusColumns {
  std::array<int, kProviderNames.size()> providers{};
  std::array<int, kStatedNames.size()> stated{};
  std::array<int, kDetailsNames.size()> details{};
  std::array<int, kOwnerNames.size()> owners{};
  int billed, effective, list, contracted, list_unit_price, currency;
  int category, charge_class, start, end, billing_start, billing_end;
  int billing_account, sub_account, service, service_category, description, region_id, region_name, zone;
  int resource_id, resource_name, resource_type, sku, invoice, publisher;
  int pricing_category, pricing_unit, pricing_quantity, consumed_unit, consumed_quantity;
  int commitment_id, commitment_status, commitment_type, tags, allocated_tags;
  int assumed, own_category, own_spend;  // of rows that Stint wrote
};

template <size_t N>
std::array<int, N> find_all(const CsvHeader& header, const std::array<std::string_view, N>& names) {
  std::array<int, N> out{};
  for (size_t i = 0; i < N; ++i)
    out[i] = header.find(names[i]);
  return out;
}

FocusColumns columns_of(const CsvHeader& h) {
  FocusColumns c{};
  c.providers = find_all(h, kProviderNames);
  c.stated = find_all(h, kStatedNames);
  c.details = find_all(h, kDetailsNames);
  c.owners = find_all(h, kOwnerNames);
  c.billed = h.find("BilledCost"), c.effective = h.find("EffectiveCost"), c.list = h.find("ListCost");
  c.contracted = h.find("ContractedCost"), c.list_unit_price = h.find("ListUnitPrice"), c.currency = h.find("BillingCurrency");
  c.category = h.find("ChargeCategory"), c.charge_class = h.find("ChargeClass");
  c.start = h.find("ChargePeriodStart"), c.end = h.find("ChargePeriodEnd");
  c.billing_start = h.find("BillingPeriodStart"), c.billing_end = h.find("BillingPeriodEnd");
  c.billing_account = h.find("BillingAccountId"), c.sub_account = h.find("SubAccountId");
  c.service = h.find("ServiceName"), c.service_category = h.find("ServiceCategory"), c.description = h.find("ChargeDescription");
  c.region_id = h.find("RegionId"), c.region_name = h.find("RegionName"), c.zone = h.find("AvailabilityZone");
  c.resource_id = h.find("ResourceId"), c.resource_name = h.find("ResourceName"), c.resource_type = h.find("ResourceType");
  c.sku = h.find("SkuId"), c.invoice = h.find("InvoiceId");
  c.publisher = h.find("PublisherName");
  c.pricing_category = h.find("PricingCategory"), c.pricing_unit = h.find("PricingUnit");
  c.pricing_quantity = h.find("PricingQuantity"), c.consumed_unit = h.find("ConsumedUnit");
  c.consumed_quantity = h.find("ConsumedQuantity");
  c.commitment_id = h.find("CommitmentDiscountId"), c.commitment_status = h.find("CommitmentDiscountStatus");
  c.commitment_type = h.find("CommitmentDiscountType");
  c.tags = h.find("Tags"), c.allocated_tags = h.find("AllocatedTags");
  c.assumed = h.find("x_Assumed"), c.own_category = h.find("x_ServiceCategory"), c.own_spend = h.find("x_SpendKind");
  return c;
}

/// The first of `columns` that says something.
std::string_view first_of(const CsvRecord& record, std::span<const int> columns) {
  for (const int column : columns)
    if (const std::string_view text = bill_field(record, column); !text.empty()) return text;
  return {};
}

class FocusImporter final : public BillImporter {
 public:
  FocusImporter(const ImportOptions& options, Sink& sink) : BillImporter({}, options, sink) {}

 private:
  Status read_header(const CsvRecord& record) override {
    TRY_ASSIGN(const CsvHeader header, CsvHeader::create(record, {}));
    for (const auto& [sign, dataset] : kOtherDatasets)
      if (header.find(sign) >= 0 && header.find("ChargePeriodStart") < 0) dataset_ = dataset;
    if (!dataset_.empty()) return {};
    if (const std::string missing = missing_columns(header, kFocusRequired); !missing.empty())
      return wrong_bill("focus", header, missing);
    if (header.find_any(kProviderNames) < 0)
      return invalid("line {}: none of ProviderName, HostProviderName, ServiceProviderName and PublisherName is there",
                     record.line);
    columns_ = columns_of(header);
    own_source_ = header.find("x_SourceColumns");
    others_.read_header(header, [](std::string_view name) {
      return std::ranges::any_of(kFocusKept, [&](std::string_view kept) { return equals_ignoring_case(kept, name); });
    });
    return {};
  }

  void end_rows() override {
    if (!dataset_.empty())
      sink().reject(0, fmt::format("{} of the FOCUS dataset {}: these are no charges; they are left out",
                                   counted(other_rows_, "row"), dataset_));
  }

  void read_row(const CsvRecord& record) override {
    if (!dataset_.empty()) return void(++other_rows_);
    BillImporter::read_row(record);
  }

  Status read_line(const CsvRecord& r) override {
    TRY(read_money(r));
    TRY(read_times(r));
    TRY(read_tags(r));
    const auto category = parse_charge_category(bill_field(r, columns_.category));
    if (!category.ok()) return in_column("ChargeCategory", category.error());
    line_.category = category.value();
    line_.correction = equals_ignoring_case(bill_field(r, columns_.charge_class), "Correction");
    read_others(r);
    read_texts(r);
    read_market(r);
    return {};
  }

  Status read_money(const CsvRecord& r) {
    const std::string_view code = bill_field(r, columns_.currency);
    if (code != currency_.code()) {
      const auto parsed = Currency::parse(code);
      if (!parsed.ok()) return in_column("BillingCurrency", parsed.error());
      currency_ = parsed.value();
    }
    TRY_ASSIGN(line_.billed, parse_cost("BilledCost", bill_field(r, columns_.billed), currency_));
    TRY_ASSIGN(line_.effective, parse_cost("EffectiveCost", bill_field(r, columns_.effective), currency_));
    TRY(read_optional("ListCost", given(r, "ListCost", columns_.list), line_.list));
    TRY(read_optional("ContractedCost", given(r, "ContractedCost", columns_.contracted), line_.contracted));
    const bool by_quantity = columns_.pricing_quantity >= 0;
    line_.quantity = bill_field(r, by_quantity ? columns_.pricing_quantity : columns_.consumed_quantity);
    line_.pricing_unit = bill_field(r, by_quantity ? columns_.pricing_unit : columns_.consumed_unit);
    line_.list_unit_price.reset();
    if (!is_hour_unit(bill_field(r, columns_.pricing_unit))) return {};
    std::optional<Money> per_hour;
    TRY(read_optional("ListUnitPrice", bill_field(r, columns_.list_unit_price), per_hour));
    if (per_hour) line_.list_unit_price = Rate::per_hour(*per_hour);
    return {};
  }

  /// Whether the row says that what stands in a column is not from a bill.
  [[nodiscard]] bool is_assumed(const CsvRecord& r, std::string_view name) const {
    const std::string_view assumed = bill_field(r, columns_.assumed);
    return !assumed.empty() && std::ranges::count(split(assumed, ' '), name) > 0;
  }
  [[nodiscard]] std::string_view given(const CsvRecord& r, std::string_view name, int column) const {
    return is_assumed(r, name) ? std::string_view() : bill_field(r, column);
  }

  Status read_optional(std::string_view column, std::string_view text, std::optional<Money>& out) {
    out.reset();
    if (text.empty()) return {};
    TRY_ASSIGN(out, parse_cost(column, text, currency_));
    return {};
  }

  Status read_times(const CsvRecord& r) {
    const LocalZone& zoneless = options().zoneless;
    TRY_ASSIGN(line_.charge_period.begin, start_.parse("ChargePeriodStart", bill_field(r, columns_.start), zoneless));
    TRY_ASSIGN(line_.charge_period.end, end_.parse("ChargePeriodEnd", bill_field(r, columns_.end), zoneless));
    if (line_.charge_period.empty())
      return invalid("ChargePeriodEnd: {} is not after ChargePeriodStart {}", format_utc(line_.charge_period.end),
                     format_utc(line_.charge_period.begin));
    line_.billing_period = month_of(line_.charge_period.begin);
    const std::string_view from = bill_field(r, columns_.billing_start);
    const std::string_view until = bill_field(r, columns_.billing_end);
    if (!from.empty()) {
      TRY_ASSIGN(line_.billing_period.begin, billing_start_.parse("BillingPeriodStart", from, zoneless));
    }
    if (!until.empty()) {
      TRY_ASSIGN(line_.billing_period.end, billing_end_.parse("BillingPeriodEnd", until, zoneless));
    }
    return {};
  }

  Status read_tags(const CsvRecord& r) {
    const std::string_view text = bill_field(r, columns_.tags);
    const std::string_view allocated = bill_field(r, columns_.allocated_tags);
    const auto tags = tags_.parse(text);
    if (!tags.ok()) return in_column("Tags", tags.error());
    line_.tags = *tags.value();
    if (!allocated.empty()) {
      const auto more = tags_.parse(allocated);
      if (!more.ok()) return in_column("AllocatedTags", more.error());
      line_.tags.insert(line_.tags.begin(), more.value()->begin(), more.value()->end());
    }
    for (size_t i = 0; i < kOwnerNames.size(); ++i) {
      const std::string_view owner = bill_field(r, columns_.owners[i]);
      const std::string_view key = kOwnerNames[i].substr(2);
      const auto same_key = [&](const Tag& tag) { return equals_ignoring_case(tag.first, key); };
      if (!owner.empty() && std::none_of(line_.tags.begin(), line_.tags.end(), same_key))
        line_.tags.emplace_back(to_lower(key), owner);
    }
    return {};
  }

  /// What the line has no place for: of rows that Stint wrote, what it had kept of the bill.
  void read_others(const CsvRecord& r) {
    if (own_source_ >= 0) {
      if (const std::string_view kept = bill_field(r, own_source_); !kept.empty())
        line_.tags.emplace_back(kSourceColumnsTag, kept);
      return;
    }
    others_.add_to(line_, r);
  }

  void read_texts(const CsvRecord& r) {
    const std::string_view provider = is_assumed(r, "ProviderName") ? std::string_view() : first_of(r, columns_.providers);
    if (provider != provider_text_) {
      provider_text_ = provider;
      provider_ = canonical_provider(provider);
    }
    line_.provider = provider_;
    line_.billing_account = given(r, "BillingAccountId", columns_.billing_account);
    line_.sub_account = bill_field(r, columns_.sub_account);
    line_.service = given(r, "ServiceName", columns_.service);
    const std::string_view own_category = bill_field(r, columns_.own_category);
    line_.service_category = own_category.empty() ? given(r, "ServiceCategory", columns_.service_category) : own_category;
    line_.description = bill_field(r, columns_.description);
    const std::string_view region = bill_field(r, columns_.region_id);
    line_.region = region.empty() ? bill_field(r, columns_.region_name) : region;
    line_.zone = bill_field(r, columns_.zone);
    line_.resource_id = bill_field(r, columns_.resource_id);
    line_.resource_name = bill_field(r, columns_.resource_name);
    line_.resource_type = bill_field(r, columns_.resource_type);
    line_.sku = bill_field(r, columns_.sku);
    line_.invoice_id = bill_field(r, columns_.invoice);
    classifier_.classify(line_, first_of(r, columns_.stated), first_of(r, columns_.details));
    if (is_sold_for_another(bill_field(r, columns_.publisher))) line_.spend = SpendKind::kOther;
    for (const SpendKind kind : {SpendKind::kCompute, SpendKind::kStorage, SpendKind::kTransfer, SpendKind::kOther})
      if (bill_field(r, columns_.own_spend) == name_of(kind)) line_.spend = kind;
  }

  /// Software that a cloud sells for its maker, who names the machine's type too.
  [[nodiscard]] bool is_sold_for_another(std::string_view publisher) const {
    constexpr std::array<std::string_view, 4> kClouds = {"aws", "azure", "gcp", "oci"};
    return !publisher.empty() && std::ranges::find(kClouds, line_.provider) != kClouds.end() &&
           std::ranges::find(kClouds, canonical_provider(publisher)) == kClouds.end();
  }

  void read_market(const CsvRecord& r) {
    line_.commitment_id = bill_field(r, columns_.commitment_id);
    line_.commitment_unused = equals_ignoring_case(bill_field(r, columns_.commitment_status), "Unused");
    const std::string_view pricing = bill_field(r, columns_.pricing_category);
    const bool committed = !line_.commitment_id.empty() || !bill_field(r, columns_.commitment_type).empty();
    if (committed || equals_ignoring_case(pricing, "Committed"))
      line_.market = Market::kReserved;
    else if (equals_ignoring_case(pricing, "Dynamic"))
      line_.market = Market::kSpot;
    else if (equals_ignoring_case(pricing, "Standard"))
      line_.market = Market::kOnDemand;
    else
      line_.market = Market::kUnknown;
  }

  std::string_view dataset_;  // of another dataset than charges; "" = it is charges
  uint64_t other_rows_ = 0;
  SourceColumns others_;
  int own_source_ = -1;
  FocusColumns columns_{};
  Currency currency_;
  InstantField start_, end_, billing_start_, billing_end_;
  TagsField tags_;
  LineClassifier classifier_;
  std::string provider_text_, provider_;
};

}  // namespace

std::unique_ptr<Importer> make_focus_importer(const ImportOptions& options, Sink& sink) {
  return make_csv_or_json_importer(
      options, sink, {kFocusRead, kFocusRequired, kRestColumn},
      [](const ImportOptions& o, Sink& s) -> std::unique_ptr<Importer> { return std::make_unique<FocusImporter>(o, s); });
}

}  // namespace stint
