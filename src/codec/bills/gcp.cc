// The BigQuery export of a Google Cloud bill, standard or detailed usage cost, as JSON lines or as CSV. Source: Google Cloud, "Structure
// of detailed data export". A credit is another line beside the usage it is given for, negative, so both are seen. Columns of CSV
// are called `service.description` or `service_description`; labels and credits are JSON in one field.
#include <simdjson.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/bills/bill_fields.h"
#include "codec/bills/bill_guess.h"
#include "codec/bills/json_table.h"
#include "codec/bills/source_columns.h"
#include "codec/csv_importer.h"

namespace stint {
namespace {

enum class GcpField : size_t {
  kAccount,
  kService,
  kSku,
  kSkuId,
  kStart,
  kEnd,
  kProject,
  kProjectLabels,
  kLabels,
  kSystemLabels,
  kRegion,
  kZone,
  kResource,
  kResourceGlobal,
  kCost,
  kCostAtList,
  kCurrency,
  kAmount,
  kUnit,
  kCredits,
  kMonth,
  kCostType,
  kAdjustment,
  kPublisher,
  kCount
};

constexpr std::array<std::string_view, static_cast<size_t>(GcpField::kCount)> kGcpNames = {"billing_account_id",
                                                                                           "service.description",
                                                                                           "sku.description",
                                                                                           "sku.id",
                                                                                           "usage_start_time",
                                                                                           "usage_end_time",
                                                                                           "project.id",
                                                                                           "project.labels",
                                                                                           "labels",
                                                                                           "system_labels",
                                                                                           "location.region",
                                                                                           "location.zone",
                                                                                           "resource.name",
                                                                                           "resource.global_name",
                                                                                           "cost",
                                                                                           "cost_at_list",
                                                                                           "currency",
                                                                                           "usage.amount_in_pricing_units",
                                                                                           "usage.pricing_unit",
                                                                                           "credits",
                                                                                           "invoice.month",
                                                                                           "cost_type",
                                                                                           "adjustment_info.type",
                                                                                           "invoice.publisher_type"};
constexpr std::array<std::string_view, 6> kGcpRequired = {
    "billing_account_id", "service.description", "usage_start_time", "usage_end_time", "cost", "currency"};

std::string gcp_key(std::string_view name) {
  std::string out = to_lower(name);
  std::ranges::replace(out, '.', '_');
  return out;
}

class GcpImporter final : public CsvImporter {
 public:
  GcpImporter(const ImportOptions& options, Sink& sink) : CsvImporter({}, options, sink) { line_.provider = "gcp"; }

 private:
  Status read_header(const CsvRecord& record) override {
    TRY_ASSIGN(const CsvHeader header, CsvHeader::create(record, {}));
    for (size_t i = 0; i < columns_.size(); ++i) {
      const auto at = std::ranges::find(header.names(), gcp_key(kGcpNames[i]), gcp_key);
      columns_[i] = at == header.names().end() ? -1 : static_cast<int>(at - header.names().begin());
    }
    std::string missing;
    for (const std::string_view name : kGcpRequired)
      if (columns_[static_cast<size_t>(std::ranges::find(kGcpNames, name) - kGcpNames.begin())] < 0)
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
    if (!missing.empty()) return wrong_bill("gcp", header, missing);
    others_.read_header(header, [&](const std::string& name) { return is_kept(header.find(name)); });
    return {};
  }

  /// Does a line keep all that the column says?
  [[nodiscard]] bool is_kept(int column) const {
    constexpr std::array kMapped = {GcpField::kSystemLabels, GcpField::kCredits, GcpField::kCostType, GcpField::kAdjustment,
                                    GcpField::kPublisher};
    const auto is = [&](GcpField field) { return columns_[static_cast<size_t>(field)] == column; };
    return std::ranges::find(columns_, column) != columns_.end() && std::ranges::none_of(kMapped, is);
  }

  void read_row(const CsvRecord& record) override {
    credits_.clear();
    const Status done = read_line(record);
    if (!done.ok()) return reject(record, done.error().message);
    sink().bill_line(line_);
    for (BillLine& credit : credits_)
      sink().bill_line(credit);
  }

  [[nodiscard]] std::string_view text(const CsvRecord& r, GcpField field) const {
    return bill_field(r, columns_[static_cast<size_t>(field)]);
  }
  static std::string_view name(GcpField field) { return kGcpNames[static_cast<size_t>(field)]; }

  Status read_line(const CsvRecord& r) {
    TRY(read_times(r));
    TRY(read_money(r));
    TRY(read_tags(r));
    TRY(read_texts(r));
    TRY(read_credits(text(r, GcpField::kCredits)));
    others_.add_to(line_, r);
    return {};
  }

  Status read_times(const CsvRecord& r) {
    const LocalZone& zoneless = options().zoneless;
    TRY_ASSIGN(line_.charge_period.begin, start_.parse(name(GcpField::kStart), text(r, GcpField::kStart), zoneless));
    TRY_ASSIGN(line_.charge_period.end, end_.parse(name(GcpField::kEnd), text(r, GcpField::kEnd), zoneless));
    if (line_.charge_period.empty())
      return invalid("usage_end_time: {} is not after the start {}", format_utc(line_.charge_period.end),
                     format_utc(line_.charge_period.begin));
    line_.billing_period = month_of(line_.charge_period.begin);
    if (const std::string_view month = text(r, GcpField::kMonth); !month.empty()) {
      const auto parsed = month.size() == 6 ? parse_month(fmt::format("{}-{}", month.substr(0, 4), month.substr(4)))
                                            : Result<Interval>(invalid("no month"));
      if (!parsed.ok()) return invalid("invoice.month: '{}' is no month such as 202610", excerpt(month));
      line_.billing_period = *parsed;
    }
    return {};
  }

  Status read_money(const CsvRecord& r) {
    const auto currency = Currency::parse(text(r, GcpField::kCurrency));
    if (!currency.ok()) return in_column("currency", currency.error());
    TRY_ASSIGN(line_.billed, parse_cost("cost", text(r, GcpField::kCost), *currency));
    line_.effective = line_.billed;
    line_.list.reset();
    if (const std::string_view list = text(r, GcpField::kCostAtList); !list.empty()) {
      TRY_ASSIGN(line_.list, parse_cost("cost_at_list", list, *currency));
    }
    const std::string_view type = text(r, GcpField::kCostType);
    line_.correction = !text(r, GcpField::kAdjustment).empty();
    line_.category = equals_ignoring_case(type, "tax") ? ChargeCategory::kTax
                     : equals_ignoring_case(type, "adjustment") || equals_ignoring_case(type, "rounding_error")
                         ? ChargeCategory::kAdjustment
                         : ChargeCategory::kUsage;
    line_.quantity = text(r, GcpField::kAmount);
    line_.pricing_unit = text(r, GcpField::kUnit);
    return {};
  }

  Status read_tags(const CsvRecord& r) {
    line_.tags.clear();
    for (const GcpField field : {GcpField::kLabels, GcpField::kProjectLabels}) {
      const auto labels = tags_.parse(text(r, field));
      if (!labels.ok()) return in_column(name(field), labels.error());
      for (const Tag& label : *labels.value()) {
        const auto same = [&](const Tag& tag) { return tag.first == label.first; };
        if (std::ranges::none_of(line_.tags, same)) line_.tags.push_back(label);
      }
    }
    return {};
  }

  Status read_texts(const CsvRecord& r) {
    line_.billing_account = text(r, GcpField::kAccount);
    line_.sub_account = text(r, GcpField::kProject);
    line_.service = text(r, GcpField::kService);
    line_.service_category = line_.service == "Compute Engine" ? "Compute" : std::string_view();
    line_.description = text(r, GcpField::kSku);
    line_.sku = text(r, GcpField::kSkuId);
    line_.region = text(r, GcpField::kRegion);
    line_.zone = text(r, GcpField::kZone);
    line_.resource_name = text(r, GcpField::kResource);
    line_.resource_id = text(r, GcpField::kResourceGlobal);
    if (line_.resource_id.empty()) line_.resource_id = line_.resource_name;
    const auto system = tags_.parse(text(r, GcpField::kSystemLabels));
    if (!system.ok()) return in_column("system_labels", system.error());
    std::string_view type;
    for (const Tag& label : *system.value())
      if (label.first == "compute.googleapis.com/machine_spec") type = label.second;
    classifier_.classify(line_, type, {});
    if (contains_ignoring_case(text(r, GcpField::kPublisher), "PARTNER")) line_.spend = SpendKind::kOther;
    const std::string_view sku = line_.description;
    line_.market = contains_ignoring_case(sku, "Preemptible") || contains_ignoring_case(sku, "Spot ") ? Market::kSpot
                   : contains_ignoring_case(sku, "Commitment")                                        ? Market::kReserved
                   : line_.spend == SpendKind::kCompute                                               ? Market::kOnDemand
                                                                                                      : Market::kUnknown;
    return {};
  }

  /// Each credit of the row as a line beside it.
  Status read_credits(std::string_view json) {
    if (json.empty() || json == "[]") return {};
    simdjson::dom::array credits;
    if (parser_.parse(json.data(), json.size()).get(credits) != simdjson::SUCCESS)
      return invalid("credits: '{}' is no JSON array: select TO_JSON_STRING(credits)", excerpt(json));
    for (const simdjson::dom::element credit : credits) {
      const auto member = [&](const char* key) {
        std::string_view value;
        return credit[key].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
      };
      std::string amount = member("amount");
      double number = 0;
      if (amount.empty() && credit["amount"].get(number) == simdjson::SUCCESS) amount = fmt::format("{}", number);
      TRY_ASSIGN(const Money money, parse_cost("credits.amount", amount, line_.billed.currency()));
      BillLine line = line_;
      line.category = ChargeCategory::kCredit;
      line.billed = line.effective = money;
      line.list.reset();
      line.quantity.clear();
      line.pricing_unit.clear();
      const std::string type = member("type"), full_name = member("full_name");
      const std::string what = full_name.empty() ? member("name") : full_name;
      line.description = type.empty() ? "CREDIT" : type;
      if (!what.empty()) line.description += ": " + what;
      if (type.starts_with("COMMITTED_USAGE_DISCOUNT")) line.market = Market::kReserved, line.commitment_id = member("id");
      credits_.push_back(std::move(line));
    }
    return {};
  }

  std::array<int, kGcpNames.size()> columns_{};
  SourceColumns others_;
  BillLine line_;
  std::vector<BillLine> credits_;
  InstantField start_, end_;
  TagsField tags_;
  LineClassifier classifier_;
  simdjson::dom::parser parser_;
};

}  // namespace

std::unique_ptr<Importer> make_gcp_importer(const ImportOptions& options, Sink& sink) {
  return make_csv_or_json_importer(
      options, sink, {kGcpNames, kGcpRequired, kRestColumn},
      [](const ImportOptions& o, Sink& s) -> std::unique_ptr<Importer> { return std::make_unique<GcpImporter>(o, s); });
}

}  // namespace stint
