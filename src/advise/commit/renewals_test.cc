#include "advise/commit/renewals.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Three reserved machines: two are on around the clock, one for six hours a day. 1.82 / 3.06 is 59.5 % of the hours: two pay.
TEST(Renewals, AreAsManyAsStillPay) {
  TestFleet fleet;
  for (const char* name : {"a", "b", "c"})
    fleet.add(name, "aws", "p3.2xlarge", WorkloadKind::kRealtimeInference, {{}}).market = Market::kReserved;
  fleet.keep_on(fleet.facts.nodes[2], [](size_t h) { return h % 24 < 6; });
  fleet.add("other", "gcp", "a2-highgpu-1g", WorkloadKind::kTraining, {{}}).market = Market::kReserved;
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  const Books books(fleet.facts, prices);
  const Instant soon = kJune.end + Duration::hours(24 * 60);
  const auto notes = renewal_notes({fleet.facts, books, prices, fleet.history, fleet.allowed_regions},
                                   {{"p3.2xlarge", "us-east-1", 3, soon},
                                    {"p3.2xlarge", "", 1, kJune.begin},
                                    {"a2-highgpu-1g", "", 1, soon},
                                    {"p3.8xlarge", "", 5, soon}},
                                   kJune.end);
  EXPECT_THAT(notes, ElementsAre(
                         // 2 × (3.06 − 1.82) = 2.48
                         testing::AllOf(HasSubstr("ends on 2026-08-30, in 60 days: renew 2 of them (1y no-upfront, 1.82 USD"),
                                        HasSubstr("let 1 end"), HasSubstr("saves 2.48 USD")),
                         HasSubstr("ended on 2026-06-01"), HasSubstr("no reserved price"), HasSubstr("let it end")));
}

}  // namespace
}  // namespace stint
