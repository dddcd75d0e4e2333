// Formats: FOCUS 1.0 and 1.2, "Columns"; AWS Data Exports, "CUR 2.0 table dictionary".
#include "sim/story_bill.h"

#include <algorithm>

#include "base/check.h"
#include "sim/story_text.h"

namespace stint {
namespace {

/// Adds the lines of `present`, each `hours` long.
void add_node_lines(std::vector<StoryBillLine>& lines, const StoryNode& node, Interval present, int64_t hours) {
  const Duration length = kHour * hours;
  for (Instant begin = present.begin; begin < present.end; begin = begin + length)
    lines.push_back({{begin, begin + length}, &node, nullptr, hours, node.node.rate->over(length)});
}

struct ProviderNames {
  std::string_view id, provider, issuer, account, compute_service, resource_type;
};
constexpr ProviderNames kProviders[] = {
    {"aws", "AWS", "Amazon Web Services, Inc.", "482910337765", "Amazon Elastic Compute Cloud", "instance"},
    {"gcp", "Google Cloud", "Google Cloud", "01A2B3-C4D5E6-F70819", "Compute Engine", "Instance"},
    {"azure", "Microsoft", "Microsoft", "/providers/Microsoft.Billing/billingAccounts/7724001", "Virtual Machines",
     "Virtual machine"},
};

const ProviderNames& names_of(std::string_view provider) {
  const auto found = std::ranges::find(kProviders, provider, &ProviderNames::id);
  CHECK(found != std::end(kProviders), "a story names the provider {}", provider);
  return *found;
}

/// The fields FOCUS asks for, whichever of the two kinds a line is.
struct FocusRow {
  std::string description, unit, price, region, zone, resource_id, resource_name, resource_type, category, service, sku, details,
      tags;
};

std::string tags_json(const std::vector<Tag>& tags) {
  std::string json = "{";
  for (const auto& [key, value] : tags)
    json += fmt::format(R"({}"{}":"{}")", json.size() > 1 ? "," : "", key, value);
  return json + "}";
}

FocusRow row_of(const StoryBillLine& line, const ProviderNames& names) {
  FocusRow row;
  if (line.charge != nullptr) {
    const StoryCharge& charge = *line.charge;
    row.description = charge.description;
    row.unit = charge.unit;
    row.price = charge.unit_price.to_decimal();
    row.region = charge.region;
    row.category = charge.service_category;
    row.service = charge.service;
    row.sku = charge.usage_type;
    row.tags = "{}";
    return row;
  }
  const Node& node = line.node->node;
  row.price = node.rate->per_hour().to_decimal();
  row.description = fmt::format("${} per On Demand Linux {} Instance Hour", row.price, node.instance_type);
  row.unit = "Hours";
  row.region = node.region;
  row.zone = node.zone;
  row.resource_id = node.resource_id;
  row.resource_name = node.name;
  row.resource_type = names.resource_type;
  row.category = "Compute";
  row.service = names.compute_service;
  row.sku = node.instance_type;
  row.details = fmt::format(R"({{"InstanceType":"{}"}})", node.instance_type);
  row.tags = tags_json(line.node->bill_tags);
  return row;
}

constexpr std::string_view kFocusColumns =
    "BilledCost,BillingAccountId,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargeCategory,ChargeClass,"
    "ChargeDescription,"
    "ChargeFrequency,ChargePeriodStart,ChargePeriodEnd,CommitmentDiscountId,CommitmentDiscountStatus,ConsumedQuantity,"
    "ConsumedUnit,"
    "ContractedCost,EffectiveCost,InvoiceIssuerName,ListCost,ListUnitPrice,PricingCategory,PricingQuantity,PricingUnit,"
    "ProviderName,"
    "PublisherName,RegionId,AvailabilityZone,ResourceId,ResourceName,ResourceType,ServiceCategory,ServiceName,SkuId,Tags";

/// `resource_tags` of a line: those keys that any machine of the account carries.
std::vector<std::string> tag_keys(const Story& story) {
  std::vector<std::string> keys;
  for (const StoryNode& node : story.nodes)
    if (node.node.provider == "aws")
      for (const Tag& tag : node.bill_tags)
        if (std::ranges::find(keys, tag.first) == keys.end()) keys.push_back(tag.first);
  return keys;
}

std::string tag_value(const StoryBillLine& line, std::string_view key) {
  if (line.node == nullptr) return "";
  const auto found = std::ranges::find(line.node->bill_tags, key, &Tag::first);
  return found == line.node->bill_tags.end() ? "" : found->second;
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::vector<StoryBillLine> bill_lines(const Story& story, std::string_view provider) {
  std::vector<StoryBillLine> lines;
  for (const StoryNode& node : story.nodes) {
    if (!provider.empty() && node.node.provider != provider) continue;
    const bool all_month = node.present.size() == 1 && node.present.front() == story.period;
    for (const Interval present : node.present)
      add_node_lines(lines, node, present, all_month ? 24 : 1);
  }
  for (const StoryCharge& charge : story.charges)
    if (provider.empty() || charge.provider == provider)
      lines.push_back({story.period, nullptr, &charge, charge.quantity, charge.amount});
  return lines;
}

void write_focus(const Story& story, std::string_view provider, FocusVersion version, const TextOut& out) {
  const ProviderNames& names = names_of(provider);
  const bool details = version == FocusVersion::k1_2;
  StoryText text(out);
  text.add("{}{}\n", kFocusColumns, details ? ",SkuMeter,SkuPriceDetails" : "");
  const std::string begin = format_utc(story.period.begin), end = format_utc(story.period.end);
  for (const StoryBillLine& line : bill_lines(story, provider)) {
    const FocusRow row = row_of(line, names);
    const std::string amount = line.amount.to_decimal();
    text.add("{},{},USD,{},{},Usage,,{},Usage-Based,{},{},,,{},{},", amount, names.account, begin, end,
             csv_field(row.description), format_utc(line.period.begin), format_utc(line.period.end), line.quantity, row.unit);
    text.add("{},{},{},{},{},Standard,{},{},{},{},", amount, amount, csv_field(names.issuer), amount, row.price, line.quantity,
             row.unit, names.provider, csv_field(names.issuer));
    text.add("{},{},{},{},{},{},{},{},{}", row.region, row.zone, row.resource_id, row.resource_name, row.resource_type,
             row.category, row.service, row.sku, csv_field(row.tags));
    if (details) text.add(",{},{}", row.sku, csv_field(row.details));
    text.add("\n");
  }
}

void write_cur(const Story& story, const TextOut& out) {
  const std::vector<std::string> keys = tag_keys(story);
  StoryText text(out);
  text.add(
      "bill_bill_type,bill_billing_period_start_date,bill_billing_period_end_date,bill_payer_account_id,line_item_usage_account_"
      "id,"
      "line_item_line_item_type,line_item_usage_start_date,line_item_usage_end_date,line_item_product_code,line_item_usage_type,"
      "line_item_operation,line_item_availability_zone,line_item_resource_id,line_item_usage_amount,line_item_currency_code,"
      "line_item_unblended_rate,line_item_unblended_cost,line_item_line_item_description,pricing_term,pricing_unit,"
      "pricing_public_on_demand_cost,product_instance_type,product_region_code,product_product_family");
  for (const std::string& key : keys)
    text.add(",resource_tags_user_{}", key);
  text.add("\n");
  const std::string begin = format_utc(story.period.begin), end = format_utc(story.period.end);
  const std::string_view account = names_of("aws").account;
  for (const StoryBillLine& line : bill_lines(story, "aws")) {
    const FocusRow row = row_of(line, names_of("aws"));
    const bool instance = line.node != nullptr;
    const std::string amount = line.amount.to_decimal();
    text.add("Anniversary,{},{},{},{},Usage,{},{},", begin, end, account, account, format_utc(line.period.begin),
             format_utc(line.period.end));
    text.add("{},{},{},{},{},", instance ? "AmazonEC2" : row.service, instance ? "BoxUsage:" + row.sku : row.sku,
             instance ? "RunInstances" : "", row.zone, row.resource_id);
    text.add("{},USD,{},{},{},OnDemand,{},{},", line.quantity, row.price, amount, csv_field(row.description),
             instance ? "Hrs" : row.unit, amount);
    text.add("{},{},{}", instance ? row.sku : "", row.region, instance ? "Compute Instance" : row.category);
    for (const std::string& key : keys)
      text.add(",{}", tag_value(line, key));
    text.add("\n");
  }
}

}  // namespace stint
