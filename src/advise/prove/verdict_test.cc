#include <gtest/gtest.h>

#include "advise/audit_report.h"

namespace stint {
namespace {

// Mission row B3: mean < 25 % over-provisioned; < 60 % under-utilised; else well used.
TEST(UtilizationVerdict, ChangesAtTwentyFiveAndSixtyPercent) {
  EXPECT_EQ(utilization_verdict(0), UtilizationVerdict::kOverProvisioned);
  EXPECT_EQ(utilization_verdict(24.99), UtilizationVerdict::kOverProvisioned);
  EXPECT_EQ(utilization_verdict(25), UtilizationVerdict::kUnderUtilised);
  EXPECT_EQ(utilization_verdict(59.99), UtilizationVerdict::kUnderUtilised);
  EXPECT_EQ(utilization_verdict(60), UtilizationVerdict::kWellUsed);
  EXPECT_EQ(utilization_verdict(100), UtilizationVerdict::kWellUsed);
}

TEST(UtilizationVerdict, NamesAreTheWordsOfTheReports) {
  EXPECT_EQ(name_of(UtilizationVerdict::kUnknown), "unknown");
  EXPECT_EQ(name_of(UtilizationVerdict::kWellUsed), "well used");
  EXPECT_EQ(name_of(TelemetryQuality::kGood), "good");
  EXPECT_EQ(name_of(Level::kHigh), "high");
}

}  // namespace
}  // namespace stint
