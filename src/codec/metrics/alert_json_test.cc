#include "codec/metrics/alert_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stint {
namespace {

const Instant kStart = Instant::from_seconds(1'800'000'000);  // 2027-01-15T08:00:00Z

AlertMessage hot(const std::string& gpu, std::optional<Instant> ends_at = {}) {
  std::vector<AlertRule> rules;
  for (const AlertRule& rule : default_alert_rules())
    if (rule.name == "GpuTemperatureCritical") rules.push_back(rule);
  const AlertChange change{.rule = 0,
                           .subject = {},
                           .firing = !ends_at,
                           .since = kStart,
                           .at = ends_at.value_or(kStart + Duration::minutes(1)),
                           .value = 93.4};
  return message_of(rules.at(0), {.scope = AlertScope::kGpu, .node = "n1", .gpu = gpu, .name = {}}, change, "acme");
}

TEST(AlertJson, AlertmanagerIsToldLabelsTimesAndWhatToDo) {
  const auto got = nlohmann::json::parse(alertmanager_json(std::vector{hot("GPU-1")}, {}, "https://stint.example/alerts"));
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0]["labels"]["alertname"], "GpuTemperatureCritical");
  EXPECT_EQ(got[0]["labels"]["severity"], "critical");
  EXPECT_EQ(got[0]["labels"]["gpu"], "GPU-1");
  EXPECT_FALSE(got[0]["labels"].contains("job"));
  EXPECT_EQ(got[0]["annotations"]["description"], "Measured 93.4 °C; the rule is > 90.");
  EXPECT_EQ(got[0]["startsAt"], "2027-01-15T08:00:00Z");
  EXPECT_FALSE(got[0].contains("endsAt"));
  EXPECT_EQ(got[0]["labels"]["client"], "acme");
  const Instant until = kStart + Duration::minutes(4);
  const auto bounded = nlohmann::json::parse(alertmanager_json(std::vector{hot("GPU-1"), hot("GPU-2", kStart)}, until, ""));
  EXPECT_EQ(bounded[0]["endsAt"], "2027-01-15T08:04:00Z");
  EXPECT_EQ(bounded[1]["endsAt"], "2027-01-15T08:00:00Z") << "one that has ended, ended then";
}

TEST(AlertJson, AWebhookIsFiringWhileAnyAlertIs) {
  const std::optional<Instant> end = kStart + Duration::minutes(5);
  const auto both = nlohmann::json::parse(webhook_json(std::vector{hot("GPU-1"), hot("GPU-2", end)}, ""));
  EXPECT_EQ(both["status"], "firing");
  EXPECT_EQ(both["alerts"][0]["status"], "firing");
  EXPECT_EQ(both["alerts"][1]["status"], "resolved");
  EXPECT_EQ(both["alerts"][1]["endsAt"], "2027-01-15T08:05:00Z");
  EXPECT_NE(both["alerts"][0]["fingerprint"], both["alerts"][1]["fingerprint"]);
  EXPECT_EQ(both["commonLabels"]["node"], "n1");
  EXPECT_FALSE(both["commonLabels"].contains("gpu"));
  EXPECT_EQ(nlohmann::json::parse(webhook_json(std::vector{hot("GPU-2", end)}, ""))["status"], "resolved");
}

TEST(AlertJson, NamesThatAreNotUtf8DoNoHarm) {
  EXPECT_TRUE(nlohmann::json::accept(alertmanager_json(std::vector{hot("\xff\xfe")}, {}, "")));
}

}  // namespace
}  // namespace stint
