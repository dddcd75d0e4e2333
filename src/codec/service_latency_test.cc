#include "codec/service_latency.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "codec/testing_import.h"

namespace stint {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kExposition =
    "# TYPE stint_latency_p99 gauge\n"
    "stint_latency_p99{service=\"chat\",version=\"1\"} 40.5\n"
    "stint_latency_p99{service=\"chat\",version=\"2\"} 41.5 1760000000000\r\n"
    "stint_latency_p99{version=\"1\",service=\"a \\\"b\\\"\"} 7\n"
    "stint_latency_p99{service=\"idle\"} NaN\n"
    "stint_latency_p99{service=\"endless\"} +Inf\n"
    "stint_latency_p99{service=\"backwards\"} -3\n"
    "stint_latency_p99{service=\"none\"}\n"
    "stint_latency_p99{service=\"\"} 3\n"
    "stint_latency_p99{service=\"open 3\n"
    "stint_latency_p99_more{service=\"other\"} 3\n";

TEST(ServiceLatency, TheLongestOfAServiceCounts) {
  std::vector<std::string> read;
  for (const ServiceLatency& latency : read_service_latencies(kExposition))
    read.push_back(fmt::format("{}: {}", latency.service, latency.p99_ms));
  EXPECT_THAT(read, ElementsAre("a \"b\": 7", "chat: 41.5"));
}

TEST(ServiceLatency, IsNoDevicesAndNothingIsRejectedForIt) {
  ImportOptions options;
  options.node = "n0";
  options.at = Instant::from_seconds(1'760'000'000);
  const TestingSink sink =
      import_text(make_prometheus_text_importer, options,
                  "stint_latency_p99{service=\"chat\"} 40.5\nstint_latency_p99{gpu=\"3\",service=\"chat\"} 41\n");
  EXPECT_EQ(sink.rejected.size(), 0U);
  EXPECT_EQ(sink.keys.size(), 1U) << "of the one that names a GPU";
}

}  // namespace
}  // namespace stint
