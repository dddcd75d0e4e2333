#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/importer.h"
#include "codec/testing_import.h"

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Money usd(std::string_view text) { return Money::parse(text).value(); }

// By the names of the Microsoft Customer Agreement.
constexpr std::string_view kMca =
    "invoiceId,billingAccountId,billingProfileId,billingPeriodStartDate,billingPeriodEndDate,date,meterCategory,meterSubCategory,"
    "meterName,meterId,resourceLocation,productName,quantity,unitOfMeasure,PayGPrice,costInBillingCurrency,billingCurrency,"
    "chargeType,pricingModel,publisherType,SubscriptionId,ResourceId,tags,additionalInfo,reservationId,benefitId\n";

struct Row {
  std::string cost = "88.152", charge = "Usage", model = "OnDemand", reservation, benefit, publisher = "Azure";
};
std::string mca(const Row& r) {
  return fmt::format(
      "I1,acct,profile,10/01/2026,10/31/2026,10/05/2026,Virtual Machines,NCads A100 v4,NC24ads A100 v4,m-1,westeurope,"
      "NC24ads A100 v4 - EU West,24,1 Hour,3.673,{},USD,{},{},{},sub-1,"
      "/subscriptions/sub-1/resourceGroups/rg/providers/Microsoft.Compute/virtualMachines/gpu-a,"
      "\"\"\"client\"\": \"\"aurora\"\",\"\"env\"\": \"\"prod\"\"\","
      "\"{{\"\"ServiceType\"\":\"\"Standard_NC24ads_A100_v4\"\",\"\"UsageType\"\":\"\"ComputeHR\"\"}}\",{},{}\n",
      r.cost, r.charge, r.model, r.publisher, r.reservation, r.benefit);
}
TestingSink amortized(const std::string& text, Status* status = nullptr) {
  return import_text(make_azure_importer, {.source = "azure.csv"}, text, status);
}
TestingSink actual(const std::string& text, Status* status = nullptr) {
  return import_text(make_azure_actual_importer, {.source = "azure.csv"}, text, status);
}

TEST(Azure, ADayOfAMachineByTheNamesOfTheCustomerAgreement) {
  const TestingSink sink = amortized(std::string(kMca) + mca({}));
  ASSERT_EQ(sink.bill.size(), 1U);
  const BillLine& line = sink.bill[0];
  EXPECT_EQ(line.billed, usd("88.152"));
  EXPECT_EQ(line.effective, usd("88.152"));
  EXPECT_EQ(line.provider, "azure");
  EXPECT_EQ(line.billing_account, "profile");
  EXPECT_EQ(line.sub_account, "sub-1");
  EXPECT_EQ(line.invoice_id, "I1");
  EXPECT_EQ(format_utc(line.charge_period.begin), "2026-10-05T00:00:00Z");
  EXPECT_EQ(format_utc(line.charge_period.end), "2026-10-06T00:00:00Z");
  EXPECT_EQ(format_utc(line.billing_period.end), "2026-11-01T00:00:00Z");
  EXPECT_EQ(line.instance_type, "Standard_NC24ads_A100_v4");
  EXPECT_EQ(line.spend, SpendKind::kCompute);
  EXPECT_EQ(line.market, Market::kOnDemand);
  EXPECT_EQ(line.resource_name, "gpu-a");
  EXPECT_EQ(line.region, "westeurope");
  ASSERT_TRUE(line.list_unit_price);
  EXPECT_EQ(line.list_unit_price->per_hour(), usd("3.673"));
  EXPECT_THAT(line.tags, ElementsAre(Pair("client", "aurora"), Pair("env", "prod")));
}

TEST(Azure, NamesOfTheEnterpriseAgreementAndOfTheOlderSchema) {
  const TestingSink ea = amortized(
      "SubscriptionId,Date,BillingPeriodStartDate,MeterCategory,MeterName,Quantity,CostInBillingCurrency,BillingCurrencyCode,"
      "ChargeType,PricingModel,ResourceId,CostCenter\n"
      "s,10/05/2026,10/01/2026,Storage,LRS,1,1.5,EUR,Usage,OnDemand,/x/disk-1,cc-7\n");
  ASSERT_EQ(ea.bill.size(), 1U);
  EXPECT_EQ(ea.bill[0].billed.currency().code(), "EUR");
  EXPECT_THAT(ea.bill[0].tags, ElementsAre(Pair("costcenter", "cc-7")));
  const TestingSink old = actual(
      "SubscriptionGuid,UsageDateTime,MeterCategory,MeterName,UsageQuantity,PreTaxCost,Currency,InstanceId\n"
      "s,2026-10-05,Storage,LRS,1,1.5,USD,/x/disk-1\n");
  ASSERT_EQ(old.bill.size(), 1U);
  EXPECT_EQ(old.bill[0].billed, usd("1.5"));
  EXPECT_EQ(old.bill[0].resource_id, "/x/disk-1");
}

TEST(Azure, AmortizedReservationIsEffectiveAndPaidByItsPurchase) {
  const TestingSink sink =
      amortized(std::string(kMca) + mca({.cost = "52.8", .model = "Reservation", .reservation = "r-1"}) +
                mca({.cost = "7.2", .charge = "UnusedReservation", .model = "Reservation", .reservation = "r-1"}) +
                mca({.cost = "10", .charge = "Usage", .model = "SavingsPlan", .benefit = "/plan/1"}));
  ASSERT_EQ(sink.bill.size(), 3U);
  Money effective = usd("0");
  for (const BillLine& line : sink.bill) {
    EXPECT_EQ(line.billed, usd("0"));
    EXPECT_EQ(line.market, Market::kReserved);
    effective += line.effective;
  }
  EXPECT_EQ(effective, usd("70"));
  EXPECT_FALSE(sink.bill[0].commitment_unused);
  EXPECT_TRUE(sink.bill[1].commitment_unused);
  EXPECT_EQ(sink.bill[2].commitment_id, "/plan/1");
}

TEST(Azure, ActualCostHoldsPurchasesAndRefunds) {
  const TestingSink sink =
      actual(std::string(kMca) + mca({.cost = "1800", .charge = "Purchase", .model = "Reservation", .reservation = "r-1"}) +
             mca({.cost = "0", .model = "Reservation", .reservation = "r-1"}) + mca({.cost = "-12.5", .charge = "Refund"}));
  ASSERT_EQ(sink.bill.size(), 3U);
  EXPECT_EQ(sink.bill[0].category, ChargeCategory::kPurchase);
  EXPECT_EQ(sink.bill[0].billed, usd("1800"));
  EXPECT_EQ(sink.bill[2].category, ChargeCategory::kAdjustment);
  EXPECT_TRUE(sink.bill[2].correction);
  EXPECT_EQ(sink.bill[2].billed, usd("-12.5"));
}

TEST(Azure, TheOtherExportIsToldByWhatItHolds) {
  Status status;
  amortized(std::string(kMca) + mca({.cost = "1800", .charge = "Purchase", .model = "Reservation", .reservation = "r-1"}),
            &status);
  EXPECT_THAT(status.error().message, HasSubstr("azure.csv: line 2: holds the purchase of a commitment"));
  actual(std::string(kMca) + mca({.charge = "UnusedReservation", .model = "Reservation", .reservation = "r-1"}), &status);
  EXPECT_THAT(status.error().message, HasSubstr("import it as azure"));
}

TEST(Azure, SoftwareOfTheMarketplaceIsNoCompute) {
  const TestingSink sink = amortized(std::string(kMca) + mca({.publisher = "Marketplace"}));
  EXPECT_EQ(sink.bill.at(0).spend, SpendKind::kOther);
}

TEST(Azure, ColumnsThatALineHasNoPlaceForAreKept) {
  const TestingSink sink = amortized(
      "Date,MeterCategory,CostInBillingCurrency,BillingCurrency,ChargeType,SubscriptionName,PublisherName,"
      "ExchangeRatePricingToBilling,CostCenter,"
      "AdditionalInfo\n"
      "10/05/2026,Storage,1.5,EUR,Usage,Research,Microsoft,0.93,cc-7,\"{\"\"a\"\":1}\"\n");
  ASSERT_EQ(sink.source_columns.size(), 1U);
  EXPECT_EQ(
      sink.source_columns[0],
      R"({"ChargeType":"Usage","SubscriptionName":"Research","PublisherName":"Microsoft","ExchangeRatePricingToBilling":"0.93",)"
      R"("AdditionalInfo":"{\"a\":1}"})");
}

TEST(Azure, BadValuesAreRejectedWithTheirColumn) {
  const TestingSink sink = amortized(std::string(kMca) + mca({.cost = "many"}) + mca({}));
  EXPECT_EQ(sink.bill.size(), 1U);
  ASSERT_EQ(sink.rejected.size(), 1U);
  EXPECT_EQ(sink.rejected[0].first, 2U);
  EXPECT_THAT(sink.rejected[0].second, HasSubstr("CostInBillingCurrency"));
}

TEST(Azure, AnotherFileIsToldWhatToDoWithIt) {
  Status status;
  amortized("line_item_line_item_type,line_item_unblended_cost\n", &status);
  EXPECT_THAT(status.error().message, HasSubstr("it looks like an export for `stint import cur`"));
  amortized("BilledCost,ChargePeriodStart\n", &status);
  EXPECT_THAT(status.error().message, HasSubstr("`stint import focus`"));
  amortized("a,b\n", &status);
  EXPECT_THAT(status.error().message, HasSubstr("in Azure: Cost Management > Exports > Create"));
  amortized("%PDF-1.7\n\x01\x02", &status);
  EXPECT_THAT(status.error().message, HasSubstr("is a PDF document, not CSV"));
}

}  // namespace
}  // namespace stint
