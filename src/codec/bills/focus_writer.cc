#include "codec/bills/focus_writer.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "catalog/providers/provider.h"
#include "codec/bills/source_columns.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 63> kFocusColumnNames = {"AllocatedMethodDetails",
                                                                "AllocatedMethodId",
                                                                "AllocatedResourceId",
                                                                "AllocatedResourceName",
                                                                "AllocatedTags",
                                                                "AvailabilityZone",
                                                                "BilledCost",
                                                                "BillingAccountId",
                                                                "BillingAccountName",
                                                                "BillingCurrency",
                                                                "BillingPeriodEnd",
                                                                "BillingPeriodStart",
                                                                "ChargeCategory",
                                                                "ChargeClass",
                                                                "ChargeDescription",
                                                                "ChargePeriodEnd",
                                                                "ChargePeriodStart",
                                                                "CommitmentDiscountCategory",
                                                                "CommitmentDiscountId",
                                                                "CommitmentDiscountName",
                                                                "CommitmentDiscountStatus",
                                                                "CommitmentDiscountType",
                                                                "ConsumedQuantity",
                                                                "ConsumedUnit",
                                                                "ContractedCost",
                                                                "ContractedUnitPrice",
                                                                "EffectiveCost",
                                                                "HostProviderName",
                                                                "InvoiceId",
                                                                "InvoiceIssuerName",
                                                                "ListCost",
                                                                "ListUnitPrice",
                                                                "PricingCategory",
                                                                "PricingQuantity",
                                                                "PricingUnit",
                                                                "ProviderName",
                                                                "PublisherName",
                                                                "RegionId",
                                                                "RegionName",
                                                                "ResourceId",
                                                                "ResourceName",
                                                                "ResourceType",
                                                                "ServiceCategory",
                                                                "ServiceName",
                                                                "ServiceProviderName",
                                                                "SkuId",
                                                                "SkuPriceId",
                                                                "SubAccountId",
                                                                "SubAccountName",
                                                                "Tags",
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
                                                                "x_WorkloadKind"};

/// How providers call themselves in FOCUS.
std::string_view provider_name(std::string_view canonical) {
  if (canonical == "oci") return "Oracle";
  const std::string_view name = provider_of(canonical).facts().name_in_bills;
  return name.empty() ? canonical : name;
}

std::string_view pricing_category(Market market) {
  switch (market) {
    case Market::kOnDemand: return "Standard";
    case Market::kSpot: return "Dynamic";
    case Market::kReserved: return "Committed";
    case Market::kOwned: return "Other";
    case Market::kUnknown: return "";
  }
  CHECK(false, "market {}", static_cast<int>(market));
}

/// One of the categories that FOCUS allows: that of the bill, else by what the line bought.
std::string_view focus_category(const BillLine& line) {
  constexpr std::array<std::string_view, 19> kCategories = {"AI and Machine Learning",
                                                            "Analytics",
                                                            "Business Applications",
                                                            "Compute",
                                                            "Databases",
                                                            "Developer Tools",
                                                            "Multicloud",
                                                            "Identity",
                                                            "Integration",
                                                            "Internet of Things",
                                                            "Management and Governance",
                                                            "Media",
                                                            "Migration",
                                                            "Mobile",
                                                            "Networking",
                                                            "Security",
                                                            "Storage",
                                                            "Web",
                                                            "Other"};
  if (std::ranges::find(kCategories, line.service_category) != kCategories.end()) return line.service_category;
  switch (line.spend) {
    case SpendKind::kCompute: return "Compute";
    case SpendKind::kStorage: return "Storage";
    case SpendKind::kTransfer: return "Networking";
    case SpendKind::kOther: return "Other";
  }
  CHECK(false, "spend {}", static_cast<int>(line.spend));
}

/// Where the commitment's own name tells: a plan is of spend, a reservation of usage.
std::string_view commitment_category(std::string_view id) {
  if (contains_ignoring_case(id, "savingsplan") || contains_ignoring_case(id, "savings-plan")) return "Spend";
  if (contains_ignoring_case(id, "reserved-instances") || contains_ignoring_case(id, "reservation")) return "Usage";
  return "";
}

std::string written_json(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_of(const std::vector<Tag>& tags) {
  if (tags.empty()) return {};
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [key, value] : tags)
    if (key != kSourceColumnsTag) object[key] = value;
  return object.empty() ? std::string() : written_json(object);
}

std::vector<Tag> tags_of(const Tenant& tenant) {
  std::vector<Tag> tags;
  for (const TenantDimension d : kTenantDimensions)
    if (!get(tenant, d).empty()) tags.emplace_back(name_of(d), get(tenant, d));
  return tags;
}

/// `whole` over the postings of a line in proportion to their amounts; all on the first when they are all zero.
std::vector<Money> divided(Money whole, std::span<const Posting> postings) {
  std::vector<int64_t> weights;
  bool any = false;
  for (const Posting& posting : postings) {
    const int64_t nanos = posting.amount.count_nanos();
    weights.push_back(nanos < 0 ? -nanos : nanos);
    any |= nanos != 0;
  }
  if (!any) weights.front() = 1;
  return split_by_largest_remainder(whole, weights);
}

/// What a line's postings share: costs and quantity divided, one entry a posting.
struct Division {
  std::vector<Money> billed, effective, list, contracted;
  std::vector<std::string> quantity;
};

Division divide(const BillLine& line, CostBasis basis, std::span<const Posting> postings) {
  Division d;
  std::vector<Money> own;
  for (const Posting& posting : postings)
    own.push_back(posting.amount);
  // Postings may be in another currency than the bill.
  const auto cost = [&](CostBasis of, Money whole) {
    return basis == of && whole.currency() == own.front().currency() ? own : divided(whole, postings);
  };
  d.billed = cost(CostBasis::kBilled, line.billed);
  d.effective = cost(CostBasis::kEffective, line.effective);
  if (line.list) d.list = divided(*line.list, postings);
  if (line.contracted) d.contracted = divided(*line.contracted, postings);
  const auto quantity = Money::parse(line.quantity);
  if (postings.size() > 1 && quantity.ok())
    for (const Money part : divided(quantity.value(), postings))
      d.quantity.push_back(part.to_decimal());
  else
    d.quantity.assign(postings.size(), line.quantity);
  return d;
}

class Writer {
 public:
  Writer(const Ledger& ledger, std::span<const Node> nodes, const std::function<void(std::string_view)>& out)
      : ledger_(ledger), nodes_(nodes), out_(out) {}

  void write() {
    for (const std::string_view name : kFocusColumnNames)
      field(name);
    end_row();
    const std::span<const Posting> all = ledger_.postings;
    size_t begin = 0;
    for (uint32_t line = 0; line < ledger_.lines.size(); ++line) {
      size_t end = begin;
      while (end < all.size() && all[end].bill_line == line)
        ++end;
      if (begin == end)
        write_unallocated(line);
      else
        write_line(line, all.subspan(begin, end - begin));
      begin = end;
    }
    out_(text_);
  }

 private:
  /// A line of no amount on the ledger's basis, such as a purchase that is amortised: it has no owner, and is a row all the same.
  void write_unallocated(uint32_t index) {
    const BillLine& line = ledger_.lines[index];
    Posting whole;
    whole.bill_line = index;
    whole.spend = line.spend;
    whole.amount = ledger_.line_amounts[index];
    write_line(index, std::span(&whole, 1));
  }

  void write_line(size_t index, std::span<const Posting> postings) {
    const BillLine& line = ledger_.lines[index];
    const Division division = divide(line, ledger_.basis, postings);
    const NodeId node = ledger_.line_nodes[index];
    const std::string_view gpu = node.valid() ? std::string_view(nodes_[node.index()].gpu_model) : std::string_view();
    const std::string tags = json_of(line.tags);
    read_source(line, postings);
    for (size_t i = 0; i < postings.size(); ++i) {
      write_allocation(postings[i]);
      write_charge(line, division, i, tags);
      write_own(line, postings[i], gpu);
      end_row();
    }
  }

  /// What the bill said in columns that the line has no place for.
  void read_source(const BillLine& line, std::span<const Posting> postings) {
    source_text_ = {};
    source_ = nlohmann::json();
    consumed_.clear();
    for (const Tag& tag : line.tags)
      if (tag.first == kSourceColumnsTag) source_text_ = tag.second;
    if (source_text_.empty()) return;
    source_ = nlohmann::json::parse(source_text_.begin(), source_text_.end(), nullptr, false);
    const auto quantity = Money::parse(source("ConsumedQuantity"));
    if (postings.size() > 1 && quantity.ok())
      for (const Money part : divided(*quantity, postings))
        consumed_.push_back(part.to_decimal());
  }
  /// @return valid until the next line.
  [[nodiscard]] std::string_view source(const char* column) const {
    if (!source_.is_object()) return {};
    const auto at = source_.find(column);
    return at == source_.end() || !at->is_string() ? std::string_view() : std::string_view(at->get_ref<const std::string&>());
  }
  [[nodiscard]] std::string_view source_or(const char* column, std::string_view otherwise) const {
    const std::string_view said = source(column);
    return said.empty() ? otherwise : said;
  }

  // The three parts of a row, in the order of kFocusColumnNames.
  void write_allocation(const Posting& posting) {
    if (!posting.tenant.valid()) {
      for (int i = 0; i < 5; ++i)
        field("");
      return;
    }
    const Tenant& tenant = ledger_.tenants[posting.tenant];
    const bool to_someone = !tenant.empty();
    std::string path;
    for (const TenantDimension d : kTenantDimensions)
      if (!get(tenant, d).empty()) path += (path.empty() ? "" : "/") + get(tenant, d);
    const std::string_view method = posting.shared ? "stint-share-of-gpu-cost" : "stint-gpu-hours";
    field(written_json({{"basis", ledger_.basis == CostBasis::kEffective ? "EffectiveCost" : "BilledCost"},
                        {"idleCause", name_of(posting.cause)}}));
    field(method);
    field(path);
    field(to_someone ? (tenant.workload.empty() ? path : tenant.workload) : "");
    field(json_of(tags_of(tenant)));
  }

  void write_charge(const BillLine& line, const Division& d, size_t i, std::string_view tags) {
    assumed_.clear();
    field(line.zone);
    field(d.billed[i].to_decimal());
    field(given_or("BillingAccountId", line.billing_account, "unknown"));
    field(source("BillingAccountName"));
    field(d.billed[i].currency().code());
    field(format_utc(line.billing_period.end));
    field(format_utc(line.billing_period.begin));
    field(name_of(line.category));
    field(line.correction ? "Correction" : "");
    field(line.description);
    field(format_utc(line.charge_period.end));
    field(format_utc(line.charge_period.begin));
    field(source_or("CommitmentDiscountCategory", commitment_category(line.commitment_id)));
    field(line.commitment_id);
    field(source("CommitmentDiscountName"));
    field(line.commitment_unused ? "Unused" : line.commitment_id.empty() ? "" : "Used");
    field(source("CommitmentDiscountType"));
    field(consumed_.empty() ? source("ConsumedQuantity") : consumed_[i]);
    field(source("ConsumedUnit"));
    // FOCUS wants a list and a contracted cost on every row: where the bill has none, what was paid.
    const Money paid = line.category == ChargeCategory::kUsage ? d.effective[i] : d.billed[i];
    if (!line.contracted) assume("ContractedCost");
    field((line.contracted ? d.contracted[i] : paid).to_decimal());
    field(source("ContractedUnitPrice"));
    field(d.effective[i].to_decimal());
    const std::string provider(provider_name(line.provider));
    field(given_or("ProviderName", source_or("HostProviderName", provider), "unknown"));
    field(line.invoice_id);
    field(given_or("", source_or("InvoiceIssuerName", provider), "unknown"));
    if (!line.list) assume("ListCost");
    field((line.list ? d.list[i] : paid).to_decimal());
    field(source_or("ListUnitPrice", line.list_unit_price ? line.list_unit_price->per_hour().to_decimal() : std::string()));
    field(source_or("PricingCategory", pricing_category(line.market)));
    field(d.quantity[i]);
    field(line.pricing_unit);
    field(given_or("", source_or("ProviderName", provider), "unknown"));
    field(given_or("", source_or("PublisherName", provider), "unknown"));
    field(line.region);
    field(source_or("RegionName", line.region));
    field(line.resource_id);
    field(line.resource_name);
    field(line.resource_type);
    if (line.service_category.empty()) assume("ServiceCategory");
    field(focus_category(line));
    field(given_or("ServiceName", line.service, "unknown"));
    field(given_or("", source_or("ServiceProviderName", provider), "unknown"));
    field(line.sku);
    field(source("SkuPriceId"));
    field(line.sub_account);
    field(source("SubAccountName"));
    field(tags);
  }

  /// Notes that a column holds what the bill did not give.
  void assume(std::string_view column) { assumed_ += fmt::format("{}{}", assumed_.empty() ? "" : " ", column); }

  /// For columns that must not be empty. @param column  "" = it is noted by another one.
  std::string_view given_or(std::string_view column, std::string_view given, std::string_view otherwise) {
    if (!given.empty()) return given;
    if (!column.empty()) assume(column);
    return otherwise;
  }

  void write_own(const BillLine& line, const Posting& posting, std::string_view gpu_model) {
    static const Tenant kNoTenant;
    const Tenant& tenant = posting.tenant.valid() ? ledger_.tenants[posting.tenant] : kNoTenant;
    field(assumed_);
    field(tenant.client);
    field(tenant.environment);
    field(gpu_model);
    field(posting.cause == IdleCause::kNone ? "" : name_of(posting.cause));
    field(line.instance_type);
    field(tenant.project);
    field(focus_category(line) == line.service_category ? "" : line.service_category);
    field(source_text_);
    field(name_of(posting.spend));
    field(tenant.team);
    field(tenant.workload);
    field(posting.kind == WorkloadKind::kUnknown ? "" : name_of(posting.kind));
  }

  void field(std::string_view value) {
    ++fields_;
    if (value.find_first_of(",\"\r\n") == std::string_view::npos) {
      text_ += value;
    } else {
      text_ += '"';
      for (const char c : value)
        text_.append(c == '"' ? 2 : 1, c);
      text_ += '"';
    }
    text_ += ',';
  }

  void end_row() {
    CHECK(fields_ == kFocusColumnNames.size(), "{} fields for {} columns", fields_, kFocusColumnNames.size());
    fields_ = 0;
    text_.back() = '\n';
    if (text_.size() < kPieceBytes) return;
    out_(text_);
    text_.clear();
  }

  static constexpr size_t kPieceBytes = 64 << 10;
  const Ledger& ledger_;
  std::span<const Node> nodes_;
  const std::function<void(std::string_view)>& out_;
  std::string text_;
  std::string assumed_;  // columns of the row
  std::string_view source_text_;
  nlohmann::json source_;
  std::vector<std::string> consumed_;  // per posting
  size_t fields_ = 0;
};

}  // namespace

void write_focus_ledger(const Ledger& ledger, std::span<const Node> nodes, const std::function<void(std::string_view)>& out) {
  Writer(ledger, nodes, out).write();
}

}  // namespace stint
