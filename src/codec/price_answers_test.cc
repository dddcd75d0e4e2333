// Prices as providers' interfaces answer. The documents are cut down to what is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
