#include "daemon/price_config.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "daemon/testing_daemon.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

Result<DaemonConfig> with_prices(const std::string& prices) {
  nlohmann::json json = nlohmann::json::parse(to_json(testing_fleet()));
  json["prices"] = nlohmann::json::parse(prices);
  return parse_daemon_config(json.dump(), "fleet.json");
}

TEST(PriceConfig, IsReadAsItIsWritten) {
  for (const char* prices : {R"([{"machines":["n*"],"hours":"22:00-06:00","weekends":true,"per_hour":"8.1"}])",
                             R"([{"machines":["n0","n1"],"hours":"09:00-17:00","per_hour":"20"}])",
                             R"([{"machines":["n0"],"weekends":true,"per_hour":"0"}])",
                             R"([{"machines":["n1"],"from":[{"at":"2026-10-01T00:00:00Z","per_hour":"3.2"},)"
                             R"({"at":"2026-10-01T00:30:00Z","per_hour":"0.000000001"}]}])"}) {
    const auto config = with_prices(prices);
    ASSERT_TRUE(config.ok()) << config.error().message;
    const auto again = parse_fleet_config(to_json(config->fleet), "again");
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(again->prices, config->fleet.prices) << prices;
    EXPECT_EQ(to_json(config->fleet.prices).dump(), nlohmann::ordered_json::parse(prices).dump());
  }
}

TEST(PriceConfig, WeekendsAreWhollyInIt) {
  const auto config = with_prices(R"([{"machines":["n0"],"hours":"22:00-06:00","weekends":true,"per_hour":"1"}])");
  ASSERT_TRUE(config.ok());
  // Five nights of 8 hours, two days of 24.
  EXPECT_EQ(config->fleet.prices[0].hours.count(), 5U * 8 + 2 * 24);
}

TEST(PriceConfig, WhatIsWrongIsNamed) {
  const auto error = [](const std::string& rule) { return with_prices("[" + rule + "]").error().message; };
  EXPECT_THAT(error(R"({"hours":"22:00-06:00","per_hour":"1"})"), HasSubstr("prices 1: field 'machines'"));
  EXPECT_THAT(error(R"({"machines":["n0"],"hours":"22:30-06:00","per_hour":"1"})"), HasSubstr("field 'hours'"));
  EXPECT_THAT(error(R"({"machines":["n0"],"hours":"22:00-06:00"})"), HasSubstr("field 'per_hour'"));
  EXPECT_THAT(error(R"({"machines":["n0"],"per_hour":"1"})"), HasSubstr("field 'hours'"));
  EXPECT_THAT(error(R"({"machines":["n0"],"per_hour":"1","hours":"22:00-06:00","from":[]})"), HasSubstr("field 'per_hour'"));
  EXPECT_THAT(error(R"({"machines":["n0"],"from":[{"at":"2026-10-01T00:00:00Z"}]})"), HasSubstr("'at' and 'per_hour'"));
  EXPECT_THAT(error(R"({"machines":["n0"],"from":[{"at":"2026-10-02T00:00:00Z","per_hour":"1"},)"
                    R"({"at":"2026-10-01T00:00:00Z","per_hour":"1"}]})"),
              HasSubstr("must be later"));
  EXPECT_THAT(error(R"({"machines":["m*"],"hours":"22:00-06:00","per_hour":"1"})"), HasSubstr("no machine is called 'm*'"));
  EXPECT_THAT(error(R"({"machines":["n0"],"hours":"22:00-06:00","per_hour":"1","price":"1"})"), HasSubstr("price"));
}

}  // namespace
}  // namespace stint
