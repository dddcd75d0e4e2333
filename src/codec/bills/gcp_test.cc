#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/importer.h"
#include "codec/testing_import.h"

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

Money usd(std::string_view text) { return Money::parse(text).value(); }

TestingSink import(const std::string& text, Status* status = nullptr) {
  return import_text(make_gcp_importer, {.source = "gcp.json"}, text, status);
}

// An hour of an A100 with a committed-use discount, as `bq extract` writes it.
constexpr std::string_view kGpuHour =
    R"({"billing_account_id":"01-AB","service":{"id":"6F81","description":"Compute Engine"},"sku":{"id":"039F","description":"Nvidia Tesla A100 GPU running in Americas"},)"
    R"("usage_start_time":"2026-10-05 03:00:00 UTC","usage_end_time":"2026-10-05 04:00:00 UTC","project":{"id":"ml-prod","labels":[{"key":"client","value":"aurora"},{"key":"env","value":"shared"}]},)"
    R"("labels":[{"key":"env","value":"prod"},{"key":"k8s-namespace","value":"vision"}],"system_labels":[{"key":"compute.googleapis.com/machine_spec","value":"a2-highgpu-1g"}],)"
    R"("location":{"location":"us-central1","region":"us-central1","zone":"us-central1-a"},"resource":{"name":"gpu-a","global_name":"//compute.googleapis.com/projects/ml-prod/zones/us-central1-a/instances/77"},)"
    R"("cost":2.933908,"currency":"USD","usage":{"amount":"3600","unit":"seconds","amount_in_pricing_units":1,"pricing_unit":"hour"},)"
    R"("credits":[{"name":"Committed use","amount":-1.0850,"full_name":"CUD GPU","id":"cud-1","type":"COMMITTED_USAGE_DISCOUNT"},{"name":"Promo","amount":"-0.5","type":"PROMOTION","full_name":null}],)"
    R"("invoice":{"month":"202610"},"cost_type":"regular"})";

TEST(Gcp, AnHourWithItsCreditsAsNegativeLines) {
  const TestingSink sink = import(std::string(kGpuHour) + "\n");
  ASSERT_EQ(sink.bill.size(), 3U);
  const BillLine& line = sink.bill[0];
  EXPECT_EQ(line.billed, usd("2.933908"));
  EXPECT_EQ(line.provider, "gcp");
  EXPECT_EQ(line.billing_account, "01-AB");
  EXPECT_EQ(line.sub_account, "ml-prod");
  EXPECT_EQ(format_utc(line.charge_period.begin), "2026-10-05T03:00:00Z");
  EXPECT_EQ(format_utc(line.billing_period.begin), "2026-10-01T00:00:00Z");
  EXPECT_EQ(line.instance_type, "a2-highgpu-1g");
  EXPECT_EQ(line.market, Market::kOnDemand);
  EXPECT_EQ(line.zone, "us-central1-a");
  // The machine's own label comes before that of its project.
  EXPECT_THAT(line.tags, ElementsAre(Pair("env", "prod"), Pair("k8s-namespace", "vision"), Pair("client", "aurora")));
  EXPECT_EQ(sink.bill[1].category, ChargeCategory::kCredit);
  EXPECT_EQ(sink.bill[1].billed, usd("-1.085"));
  EXPECT_EQ(sink.bill[1].market, Market::kReserved);
  EXPECT_EQ(sink.bill[1].commitment_id, "cud-1");
  EXPECT_EQ(sink.bill[1].resource_id, line.resource_id);
  EXPECT_EQ(sink.bill[2].billed, usd("-0.5"));
  EXPECT_EQ(sink.bill[2].description, "PROMOTION: Promo");
}

TEST(Gcp, AnArrayOfObjectsAndLinesGiveTheSame) {
  const std::string hour(kGpuHour);
  const TestingSink lines = import(hour + "\n" + hour + "\n");
  for (const std::string& text : {"[" + hour + "," + hour + "]", "\xEF\xBB\xBF [\n " + hour + " ,\n" + hour + "\n]\n"}) {
    const TestingSink array = import(text);
    ASSERT_EQ(array.bill.size(), lines.bill.size());
    for (size_t i = 0; i < array.bill.size(); ++i)
      EXPECT_EQ(array.bill[i].billed, lines.bill[i].billed);
  }
}

TEST(Gcp, WhereverTheBytesAreCut) {
  const std::string text = std::string(kGpuHour) + "\n" + std::string(kGpuHour) + "\n";
  for (const size_t piece : {size_t{1}, size_t{3}, size_t{100}}) {
    TestingSink sink;
    const auto importer = make_gcp_importer({.source = "gcp.json"}, sink);
    for (size_t at = 0; at < text.size(); at += piece)
      ASSERT_TRUE(importer->feed(std::string_view(text).substr(at, piece)).ok());
    ASSERT_TRUE(importer->finish().ok());
    EXPECT_EQ(sink.bill.size(), 6U);
  }
}

TEST(Gcp, CsvWithDotsOrUnderscoresAndJsonInItsFields) {
  for (const std::string dot : {".", "_"}) {
    const TestingSink sink = import(
        "billing_account_id,service" + dot +
        "description,usage_start_time,usage_end_time,cost,currency,cost_type,credits,labels\n"
        "01-AB,Cloud Storage,2026-10-05T03:00:00Z,2026-10-05T04:00:00Z,1.5,EUR,tax,"
        "\"[{\"\"amount\"\":-0.5,\"\"type\"\":\"\"FREE_TIER\"\"}]\",\"[{\"\"key\"\":\"\"team\"\",\"\"value\"\":\"\"a\"\"}]\"\n");
    ASSERT_EQ(sink.bill.size(), 2U);
    EXPECT_EQ(sink.bill[0].category, ChargeCategory::kTax);
    EXPECT_EQ(sink.bill[0].billed.currency().code(), "EUR");
    EXPECT_EQ(sink.bill[1].billed.to_decimal(), "-0.5");
    EXPECT_THAT(sink.bill[0].tags, ElementsAre(Pair("team", "a")));
  }
}

TEST(Gcp, ColumnsThatALineHasNoPlaceForAreKeptOfJsonAndCsv) {
  const TestingSink sink = import(std::string(kGpuHour) + "\n");
  ASSERT_EQ(sink.source_columns.size(), 3U);
  const std::string& kept = sink.source_columns[0];
  for (const char* part : {R"("service.id":"6F81")", R"("location.location":"us-central1")", R"("usage.amount":"3600")",
                           R"("cost_type":"regular")", R"("usage.unit":"seconds")"})
    EXPECT_THAT(kept, HasSubstr(part));
  EXPECT_THAT(kept, HasSubstr(R"("credits":"[{)"));
  EXPECT_THAT(kept, Not(HasSubstr("aurora")));  // labels are tags
  EXPECT_EQ(sink.source_columns[1], "");        // a credit is beside its line
  const TestingSink csv = import(
      "billing_account_id,service.id,service.description,usage_start_time,usage_end_time,cost,currency,project.name,credits\n"
      "a,6F81,Compute Engine,2026-10-05 03:00:00 UTC,2026-10-05 04:00:00 UTC,1,USD,ML,[]\n");
  EXPECT_EQ(csv.source_columns.at(0), R"({"service.id":"6F81","project.name":"ML"})");
}

TEST(Gcp, ABadRowIsRejectedByItsLineAndItsCreditsWithIt) {
  std::string bad(kGpuHour);
  bad.replace(bad.find("2.933908"), 8, "\"many\"");
  const TestingSink sink = import(std::string(kGpuHour) + "\n" + bad + "\n");
  EXPECT_EQ(sink.bill.size(), 3U);
  ASSERT_EQ(sink.rejected.size(), 1U);
  EXPECT_EQ(sink.rejected[0].first, 2U);
}

TEST(Gcp, CutOffOrDamagedJsonIsAnError) {
  Status status;
  import(std::string(kGpuHour).substr(0, 200), &status);
  EXPECT_THAT(status.error().message, HasSubstr("ends in the middle of object 1"));
  import("[" + std::string(kGpuHour), &status);
  EXPECT_THAT(status.error().message, HasSubstr("the array does not end"));
  import(std::string(kGpuHour) + "x", &status);
  EXPECT_FALSE(status.ok());
}

TEST(Gcp, AnotherFileIsToldWhatToDoWithIt) {
  Status status;
  import(R"({"a":1,"b":{"c":2}})", &status);
  EXPECT_THAT(status.error().message, HasSubstr("no BigQuery export of a Google Cloud bill: columns billing_account_id"));
  EXPECT_THAT(status.error().message, HasSubstr("bq extract"));
  import(R"({"BilledCost":1,"ChargePeriodStart":"2026-10-01"})", &status);
  EXPECT_THAT(status.error().message, HasSubstr("`stint import focus`"));
}

TEST(FocusJson, GooglesViewInJsonLines) {
  const TestingSink sink = import_text(
      make_focus_importer, {.source = "focus.json"},
      R"({"BilledCost":"2.5","EffectiveCost":2.25,"BillingCurrency":"USD","ChargeCategory":"Usage","ChargePeriodStart":"2026-10-05 03:00:00 UTC","ChargePeriodEnd":"2026-10-05 04:00:00 UTC","ProviderName":"Google Cloud","Tags":[{"key":"client","value":"aurora"}]})"
      "\n");
  ASSERT_EQ(sink.bill.size(), 1U);
  EXPECT_EQ(sink.bill[0].provider, "gcp");
  EXPECT_EQ(sink.bill[0].effective, usd("2.25"));
  EXPECT_THAT(sink.bill[0].tags, ElementsAre(Pair("client", "aurora")));
}

TEST(FocusJson, AzuresNamesWithoutZones) {
  const TestingSink sink = import_text(
      make_focus_importer, {.source = "focus.csv"},
      "BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,"
      "ProviderName,Tags,x_SkuDetails,ServiceCategory,ResourceId\n"
      "0,52.8,EUR,Usage,2026-10-05T00:00:00Z,2026-10-06T00:00:00Z,Microsoft,"
      "\"{\"\"client\"\":\"\"aurora\"\"}\",\"{\"\"ServiceType\"\":\"\"Standard_NC24ads_A100_v4\"\"}\",Compute,/x/gpu-a\n");
  ASSERT_EQ(sink.bill.size(), 1U);
  EXPECT_EQ(sink.bill[0].provider, "azure");
  EXPECT_EQ(sink.bill[0].instance_type, "Standard_NC24ads_A100_v4");
}

}  // namespace
}  // namespace stint
