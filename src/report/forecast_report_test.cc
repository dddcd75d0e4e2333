#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "report/forecast_view.h"
#include "report/forecast_words.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

ForecastView view_of(size_t known, size_t horizon) {
  DemandSeries series{"GPUs <held>", "GPUs", *parse_instant("2026-09-07"), kHour, {}};
  for (size_t i = 0; i < known; ++i)
    series.values.push_back(i == 5 ? std::nullopt : std::optional(40 + 10 * std::sin(static_cast<double>(i) * 0.26)));
  Forecast made = forecast(series, {horizon, {}}).value();
  ForecastRow row{
      series, made, {outlook(made, {CapacityLimit::Kind::kCapacity, 45}), outlook(made, {CapacityLimit::Kind::kCommitment, 20})}};
  return {"fleet.db", {row}, {"a note"}};
}

TEST(ForecastReport, SaysThePastTheFutureAndWhatItMeans) {
  const std::string text = forecast_text(view_of(600, 48), Colour::kNo);
  EXPECT_THAT(text, HasSubstr("599 of 600 values known; the next 2 days"));
  EXPECT_THAT(text, HasSubstr("2026-10-02 00:00"));  // 25 days later
  EXPECT_THAT(text, HasSubstr("Capacity of 45 GPUs: runs out in "));
  EXPECT_THAT(text, HasSubstr("Commitment of 20 GPUs: 100 % of it used"));
  EXPECT_THAT(text, HasSubstr("Tried on the past:"));
  EXPECT_THAT(text, HasSubstr("seasonal-naive 0."));
  EXPECT_THAT(text, HasSubstr("●"));
  EXPECT_THAT(text, HasSubstr("a note"));
  EXPECT_THAT(text, Not(HasSubstr("extrapolated")));
}

TEST(ForecastReport, MarksWhatCouldNotBeTried) {
  const ForecastView view = view_of(60, 300);
  EXPECT_THAT(forecast_text(view, Colour::kNo), HasSubstr("too short to have tried this distance"));
}

TEST(ForecastReport, BeginsWithALineForEachSeries) {
  const std::string text = forecast_text(view_of(600, 48), Colour::kNo);
  const size_t summary = text.find("Summary: the next 2 days");
  ASSERT_NE(summary, std::string::npos);
  EXPECT_LT(summary, text.find("values known"));
  EXPECT_THAT(text, HasSubstr("capacity of 45 may run out in "));
}

TEST(ForecastReport, ThePageBeginsWithTheSameLines) {
  const ForecastView view = view_of(600, 48);
  const std::string page = forecast_html(view);
  const size_t summary = page.find("What comes in the next 2 days.");
  ASSERT_NE(summary, std::string::npos);
  EXPECT_LT(summary, page.find("id=\"series-1\""));
  EXPECT_THAT(page, HasSubstr("capacity of 45 may run out in "));
}

TEST(ForecastReport, AConstantIsSaidToBeOneAndHasNoScore) {
  // Two GPUs in all hours, but for what adding up thirds leaves.
  DemandSeries series{"GPUs held", "GPUs", *parse_instant("2026-09-07"), kHour, {}};
  for (size_t i = 0; i < 600; ++i)
    series.values.push_back(i % 7 == 3 ? 2.0000000000000004 : 2.0);
  const Forecast made = forecast(series, {48, {}}).value();
  EXPECT_EQ(made.score.compared, 0U);
  const std::string text = forecast_text({"fleet.db", {{series, made, {}}}, {}}, Colour::kNo);
  EXPECT_THAT(text, HasSubstr("It has always been 2 GPUs: there is no change to forecast."));
  EXPECT_THAT(text, Not(HasSubstr("MASE")));
  EXPECT_THAT(text, Not(HasSubstr("intervals held")));
}

TEST(ForecastReport, JsonHoldsEveryPoint) {
  const ForecastView view = view_of(600, 48);
  const auto json = nlohmann::json::parse(forecast_json(view));
  const auto& series = json["series"][0];
  EXPECT_EQ(series["points"].size(), 48U);
  EXPECT_EQ(series["points"][0]["at"], "2026-10-02T00:00:00Z");
  EXPECT_EQ(series["points"][0]["expected"], view.rows[0].forecast.points[0].expected);
  EXPECT_EQ(series["known"], 599);
  EXPECT_EQ(series["score"]["mase"], view.rows[0].forecast.score.mase);
  EXPECT_EQ(series["outlooks"][0]["kind"], "capacity");
  double weights = 0;
  for (const auto& [name, weight] : series["distances"][0]["weights"].items())
    weights += weight.get<double>();
  EXPECT_NEAR(weights, 1, 1e-9);
}

TEST(ForecastReport, PageEscapesNamesAndNeedsNoScript) {
  const std::string page = forecast_html(view_of(600, 48));
  EXPECT_THAT(page, HasSubstr("GPUs &lt;held&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, HasSubstr("<svg"));
}

TEST(ForecastReport, AmountsHaveThreeDigitsThatCount) {
  const std::vector<std::string> shown = {shown_amount(0),     shown_amount(0.01234), shown_amount(4.567), shown_amount(45.67),
                                          shown_amount(456.7), shown_amount(4567.8),  shown_amount(2.0)};
  EXPECT_THAT(shown, ElementsAre("0", "0.0123", "4.57", "45.7", "457", "4,568", "2"));
  EXPECT_EQ(shown_wait(kHour * 24 * 17 + kHour * 5), "17 days");
  EXPECT_EQ(shown_wait(kHour * 31), "31 hours");
  EXPECT_EQ(shown_wait(Duration::minutes(90)), "90 minutes");
  EXPECT_EQ(shown_wait(Duration()), "now");
  EXPECT_EQ(shown_step(Duration::seconds(10)), "10 s");
  EXPECT_EQ(shown_step(kHour), "hour");
}

}  // namespace
}  // namespace stint
