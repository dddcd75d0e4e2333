// Both price importers: the price list and SkyPilot's catalogue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/importer.h"
#include "codec/testing_sink.h"

namespace stint {
namespace {

using testing::HasSubstr;
using Factory = std::unique_ptr<Importer> (*)(const ImportOptions&, Sink&);

struct Outcome {
  TestingSink sink;
  Status status;
};

/// Feeds `text` in pieces of `piece` bytes.
Outcome import_text(Factory make, std::string_view text, const std::string& source, size_t piece = 1 << 20) {
  Outcome out;
  ImportOptions options;
  options.source = source;
  options.at = *parse_instant("2026-11-01");
  const auto importer = make(options, out.sink);
  while (!text.empty() && out.status.ok()) {
    out.status = importer->feed(text.substr(0, piece));
    text.remove_prefix(std::min(piece, text.size()));
  }
  if (out.status.ok()) out.status = importer->finish();
  return out;
}

std::string decimal(const PriceRow& row) { return row.rate.per_hour().to_decimal(); }

constexpr std::string_view kList =
    "as_of,provider,region,instance_type,market,per_hour,term,payment,source\n"
    "2026-11-01,aws,eu-west-1,g5.xlarge,on-demand,1.123,,,quote 17\n"
    "2026-11-01,aws,eu-west-1,g5.xlarge,reserved,0.7,1y,no-upfront,\n"
    "2026-11-01,aws,eu-west-1,g5.xlarge,spot,0,,,quote 17\n"
    "2026-11-01,aws,eu-west-1,g5.xlarge,rented,1,,,quote 17\n";

TEST(PricesImporter, TakesColumnsByNameInAnyOrder) {
  const Outcome o = import_text(make_prices_importer, kList, "our.csv");
  ASSERT_TRUE(o.status.ok());
  ASSERT_EQ(o.sink.prices.size(), 2U);
  EXPECT_EQ(decimal(o.sink.prices[0]), "1.123");
  EXPECT_EQ(o.sink.prices[1].term, CommitmentTerm::kOneYear);
  EXPECT_EQ(o.sink.prices[1].source, "our.csv");  // the file, where the row names no source
}

TEST(PricesImporter, RefusesZeroAndUnknownMarketsWithTheLine) {
  const Outcome o = import_text(make_prices_importer, kList, "our.csv");
  ASSERT_EQ(o.sink.rejected.size(), 2U);
  EXPECT_EQ(o.sink.rejected[0].first, 4U);
  EXPECT_THAT(o.sink.rejected[0].second, HasSubstr("not above zero"));
  EXPECT_EQ(o.sink.rejected[1].first, 5U);
  EXPECT_THAT(o.sink.rejected[1].second, HasSubstr("no market"));
}

TEST(PricesImporter, NamesTheMissingColumn) {
  const Outcome o = import_text(make_prices_importer, "provider,region\n", "our.csv");
  ASSERT_FALSE(o.status.ok());
  EXPECT_THAT(o.status.error().message, HasSubstr("instance_type"));
}

constexpr std::string_view kAws =
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone,Arch\n"
    "g6.xlarge,L4,1.0,4.0,16.0,\"{'Gpus': [{'Name': 'L4', 'Count': 1}], 'TotalGpuMemoryInMiB': "
    "22888}\",0.8048,0.349,us-east-1,us-east-1a,x86_64\n"
    "g6.xlarge,L4,1.0,4.0,16.0,,0.8048,0.3011,us-east-1,us-east-1b,x86_64\n"
    "g6e.12xlarge,L40S,4.0,48.0,384.0,,13.12,13.12,eu-central-1,eu-central-1c,x86_64\n"
    "p5.48xlarge,H100,8.0,192.0,2048.0,,55.04,,us-east-1,us-east-1a,x86_64\n"
    "p6.none,B200,8.0,192.0,2048.0,,,,us-east-1,us-east-1a,x86_64\n";

TEST(SkypilotImporter, TakesTheCheapestZoneOfARegion) {
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{4096}}) {
    const Outcome o = import_text(make_skypilot_importer, kAws, "catalogs/v8/aws/vms.csv", piece);
    ASSERT_TRUE(o.status.ok());
    ASSERT_EQ(o.sink.prices.size(), 4U);
    EXPECT_EQ(o.sink.prices[0].provider, "aws");
    EXPECT_EQ(o.sink.prices[0].instance_type, "g6.xlarge");
    EXPECT_EQ(decimal(o.sink.prices[0]), "0.8048");
    EXPECT_EQ(o.sink.prices[1].market, Market::kSpot);
    EXPECT_EQ(decimal(o.sink.prices[1]), "0.3011");
    EXPECT_EQ(o.sink.prices[1].as_of, *parse_instant("2026-11-01"));
  }
}

TEST(SkypilotImporter, BlankSpotIsUnknownAndSpotWithoutDiscountIsRefused) {
  const Outcome o = import_text(make_skypilot_importer, kAws, "aws/vms.csv");
  for (const PriceRow& p : o.sink.prices)
    if (p.instance_type != "g6.xlarge") {
      EXPECT_EQ(p.market, Market::kOnDemand) << p.instance_type;
    }
  ASSERT_EQ(o.sink.rejected.size(), 2U);
  EXPECT_EQ(o.sink.rejected[0].first, 4U);
  EXPECT_THAT(o.sink.rejected[0].second, HasSubstr("no discount"));
  EXPECT_EQ(o.sink.rejected[1].first, 6U);
  EXPECT_THAT(o.sink.rejected[1].second, HasSubstr("neither Price nor SpotPrice"));
}

// The host costs 0.739, the A100 beside it 2.934: the machine costs 3.673, as GCP lists it.
constexpr std::string_view kGcp =
    "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,AvailabilityZone,Price,SpotPrice\n"
    "a2-highgpu-1g,12.0,85.0,,,,us-central1,us-central1-a,0.739294,0.3\n"
    ",,,A100,1.0,,us-central1,us-central1-a,2.933908,\n"
    "a3-highgpu-8g,208.0,1872.0,,,,us-central1,us-central1-a,10.2,4\n"
    "n2-standard-8,8.0,32.0,,,,us-central1,us-central1-a,0.388472,0.09\n"
    ",,,T4,1.0,,us-central1,us-central1-a,0.35,0.14\n"
    "TPU-VM,,,tpu-v3-8,1.0,,us-central1,us-central1-a,8.8,\n";

TEST(SkypilotImporter, AddsHostAndGpuOnGcp) {
  const Outcome o = import_text(make_skypilot_importer, kGcp, "gcp/vms.csv");
  ASSERT_TRUE(o.status.ok());
  ASSERT_EQ(o.sink.prices.size(), 3U);
  EXPECT_EQ(o.sink.prices[0].instance_type, "a2-highgpu-1g");
  EXPECT_EQ(decimal(o.sink.prices[0]), "3.673202");
  EXPECT_EQ(o.sink.prices[0].market, Market::kOnDemand);  // no spot: the GPU's is not known
  EXPECT_EQ(o.sink.prices[1].instance_type, "n2-standard-8");
}

TEST(SkypilotImporter, SaysWhyGcpRowsAreLeftOut) {
  const Outcome o = import_text(make_skypilot_importer, kGcp, "gcp/vms.csv");
  std::vector<std::string> reasons;
  for (const auto& [line, reason] : o.sink.rejected)
    reasons.push_back(reason);
  EXPECT_THAT(reasons, testing::UnorderedElementsAre(HasSubstr("prices the host alone"), HasSubstr("GPU without a machine"),
                                                     HasSubstr("TPU")));
}

TEST(SkypilotImporter, NeedsTheCloudsName) {
  EXPECT_FALSE(import_text(make_skypilot_importer, kAws, "vms.csv").status.ok());
  EXPECT_EQ(import_text(make_skypilot_importer, kAws, "/data/lambda-vms.csv").sink.prices.at(0).provider, "lambda");
}

}  // namespace
}  // namespace stint
