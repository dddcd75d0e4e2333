// AWS Cost and Usage Report in CSV: CUR 2.0 (`line_item_unblended_cost`, maps `product` and `resource_tags`) and the
// legacy report (`lineItem/UnblendedCost`, a column per tag). Source: AWS "Data Exports user guide", table CUR 2.0.
//
// Billed is the unblended cost. Effective is amortised cost: what a commitment covers carries the commitment's
// share, the commitment's own fees carry only what nothing used, so that both sums agree over its term
// (AWS documentation, "Understanding your amortized reservation / Savings Plans data").
#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/bills/bill_guess.h"
#include "codec/bills/bill_importer.h"
#include "codec/bills/source_columns.h"
#include "ledger/split_cost.h"

namespace stint {
namespace {

/// Where the effective cost of a line type comes from.
enum class Amortised { kUnblended, kZero, kSavingsPlanCost, kSavingsPlanUnused, kReservationCost, kReservationUnused };

struct LineType {
  std::string_view name;
  ChargeCategory category;
  Amortised amortised;
};

// A type that is not listed costs what it is billed.
constexpr std::array<LineType, 16> kLineTypes = {{
    {"Usage", ChargeCategory::kUsage, Amortised::kUnblended},
    {"SavingsPlanCoveredUsage", ChargeCategory::kUsage, Amortised::kSavingsPlanCost},
    {"SavingsPlanNegation", ChargeCategory::kUsage, Amortised::kZero},
    {"SavingsPlanRecurringFee", ChargeCategory::kPurchase, Amortised::kSavingsPlanUnused},
    {"SavingsPlanUpfrontFee", ChargeCategory::kPurchase, Amortised::kZero},
    {"DiscountedUsage", ChargeCategory::kUsage, Amortised::kReservationCost},
    {"RIFee", ChargeCategory::kPurchase, Amortised::kReservationUnused},
    {"Fee", ChargeCategory::kPurchase, Amortised::kUnblended},
    {"Credit", ChargeCategory::kCredit, Amortised::kUnblended},
    {"Refund", ChargeCategory::kAdjustment, Amortised::kUnblended},
    {"Tax", ChargeCategory::kTax, Amortised::kUnblended},
    {"BundledDiscount", ChargeCategory::kUsage, Amortised::kUnblended},
    {"EdpDiscount", ChargeCategory::kUsage, Amortised::kUnblended},
    {"PrivateRateDiscount", ChargeCategory::kUsage, Amortised::kUnblended},
    {"RiVolumeDiscount", ChargeCategory::kPurchase, Amortised::kUnblended},
    {"SppDiscount", ChargeCategory::kUsage, Amortised::kUnblended},
}};

/// `lineItem/UnblendedCost` and `line_item_unblended_cost` are one: without case, `/` and `_`.
std::string plain_name(std::string_view name) {
  std::string out = to_lower(name);
  std::erase_if(out, [](char c) { return c == '/' || c == '_'; });
  return out;
}

/// A column under its CUR 2.0 name, which is also what messages call it.
struct CurColumn {
  std::string_view name;
  int index = -1;
};

struct CurColumns {
  CurColumn type{"line_item_line_item_type"}, start{"line_item_usage_start_date"}, end{"line_item_usage_end_date"};
  CurColumn unblended{"line_item_unblended_cost"}, currency{"line_item_currency_code"};
  CurColumn billing_start{"bill_billing_period_start_date"}, billing_end{"bill_billing_period_end_date"};
  CurColumn entity{"bill_billing_entity"}, payer{"bill_payer_account_id"}, account{"line_item_usage_account_id"},
      invoice{"bill_invoice_id"};
  CurColumn product_code{"line_item_product_code"}, usage_type{"line_item_usage_type"},
      description{"line_item_line_item_description"};
  CurColumn zone{"line_item_availability_zone"}, resource{"line_item_resource_id"}, quantity{"line_item_usage_amount"};
  CurColumn term{"pricing_term"}, unit{"pricing_unit"}, list_cost{"pricing_public_on_demand_cost"},
      list_rate{"pricing_public_on_demand_rate"};
  CurColumn product{"product"}, instance_type{"product_instance_type"}, region{"product_region_code"},
      legacy_region{"product_region"};
  CurColumn family{"product_product_family"}, sku{"product_sku"};
  CurColumn reservation{"reservation_reservation_a_r_n"}, reservation_cost{"reservation_effective_cost"};
  CurColumn reservation_unused{"reservation_unused_recurring_fee"};
  CurColumn reservation_unused_upfront{"reservation_unused_amortized_upfront_fee_for_billing_period"};
  CurColumn plan{"savings_plan_savings_plan_a_r_n"}, plan_cost{"savings_plan_savings_plan_effective_cost"};
  CurColumn plan_total{"savings_plan_total_commitment_to_date"}, plan_used{"savings_plan_used_commitment"};
  CurColumn tags{"resource_tags"}, split_parent{"split_line_item_parent_resource_id"};
  CurColumn split_cost{"split_line_item_split_cost"}, split_unused{"split_line_item_unused_cost"};

  /// Those of which a line keeps everything.
  std::array<const CurColumn*, 28> kept() const {
    return {&start,     &end,          &unblended,    &currency,      &billing_start, &billing_end, &payer,
            &account,   &invoice,      &product_code, &usage_type,    &description,   &zone,        &resource,
            &quantity,  &unit,         &list_cost,    &instance_type, &region,        &sku,         &reservation_cost,
            &plan_cost, &split_parent, &split_cost,   &split_unused,  &tags,          &reservation, &plan};
  }

  std::array<CurColumn*, 39> all() {
    return {&type,
            &start,
            &end,
            &unblended,
            &currency,
            &billing_start,
            &billing_end,
            &entity,
            &payer,
            &account,
            &invoice,
            &product_code,
            &usage_type,
            &description,
            &zone,
            &resource,
            &quantity,
            &term,
            &unit,
            &list_cost,
            &list_rate,
            &product,
            &instance_type,
            &region,
            &legacy_region,
            &family,
            &sku,
            &reservation,
            &reservation_cost,
            &reservation_unused,
            &reservation_unused_upfront,
            &plan,
            &plan_cost,
            &plan_total,
            &plan_used,
            &tags,
            &split_parent,
            &split_cost,
            &split_unused};
  }
};

/// `user:Client`, `user_client` → the tag's own key; tags that AWS itself sets keep their prefix.
std::string_view tag_key(std::string_view key) {
  for (const std::string_view prefix : {"user:", "user_"})
    if (key.starts_with(prefix) && key.size() > prefix.size()) return key.substr(prefix.size());
  return key;
}

class CurImporter final : public BillImporter {
 public:
  CurImporter(const ImportOptions& options, Sink& sink) : BillImporter({}, options, sink) { line_.provider = "aws"; }

 private:
  struct TagColumn {
    std::string key;
    int index;
  };

  Status read_header(const CsvRecord& record) override {
    // Tag keys may differ in case alone: names are compared exactly.
    TRY_ASSIGN(const CsvHeader header, CsvHeader::create(record, {}, CsvNames::kExact));
    std::vector<std::string> plain;
    for (const std::string& name : header.names())
      plain.push_back(plain_name(name));
    const auto find = [&](CurColumn& column) {
      const auto at = std::find(plain.begin(), plain.end(), plain_name(column.name));
      column.index = at == plain.end() ? -1 : static_cast<int>(at - plain.begin());
    };
    for (CurColumn* column : columns_.all())
      find(*column);
    std::string missing;
    for (const CurColumn* column : {&columns_.type, &columns_.start, &columns_.end, &columns_.unblended, &columns_.currency})
      if (column->index < 0) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", column->name);
    if (!missing.empty()) return wrong_bill("cur", header, missing);
    for (size_t i = 0; i < header.size(); ++i) {
      const std::string& name = header.names()[i];
      for (const std::string_view prefix : {"resource_tags_", "resource_tags/", "resourceTags/"})
        if (name.starts_with(prefix))
          tag_columns_.push_back({std::string(tag_key(std::string_view(name).substr(prefix.size()))), static_cast<int>(i)});
    }
    others_.read_header(header, [this](const std::string& name) { return is_kept(name); });
    return {};
  }

  /// Does a line keep all of it? Of what is only counted, mapped or chosen from the row says more. The interval is that of the charge.
  bool is_kept(const std::string& name) {
    const std::string plain = plain_name(name);
    const auto is = [&](const CurColumn* column) { return plain_name(column->name) == plain; };
    return plain == "identitytimeinterval" || plain.starts_with("resourcetags") || std::ranges::any_of(columns_.kept(), is);
  }

  static std::string_view text(const CsvRecord& r, const CurColumn& column) { return bill_field(r, column.index); }

  Status read_line(const CsvRecord& r) override {
    const std::string_view type = text(r, columns_.type);
    if (type.empty()) return invalid("{}: no value: Usage, Tax, … expected", columns_.type.name);
    const auto known = std::find_if(kLineTypes.begin(), kLineTypes.end(), [&](const LineType& t) { return t.name == type; });
    const LineType line_type = known == kLineTypes.end() ? LineType{type, ChargeCategory::kUsage, Amortised::kUnblended} : *known;
    line_.category = line_type.category;
    TRY(read_product(r));
    TRY(read_money(r, line_type));
    TRY(read_times(r));
    TRY(read_tags(r));
    read_texts(r);
    read_market(r, line_type);
    others_.add_to(line_, r);
    return {};
  }

  Status read_money(const CsvRecord& r, const LineType& type) {
    const auto currency = Currency::parse(text(r, columns_.currency));
    if (!currency.ok()) return in_column(columns_.currency.name, currency.error());
    currency_ = currency.value();
    // Split cost allocation adds rows that divide a machine among pods; only their parent row is charged.
    const bool split = !text(r, columns_.split_parent).empty() && text(r, columns_.unblended).empty();
    line_.billed = Money::nanos(0, currency_);
    if (!split) {
      TRY_ASSIGN(line_.billed, cost(r, columns_.unblended));
    }
    line_.effective = line_.billed;
    if (!split) {
      TRY_ASSIGN(line_.effective, effective_cost(r, type));
    }
    line_.list.reset();
    if (!text(r, columns_.list_cost).empty()) {
      TRY_ASSIGN(line_.list, cost(r, columns_.list_cost));
    }
    line_.quantity = text(r, columns_.quantity);
    line_.pricing_unit = text(r, columns_.unit);
    line_.list_unit_price.reset();
    if (is_hour_unit(line_.pricing_unit) && !text(r, columns_.list_rate).empty()) {
      TRY_ASSIGN(const Money rate, cost(r, columns_.list_rate));
      line_.list_unit_price = Rate::per_hour(rate);
    }
    return {};
  }

  Result<Money> cost(const CsvRecord& r, const CurColumn& column) const {
    if (column.index < 0)
      return invalid("{}: this column is not in the report and the line needs it: export it as well", column.name);
    return parse_cost(column.name, text(r, column), currency_);
  }

  Result<Money> cost_or_zero(const CsvRecord& r, const CurColumn& column) const {
    return text(r, column).empty() ? Result<Money>(Money::nanos(0, currency_)) : cost(r, column);
  }

  Result<Money> effective_cost(const CsvRecord& r, const LineType& type) const {
    switch (type.amortised) {
      case Amortised::kUnblended: {
        // The one-time fee of a reservation is spread over the usage it covers.
        const bool upfront = type.name == "Fee" && !text(r, columns_.reservation).empty();
        return upfront ? Money::nanos(0, currency_) : line_.billed;
      }
      case Amortised::kZero: return Money::nanos(0, currency_);
      case Amortised::kSavingsPlanCost: return cost(r, columns_.plan_cost);
      case Amortised::kSavingsPlanUnused: {
        TRY_ASSIGN(const Money total, cost(r, columns_.plan_total));
        TRY_ASSIGN(const Money used, cost(r, columns_.plan_used));
        return add_costs(columns_.plan_total.name, total, -used);
      }
      case Amortised::kReservationCost: return cost(r, columns_.reservation_cost);
      case Amortised::kReservationUnused: {
        TRY_ASSIGN(const Money recurring, cost(r, columns_.reservation_unused));
        TRY_ASSIGN(const Money upfront, cost_or_zero(r, columns_.reservation_unused_upfront));
        return add_costs(columns_.reservation_unused.name, recurring, upfront);
      }
    }
    CHECK(false, "amortised {}", static_cast<int>(type.amortised));
  }

  Status read_times(const CsvRecord& r) {
    const LocalZone& zoneless = options().zoneless;
    TRY_ASSIGN(line_.charge_period.begin, start_.parse(columns_.start.name, text(r, columns_.start), zoneless));
    TRY_ASSIGN(line_.charge_period.end, end_.parse(columns_.end.name, text(r, columns_.end), zoneless));
    if (line_.charge_period.empty())
      return invalid("{}: {} is not after the start {}", columns_.end.name, format_utc(line_.charge_period.end),
                     format_utc(line_.charge_period.begin));
    line_.billing_period = month_of(line_.charge_period.begin);
    if (!text(r, columns_.billing_start).empty()) {
      TRY_ASSIGN(line_.billing_period.begin,
                 billing_start_.parse(columns_.billing_start.name, text(r, columns_.billing_start), zoneless));
    }
    if (!text(r, columns_.billing_end).empty()) {
      TRY_ASSIGN(line_.billing_period.end,
                 billing_end_.parse(columns_.billing_end.name, text(r, columns_.billing_end), zoneless));
    }
    return {};
  }

  Status read_tags(const CsvRecord& r) {
    const auto map = tags_.parse(text(r, columns_.tags));
    if (!map.ok()) return in_column(columns_.tags.name, map.error());
    line_.tags.clear();
    for (const Tag& tag : *map.value())
      line_.tags.emplace_back(tag_key(tag.first), tag.second);
    for (const TagColumn& column : tag_columns_)
      if (const std::string_view value = bill_field(r, column.index); !value.empty()) line_.tags.emplace_back(column.key, value);
    read_split(r);
    return {};
  }

  /// What the row says of its share in another one; the ledger divides that one by it.
  void read_split(const CsvRecord& r) {
    if (text(r, columns_.split_parent).empty()) return;
    for (const auto& [key, column] :
         {std::pair(kSplitParentTag, &columns_.split_parent), std::pair(kSplitCostTag, &columns_.split_cost),
          std::pair(kSplitUnusedTag, &columns_.split_unused)})
      if (const std::string_view value = text(r, *column); !value.empty()) line_.tags.emplace_back(key, value);
  }

  /// The `product` map of CUR 2.0; stays empty for reports with a column per attribute.
  Status read_product(const CsvRecord& r) {
    const auto map = products_.parse(text(r, columns_.product));
    if (!map.ok()) return in_column(columns_.product.name, map.error());
    product_ = map.value();
    return {};
  }

  /// `column` where it says something, else `key` of the product map.
  std::string_view product_text(const CsvRecord& r, const CurColumn& column, std::string_view key) const {
    if (const std::string_view value = text(r, column); !value.empty()) return value;
    for (const Tag& attribute : *product_)
      if (plain_name(attribute.first) == key) return attribute.second;
    return {};
  }

  void read_texts(const CsvRecord& r) {
    line_.billing_account = text(r, columns_.payer);
    line_.sub_account = text(r, columns_.account);
    line_.invoice_id = text(r, columns_.invoice);
    line_.service = text(r, columns_.product_code);
    line_.description = text(r, columns_.description);
    line_.zone = text(r, columns_.zone);
    line_.resource_id = text(r, columns_.resource);
    line_.resource_type = text(r, columns_.usage_type);
    line_.service_category = product_text(r, columns_.family, "productfamily");
    if (line_.service_category.starts_with("Compute Instance")) line_.service_category = "Compute";
    line_.sku = product_text(r, columns_.sku, "sku");
    std::string_view region = product_text(r, columns_.region, "regioncode");
    if (region.empty()) region = product_text(r, columns_.legacy_region, "region");
    if (region.empty() && line_.zone.size() > 1) region = std::string_view(line_.zone).substr(0, line_.zone.size() - 1);
    line_.region = region;
    classifier_.classify(line_, product_text(r, columns_.instance_type, "instancetype"), line_.resource_type);
    if (contains_ignoring_case(text(r, columns_.entity), "marketplace")) line_.spend = SpendKind::kOther;
  }

  void read_market(const CsvRecord& r, const LineType& type) {
    const std::string_view reservation = text(r, columns_.reservation);
    line_.commitment_id = reservation.empty() ? text(r, columns_.plan) : reservation;
    // The fee lines carry, on the amortised basis, only what nothing used.
    line_.commitment_unused = type.amortised == Amortised::kSavingsPlanUnused || type.amortised == Amortised::kReservationUnused;
    line_.correction = type.name == "Refund";
    const std::string_view term = text(r, columns_.term);
    if (contains_ignoring_case(line_.resource_type, "SpotUsage") || equals_ignoring_case(term, "Spot"))
      line_.market = Market::kSpot;
    else if (!line_.commitment_id.empty() || equals_ignoring_case(term, "Reserved"))
      line_.market = Market::kReserved;
    else if (equals_ignoring_case(term, "OnDemand"))
      line_.market = Market::kOnDemand;
    else
      line_.market = Market::kUnknown;
  }

  CurColumns columns_;
  std::vector<TagColumn> tag_columns_;
  SourceColumns others_;
  Currency currency_;
  InstantField start_, end_, billing_start_, billing_end_;
  TagsField tags_, products_;
  const std::vector<Tag>* product_ = nullptr;  // of the row being read, inside products_
  LineClassifier classifier_;
};

}  // namespace

std::unique_ptr<Importer> make_cur_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<CurImporter>(options, sink);
}

}  // namespace stint
