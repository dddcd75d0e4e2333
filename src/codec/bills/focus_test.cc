#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <map>

#include "codec/importer.h"
#include "codec/testing_import.h"
#include "tests/needs_shared.h"

namespace stint {
namespace {

using testing::HasSubstr;

constexpr std::string_view kHeader =
    "ProviderName,BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,"
    "PricingCategory,PricingUnit,ListUnitPrice,ChargeDescription,ServiceCategory,Tags\n";

TestingSink import(const std::string& text, Status* status = nullptr) {
  return import_text(make_focus_importer, {.source = "bill.csv"}, text, status);
}

BillLine import_one(const std::string& row) {
  const TestingSink sink = import(std::string(kHeader) + row + "\n");
  EXPECT_TRUE(sink.rejected.empty()) << sink.rejected.front().second;
  return sink.bill.empty() ? BillLine{} : sink.bill.front();
}

TEST(Focus, ReadsAnInstanceHour) {
  const BillLine line = import_one(
      "AWS,1.62400000000,\"1.62400000000\",USD,Usage,2024-09-27 15:00:00,2024-09-27 16:00:00,Standard,Hours,1.624,"
      "\"$1.624 per On Demand Linux g5.4xlarge Instance Hour\",Compute,\"{\"\"team\"\": \"\"nlp\"\", \"\"n\"\": 3}\"");
  EXPECT_EQ(line.provider, "aws");
  EXPECT_EQ(line.instance_type, "g5.4xlarge");
  EXPECT_EQ(line.spend, SpendKind::kCompute);
  EXPECT_EQ(line.market, Market::kOnDemand);
  EXPECT_EQ(line.billed, Money::nanos(1'624'000'000));
  EXPECT_EQ(line.effective, Money::nanos(1'624'000'000));
  EXPECT_EQ(line.list_unit_price, Rate::per_hour(Money::nanos(1'624'000'000)));
  EXPECT_EQ(format_utc(line.charge_period.begin), "2024-09-27T15:00:00Z");
  EXPECT_EQ(line.charge_period.length(), kHour);
  EXPECT_EQ(line.billing_period, parse_month("2024-09").value());
  EXPECT_EQ(line.tags, (std::vector<Tag>{{"n", "3"}, {"team", "nlp"}}));
}

TEST(Focus, RoundsToNanoHalfEvenOnce) {
  const std::string rest = ",USD,Usage,2024-09-01,2024-09-02,,,,,,";
  EXPECT_EQ(import_one("AWS,0.0000000005,0.0000000015" + rest).billed, Money::nanos(0));
  EXPECT_EQ(import_one("AWS,0.0000000005,0.0000000015" + rest).effective, Money::nanos(2));
  EXPECT_EQ(import_one("AWS,-1.5e-3,0.00000000150000000001" + rest).billed, Money::nanos(-1'500'000));
  EXPECT_EQ(import_one("AWS,-1.5e-3,0.00000000250000000001" + rest).effective, Money::nanos(3));
}

TEST(Focus, NullIsAbsentQuotedOrNot) {
  const BillLine line = import_one("AWS,1,1,USD,Tax,2024-09-01,2024-10-01,NULL,\"NULL\",NULL,\"NULL\",NULL,\"NULL\"");
  EXPECT_EQ(line.description, "");
  EXPECT_EQ(line.market, Market::kUnknown);
  EXPECT_FALSE(line.list_unit_price.has_value());
  EXPECT_TRUE(line.tags.empty());
  EXPECT_EQ(line.category, ChargeCategory::kTax);
}

TEST(Focus, ListUnitPriceOnlyPerHour) {
  EXPECT_FALSE(import_one("AWS,1,1,USD,Usage,2024-09-01,2024-09-02,Standard,GB,0.09,x,Networking,").list_unit_price.has_value());
  EXPECT_FALSE(
      import_one("AWS,1,1,USD,Usage,2024-09-01,2024-09-02,Standard,vCPU-Hours,0.09,x,Compute,").list_unit_price.has_value());
}

TEST(Focus, MarketFromPricingCategoryAndCommitment) {
  const std::string row = "AWS,1,1,USD,Usage,2024-09-01,2024-09-02,";
  EXPECT_EQ(import_one(row + "Dynamic,,,,,").market, Market::kSpot);
  EXPECT_EQ(import_one(row + "Committed,,,,,").market, Market::kReserved);
  EXPECT_EQ(import_one(row + "Other,,,,,").market, Market::kUnknown);
}

TEST(Focus, SoftwareThatACloudSellsForAnotherIsNoCompute) {
  const std::string header =
      "ProviderName,PublisherName,BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,"
      "ServiceCategory,ChargeDescription\n";
  const std::string rest = ",1,1,USD,Usage,2026-10-01,2026-10-02,Compute,p4d.24xlarge per hour\n";
  const TestingSink sink = import(header + "AWS,Amazon Web Services" + rest + "AWS,NVIDIA Corporation" + rest);
  ASSERT_EQ(sink.bill.size(), 2U);
  EXPECT_EQ(sink.bill[0].spend, SpendKind::kCompute);
  EXPECT_EQ(sink.bill[1].spend, SpendKind::kOther);
  EXPECT_EQ(sink.bill[1].instance_type, "p4d.24xlarge");
}

TEST(Focus, BadRowsAreRejectedWithColumnAndValueAndReadingGoesOn) {
  const TestingSink sink = import(std::string(kHeader) +
                                  "AWS,12x,1,USD,Usage,2024-09-01,2024-09-02,,,,,,\n"
                                  "AWS,1,NULL,USD,Usage,2024-09-01,2024-09-02,,,,,,\n"
                                  "AWS,1,1,usd,Usage,2024-09-01,2024-09-02,,,,,,\n"
                                  "AWS,1,1,USD,Gift,2024-09-01,2024-09-02,,,,,,\n"
                                  "AWS,1,1,USD,Usage,2024-13-01,2024-09-02,,,,,,\n"
                                  "AWS,1,1,USD,Usage,2024-09-02,2024-09-02,,,,,,\n"
                                  "AWS,1,1,USD,Usage,2024-09-01,2024-09-02,,,,,,{\"a\":[1]}\n"
                                  "AWS,1,1,USD\n"
                                  "AWS,1,1,USD,Usage,2024-09-01,2024-09-02,,,,,,\n");
  EXPECT_EQ(sink.bill.size(), 1U);
  ASSERT_EQ(sink.rejected.size(), 8U);
  const std::vector<std::string> reasons = {
      "BilledCost: '12x'",      "EffectiveCost: no value",         "BillingCurrency: 'usd'",
      "ChargeCategory: 'Gift'", "ChargePeriodStart: '2024-13-01'", "is not after ChargePeriodStart",
      "Tags: '{\"a\":[1]}'",    "4 fields where the header has 13"};
  for (size_t i = 0; i < reasons.size(); ++i) {
    EXPECT_EQ(sink.rejected[i].first, i + 2);
    EXPECT_THAT(sink.rejected[i].second, HasSubstr(reasons[i]));
  }
}

TEST(Focus, DatasetsThatAreNoChargesAreNamedCountedAndLeft) {
  // FOCUS 1.3 and 1.4; the invoice's rows have a BilledCost, and must not count beside the charges.
  const std::vector<std::pair<std::string, std::string>> files = {
      {"ContractCommitmentId,ContractId,ContractCommitmentCost,BillingCurrency\nc1,k,5,USD\nc2,k,6,USD\n",
       "2 rows of the FOCUS dataset Contract Commitment"},
      {"InvoiceDetailId,InvoiceId,BilledCost,BillingCurrency,ChargeCategory,BillingPeriodStart\nd1,i,100,USD,Usage,2026-10-01\n",
       "1 row of the FOCUS dataset Invoice Detail"},
      {"BillingPeriodStart,BillingPeriodEnd,BillingPeriodStatus,InvoiceIssuerName\n2026-10-01,2026-11-01,Open,AWS\n",
       "1 row of the FOCUS dataset Billing Period"},
      {"{\"InvoiceDetailId\":\"d1\",\"BilledCost\":100}\n{\"InvoiceDetailId\":\"d2\",\"BilledCost\":1}\n",
       "2 rows of the FOCUS dataset Invoice Detail"}};
  for (const auto& [text, reason] : files) {
    const TestingSink sink = import(text);
    EXPECT_TRUE(sink.bill.empty());
    ASSERT_EQ(sink.rejected.size(), 1U) << text;
    EXPECT_THAT(sink.rejected[0].second, HasSubstr(reason));
  }
}

TEST(Focus, ColumnsOfVersions13And14) {
  // No ProviderName any more; who hosts and who sells stand apart, contracts and invoice details are named on the row.
  const TestingSink sink = import(
      "BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,HostProviderName,"
      "ServiceProviderName,"
      "InvoiceIssuerName,InvoiceDetailId,ContractApplied,AllocatedMethodId,AllocatedTags,CommitmentProgramEligibilityDetails\n"
      "1,2,USD,Usage,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,AWS,Databricks,AWS,d1,"
      "\"{\"\"Elements\"\":[{\"\"ContractId\"\":\"\"k\"\"}]}\",m1,\"{\"\"team\"\":\"\"nlp\"\"}\",{}\n");
  ASSERT_EQ(sink.bill.size(), 1U);
  EXPECT_EQ(sink.bill[0].provider, "aws");
  EXPECT_EQ(sink.bill[0].tags, (std::vector<Tag>{{"team", "nlp"}}));
}

TEST(Focus, MissingColumnsAreNamed) {
  Status status;
  import("ProviderName,BilledCost,BillingCurrency,ChargeCategory,ChargePeriodStart\n", &status);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message,
              HasSubstr("bill.csv: no FOCUS bill: columns EffectiveCost, ChargePeriodEnd missing. Export it in AWS: "));
  import("BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd\n", &status);
  EXPECT_THAT(status.error().message, HasSubstr("none of ProviderName"));
}

TEST(Focus, ReadsTagsInEveryShape) {
  const std::string row = "AWS,1,1,USD,Usage,2024-09-01,2024-09-02,,,,,,";
  const std::vector<Tag> expected = {{"team", "nlp"}};
  EXPECT_EQ(import_one(row + R"("[{""key"":""team"",""value"":""nlp""}]")").tags, expected);
  EXPECT_EQ(import_one(row + R"("[{""Key"":""team"",""Value"":""nlp""}]")").tags, expected);
  EXPECT_EQ(import_one(row + R"("""team"": ""nlp""")").tags, expected);
  EXPECT_EQ(import_one(row + R"("{""team"":null}")").tags, (std::vector<Tag>{{"team", ""}}));
}

TEST(Focus, Reads13WithHostProviderAllocationAndOwners) {
  const TestingSink sink = import(
      "ServiceProviderName,HostProviderName,BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ChargeClass,"
      "ChargePeriodStart,"
      "ChargePeriodEnd,CommitmentDiscountId,CommitmentDiscountStatus,ChargeDescription,SkuPriceDetails,Tags,AllocatedTags,x_"
      "Client\n"
      "Reseller,Google Cloud,1,2,EUR,Usage,Correction,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,cud-1,Unused,A2 Instance Core,"
      "\"{\"\"MachineType\"\":\"\"a2-highgpu-1g\"\"}\",\"{\"\"team\"\":\"\"nlp\"\"}\",\"{\"\"project\"\":\"\"chat\"\"}\",acme\n");
  ASSERT_EQ(sink.bill.size(), 1U);
  const BillLine& line = sink.bill.front();
  EXPECT_EQ(line.provider, "gcp");
  EXPECT_EQ(line.instance_type, "a2-highgpu-1g");
  EXPECT_EQ(line.market, Market::kReserved);
  EXPECT_TRUE(line.commitment_unused);
  EXPECT_TRUE(line.correction);
  EXPECT_EQ(line.effective.currency().code(), "EUR");
  const Tenant tenant = tenant_from_tags(line.tags);
  EXPECT_EQ(tenant.client, "acme");
  EXPECT_EQ(tenant.project, "chat");
  EXPECT_EQ(tenant.team, "nlp");
}

// --- The public sample, against sums made without the code under test. ---

__extension__ typedef __int128 Int128;

std::string gunzip(const std::string& path) {
  std::string out;
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return out;
  char buffer[1 << 16];
  for (int n; (n = gzread(file, buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  return out;
}

std::vector<std::vector<std::string>> split_plainly(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, {""});
  bool quoted = false;
  for (const char c : text) {
    if (c == '"')
      quoted = !quoted;  // a doubled quote toggles twice
    else if (c == ',' && !quoted)
      rows.back().emplace_back();
    else if (c == '\n' && !quoted)
      rows.push_back({""});
    else if (c != '\r' || quoted)
      rows.back().back() += c;
  }
  if (rows.back() == std::vector<std::string>{""}) rows.pop_back();
  return rows;
}

/// Nano-units of a plain decimal, rounded half to even by hand.
Int128 nanos_of(const std::string& decimal) {
  const bool negative = decimal.front() == '-';
  std::string digits = decimal.substr(negative ? 1 : 0);
  const size_t point = digits.find('.');
  std::string fraction = point == std::string::npos ? "" : digits.substr(point + 1);
  digits = digits.substr(0, point);
  fraction.resize(std::max<size_t>(fraction.size(), 9), '0');
  Int128 value = 0;
  for (const char c : digits + fraction.substr(0, 9))
    value = value * 10 + (c - '0');
  const std::string rest = fraction.substr(9);
  const std::string half = "5" + std::string(rest.empty() ? 0 : rest.size() - 1, '0');
  if (!rest.empty() && (rest > half || (rest == half && value % 2 != 0))) ++value;
  return negative ? -value : value;
}

TEST(FocusSample, ImportsWholeAndSumsExactly) {
  const std::string path = STINT_SHARED_DIR "/data/focus-sample/focus_sample_1.0.csv.gz";
  STINT_NEEDS_SHARED(path);
  const std::string text = gunzip(path);
  const TestingSink sink = import(text);
  const auto rows = split_plainly(text);
  ASSERT_EQ(rows.size(), 1001U);
  for (const auto& [line, reason] : sink.rejected)
    ADD_FAILURE() << line << ": " << reason;
  ASSERT_EQ(sink.bill.size(), 1000U);

  std::map<std::string, size_t> column;
  for (size_t i = 0; i < rows[0].size(); ++i)
    column[rows[0][i]] = i;
  Int128 billed = 0, effective = 0, billed_read = 0, effective_read = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    billed += nanos_of(rows[i][column.at("BilledCost")]);
    effective += nanos_of(rows[i][column.at("EffectiveCost")]);
  }
  size_t g5_hours = 0;
  for (const BillLine& line : sink.bill) {
    billed_read += line.billed.count_nanos();
    effective_read += line.effective.count_nanos();
    if (line.instance_type != "g5.4xlarge") continue;
    ++g5_hours;
    EXPECT_EQ(line.list_unit_price, Rate::per_hour(Money::nanos(1'624'000'000)));
    EXPECT_EQ(line.spend, SpendKind::kCompute);
  }
  EXPECT_TRUE(billed_read == billed) << "billed " << static_cast<int64_t>(billed_read) << " against "
                                     << static_cast<int64_t>(billed);
  EXPECT_TRUE(effective_read == effective);
  EXPECT_EQ(g5_hours, 8U);
  RecordProperty("billed_nanos", std::to_string(static_cast<int64_t>(billed_read)));
  RecordProperty("effective_nanos", std::to_string(static_cast<int64_t>(effective_read)));
}

}  // namespace
}  // namespace stint
