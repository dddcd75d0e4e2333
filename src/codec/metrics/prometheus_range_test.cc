#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/importer.h"
#include "codec/json_cursor.h"
#include "codec/testing_sink.h"

namespace stint {
namespace {

Status import(std::string_view text, TestingSink& sink, size_t piece = 1 << 20) {
  const auto importer = make_prometheus_range_importer({.source = "range.json"}, sink);
  for (size_t at = 0; at < text.size(); at += piece)
    TRY(importer->feed(text.substr(at, piece)));
  return importer->finish();
}

std::string problem(std::string_view text) {
  TestingSink sink;
  const Status status = import(text, sink);
  return status.ok() ? "" : status.error().message;
}

constexpr std::string_view kAnswer =
    R"({"status":"success","data":{"resultType":"matrix","result":[)"
    R"({"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","UUID":"GPU-1","instance":"n:9400","modelName":"A\u0031\"0\" \ud83d\ude00"},)"
    R"("values":[[1760000000.781,"1"],[1760000060.781,"2.5"],[1760000120.781,"NaN"],)"
    R"([1760000180.781,"+Inf"],[1760000240.781,"1e1"]]},)"
    R"({"metric":{"__name__":"up","instance":"n:9400"},"values":[[1760000000,"1"]]},)"
    R"({"metric":{"__name__":"DCGM_FI_PROF_SM_ACTIVE","gpu":"0","Hostname":"n"},"values":[[1760000000,"0.25"]]}]},)"
    R"("warnings":["too many samples","and \"more\""],"infos":[]})";

TEST(PrometheusRange, ReadsAMatrix) {
  TestingSink sink;
  ASSERT_TRUE(import(kAnswer, sink).ok());
  ASSERT_EQ(sink.keys.size(), 2U);
  EXPECT_EQ(sink.keys[0].device.model, "A1\"0\" \xf0\x9f\x98\x80");
  EXPECT_EQ(sink.keys[0].device.node, "n");
  ASSERT_EQ(sink.points[0].size(), 3U);
  EXPECT_EQ(sink.points[0][0].at, Instant::from_ns(1'760'000'000'781'000'000));
  EXPECT_EQ(sink.points[0][1].value, 2.5);
  EXPECT_EQ(sink.points[0][2].value, 10);
  EXPECT_EQ(sink.stale_marks.size(), 2U);
  EXPECT_EQ(sink.points[1][0].value, 25);
  ASSERT_EQ(sink.rejected.size(), 2U);
  EXPECT_EQ(sink.rejected[1].second, "Prometheus warns: and \"more\"");
}

TEST(PrometheusRange, WhereItIsCutDoesNotMatter) {
  TestingSink whole;
  ASSERT_TRUE(import(kAnswer, whole).ok());
  for (size_t piece = 1; piece < 40; ++piece) {
    TestingSink cut;
    ASSERT_TRUE(import(kAnswer, cut, piece).ok()) << piece;
    EXPECT_EQ(cut.keys, whole.keys);
    EXPECT_EQ(cut.sample_count(), whole.sample_count());
    EXPECT_EQ(cut.rejected, whole.rejected);
  }
}

TEST(PrometheusRange, ImpossibleValuesAreRefused) {
  TestingSink sink;
  ASSERT_TRUE(
      import(R"({"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"DCGM_FI_PROF_SM_ACTIVE",)"
             R"("UUID":"GPU-1","Hostname":"n"},"values":[[1760000000,"0.5"],[1760000060,"50"],[1760000120,"-0.1"]]}]}})",
             sink)
          .ok());
  EXPECT_EQ(sink.sample_count(), 1U);
  ASSERT_EQ(sink.rejected.size(), 2U);
  EXPECT_NE(sink.rejected[0].second.find("sm_active of 5000 %"), std::string::npos);
}

TEST(PrometheusRange, ASeriesWithTwoMetricsIsRefused) {
  EXPECT_NE(
      problem(R"({"status":"success","data":{"resultType":"matrix","result":[)"
              R"({"metric":{"__name__":"DCGM_FI_DEV_GPU_UTIL","UUID":"GPU-1","instance":"n:9400"},"values":[[1760000000,"7"]],)"
              R"("metric":{"__name__":"DCGM_FI_DEV_DEC_UTIL","gpu":"1","Hostname":"n"}}]}})")
          .find("two metrics"),
      std::string::npos);
}

TEST(PrometheusRange, EveryTruncationIsAnError) {
  for (size_t n = 0; n < kAnswer.size(); ++n)
    EXPECT_NE(problem(kAnswer.substr(0, n)), "") << n;
}

TEST(PrometheusRange, MembersMayComeInAnyOrderAndSpacing) {
  TestingSink sink;
  ASSERT_TRUE(import(R"( { "data" : { "result" : [ { "values" : [ [ 1760000000 , "7" ] ,
      [1760000060.5,"8"] ] , "histograms": [[1,{"count":"3"}]], "metric" :
      { "gpu":"0", "Hostname":"n", "__name__" : "DCGM_FI_DEV_GPU_TEMP" } } ],
      "resultType" : "matrix" } , "status" : "success" } )",
                     sink)
                  .ok());
  ASSERT_EQ(sink.sample_count(), 2U);
  EXPECT_EQ(sink.points[0][1].value, 8);
}

TEST(PrometheusRange, ReadsAVectorPagesAndPromtool) {
  const std::string_view series = R"({"metric":{"__name__":"DCGM_FI_DEV_GPU_TEMP","gpu":"0","Hostname":"n"},)";
  TestingSink sink;
  const std::string vector =
      fmt::format(R"({{"status":"success","data":{{"resultType":"vector","result":[{}"value":[1760000000,"50"]}}]}}}})", series);
  const std::string matrix = fmt::format(
      R"({{"status":"success","data":{{"resultType":"matrix","result":[{}"values":[[1760000060,"51"]]}}]}}}})", series);
  const std::string promtool = fmt::format(R"([{}"values":[[1760000120,"52"]]}}])", series);
  ASSERT_TRUE(import(vector + "\n" + matrix + matrix + "\n" + promtool + "\n", sink).ok());
  EXPECT_EQ(sink.keys.size(), 1U);
  EXPECT_EQ(sink.sample_count(), 4U);
}

TEST(PrometheusRange, AnEmptyResultIsFine) {
  EXPECT_EQ(problem(R"({"status":"success","data":{"resultType":"matrix","result":[]}})"), "");
}

TEST(PrometheusRange, ErrorsOfTheServerAreShown) {
  EXPECT_THAT(problem(R"({"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of 11,000 points"})"),
              testing::HasSubstr("bad_data: exceeded maximum resolution of 11,000 points"));
}

TEST(PrometheusRange, WhatIsNoAnswerIsRefused) {
  EXPECT_THAT(problem(""), testing::HasSubstr("empty"));
  EXPECT_THAT(problem("<html>"), testing::HasSubstr("byte 0"));
  EXPECT_THAT(problem("{}"), testing::HasSubstr("no answer of query_range"));
  EXPECT_THAT(problem(R"({"status":"success","data":{"resultType":"scalar","result":[1,"1"]}})"), testing::HasSubstr("scalar"));
  EXPECT_THAT(problem(R"({"status":"success","data":{"resultType":"matrix","result":[7]}})"),
              testing::HasSubstr("a series is expected"));
}

TEST(PrometheusRange, ASampleThatIsNoneIsRejectedAlone) {
  TestingSink sink;
  ASSERT_TRUE(import(R"([{"metric":{"__name__":"DCGM_FI_DEV_GPU_TEMP","gpu":"0","Hostname":"n"},
      "values":[["x","1"],[1760000000,2],[1760000060,"3"],[1760000120,"a"],[1760000180,"4"]]},
      {"metric":{"gpu":"0"},"values":[[1760000000,"1"]]}])",
                     sink)
                  .ok());
  EXPECT_EQ(sink.sample_count(), 2U);
  EXPECT_EQ(sink.rejected.size(), 4U);
}

TEST(JsonCursor, SkipsDeepValuesWithoutRecursion) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']') + ",";
  JsonCursor in{deep.data(), deep.data() + deep.size()};
  EXPECT_EQ(in.skip_value(), JsonStep::kDone);
  EXPECT_EQ(*in.at, ',');
}

}  // namespace
}  // namespace stint
