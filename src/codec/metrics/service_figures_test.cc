#include "codec/metrics/service_figures.h"

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

TEST(ServiceFigures, TheLongestOfAServiceCounts) {
  std::vector<std::string> read;
  for (const ServiceFigures& figures : read_service_figures(kExposition))
    read.push_back(fmt::format("{}: {}", figures.service, figures.p99_ms.value_or(-1)));
  EXPECT_THAT(read, ElementsAre("a \"b\": 7", "chat: 41.5"));
}

TEST(ServiceFigures, TheLeastHeadroomAndAllRequestsCount) {
  const auto read = read_service_figures(
      "stint_serve_promise_headroom{model=\"chat\",version=\"1\"} 0.75\n"
      "stint_serve_promise_headroom{model=\"chat\",version=\"2\"} -0.5\n"
      "stint_serve_promise_headroom{model=\"chat\",version=\"3\"} 1.5\n"
      "stint_serve_arrivals_per_second{model=\"chat\",version=\"1\"} 90\n"
      "stint_serve_arrivals_per_second{model=\"chat\",version=\"2\"} 10\n"
      "stint_serve_arrivals_per_second{model=\"mlp\",version=\"1\"} -1\n"
      "stint_serve_arrivals_per_second{version=\"1\"} 1\n");
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].service, "chat");
  EXPECT_EQ(read[0].headroom, -0.5);
  EXPECT_EQ(read[0].per_second, 100);
  EXPECT_FALSE(read[0].p99_ms);
}

TEST(ServiceFigures, IsNoDevicesAndNothingIsRejectedForIt) {
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
