// What the forecast must show on the public traces: better than seasonal-naive, and intervals that hold what they say.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/decide/demand_file.h"
#include "telemetry/forecast.h"
#include "tests/needs_shared.h"

namespace stint {
namespace {

struct Trial {
  const char* file;
  const char* series;
  size_t horizon;  ///< steps of the length the reader chooses
};

void PrintTo(const Trial& trial, std::ostream* out) { *out << trial.file << ", " << trial.series << ", " << trial.horizon; }

class ForecastTraces : public ::testing::TestWithParam<Trial> {};

TEST_P(ForecastTraces, BeatSeasonalNaiveAndHoldNineOfTen) {
  const std::filesystem::path path = std::filesystem::path(STINT_SHARED_DIR) / "data" / GetParam().file;
  STINT_NEEDS_SHARED(path);
  const auto all = read_demand(path.string(), {});
  ASSERT_TRUE(all.ok()) << all.error().message;
  bool met = false;
  for (const DemandSeries& series : *all) {
    if (series.name != GetParam().series) continue;
    met = true;
    const auto made = forecast(series, {GetParam().horizon, {}});
    ASSERT_TRUE(made.ok()) << made.error().message;
    const ForecastScore& score = made->score;
    fmt::print(
        "{} · {} · {} × {:g} s ahead: MASE {:.3f}, seasonal-naive {:.3f} (season {}), naive {:.3f}; 90 % intervals held {:.1f} "
        "%\n",
        GetParam().file, series.name, GetParam().horizon, series.step.to_seconds(), score.mase, score.seasonal_naive_mase,
        made->season, score.naive_mase, score.coverage_90 * 100);
    EXPECT_GT(score.origins, 15U);
    EXPECT_LT(score.mase, score.seasonal_naive_mase);
    EXPECT_GE(score.coverage_90, 0.85);
    EXPECT_LE(score.coverage_90, 0.95);
  }
  EXPECT_TRUE(met) << "no series of this name";
}

constexpr const char* kGenai = "alibaba-genai2026/qps.tar.gz";
constexpr const char* kAzureCode = "azure-llm/AzureLLMInferenceTrace_code.csv.gz";
constexpr const char* kAzureChat = "azure-llm/AzureLLMInferenceTrace_conv.csv.gz";
constexpr const char* kDlrm = "alibaba-dlrm2025/disaggregated_DLRM_trace.csv.gz";
INSTANTIATE_TEST_SUITE_P(Public, ForecastTraces,
                         ::testing::Values(Trial{kGenai, "API Requests", 30}, Trial{kGenai, "API Requests", 60},
                                           Trial{kGenai, "Generative Requests", 30}, Trial{kGenai, "Generative Requests", 60},
                                           Trial{kAzureCode, "requests", 6}, Trial{kAzureCode, "requests", 30},
                                           Trial{kAzureChat, "requests", 6}, Trial{kAzureChat, "requests", 30},
                                           Trial{kDlrm, "GPUs in use", 24}, Trial{kDlrm, "GPUs in use", 168},
                                           Trial{kDlrm, "CPU instances in use", 24}, Trial{kDlrm, "CPU instances in use", 168}));

}  // namespace
}  // namespace stint
