#include "report/audit_json.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "report/testing_report.h"
#include "testing/places.h"

namespace stint {
namespace {

using Json = nlohmann::json;

/// The part of JSON Schema that docs/schema/audit.json is written in; the problems it finds, with their place.
class SchemaCheck {
 public:
  explicit SchemaCheck(Json schema) : root_(std::move(schema)) { check_keywords(root_); }
  std::vector<std::string> problems_of(const Json& value) {
    problems_.clear();
    check(value, root_, "$");
    return problems_;
  }

 private:
  /// A keyword this class does not know would be silently ignored.
  static void check_keywords(const Json& schema) {
    static const std::set<std::string> kKnown = {
        "$schema", "title", "description", "type",    "required", "additionalProperties", "properties", "items", "$ref",
        "$defs",   "enum",  "const",       "minimum", "maximum"};
    for (const auto& [key, value] : schema.items()) {
      ASSERT_TRUE(kKnown.contains(key)) << key;
      if (key == "properties" || key == "$defs")
        for (const auto& [name, sub] : value.items())
          check_keywords(sub);
      if (key == "items") check_keywords(value);
    }
  }
  static bool has_type(const Json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    return type == "null" && value.is_null();
  }
  void check_type(const Json& value, const Json& type, const std::string& at) {
    const Json types = type.is_array() ? type : Json::array({type});
    if (std::none_of(types.begin(), types.end(), [&](const Json& t) { return has_type(value, t.get<std::string>()); }))
      problems_.push_back(at + " is no " + type.dump());
  }
  void check(const Json& value, const Json& schema, const std::string& at) {
    if (schema.contains("$ref"))
      return check(value, root_.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), at);
    if (schema.contains("type")) check_type(value, schema["type"], at);
    if (schema.contains("const") && value != schema["const"]) problems_.push_back(at + " is not " + schema["const"].dump());
    if (schema.contains("enum") && std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
      problems_.push_back(at + " is none of " + schema["enum"].dump());
    if (value.is_number() && schema.contains("minimum") && value < schema["minimum"]) problems_.push_back(at + " is too small");
    if (value.is_number() && schema.contains("maximum") && value > schema["maximum"]) problems_.push_back(at + " is too large");
    if (value.is_array() && schema.contains("items"))
      for (size_t i = 0; i < value.size(); ++i)
        check(value[i], schema["items"], at + "[" + std::to_string(i) + "]");
    if (!value.is_object() || !schema.contains("properties")) return;
    for (const Json& key : schema["required"])
      if (!value.contains(key.get<std::string>())) problems_.push_back(at + " lacks " + key.get<std::string>());
    for (const auto& [key, sub] : value.items()) {
      if (schema["properties"].contains(key))
        check(sub, schema["properties"][key], at + "." + key);
      else
        problems_.push_back(at + "." + key + " is not in the schema");
    }
  }

  Json root_;
  std::vector<std::string> problems_;
};

SchemaCheck schema() {
  std::ifstream file(STINT_SOURCE_DIR "/docs/schema/audit.json");
  return SchemaCheck(Json::parse(file));
}

TEST(AuditJson, FollowsItsSchema) {
  SchemaCheck check = schema();
  for (const AuditReport& report :
       {testing::agency_report(), testing::empty_report(), testing::large_report(), testing::hostile_report()})
    EXPECT_THAT(check.problems_of(Json::parse(audit_json(report))), ::testing::IsEmpty());
}

TEST(AuditJson, TheSchemaRefusesWhatLacksAKeyOrHasAWrongType) {
  SchemaCheck check = schema();
  Json report = Json::parse(audit_json(testing::agency_report()));
  report["totals"].erase("plan_per_month");
  report["findings"][0]["risk"] = "none";
  report["nodes"][0]["surprise"] = 1;
  EXPECT_EQ(check.problems_of(report).size(), 3U);
}

TEST(AuditJson, EveryKindOfChangeFollowsTheSchema) {
  AuditReport report = testing::empty_report();
  for (const Change& change :
       {Change(StopNodes{{"a"}}), Change(ScheduleOff{{"a"}, WeekHours("1011")}),
        Change(ResizeNodes{{"a"}, "g5.xlarge", "eu-west-1", 2}),
        Change(ShareGpus{SharingMode::kMig, {"a", "b"}, {"a"}, {{"w", "b", 1, "a", 0, "3g.40gb", 4, kWholeDevice / 2}}}),
        Change(ShareGpus{SharingMode::kMps, {"a"}, {"a"}, {{"w", "b", 1, "a", 0, "", -1, kWholeDevice / 4}}}),
        Change(SwitchMarket{{"a"}, Market::kSpot}),
        Change(Commit{"aws", "eu-west-1", "g5.xlarge", 3, CommitmentTerm::kThreeYears, PaymentOption::kAllUpfront, {"a"}}),
        Change(LimitReservation{"eval", {"a"}, Duration::hours(24), Duration::hours(8)}), Change(MoveOffGpu{{"a"}, ""}),
        Change(MoveRegion{{"a"}, "us-east-2"}),
        Change(SavingsPlan{"aws",
                           Money::units(3),
                           CommitmentTerm::kOneYear,
                           PaymentOption::kNoUpfront,
                           {{"eu-west-1", "g5.xlarge", Money::units(1)}},
                           {"a"}})})
    report.findings.push_back(testing::make_finding("F-1", "x", change, Money::units(1)));
  const Json out = Json::parse(audit_json(report));
  EXPECT_THAT(schema().problems_of(out), ::testing::IsEmpty());
  EXPECT_EQ(out["findings"][1]["change"]["off_hours_of_week"], Json({0, 1, 3}));
  EXPECT_EQ(out["findings"][3]["change"]["placements"][0]["share"], 0.5);
  EXPECT_EQ(out["findings"][7]["change"]["to_hours"], 8.0);
}

TEST(AuditJson, AmountsAreExactToTheNanoUnit) {
  AuditReport report = testing::empty_report();
  report.totals.bill_per_month = Money::parse("1234567.000000001").value();
  EXPECT_THAT(audit_json(report), ::testing::HasSubstr("\"bill_per_month\": 1234567.000000001"));
}

TEST(AuditJson, TheSameReportGivesTheSameBytes) {
  EXPECT_EQ(audit_json(testing::agency_report()), audit_json(testing::agency_report()));
}

}  // namespace
}  // namespace stint
