#include "documents/perf_analyzer_csv.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::HasSubstr;

const std::string kColumns =
    "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,"
    "Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency\n";

std::string why_not(const std::string& text) {
  const auto read = read_perf_analyzer(text, "b8.csv");
  return read.ok() ? "" : read.error().message;
}

// The example of perf_analyzer's documentation: 206 + 11,781 + 19 microseconds with one request at a time. What more at once took does not count.
TEST(PerfAnalyzerCsv, IsWhatTheServerComputedWithOneRequestAtATime) {
  const auto time = read_perf_analyzer(kColumns +
                                           "1,69.2,225,2148,64,206,11781,19,0,13891,18795,19753,21018\n"
                                           "3,84.2,237,1768,21673,209,11742,17,0,35398,43984,47085,51701\n"
                                           "4,84.2,279,1604,33669,233,11731,18,1,47045,56545,59225,64886\n"
                                           "2,87.2,235,1973,9151,190,11346,17,0,21874,28557,29768,34766\n",
                                       "perf.csv");
  ASSERT_TRUE(time.ok()) << time.error().message;
  EXPECT_EQ(*time, Duration::nanoseconds(12'006'000));
}

// Several runs in one file: 10 ms and 12 ms. Whatever columns come behind (-v, --verbose-csv) are passed over.
TEST(PerfAnalyzerCsv, RowsOfSeveralRunsCountAlike) {
  const auto time = read_perf_analyzer(
      "Concurrency,Inferences/Second,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Avg GPU "
      "Utilization\r\n"
      "1,100,1,0,10000,0,GPU-a:0.8;\r\n1,80,1,500,11000,500,GPU-a:0.8;\r\n",
      "perf.csv");
  ASSERT_TRUE(time.ok()) << time.error().message;
  EXPECT_EQ(*time, Duration::milliseconds(11));
}

TEST(PerfAnalyzerCsv, OlderVersionsHaveOneColumnOfComputing) {
  const auto time = read_perf_analyzer(
      "Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute,Client Recv,p50 latency\n"
      "1,160.8,68,1291,38,4801,7,6212\n",
      "perf.csv");
  ASSERT_TRUE(time.ok()) << time.error().message;
  EXPECT_EQ(*time, Duration::nanoseconds(4'801'000));
}

TEST(PerfAnalyzerCsv, WhatIsNoSuchFileIsRefusedByFileAndLine) {
  EXPECT_THAT(why_not(""), HasSubstr("b8.csv: empty"));
  EXPECT_THAT(why_not("Request Rate,Inferences/Second,Server Compute Infer\n10,10,1000\n"),
              AllOf(HasSubstr("b8.csv: "), HasSubstr("lacks the column Concurrency"), HasSubstr("--concurrency-range 1")));
  EXPECT_THAT(why_not("Concurrency,Inferences/Second,Client Send,Client Recv\n1,10,5,5\n"),
              HasSubstr("no column 'Server Compute Infer'"));
  EXPECT_THAT(why_not(kColumns + "2,87.2,235,1973,9151,190,11346,17,0,21874,28557,29768,34766\n"),
              AllOf(HasSubstr("b8.csv: no row of Concurrency 1"), HasSubstr("--concurrency-range 1")));
  EXPECT_THAT(why_not(kColumns), HasSubstr("no row of Concurrency 1"));
  EXPECT_THAT(why_not(kColumns + "1,69.2,225,2148,64,206,11781,19,0,1,2,3,4\n1,69.2,225,2148,64,206,nan,19,0,1,2,3,4\n"),
              HasSubstr("b8.csv:3: Server Compute Infer `nan` is no time"));
  EXPECT_THAT(why_not(kColumns + "1,69.2,225,2148,64,206,-1,19,0,1,2,3,4\n"), HasSubstr("b8.csv:2: Server Compute Infer `-1`"));
  EXPECT_THAT(why_not(kColumns + "x,69.2,225,2148,64,206,1,19,0,1,2,3,4\n"), HasSubstr("b8.csv:2: Concurrency is `x`"));
  EXPECT_THAT(why_not(kColumns + "1,69.2,225\n"), HasSubstr("b8.csv:2: 3 fields"));
  EXPECT_THAT(why_not(kColumns + "1,69.2,225,2148,64,0,0,0,0,1,2,3,4\n"), HasSubstr("b8.csv:2: the server computed for no time"));
  EXPECT_THAT(why_not("Concurrency,Server Compute Infer,Server Cache Hit\n1,100,20\n"),
              HasSubstr("b8.csv:2: the server answered from its cache"));
}

}  // namespace
}  // namespace stint
