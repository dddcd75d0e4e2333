#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/importer.h"
#include "codec/testing_import.h"

namespace stint {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHeader =
    "line_item_line_item_type,line_item_usage_start_date,line_item_usage_end_date,line_item_unblended_cost,line_item_currency_"
    "code,"
    "line_item_usage_type,line_item_line_item_description,line_item_availability_zone,line_item_resource_id,pricing_term,pricing_"
    "unit,"
    "pricing_public_on_demand_rate,product,reservation_reservation_a_r_n,reservation_effective_cost,reservation_unused_recurring_"
    "fee,"
    "reservation_unused_amortized_upfront_fee_for_billing_period,savings_plan_savings_plan_a_r_n,savings_plan_savings_plan_"
    "effective_cost,"
    "savings_plan_total_commitment_to_date,savings_plan_used_commitment,resource_tags\n";
constexpr size_t kColumns = 22;

TestingSink import(const std::string& text, Status* status = nullptr) {
  return import_text(make_cur_importer, {.source = "cur.csv"}, text, status);
}

/// A row of kHeader: type, cost and whatever else by position.
std::string row(std::string_view type, std::string_view cost, const std::map<size_t, std::string>& more = {}) {
  std::vector<std::string> fields(kColumns);
  fields[0] = type, fields[1] = "2026-10-01T00:00:00Z", fields[2] = "2026-10-01T01:00:00Z", fields[3] = cost, fields[4] = "USD";
  for (const auto& [at, value] : more)
    fields[at] = value;
  std::string out;
  for (const std::string& field : fields)
    out += field + ",";
  out.back() = '\n';
  return out;
}

Money usd(std::string_view text) { return Money::parse(text).value(); }

struct Totals {
  Money billed, effective;
};
Totals totals(const TestingSink& sink) {
  Totals t;
  for (const BillLine& line : sink.bill)
    t.billed += line.billed, t.effective += line.effective;
  return t;
}

TEST(Cur, OnDemandInstanceHourFromProductMap) {
  const TestingSink sink =
      import(std::string(kHeader) + row("Usage", "32.7726",
                                        {{5, "USE1-BoxUsage:p4d.24xlarge"},
                                         {7, "us-east-1a"},
                                         {8, "i-1"},
                                         {9, "OnDemand"},
                                         {10, "Hrs"},
                                         {11, "32.7726"},
                                         {12, R"("{""instance_type"":""p4d.24xlarge"",""region_code"":""us-east-1""}")"},
                                         {21, R"("{""user_client"":""acme"",""aws_created_by"":""x""}")"}}));
  ASSERT_EQ(sink.bill.size(), 1U);
  const BillLine& line = sink.bill.front();
  EXPECT_EQ(line.provider, "aws");
  EXPECT_EQ(line.instance_type, "p4d.24xlarge");
  EXPECT_EQ(line.region, "us-east-1");
  EXPECT_EQ(line.market, Market::kOnDemand);
  EXPECT_EQ(line.spend, SpendKind::kCompute);
  EXPECT_EQ(line.list_unit_price, Rate::per_hour(usd("32.7726")));
  EXPECT_EQ(line.tags, (std::vector<Tag>{{"aws_created_by", "x"}, {"client", "acme"}}));
  EXPECT_EQ(line.billed, usd("32.7726"));
  EXPECT_EQ(line.effective, line.billed);
}

TEST(Cur, SpotUsageNamesMarketTypeAndRegion) {
  const TestingSink sink = import(std::string(kHeader) + row("Usage", "9.5", {{5, "SpotUsage:p4d.24xlarge"}, {7, "eu-west-1b"}}));
  ASSERT_EQ(sink.bill.size(), 1U);
  EXPECT_EQ(sink.bill[0].market, Market::kSpot);
  EXPECT_EQ(sink.bill[0].instance_type, "p4d.24xlarge");
  EXPECT_EQ(sink.bill[0].region, "eu-west-1");
}

// One hour of a plan of 10 USD/h of which 7 are used, covering what would cost 9 on demand:
// billed 9 − 9 + 10 = 10; amortised 7 + 0 + (10 − 7) = 10.
TEST(Cur, SavingsPlanBilledAndAmortisedAgree) {
  const TestingSink sink = import(std::string(kHeader) + row("SavingsPlanCoveredUsage", "9", {{17, "arn:sp"}, {18, "7"}}) +
                                  row("SavingsPlanNegation", "-9", {{17, "arn:sp"}}) +
                                  row("SavingsPlanRecurringFee", "10", {{17, "arn:sp"}, {19, "10"}, {20, "7"}}));
  ASSERT_EQ(sink.bill.size(), 3U);
  EXPECT_EQ(totals(sink).billed, usd("10"));
  EXPECT_EQ(totals(sink).effective, usd("10"));
  EXPECT_EQ(sink.bill[0].market, Market::kReserved);
  EXPECT_EQ(sink.bill[0].effective, usd("7"));
  EXPECT_EQ(sink.bill[1].effective, usd("0"));
  EXPECT_TRUE(sink.bill[2].commitment_unused);
  EXPECT_EQ(sink.bill[2].effective, usd("3"));
  EXPECT_EQ(sink.bill[2].category, ChargeCategory::kPurchase);
}

// Billed: 100 upfront + 30 recurring + 0 used = 130. Amortised: 0 + (5 + 1.25) unused + 2.5 used = 8.75.
TEST(Cur, ReservationFeesAreAmortised) {
  const TestingSink sink = import(std::string(kHeader) + row("Fee", "100", {{13, "arn:ri"}}) +
                                  row("RIFee", "30", {{13, "arn:ri"}, {15, "5"}, {16, "1.25"}}) +
                                  row("DiscountedUsage", "0", {{13, "arn:ri"}, {14, "2.5"}}));
  ASSERT_EQ(sink.bill.size(), 3U);
  EXPECT_EQ(totals(sink).billed, usd("130"));
  EXPECT_EQ(totals(sink).effective, usd("8.75"));
  EXPECT_FALSE(sink.bill[0].commitment_unused);
  EXPECT_TRUE(sink.bill[1].commitment_unused);
  EXPECT_EQ(sink.bill[2].market, Market::kReserved);
}

TEST(Cur, EverythingElseCostsWhatItIsBilled) {
  const TestingSink sink = import(std::string(kHeader) + row("Tax", "1.1") + row("Credit", "-2") + row("Refund", "-0.5") +
                                  row("BundledDiscount", "-0.25") + row("Fee", "15") + row("SomethingNew", "4"));
  ASSERT_EQ(sink.bill.size(), 6U);
  EXPECT_EQ(totals(sink).billed, usd("17.35"));
  EXPECT_EQ(totals(sink).effective, usd("17.35"));
  EXPECT_EQ(sink.bill[0].category, ChargeCategory::kTax);
  EXPECT_EQ(sink.bill[1].category, ChargeCategory::kCredit);
  EXPECT_EQ(sink.bill[2].category, ChargeCategory::kAdjustment);
}

TEST(Cur, LegacyNamesAndTagColumns) {
  const TestingSink sink = import(
      "identity/LineItemId,lineItem/LineItemType,lineItem/UsageStartDate,lineItem/UsageEndDate,lineItem/UnblendedCost,lineItem/"
      "CurrencyCode,"
      "product/instanceType,product/region,product/productFamily,resourceTags/user:Client,resourceTags/user:client,resourceTags/"
      "aws:createdBy\n"
      "x,Usage,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,1.624,USD,g5.4xlarge,us-east-1,Compute Instance,Acme,,root\n");
  ASSERT_EQ(sink.bill.size(), 1U);
  EXPECT_EQ(sink.bill[0].instance_type, "g5.4xlarge");
  EXPECT_EQ(sink.bill[0].region, "us-east-1");
  EXPECT_EQ(sink.bill[0].service_category, "Compute");
  EXPECT_EQ(sink.bill[0].tags, (std::vector<Tag>{{"Client", "Acme"}, {"aws:createdBy", "root"}}));
}

TEST(Cur, RowsThatLackAFigureAreRejectedByColumn) {
  const TestingSink sink =
      import(std::string(kHeader) + row("SavingsPlanCoveredUsage", "9") + row("DiscountedUsage", "x") +
             row("SavingsPlanRecurringFee", "1", {{19, "9e9"}, {20, "-9e9"}}) + row("", "1") + row("Usage", ""));
  EXPECT_TRUE(sink.bill.empty());
  ASSERT_EQ(sink.rejected.size(), 5U);
  EXPECT_THAT(sink.rejected[0].second, HasSubstr("savings_plan_savings_plan_effective_cost: no value"));
  EXPECT_THAT(sink.rejected[1].second, HasSubstr("line_item_unblended_cost: 'x'"));
  EXPECT_THAT(sink.rejected[2].second, HasSubstr("too large to add"));
  EXPECT_THAT(sink.rejected[3].second, HasSubstr("line_item_line_item_type: no value"));
  EXPECT_THAT(sink.rejected[4].second, HasSubstr("line_item_unblended_cost: no value"));
}

TEST(Cur, MissingColumnsOfARareLineTypeAreNamedOnItsRow) {
  const TestingSink sink = import(
      "line_item_line_item_type,line_item_usage_start_date,line_item_usage_end_date,line_item_unblended_cost,line_item_currency_"
      "code\n"
      "DiscountedUsage,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,0,USD\n");
  ASSERT_EQ(sink.rejected.size(), 1U);
  EXPECT_THAT(sink.rejected[0].second, HasSubstr("reservation_effective_cost: this column is not in the report"));
}

TEST(Cur, SplitCostAllocationCostsNothingAndKeepsWhatItSays) {
  const TestingSink sink = import(
      "line_item_line_item_type,line_item_usage_start_date,line_item_usage_end_date,line_item_unblended_cost,line_item_currency_"
      "code,"
      "line_item_resource_id,split_line_item_parent_resource_id,split_line_item_split_cost,split_line_item_unused_cost,resource_"
      "tags\n"
      "Usage,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,32.77,USD,i-1,,,,\n"
      "Usage,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,,USD,arn:aws:eks:us-east-1:1:pod/c/vision/p/u,i-1,20.5,1.25,"
      "\"{\"\"aws_eks_namespace\"\":\"\"vision\"\"}\"\n");
  ASSERT_EQ(sink.bill.size(), 2U);
  EXPECT_EQ(totals(sink).billed, usd("32.77"));
  EXPECT_EQ(totals(sink).effective, usd("32.77"));
  EXPECT_THAT(sink.bill[1].tags, testing::ElementsAre(testing::Pair("aws_eks_namespace", "vision"),
                                                      testing::Pair("split_line_item_parent_resource_id", "i-1"),
                                                      testing::Pair("split_line_item_split_cost", "20.5"),
                                                      testing::Pair("split_line_item_unused_cost", "1.25")));
}

TEST(Cur, ColumnsThatALineHasNoPlaceForAreKept) {
  const TestingSink sink = import(
      "identity_line_item_id,identity_time_interval,line_item_line_item_type,line_item_usage_start_date,line_item_usage_end_date,"
      "line_item_unblended_cost,line_item_currency_code,line_item_legal_entity,line_item_blended_cost,bill_payer_account_id,"
      "product,"
      "resource_tags,pricing_term,cost_category\n"
      "abc,2026-10-01T00:00:00Z/2026-10-01T01:00:00Z,Usage,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,1.5,USD,\"Amazon "
      "\"\"EMEA\"\" SARL\","
      "1.25,4711,\"{\"\"sku\"\":\"\"S1\"\",\"\"gpu\"\":\"\"8\"\"}\",\"{\"\"user_team\"\":\"\"ml\"\"}\",,{}\n");
  ASSERT_EQ(sink.source_columns.size(), 1U);
  EXPECT_EQ(
      sink.source_columns[0],
      R"({"identity_line_item_id":"abc","line_item_line_item_type":"Usage","line_item_legal_entity":"Amazon \"EMEA\" SARL",)"
      R"("line_item_blended_cost":"1.25","product":"{\"sku\":\"S1\",\"gpu\":\"8\"}"})");
  EXPECT_EQ(sink.bill[0].tags.size(), 1U);  // of the bill
}

TEST(Cur, AnotherFormatIsRefused) {
  Status status;
  import("a,b\n1,2\n", &status);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("no AWS Cost and Usage Report: columns line_item_line_item_type"));
}

}  // namespace
}  // namespace stint
