// Prices as providers' interfaces answer. The documents are cut down to what is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "codec/importer.h"
#include "codec/testing_sink.h"

namespace stint {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Factory = std::unique_ptr<Importer> (*)(const ImportOptions&, Sink&);

struct Answered {
  TestingSink sink;
  Status status;
};

Answered answered(Factory make, std::string_view text, std::optional<Instant> at = std::nullopt) {
  Answered out;
  ImportOptions options;
  options.source = "answer.json";
  options.at = at;
  const auto importer = make(options, out.sink);
  out.status = importer->feed(text.substr(0, text.size() / 2));
  if (out.status.ok()) out.status = importer->feed(text.substr(text.size() / 2));
  if (out.status.ok()) out.status = importer->finish();
  return out;
}

std::string per_hour(const PriceRow& row) { return row.rate.per_hour().to_decimal(); }

constexpr std::string_view kOffer = R"({"offerCode": "AmazonEC2", "publicationDate": "2026-11-02T10:00:00Z",
 "products": {
  "A": {"attributes": {"instanceType": "p5.48xlarge", "regionCode": "us-east-1", "gpu": "8", "operatingSystem": "Linux",
        "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}},
  "B": {"attributes": {"instanceType": "p5.48xlarge", "regionCode": "us-east-1", "gpu": "8", "operatingSystem": "Windows",
        "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}},
  "C": {"attributes": {"instanceType": "m7i.large", "regionCode": "us-east-1", "operatingSystem": "Linux",
        "tenancy": "Shared", "preInstalledSw": "NA", "capacitystatus": "Used"}}},
 "terms": {"OnDemand": {
   "A": {"A.1": {"priceDimensions": {"A.1.1": {"unit": "Hrs", "pricePerUnit": {"USD": "55.0400000000"}}}, "termAttributes": {}}},
   "B": {"B.1": {"priceDimensions": {"B.1.1": {"unit": "Hrs", "pricePerUnit": {"USD": "63.872"}}}, "termAttributes": {}}},
   "C": {"C.1": {"priceDimensions": {"C.1.1": {"unit": "Hrs", "pricePerUnit": {"USD": "0.1"}}}, "termAttributes": {}}}},
  "Reserved": {"A": {
   "A.2": {"priceDimensions": {"A.2.1": {"unit": "Quantity", "pricePerUnit": {"USD": "87600"}},
                               "A.2.2": {"unit": "Hrs", "pricePerUnit": {"USD": "12.5"}}},
           "termAttributes": {"LeaseContractLength": "1yr", "OfferingClass": "standard", "PurchaseOption": "Partial Upfront"}},
   "A.3": {"priceDimensions": {"A.3.1": {"unit": "Hrs", "pricePerUnit": {"USD": "30"}}},
           "termAttributes": {"LeaseContractLength": "1yr", "OfferingClass": "convertible", "PurchaseOption": "No Upfront"}},
   "A.4": {"priceDimensions": {"A.4.1": {"unit": "GB", "pricePerUnit": {"USD": "30"}}},
           "termAttributes": {"LeaseContractLength": "3yr", "OfferingClass": "standard", "PurchaseOption": "No Upfront"}}}}}})";

TEST(AwsPrices, AnOfferFileIsReadForLinuxOnSharedMachinesWithGpus) {
  const Answered a = answered(make_aws_prices_importer, kOffer);
  ASSERT_TRUE(a.status.ok()) << a.status.error().message;
  ASSERT_THAT(a.sink.prices, SizeIs(2));
  EXPECT_EQ(per_hour(a.sink.prices[0]), "55.04");
  EXPECT_EQ(a.sink.prices[0].market, Market::kOnDemand);
  EXPECT_EQ(a.sink.prices[0].region, "us-east-1");
  EXPECT_EQ(a.sink.prices[0].as_of, *parse_instant("2026-11-02T10:00:00Z"));
  EXPECT_EQ(per_hour(a.sink.prices[1]), "22.5");  // 12.50 + 87,600 / 8,760
  EXPECT_EQ(a.sink.prices[1].term, CommitmentTerm::kOneYear);
  EXPECT_EQ(a.sink.prices[1].payment, PaymentOption::kPartialUpfront);
  ASSERT_THAT(a.sink.rejected, SizeIs(1));
  EXPECT_THAT(a.sink.rejected[0].second, HasSubstr("A.4"));
  EXPECT_THAT(a.sink.rejected[0].second, HasSubstr("unit 'GB'"));
}

TEST(AwsPrices, GetProductsPutsEachDocumentIntoAString) {
  const Answered a = answered(make_aws_prices_importer, R"({"PriceList": [
    "{\"publicationDate\": \"2026-10-01T00:00:00Z\", \"product\": {\"attributes\": {\"instanceType\": \"g6.xlarge\", \"regionCode\": \"eu-west-2\", \"gpu\": \"1\", \"operatingSystem\": \"Linux\", \"tenancy\": \"Shared\", \"preInstalledSw\": \"NA\", \"capacitystatus\": \"Used\"}}, \"terms\": {\"OnDemand\": {\"X.1\": {\"priceDimensions\": {\"X.1.1\": {\"unit\": \"Hrs\", \"pricePerUnit\": {\"USD\": \"0.9333\"}}}}}}}",
    "{", 7]})");
  ASSERT_TRUE(a.status.ok()) << a.status.error().message;
  ASSERT_THAT(a.sink.prices, SizeIs(1));
  EXPECT_EQ(per_hour(a.sink.prices[0]), "0.9333");
  EXPECT_THAT(a.sink.rejected, SizeIs(2));
}

TEST(AwsPrices, SaysWhatToSaveInstead) {
  EXPECT_THAT(answered(make_aws_prices_importer, "{}").status.error().message, HasSubstr("aws pricing get-products"));
  EXPECT_THAT(answered(make_aws_spot_prices_importer, "{}").status.error().message, HasSubstr("describe-spot-price-history"));
  EXPECT_THAT(answered(make_azure_prices_importer, "[]").status.error().message, HasSubstr("prices.azure.com"));
  EXPECT_THAT(answered(make_azure_prices_importer, "{\"Items\": [").status.error().message, HasSubstr("not JSON"));
}

TEST(AwsPrices, TermsBeforeTheirProductsAreRefused) {
  EXPECT_THAT(answered(make_aws_prices_importer, R"({"terms": {"OnDemand": {"A": {}}}, "products": {}})").status.error().message,
              HasSubstr("terms come before its products"));
}

// The same list as kOffer, as AWS publishes it in CSV: the rows of a reservation with a fee stand apart.
constexpr std::string_view kOfferCsv = R"("FormatVersion","v1.0"
"Disclaimer","This pricing list is for informational purposes only, ""as is""."
"Publication Date","2026-11-02T10:00:00Z"
"Version","20261102100000"
"OfferCode","AmazonEC2"
"SKU","OfferTermCode","RateCode","TermType","Unit","PricePerUnit","Currency","LeaseContractLength","PurchaseOption","OfferingClass","Instance Type","Operating System","GPU","Tenancy","Pre Installed S/W","CapacityStatus","Region Code"
"A","2","A.2.1","Reserved","Quantity","87600","USD","1yr","Partial Upfront","standard","p5.48xlarge","Linux","8","Shared","NA","Used","us-east-1"
"A","1","A.1.1","OnDemand","Hrs","55.0400000000","USD","","","","p5.48xlarge","Linux","8","Shared","NA","Used","us-east-1"
"B","1","B.1.1","OnDemand","Hrs","63.872","USD","","","","p5.48xlarge","Windows","8","Shared","NA","Used","us-east-1"
"C","1","C.1.1","OnDemand","Hrs","0.1","USD","","","","m7i.large","Linux","","Shared","NA","Used","us-east-1"
"A","3","A.3.1","Reserved","Hrs","30","USD","1yr","No Upfront","convertible","p5.48xlarge","Linux","8","Shared","NA","Used","us-east-1"
"A","4","A.4.1","Reserved","GB","30","USD","3yr","No Upfront","standard","p5.48xlarge","Linux","8","Shared","NA","Used","us-east-1"
"A","2","A.2.2","Reserved","Hrs","12.5","USD","1yr","Partial Upfront","standard","p5.48xlarge","Linux","8","Shared","NA","Used","us-east-1"
)";

TEST(AwsPrices, AnOfferFileInCsvSaysWhatTheOneInJsonSays) {
  const Answered csv = answered(make_aws_prices_importer, kOfferCsv), json = answered(make_aws_prices_importer, kOffer);
  ASSERT_TRUE(csv.status.ok()) << csv.status.error().message;
  ASSERT_THAT(csv.sink.prices, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    const PriceRow &a = csv.sink.prices[i], &b = json.sink.prices[i];
    EXPECT_EQ(per_hour(a), per_hour(b));
    EXPECT_EQ(std::tie(a.instance_type, a.region, a.market, a.term, a.payment, a.as_of),
              std::tie(b.instance_type, b.region, b.market, b.term, b.payment, b.as_of));
  }
  ASSERT_THAT(csv.sink.rejected, SizeIs(1));
  EXPECT_EQ(csv.sink.rejected[0].first, 12U);
  EXPECT_THAT(csv.sink.rejected[0].second, HasSubstr("unit 'GB'"));
}

TEST(AwsPrices, ACsvThatIsNoneIsToldFromOneOfAnotherService) {
  EXPECT_THAT(answered(make_aws_prices_importer, "\"OfferCode\",\"AmazonS3\"\n").status.error().message, HasSubstr("AmazonS3"));
  EXPECT_THAT(answered(make_aws_prices_importer, "a,b\n1,2\n").status.error().message, HasSubstr("no offer file of AmazonEC2"));
}

/// An SKU of Compute Engine with one price for an hour.
std::string sku(std::string_view description, std::string_view nanos, std::string_view unit, std::string_view usage = "OnDemand",
                std::string_view regions = R"("us-central1","europe-west4")") {
  return fmt::format(
      R"({{"skuId":"X","description":"{}","category":{{"resourceFamily":"Compute","usageType":"{}"}},"serviceRegions":[{}],"pricingInfo":[{{"effectiveTime":"2026-11-03T00:00:00Z",)"
      R"("pricingExpression":{{"usageUnit":"{}","tieredRates":[{{"startUsageAmount":0,"unitPrice":{{"currencyCode":"USD","units":"{}","nanos":{}}}}}]}}}}]}})",
      description, usage, regions, unit, nanos.substr(0, nanos.find('.')),
      std::stol(std::string(nanos.substr(nanos.find('.') + 1))));
}

TEST(GoogleSkus, AMachineCostsItsCoresMemoryGpusAndDisks) {
  // us-central1: a2-ultragpu-1g has 12 cores, 170 GiB, one GPU and 375 GiB of local SSD; g2-standard-4 4 cores, 16 GiB, one L4.
  const std::string first = "{\"skus\":[" + sku("A2 Instance Core running in Americas", "0.031611000", "h") + "," +
                            sku("A2 Instance Ram running in Americas", "0.004237000", "GiBy.h") + "," +
                            sku("Nvidia Tesla A100 80GB GPU running in Americas", "3.927810000", "h") + "," +
                            sku("SSD backed Local Storage", "0.073000000", "GiBy.mo") + "],\"nextPageToken\":\"more\"}";
  const std::string second =
      "{\"skus\":[" +
      sku("Spot Preemptible G2 Instance Core running in Americas", "0.010000000", "h", "OnDemand", R"("us-central1")") + "," +
      sku("Spot Preemptible G2 Instance Ram running in Americas", "0.001000000", "GiBy.h", "Preemptible", R"("us-central1")") +
      "," +
      sku("Nvidia L4 GPU attached to Spot Preemptible VMs running in Americas", "0.200000000", "h", "Preemptible",
          R"("us-central1")") +
      "," + sku("Commitment v1: G2 Cpu in Americas for 1 Year", "0.015000000", "h", "Commit1Yr", R"("us-central1")") + "," +
      sku("Commitment v1: Nvidia L4 GPU running in Americas for 1 Year", "0.350000000", "h", "Commit1Yr", R"("us-central1")") +
      "," + sku("Reserved Nvidia L4 GPU in Americas in Calendar Mode", "0.100000000", "h", "OnDemand", R"("us-central1")") + "," +
      sku("Nvidia L4 GPU attached to DWS Defined Duration VMs running in Americas", "0.100000000", "h", "OnDemand",
          R"("us-central1")") +
      "],\"nextPageToken\":\"\"}";
  for (const std::string& text : {first + "\n" + second, "[" + first + "," + second + "]"}) {
    const Answered a = answered(make_google_skus_importer, text);
    ASSERT_TRUE(a.status.ok()) << a.status.error().message;
    std::map<std::string, std::string> found;
    for (const PriceRow& row : a.sink.prices) {
      found[fmt::format("{} {} {}", row.instance_type, row.region, name_of(row.market))] = per_hour(row);
      EXPECT_EQ(row.provider, "gcp");
      EXPECT_EQ(row.as_of, *parse_instant("2026-11-03"));
    }
    // 12 × 0.031611 + 170 × 0.004237 + 3.92781 + 375 × 0.073 / 730
    EXPECT_EQ(found["a2-ultragpu-1g us-central1 on-demand"], "5.064932");
    EXPECT_EQ(found["a2-ultragpu-8g europe-west4 on-demand"], "40.519456");
    EXPECT_EQ(found["g2-standard-4 us-central1 spot"], "0.256");  // 4 × 0.01 + 16 × 0.001 + 0.2
    EXPECT_FALSE(found.contains("g2-standard-4 europe-west4 spot"));
    EXPECT_FALSE(found.contains("g2-standard-4 us-central1 on-demand"));
    // A commitment without a price for its memory is no price, and said.
    EXPECT_FALSE(found.contains("g2-standard-4 us-central1 reserved"));
    EXPECT_TRUE(std::ranges::any_of(a.sink.rejected, [](const auto& r) {
      return r.second.find("g2-standard-4 in us-central1, reserved") != std::string::npos &&
             r.second.find("G2 ram") != std::string::npos;
    }));
  }
}

TEST(GoogleSkus, APageThatGoesOnIsSaidAndPricesThatAreNoneAreRejected) {
  const Answered a =
      answered(make_google_skus_importer, "{\"skus\":[" + sku("Nvidia L4 GPU running in Americas", "0.0", "h") + "," +
                                              sku("G2 Instance Core running in Americas", "0.020000000", "mo") +
                                              "],\"nextPageToken\":\"x\"}");
  ASSERT_THAT(a.sink.rejected, SizeIs(3));
  EXPECT_THAT(a.sink.rejected[0].second, HasSubstr("no price above zero"));
  EXPECT_THAT(a.sink.rejected[1].second, HasSubstr("usageUnit 'mo'"));
  EXPECT_THAT(a.sink.rejected[2].second, HasSubstr("nextPageToken"));
  EXPECT_THAT(answered(make_google_skus_importer, "{}").status.error().message, HasSubstr("6F81-5844-456A"));
}

TEST(AwsSpotPrices, TheCheapestZoneNowIsTheRegionsPrice) {
  const auto row = [](const char* zone, const char* price, const char* at, const char* what = "Linux/UNIX") {
    return fmt::format(R"({{"AvailabilityZone": "{}", "InstanceType": "p4d.24xlarge", "ProductDescription": "{}",
                        "SpotPrice": "{}", "Timestamp": "{}"}})",
                       zone, what, price, at);
  };
  const Answered a =
      answered(make_aws_spot_prices_importer, fmt::format(R"({{"SpotPriceHistory": [{},{},{},{},{},{}]}})",
                                                          row("us-east-1a", "12.5", "2026-11-20T08:00:00+00:00"),
                                                          row("us-east-1a", "9.1", "2026-11-19T08:00:00+00:00"),  // no longer
                                                          row("us-east-1b", "13.1", "2026-11-21T08:00:00+00:00"),
                                                          row("us-east-1-bos-1a", "1", "2026-11-20T08:00:00+00:00"),
                                                          row("us-east-1c", "2", "2026-11-20T08:00:00+00:00", "Windows"),
                                                          row("us-east-1d", "none", "2026-11-20T08:00:00+00:00")));
  ASSERT_TRUE(a.status.ok()) << a.status.error().message;
  ASSERT_THAT(a.sink.prices, SizeIs(1));
  EXPECT_EQ(per_hour(a.sink.prices[0]), "12.5");
  EXPECT_EQ(a.sink.prices[0].region, "us-east-1");
  EXPECT_EQ(a.sink.prices[0].market, Market::kSpot);
  EXPECT_EQ(a.sink.prices[0].as_of, *parse_instant("2026-11-21T08:00:00Z"));
  ASSERT_THAT(a.sink.rejected, SizeIs(1));
  EXPECT_THAT(a.sink.rejected[0].second, HasSubstr("us-east-1d"));
}

constexpr std::string_view kAzureItems = R"({"BillingCurrency": "USD", "Items": [
 {"currencyCode": "USD", "retailPrice": 3.673, "armRegionName": "eastus", "effectiveStartDate": "2024-02-01T00:00:00Z", "skuName": "NC24ads A100 v4",
  "productName": "NCads A100 v4 Series", "armSkuName": "Standard_NC24ads_A100_v4", "unitOfMeasure": "1 Hour", "type": "Consumption"},
 {"currencyCode": "USD", "retailPrice": 0.6797, "armRegionName": "eastus", "effectiveStartDate": "2024-02-01T00:00:00Z", "skuName": "NC24ads A100 v4 Spot",
  "productName": "NCads A100 v4 Series", "armSkuName": "Standard_NC24ads_A100_v4", "unitOfMeasure": "1 Hour", "type": "Consumption"},
 {"currencyCode": "USD", "retailPrice": 21900.0, "reservationTerm": "1 Year", "armRegionName": "eastus", "effectiveStartDate": "2024-02-01T00:00:00Z",
  "skuName": "NC24ads A100 v4", "productName": "NCads A100 v4 Series", "armSkuName": "Standard_NC24ads_A100_v4", "unitOfMeasure": "1 Hour", "type": "Reservation"},
 {"currencyCode": "USD", "retailPrice": 4.7, "armRegionName": "eastus", "effectiveStartDate": "2024-02-01T00:00:00Z", "skuName": "NC24ads A100 v4",
  "productName": "NCads A100 v4 Series Windows", "armSkuName": "Standard_NC24ads_A100_v4", "unitOfMeasure": "1 Hour", "type": "Consumption"},
 {"currencyCode": "USD", "retailPrice": 0.1, "armRegionName": "eastus", "effectiveStartDate": "2024-02-01T00:00:00Z", "skuName": "D2 v5",
  "productName": "Dv5 Series", "armSkuName": "Standard_D2_v5", "unitOfMeasure": "1 Hour", "type": "Consumption"},
 {"currencyCode": "USD", "retailPrice": 0, "armRegionName": "westus", "effectiveStartDate": "2024-02-01T00:00:00Z", "skuName": "NC24ads A100 v4",
  "productName": "NCads A100 v4 Series", "armSkuName": "Standard_NC24ads_A100_v4", "unitOfMeasure": "1 Hour", "type": "Consumption"}]})";

TEST(AzurePrices, ListSpotAndReservationsOfTheNSeries) {
  const Instant asked = *parse_instant("2026-11-20");
  const Answered a = answered(make_azure_prices_importer, kAzureItems, asked);
  ASSERT_TRUE(a.status.ok()) << a.status.error().message;
  ASSERT_THAT(a.sink.prices, SizeIs(3));
  for (const PriceRow& row : a.sink.prices) {
    const std::string expected = row.market == Market::kOnDemand ? "3.673" : row.market == Market::kSpot ? "0.6797" : "2.5";
    EXPECT_EQ(per_hour(row), expected);  // 21,900 / 8,760
    EXPECT_EQ(row.as_of, asked);
    EXPECT_EQ(row.region, "eastus");
  }
  ASSERT_THAT(a.sink.rejected, SizeIs(1));
  EXPECT_THAT(a.sink.rejected[0].second, HasSubstr("westus: retailPrice"));
  // Not said when it was asked: as of when the price became valid.
  EXPECT_EQ(answered(make_azure_prices_importer, kAzureItems).sink.prices.at(0).as_of, *parse_instant("2024-02-01"));
}

}  // namespace
}  // namespace stint
