#include "codec/bills/opencost_writer.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace stint {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

Allocation one_step() {
  const Interval day = {*parse_instant("2026-10-01"), *parse_instant("2026-10-02")};
  AllocationRow row;
  row.name = "shop/web \"1\"";
  row.properties.ns = "shop";
  row.properties.labels = {{"app", "web"}};
  row.when = {day.begin + kHour * 6, day.begin + kHour * 18};
  row.gpu = Money::nanos(31'200'000'001);
  row.idle = Money::nanos(1);
  row.storage = Money::units(2);
  row.micro_gpu_hours = 6'000'000;
  row.cpu_core_hours = 48;
  row.gpu_unknown = row.gpu;
  return {.window = day, .rows = {row}};
}

TEST(OpencostWriter, FieldsAndTheirNames) {
  const std::string text = opencost_answer(std::vector{one_step()}, "");
  const json parsed = json::parse(text);
  EXPECT_EQ(parsed["code"], 200);
  EXPECT_FALSE(parsed.contains("warning"));
  const json& row = parsed["data"][0]["shop/web \"1\""];
  EXPECT_EQ(row["name"], "shop/web \"1\"");
  EXPECT_EQ(row["properties"], json::parse(R"({"namespace":"shop","labels":{"app":"web"}})"));
  EXPECT_EQ(row["window"], json::parse(R"({"start":"2026-10-01T00:00:00Z","end":"2026-10-02T00:00:00Z"})"));
  EXPECT_EQ(row["start"], "2026-10-01T06:00:00Z");
  EXPECT_EQ(row["end"], "2026-10-01T18:00:00Z");
  EXPECT_EQ(row["minutes"], 720);
  EXPECT_EQ(row["gpuHours"], 6);
  EXPECT_EQ(row["gpuCount"], 0.5);
  EXPECT_EQ(row["cpuCores"], 4);
  EXPECT_EQ(row["pvCost"], 2);
  EXPECT_TRUE(row["totalEfficiency"].is_null()) << "no telemetry";
  // To the last nano-unit, as text.
  EXPECT_THAT(text, HasSubstr(R"("gpuCost":31.200000002,"gpuCostIdle":0.000000001,)"));
  EXPECT_THAT(text, HasSubstr(R"("totalCost":33.200000002,)"));
}

TEST(OpencostWriter, AnEmptyStepIsAnEmptyMapAndWarningsAreTold) {
  Allocation nothing;
  EXPECT_EQ(opencost_answer(std::vector{nothing, nothing}, "look out"),
            "{\"code\":200,\"status\":\"success\",\"data\":[{},{}],\"warning\":\"look out\"}\n");
}

TEST(OpencostWriter, BytesThatAreNoTextDoNoHarm) {
  Allocation step = one_step();
  step.rows[0].name = std::string("\xff\x01\n", 3);
  EXPECT_TRUE(json::accept(opencost_answer(std::vector{step}, "")));
}

}  // namespace
}  // namespace stint
