// One line of a provider's bill, in FOCUS terms. Importers of other formats translate into these.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/money.h"
#include "base/time.h"
#include "model/fleet.h"
#include "model/tenant.h"

namespace stint {

enum class ChargeCategory { kUsage, kPurchase, kTax, kCredit, kAdjustment };
std::string_view name_of(ChargeCategory c);  // FOCUS spelling: "Usage", …
Result<ChargeCategory> parse_charge_category(std::string_view text);

/// What the money bought, as reports show it.
enum class SpendKind { kCompute, kStorage, kTransfer, kOther };
std::string_view name_of(SpendKind k);  // "compute", "storage", "transfer", "other"

/// Half-open charge period. Absent text = not given by the source.
struct BillLine {
  std::string provider;  ///< canonical: "aws", "azure", "gcp", "oci", else as written
  std::string billing_account;
  std::string sub_account;
  std::string service;  ///< FOCUS ServiceName
  std::string service_category;
  std::string description;
  std::string region;
  std::string zone;
  std::string resource_id;
  std::string resource_name;
  std::string resource_type;
  std::string instance_type;  ///< "" when the line is not about an instance or it is not known
  std::string sku;
  std::string invoice_id;
  ChargeCategory category = ChargeCategory::kUsage;
  SpendKind spend = SpendKind::kOther;
  Market market = Market::kUnknown;
  std::string commitment_id;
  bool commitment_unused = false;  ///< FOCUS CommitmentDiscountStatus = Unused
  bool correction = false;         ///< FOCUS ChargeClass = Correction
  Interval charge_period;
  Interval billing_period;
  Money billed;     ///< what the invoice says
  Money effective;  ///< amortised: commitments spread over what they cover
  std::optional<Money> list;
  std::optional<Money> contracted;
  std::optional<Rate> list_unit_price;  ///< only when the unit is an hour
  std::string pricing_unit;
  std::string quantity;  ///< decimal as the source writes it; kept for round trips
  std::vector<Tag> tags;
};

/// compute / storage / transfer / other from FOCUS service category, service, type and description.
SpendKind classify_spend(const BillLine& line);
/// Canonical provider: "Amazon Web Services" → "aws", "Microsoft" → "azure", "Google Cloud" → "gcp", "Oracle" → "oci".
std::string canonical_provider(std::string_view name);

}  // namespace stint
