// Any bytes are a demand of sound numbers or an error that names the file; and any demand can be planned and billed.
#include <cstdint>

#include "advise/commit/commit_policy.h"
#include "base/check.h"
#include "codec/metrics/hourly_demand.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto demand = stint::read_hourly_demand(input, "fuzz");
  if (!demand.ok()) {
    CHECK(demand.error().message.starts_with("fuzz"), "an error that does not name the file: {}", demand.error().message);
    return 0;
  }
  CHECK(!demand->empty(), "no hours");
  for (const int64_t instances : *demand)
    CHECK(instances >= 0 && instances <= stint::kMaxDemandInstances, "{} instances", instances);
  stint::CommitMarket market;
  market.on_demand = stint::Money::units(2);
  market.offers = {{"", stint::Money::units(3), stint::Money::units(1), 5}};
  if (!stint::check_market(market, *demand).ok()) return 0;
  const auto cost = [&](stint::CommitPolicy policy) {
    return stint::bill_plan(market, *demand, stint::plan_commitments(policy, market, *demand)).total;
  };
  const stint::Money least = cost(stint::CommitPolicy::kOptimal);
  for (size_t p = 0; p < stint::kCommitPolicies; ++p)
    CHECK(least <= cost(static_cast<stint::CommitPolicy>(p)), "a policy is cheaper than the optimum");
  return 0;
}
