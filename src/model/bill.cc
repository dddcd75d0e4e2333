#include "model/bill.h"

#include <array>

#include "base/text.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 5> kCategoryNames = {"Usage", "Purchase", "Tax", "Credit", "Adjustment"};

bool mentions(const BillLine& line, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words)
    for (const std::string* field : {&line.service, &line.service_category, &line.resource_type, &line.description})
      if (contains_ignoring_case(*field, word)) return true;
  return false;
}

}  // namespace

std::string_view name_of(ChargeCategory c) { return kCategoryNames[static_cast<size_t>(c)]; }

Result<ChargeCategory> parse_charge_category(std::string_view text) {
  for (size_t i = 0; i < kCategoryNames.size(); ++i)
    if (equals_ignoring_case(kCategoryNames[i], text)) return static_cast<ChargeCategory>(i);
  return invalid("'{}' is no FOCUS ChargeCategory: Usage, Purchase, Tax, Credit or Adjustment expected", excerpt(text));
}

std::string_view name_of(SpendKind k) {
  constexpr std::array<std::string_view, 4> kNames = {"compute", "storage", "transfer", "other"};
  return kNames[static_cast<size_t>(k)];
}

SpendKind classify_spend(const BillLine& line) {
  // Software that runs on a machine names the machine's type, and costs the same however the machine is bought.
  if (mentions(line, {"marketplace", "software licen", "software fee"})) return SpendKind::kOther;
  // Transfer first: providers bill it under the compute or storage service it leaves.
  if (mentions(line, {"data transfer", "datatransfer", "egress", "bandwidth", "nat gateway", "data processed"}))
    return SpendKind::kTransfer;
  if (!line.instance_type.empty()) return SpendKind::kCompute;
  if (mentions(line, {"storage", "volume", "snapshot", "disk", "filestore", "bucket", "s3"})) return SpendKind::kStorage;
  if (equals_ignoring_case(line.service_category, "Compute") ||
      mentions(line, {"virtual machine", "instance hour", "elastic compute"}))
    return SpendKind::kCompute;
  if (equals_ignoring_case(line.service_category, "Networking")) return SpendKind::kTransfer;
  return SpendKind::kOther;
}

std::string canonical_provider(std::string_view name) {
  const std::string_view trimmed = trim(name);
  if (equals_ignoring_case(trimmed, "aws") || contains_ignoring_case(trimmed, "amazon")) return "aws";
  if (contains_ignoring_case(trimmed, "azure") || contains_ignoring_case(trimmed, "microsoft")) return "azure";
  if (equals_ignoring_case(trimmed, "gcp") || contains_ignoring_case(trimmed, "google")) return "gcp";
  if (equals_ignoring_case(trimmed, "oci") || contains_ignoring_case(trimmed, "oracle")) return "oci";
  return to_lower(trimmed);
}

}  // namespace stint
