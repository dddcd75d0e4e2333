// How fast are bills read on one core? FOCUS and CUR from memory into a sink that only counts, in pieces of 1 MiB as
// a file gives them; beside them the CSV reader alone, which is the ceiling.
//
// FOCUS input: rows of the shape and size of real exports (44 columns, about 750 bytes), made here so that the
// benchmark runs anywhere: 2,000 resources, hourly periods of a month, 200 descriptions, 350 tag sets.
// Run: build/release/bench/codec_bills_bench --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
#include <benchmark/benchmark.h>

#include "base/prng.h"
#include "codec/csv.h"
#include "codec/importer.h"
#include "codec/sink.h"

namespace stint {
namespace {

class CountingSink final : public Sink {
 public:
  SeriesId series(const SeriesKey&) override { return SeriesId(0); }
  void samples(SeriesId, std::span<const Sample>) override {}
  void stale(SeriesId, Instant) override {}
  void node(const Node&) override {}
  void run(const Run&) override { ++accepted; }
  void bill_line(const BillLine& line) override {
    ++accepted;
    effective_nanos += line.effective.count_nanos();
  }
  void price(const PriceRow&) override {}
  void tenant_rule(const TenantRule&) override {}
  void reject(uint64_t, std::string_view) override { ++rejected; }
  int64_t accepted = 0, rejected = 0, effective_nanos = 0;
};

constexpr int kRows = 40'000;

const std::string& focus_text() {
  static const std::string text = [] {
    Prng random(1);
    std::string out =
        "\"AvailabilityZone\",\"BilledCost\",\"BillingAccountId\",\"BillingAccountName\",\"BillingCurrency\","
        "\"BillingPeriodEnd\",\"BillingPeriodStart\","
        "\"ChargeCategory\",\"ChargeClass\",\"ChargeDescription\",\"ChargeFrequency\",\"ChargePeriodEnd\",\"ChargePeriodStart\","
        "\"CommitmentDiscountCategory\",\"CommitmentDiscountId\",\"CommitmentDiscountName\",\"CommitmentDiscountStatus\","
        "\"CommitmentDiscountType\","
        "\"ConsumedQuantity\",\"ConsumedUnit\",\"ContractedCost\",\"ContractedUnitPrice\",\"EffectiveCost\","
        "\"InvoiceIssuerName\",\"ListCost\","
        "\"ListUnitPrice\",\"PricingCategory\",\"PricingQuantity\",\"PricingUnit\",\"ProviderName\",\"PublisherName\","
        "\"RegionId\",\"RegionName\","
        "\"ResourceId\",\"ResourceName\",\"ResourceType\",\"ServiceCategory\",\"Id\",\"ServiceName\",\"SkuId\",\"SkuPriceId\","
        "\"SubAccountId\","
        "\"SubAccountName\",\"Tags\"\n";
    for (int row = 0; row < kRows; ++row) {
      const uint64_t hour = random.below(719);
      const uint64_t kind = random.below(200);
      const Instant start = Instant::from_seconds(1'725'148'800) + kHour * static_cast<int64_t>(hour);
      const auto civil = [](Instant t) { return format_utc(t).replace(10, 1, " ").substr(0, 19); };
      const std::string cost = fmt::format("{}.{:011}", random.below(30), random.below(99'999'999'999));
      out += fmt::format(
          "\"us-east-1{}\",{},\"1234567890123\",\"SunBird\",\"USD\",\"2024-10-01 00:00:00\",\"2024-09-01 "
          "00:00:00\",\"Usage\",NULL,"
          "\"${}.{:03} per On Demand Linux g5.{}xlarge Instance Hour, kind "
          "{}\",\"Usage-Based\",\"{}\",\"{}\",NULL,NULL,NULL,NULL,NULL,"
          "1.000000000000000,\"Hours\",{},1.62400000000,{},\"Amazon Web Services, "
          "Inc.\",{},\"1.624\",\"Standard\",1.00000000000,\"Hours\",\"AWS\","
          "\"Amazon Web Services, Inc.\",\"us-east-1\",\"US East (N. Virginia)\",\"i-{:017x}\",NULL,\"instance\",\"Compute\",{},"
          "\"Amazon Elastic Compute "
          "Cloud\",\"4GQWNPC9K2PZAY97\",\"4GQWNPC9K2PZAY97.JRTCKXETXF.6YS6EN2CT7\",\"11353890204\",\"Atlas Orion\","
          "\"{{\"\"application\"\": \"\"app-{}\"\", \"\"environment\"\": \"\"dev\"\", \"\"business_unit\"\": "
          "\"\"PeoriaData\"\"}}\"\n",
          static_cast<char>('a' + random.below(6)), cost, kind % 7, kind, 4 << random.below(3), kind, civil(start + kHour),
          civil(start), cost, cost, cost, random.below(2000), 1'000'000 + row, random.below(350));
    }
    return out;
  }();
  return text;
}

const std::string& cur_text() {
  static const std::string text = [] {
    Prng random(2);
    std::string out =
        "bill_payer_account_id,bill_billing_period_start_date,line_item_usage_account_id,line_item_line_item_type,line_item_"
        "usage_start_date,"
        "line_item_usage_end_date,line_item_product_code,line_item_usage_type,line_item_availability_zone,line_item_resource_id,"
        "line_item_usage_amount,line_item_unblended_cost,line_item_currency_code,line_item_line_item_description,pricing_term,"
        "pricing_unit,"
        "product,product_instance_type,savings_plan_savings_plan_a_r_n,savings_plan_savings_plan_effective_cost,resource_tags\n";
    for (int row = 0; row < kRows; ++row) {
      const Instant start = Instant::from_seconds(1'725'148'800) + kHour * static_cast<int64_t>(random.below(719));
      const bool covered = random.below(4) == 0;
      out += fmt::format(
          "111122223333,2024-09-01T00:00:00Z,444455556666,{},{},{},AmazonEC2,BoxUsage:g5.4xlarge,us-east-1a,i-{:017x},1."
          "0000000000,{}.{:010},USD,"
          "\"$1.624 per On Demand Linux g5.4xlarge Instance "
          "Hour\",OnDemand,Hrs,\"{{\"\"region_code\"\":\"\"us-east-1\"\",\"\"product_family\"\":"
          "\"\"Compute "
          "Instance\"\"}}\",g5.4xlarge,{},{},\"{{\"\"user_client\"\":\"\"client-{}\"\",\"\"user_team\"\":\"\"nlp\"\"}}\"\n",
          covered ? "SavingsPlanCoveredUsage" : "Usage", format_utc(start), format_utc(start + kHour), random.below(2000),
          random.below(30), random.below(9'999'999'999), covered ? "arn:aws:savingsplans::1:savingsplan/1" : "",
          covered ? "1.05" : "", random.below(50));
    }
    return out;
  }();
  return text;
}

void import_all(benchmark::State& state, const std::string& text,
                std::unique_ptr<Importer> (*create)(const ImportOptions&, Sink&)) {
  constexpr size_t kPiece = 1 << 20;
  for (auto _ : state) {
    CountingSink sink;
    const auto importer = create({.source = "bench"}, sink);
    for (size_t at = 0; at < text.size(); at += kPiece)
      CHECK(importer->feed(std::string_view(text).substr(at, kPiece)).ok(), "feed");
    CHECK(importer->finish().ok() && sink.accepted == kRows && sink.rejected == 0, "{} accepted, {} rejected", sink.accepted,
          sink.rejected);
    benchmark::DoNotOptimize(sink.effective_nanos);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(text.size()));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kRows);
}

void BM_Focus(benchmark::State& state) { import_all(state, focus_text(), make_focus_importer); }
BENCHMARK(BM_Focus)->Unit(benchmark::kMillisecond);

void BM_Cur(benchmark::State& state) { import_all(state, cur_text(), make_cur_importer); }
BENCHMARK(BM_Cur)->Unit(benchmark::kMillisecond);

void BM_CsvReaderAlone(benchmark::State& state) {
  const std::string& text = focus_text();
  for (auto _ : state) {
    CsvReader reader({.source = "bench"});
    std::string_view rest = text;
    size_t fields = 0;
    for (;;) {
      const auto ready = reader.next(rest);
      if (!ready.ok() || !ready.value()) break;
      fields += reader.record().fields.size();
    }
    benchmark::DoNotOptimize(fields);
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(text.size()));
}
BENCHMARK(BM_CsvReaderAlone)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stint
