// What the configuration says of alerts, and the rows the book is kept in.
#include "daemon/alerts/alert_config.h"

#include <gmock/gmock.h>
#include <simdjson.h>

#include "daemon/alerts/alert_journal.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

AlertConfig read(const std::string& alerts) {
  const auto config = parse_alert_config(R"({"alerts":)" + alerts + "}", "test");
  EXPECT_TRUE(config.ok()) << config.error().message;
  return config.ok() ? *config : AlertConfig();
}

std::string error_of(const std::string& alerts) {
  const auto config = parse_alert_config("{\n \"alerts\": " + alerts + "}", "fleet.json");
  return config.ok() ? "none" : config.error().message;
}

const AlertRule* rule(const AlertConfig& config, std::string_view name) {
  const auto at = std::ranges::find(config.rules, name, &AlertRule::name);
  return at == config.rules.end() ? nullptr : &*at;
}

TEST(AlertConfig, WithoutAFieldTheDefaultsHold) {
  const auto config = parse_alert_config("{}", "test");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->rules.size(), default_alert_rules().size());
  EXPECT_TRUE(config->receivers.empty());
}

TEST(AlertConfig, RulesAreChangedSwitchedOffAndAdded) {
  const AlertConfig config = read(R"({"rules":[{"name":"GpuHot","threshold":80,"hold":"2m","severity":"critical"},
      {"name":"GpuMemoryLeak","disabled":true},
      {"name":"Backlog","measure":"fact","fact":"jobs-waiting","comparison":">=","threshold":50,"summary":"Many wait."}]})");
  EXPECT_EQ(config.rules.size(), default_alert_rules().size());
  ASSERT_NE(rule(config, "GpuHot"), nullptr);
  EXPECT_EQ(rule(config, "GpuHot")->threshold, 80);
  EXPECT_EQ(rule(config, "GpuHot")->hold, Duration::minutes(2));
  EXPECT_EQ(rule(config, "GpuHot")->window, Duration::minutes(5)) << "what is not named stays";
  EXPECT_EQ(rule(config, "GpuHot")->severity, Severity::kCritical);
  EXPECT_EQ(rule(config, "GpuMemoryLeak"), nullptr);
  ASSERT_NE(rule(config, "Backlog"), nullptr);
  EXPECT_EQ(rule(config, "Backlog")->scope, AlertScope::kQueue);
  EXPECT_EQ(rule(config, "Backlog")->unit, "jobs");
}

TEST(AlertConfig, ReceiversSayWhoIsToldWhat) {
  const AlertConfig config = read(R"({"every":"10s","link":"https://stint.example","receivers":[
      {"name":"pager","kind":"webhook","url":"https://hook.example/x","secret_file":"/s","matchers":["severity=critical"]},
      {"name":"am","kind":"alertmanager","url":"http://127.0.0.1:9093/","again":"30s"}]})");
  ASSERT_EQ(config.receivers.size(), 2U);
  EXPECT_EQ(config.every, Duration::seconds(10));
  EXPECT_EQ(config.receivers[0].wants.size(), 1U);
  EXPECT_EQ(config.receivers[0].again, Duration::hours(4));
  EXPECT_EQ(config.receivers[1].url, "http://127.0.0.1:9093");
  EXPECT_EQ(config.receivers[1].again, Duration::seconds(30));
}

TEST(AlertConfig, ErrorsNameFileLineAndField) {
  EXPECT_THAT(error_of("{\n \"rules\": [\n  {\"name\": \"GpuHot\", \"treshold\": 1}]}"),
              ::testing::AllOf(HasSubstr("fleet.json:4: alerts: rules 1"), HasSubstr("treshold")));
  EXPECT_THAT(error_of(R"({"rules":[{"name":"Mine","threshold":1}]})"), HasSubstr("measure, threshold and summary"));
  EXPECT_THAT(error_of(R"({"rules":[{"name":"Nope","disabled":true}]})"), HasSubstr("no rule 'Nope'"));
  EXPECT_THAT(error_of(R"({"rules":[{"name":"GpuHot"},{"name":"GpuHot"}]})"), HasSubstr("twice"));
  EXPECT_THAT(error_of(R"({"rules":[{"name":"GpuHot","window":"90s"}]})"), HasSubstr("whole minutes"));
  EXPECT_THAT(error_of(R"({"rules":[{"name":"GpuHot","metric":"glamour"}]})"), HasSubstr("metric"));
  EXPECT_THAT(error_of(R"({"receivers":[{"name":"a","kind":"pigeon","url":"http://x"}]})"), HasSubstr("webhook or alertmanager"));
  EXPECT_THAT(error_of(R"({"receivers":[{"name":"a","kind":"webhook","url":"file:///etc/passwd"}]})"), HasSubstr("'url'"));
  EXPECT_THAT(error_of(R"({"receivers":[{"name":"a","kind":"webhook","url":"http://x","matchers":["x=y"]}]})"),
              HasSubstr("no label 'x'"));
  EXPECT_THAT(error_of(R"({"every":"1h"})"), HasSubstr("five minutes"));
  EXPECT_THAT(error_of(R"({"keep":"10m"})"), HasSubstr("at least an hour"));
  EXPECT_THAT(error_of(R"({"keep_at_most":-1})"), HasSubstr("keep_at_most"));
  EXPECT_THAT(error_of("[]"), HasSubstr("fleet.json:2: alerts"));
}

TEST(AlertJournal, EveryEntryIsReadBackAsItWas) {
  const Instant at = Instant::from_ns(1'800'000'000'123'456'789);
  BookedAlert alert{.id = 7,
                    .rule = "GpuHot",
                    .who = {.scope = AlertScope::kGpu, .node = "n \"0\"", .gpu = "n0:1", .name = {}},
                    .client = "acme",
                    .value = 84.25,
                    .fired = at};
  alert.message.labels = {{"alertname", "GpuHot"}, {"severity", "warning"}};
  alert.message.annotations = {{"summary", "Hot: 83 °C"}};
  alert.message.starts_at = at - Duration::minutes(5);
  const Silence silence{
      .id = 3, .matchers = {{"node", "n*", true}}, .from = at, .until = at + Duration::hours(2), .by = "ada", .comment = "fan"};
  AlertBook first;
  AlertBook second;
  JsonParser parser;
  for (const AlertEntry& entry : std::vector<AlertEntry>{
           AlertFired{alert}, AlertSilenced{silence}, AlertWasTold{.id = 7, .receiver = "am", .firing = true, .at = at},
           AlertEnded{.id = 7, .at = at, .value = 60, .silenced = true}, SilenceExpired{.id = 3, .at = at}}) {
    const auto read = decode_alert_entry(parser, encode(entry));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_TRUE(first.apply(entry).ok());
    EXPECT_TRUE(second.apply(*read).ok());
  }
  AlertFired more{alert};
  more.alert.id = 8;
  ASSERT_TRUE(first.apply(more).ok());  // one that fires, beside one that has ended and was told of
  for (const AlertEntry& entry : first.entries_anew()) {
    const auto read = decode_alert_entry(parser, encode(entry));
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_TRUE(second.apply(*read).ok());
  }
  EXPECT_EQ(first.alerts(), second.alerts());
  EXPECT_EQ(first.silences(), second.silences());
  for (const char* wrong : {"", "{}", "[]", R"({"entry":"fired","id":1})", R"({"entry":"told","id":0})",
                            R"({"entry":"silenced","id":1,"matchers":["x"]})", R"({"entry":"anew","next_alert":0})",
                            R"({"entry":"kept","id":1})", R"({"entry":"expired","id":1,"more":2})"})
    EXPECT_FALSE(decode_alert_entry(parser, wrong).ok()) << wrong;
}

}  // namespace
}  // namespace stint
