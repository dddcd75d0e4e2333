#include "codec/bills/bill_guess.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace stint {
namespace {

struct KnownBill {
  std::string_view format;
  std::string_view what;
  std::string_view where;                 ///< what to export, and where
  std::array<std::string_view, 4> signs;  ///< columns of which each alone tells; "" = none
};

constexpr std::array<KnownBill, 5> kKnownBills = {{
    {"cur",
     "AWS Cost and Usage Report",
     "in AWS: Billing and Cost Management > Data Exports > Create, CUR 2.0 with resource IDs, as gzip CSV or Parquet",
     {"line_item_line_item_type", "lineItem/LineItemType", "line_item_unblended_cost", "lineItem/UnblendedCost"}},
    {"focus",
     "FOCUS bill",
     "in AWS: Billing and Cost Management > Data Exports > Create, FOCUS; in Azure: Cost Management > Exports > Create, Cost and "
     "usage "
     "details (FOCUS); in Google Cloud: Billing > Billing export, with the FOCUS view in BigQuery",
     {"ChargePeriodStart", "BilledCost", "", ""}},
    {"azure",
     "Azure cost export",
     "in Azure: Cost Management > Exports > Create, Cost and usage details (amortized), as CSV",
     {"CostInBillingCurrency", "PreTaxCost", "MeterCategory", "MeterSubCategory"}},
    {"azure-actual",
     "Azure cost export",
     "in Azure: Cost Management > Exports > Create, Cost and usage details (usage only, actual), as CSV",
     {"", "", "", ""}},
    {"gcp",
     "BigQuery export of a Google Cloud bill",
     "in Google Cloud: Billing > Billing export > BigQuery export, Detailed usage cost; then `bq extract --destination_format "
     "NEWLINE_DELIMITED_JSON --compression GZIP`",
     {"usage_start_time", "usage.amount", "project.id", "cost_at_list"}},
}};

const KnownBill& known_bill(std::string_view format) {
  const auto at = std::ranges::find(kKnownBills, format, &KnownBill::format);
  CHECK(at != kKnownBills.end(), "no bill format {}", format);
  return *at;
}

}  // namespace

std::string missing_columns(const CsvHeader& header, std::span<const std::string_view> required) {
  std::string missing;
  for (const std::string_view name : required)
    if (header.find(name) < 0) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  return missing;
}

Error wrong_bill(std::string_view format, const CsvHeader& header, std::string_view missing) {
  const KnownBill& wanted = known_bill(format);
  for (const KnownBill& other : kKnownBills) {
    const bool is_it =
        std::ranges::any_of(other.signs, [&](std::string_view sign) { return !sign.empty() && header.find(sign) >= 0; });
    if (is_it && other.what != wanted.what)
      return invalid("no {}, but it looks like an export for `stint import {}`: import it with that", wanted.what, other.format);
  }
  return invalid("no {}: column{} {} missing. Export it {}", wanted.what, missing.find(',') == std::string_view::npos ? "" : "s",
                 missing, wanted.where);
}

std::string_view binary_kind(std::string_view bytes) {
  if (bytes.starts_with("PAR1")) return "a Parquet file in an archive or a pipe (give the file itself)";
  if (bytes.starts_with("%PDF")) return "a PDF document";
  if (bytes.starts_with("\xD0\xCF\x11\xE0")) return "an Excel workbook";
  if (bytes.starts_with("SQLite format 3")) return "a SQLite database";
  if (bytes.starts_with("\x28\xB5\x2F\xFD")) return "packed with zstd";
  if (bytes.starts_with("BZh")) return "packed with bzip2";
  if (bytes.starts_with("\xFD"
                        "7zXZ"))
    return "packed with xz";
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) return "text in UTF-16";
  if (trim(bytes).starts_with("<")) return "a web page or XML";
  if (bytes.substr(0, 512).find('\0') != std::string_view::npos) return "no text";
  return {};
}

}  // namespace stint
