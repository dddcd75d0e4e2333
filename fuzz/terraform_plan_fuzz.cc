// Any bytes are a plan or an error; what is read can be priced, and the sums hold.
#include <cstdint>

#include "base/check.h"
#include "catalog/estimate.h"
#include "codec/bills/terraform_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto plan = stint::read_terraform_plan(input, "fuzz");
  if (!plan.ok()) return 0;
  const auto estimate = stint::estimate_plan(stint::Catalog::built_in(), *plan, "us-east-1");
  if (!estimate.ok()) return 0;
  stint::Money after = stint::Money::nanos(0, estimate->after.currency());
  for (const stint::EstimateLine& line : estimate->lines)
    if (line.after) after += line.after->per_month;
  CHECK(after == estimate->after, "lines do not add up");
  CHECK(estimate->least <= estimate->after && estimate->after <= estimate->most, "bounds");
  return 0;
}
