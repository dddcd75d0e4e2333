#include "model/bill.h"

#include <gtest/gtest.h>

#include "model/change.h"
#include "model/metric.h"

namespace stint {
namespace {

TEST(Spend, IsToldApartAsProvidersWriteIt) {
  EXPECT_EQ(
      classify_spend({.service = "Amazon Elastic Compute Cloud", .service_category = "Compute", .instance_type = "g5.4xlarge"}),
      SpendKind::kCompute);
  EXPECT_EQ(classify_spend({.service = "Amazon Elastic Compute Cloud",
                            .service_category = "Compute",
                            .description = "$0.09 per GB - first 10 TB / month data transfer out"}),
            SpendKind::kTransfer);
  EXPECT_EQ(classify_spend({.service = "Amazon Simple Storage Service", .service_category = "Storage"}), SpendKind::kStorage);
  EXPECT_EQ(classify_spend({.service = "Virtual Machines", .service_category = "Compute"}), SpendKind::kCompute);
  EXPECT_EQ(classify_spend({.service = "AWS Marketplace", .service_category = "Compute", .instance_type = "p4d.24xlarge"}),
            SpendKind::kOther);
  EXPECT_EQ(classify_spend({.service = "NVIDIA AI Enterprise",
                            .service_category = "Compute",
                            .description = "AWS Marketplace software usage|us-east-1|p4d.24xlarge",
                            .instance_type = "p4d.24xlarge"}),
            SpendKind::kOther);
  EXPECT_EQ(classify_spend({.service = "AWS Support", .service_category = "Other"}), SpendKind::kOther);
}

TEST(Provider, HasOneName) {
  EXPECT_EQ(canonical_provider("Amazon Web Services, Inc."), "aws");
  EXPECT_EQ(canonical_provider("Microsoft"), "azure");
  EXPECT_EQ(canonical_provider("Google Cloud"), "gcp");
  EXPECT_EQ(canonical_provider("Oracle"), "oci");
  EXPECT_EQ(canonical_provider("Lambda"), "lambda");
}

TEST(ChargeCategory, NamesReadBack) {
  for (const char* name : {"Usage", "Purchase", "Tax", "Credit", "Adjustment"})
    EXPECT_EQ(name_of(parse_charge_category(name).value()), name);
  EXPECT_FALSE(parse_charge_category("Bribe").ok());
}

TEST(Metric, NamesReadBackAndNumbersStay) {
  for (size_t i = 0; i < kMetricCount; ++i) {
    const auto m = static_cast<Metric>(i);
    EXPECT_EQ(metric_from_name(info_of(m).name), m);
    EXPECT_EQ(is_percentage(m), info_of(m).unit == "%");
  }
  // The History file stores these numbers.
  EXPECT_EQ(static_cast<int>(Metric::kUtilization), 0);
  EXPECT_EQ(static_cast<int>(Metric::kLatencyP99), 24);
}

TEST(Change, SaysWhatItDoes) {
  EXPECT_EQ(describe(SwitchMarket{{"a", "b", "c"}, Market::kSpot}), "3 nodes (a, b, …) → spot");
  EXPECT_EQ(kind_of(SwitchMarket{}), "switch-market");
  EXPECT_EQ(kind_of(MoveRegion{}), "move-region");
  EXPECT_EQ(kind_of(SavingsPlan{}), "savings-plan");
  EXPECT_EQ(describe(ResizeNodes{{"n1"}, "p3.2xlarge", "", 1}), "n1 → 1 × p3.2xlarge");
  EXPECT_EQ(nodes_of(Change(StopNodes{{"x"}})).front(), "x");
}

}  // namespace
}  // namespace stint
