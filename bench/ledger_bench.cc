// How long posting takes: 1,000 GPUs on 1,000 nodes for 720 hours, with one bill line per node and month, and with
// one per node and hour. Target: under half a second each.
//
//   build/release/bench/ledger_bench
#include <benchmark/benchmark.h>

#include "ledger/cost_statement.h"
#include "ledger/ledger.h"
#include "telemetry/attribution.h"

namespace stint {
namespace {

constexpr int64_t kNodes = 1000;
constexpr int64_t kHours = 720;
constexpr int64_t kTenants = 20;
const Instant kStart = Instant::from_hour_index(490'000);

struct Input {
  History history;
  Usage usage;
};

HourlySeries constant_series(double mean, int idle_permille) {
  HourlySeries s;
  s.hours.assign(kHours, {static_cast<float>(mean), static_cast<float>(mean), 3600, static_cast<uint16_t>(idle_permille)});
  s.count = kHours * 60;
  s.max = mean;
  return s;
}

BillLine line_of(const Node& node, Interval when) {
  BillLine line;
  line.provider = "aws";
  line.billing_account = "123456789012";
  line.service = "Amazon Elastic Compute Cloud";
  line.region = "us-east-1";
  line.resource_id = node.resource_id;
  line.instance_type = node.instance_type;
  line.spend = SpendKind::kCompute;
  line.charge_period = when;
  line.billed = line.effective = Money::nanos(3'060'000'001 * (when.length().count_ns() / kHour.count_ns()));
  line.tags = {{"team", "research"}};
  return line;
}

/// @param line_hours  length of a bill line.
Input fleet(int64_t line_hours) {
  Input in;
  History& h = in.history;
  h.period = in.usage.period = {kStart, kStart + kHour * kHours};
  for (int64_t t = 0; t < kTenants; ++t) {
    Holder holder;
    holder.ns = fmt::format("client-{:02}", t);
    holder.pod = "trainer-0";
    h.holders.push_back(holder);
  }
  for (uint32_t n = 0; n < kNodes; ++n) {
    Node node;
    node.name = fmt::format("gpu-node-{:04}", n);
    node.resource_id = fmt::format("i-0123456789abc{:04}", n);
    node.instance_type = "p3.2xlarge";
    Device device;
    device.node = NodeId(n);
    device.index = 0;
    h.nodes.push_back(node);
    h.devices.push_back(device);
    DeviceUsage usage;
    usage.metrics[Metric::kUtilization] = constant_series(40, 300);
    usage.metrics[Metric::kMemoryUsed] = constant_series(2e10, 0);
    usage.holders.push_back({HolderId(n % kTenants), {{Metric::kUtilization, constant_series(40, 300)}}});
    in.usage.devices.push_back(std::move(usage));
  }
  h.bill.reserve(static_cast<size_t>(kNodes * kHours / line_hours));
  for (int64_t t = 0; t < kHours; t += line_hours)
    for (const Node& node : h.nodes)
      h.bill.push_back(line_of(node, {kStart + kHour * t, kStart + kHour * (t + line_hours)}));
  return in;
}

void attribute_month(benchmark::State& state) {
  const Input in = fleet(kHours);
  for (auto _ : state)
    benchmark::DoNotOptimize(attribute(in.history, in.usage));
}
BENCHMARK(attribute_month)->Unit(benchmark::kMillisecond);

/// Argument: hours per bill line.
void post_month(benchmark::State& state) {
  const Input in = fleet(state.range(0));
  const Attribution attribution = attribute(in.history, in.usage);
  size_t postings = 0;
  for (auto _ : state) {
    const auto ledger = post(in.history, attribution.occupancy, Catalog::built_in(), {});
    postings = ledger->postings.size();
    CHECK(check_conservation(*ledger).ok(), "the ledger does not sum to the bill");
  }
  state.counters["lines"] = static_cast<double>(in.history.bill.size());
  state.counters["postings"] = static_cast<double>(postings);
}
BENCHMARK(post_month)->Arg(kHours)->Arg(1)->Unit(benchmark::kMillisecond);

void make_statement_of_hourly_lines(benchmark::State& state) {
  const Input in = fleet(1);
  const Attribution attribution = attribute(in.history, in.usage);
  const auto ledger = post(in.history, attribution.occupancy, Catalog::built_in(), {});
  for (auto _ : state)
    benchmark::DoNotOptimize(make_statement(*ledger, {}));
}
BENCHMARK(make_statement_of_hourly_lines)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace stint
