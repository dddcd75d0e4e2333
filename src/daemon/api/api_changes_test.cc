// Changes of the fleet carried out by the daemon: once, by whom, after whose word, and back again.
#include <gmock/gmock.h>

#include "daemon/api/testing_api.h"

namespace stint {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ApiChangesTest : public ::testing::Test, protected TestingApi {
 protected:
  std::string state_of(const std::string& node) {
    const json shown = as("operator", "GET", "/v1/nodes").parsed();
    for (const json& one : shown["nodes"])
      if (one["name"] == node) return one["state"].get<std::string>();
    return "";
  }
  Answer carry_out(const std::string& id, const std::string& machines = R"(["n0"])") {
    return as("operator", "PUT", "/v1/changes/" + id, fmt::format(R"({{"title":"Stop it","machines":{}}})", machines));
  }
  Answer take_back(const std::string& id) { return as("operator", "DELETE", "/v1/changes/" + id); }
};

TEST_F(ApiChangesTest, WhatAChangeGivesUpTakesNoWorkUntilItIsTakenBack) {
  const Answer done = carry_out("C-1");
  ASSERT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(done.parsed()["drained"], json({"n0"}));
  EXPECT_EQ(done.parsed()["by"], "operator");
  EXPECT_NE(state_of("n0"), "up");
  EXPECT_THAT(as("auditor", "GET", "/v1/audit-log").body, HasSubstr("change C-1 carried out: Stop it; drained n0"));
  // The same again does nothing and says what was done.
  EXPECT_EQ(carry_out("C-1").parsed(), done.parsed());
  EXPECT_THAT(as("auditor", "GET", "/v1/audit-log").body, HasSubstr("change C-1 again: Stop it; drained nothing"));
  EXPECT_EQ(as("operator", "GET", "/v1/changes").parsed()["changes"], json::array({done.parsed()}));
  const Answer back = take_back("C-1");
  ASSERT_EQ(back.status, 200) << back.body;
  EXPECT_EQ(state_of("n0"), "up");
  EXPECT_EQ(take_back("C-1").parsed(), back.parsed()) << "twice is once";
  EXPECT_EQ(take_back("C-2").status, 404);
}

// Cut short after its intent was written, before anything was drained.
TEST_F(ApiChangesTest, WhatWasCutShortGoesOn) {
  put_file(dir_ / "changes.json",
           R"([{"id":"C-1","title":"Stop it","by":"operator","at":"2027-01-01T00:00:00Z","machines":["n0"],"drained":["n0"]}])");
  auto book = FindingBook::open(dir_ / ".");
  ASSERT_TRUE(book.ok()) << book.error().message;
  const auto known = (*book)->carried();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known.at("C-1").drained, std::vector<std::string>{"n0"});
  put_file(dir_ / "changes.json", R"([{"id":"C-1","at":"yesterday","machines":["n0"]}])");
  EXPECT_THAT(FindingBook::open(dir_ / ".").error().message, HasSubstr("change 'C-1': no id, time or machines"));
  // The machine is up again, by whatever: the same request drains it once more, and it is still what undoing takes back.
  ASSERT_EQ(carry_out("C-3").status, 200);
  ASSERT_EQ(as("operator", "POST", "/v1/nodes/n0/up").status, 200);
  EXPECT_EQ(carry_out("C-3").parsed()["drained"], json({"n0"}));
  EXPECT_NE(state_of("n0"), "up");
}

TEST_F(ApiChangesTest, AMachineThatWasDrainedBeforeStaysSo) {
  ASSERT_EQ(as("operator", "POST", "/v1/nodes/n0/drain").status, 200);
  EXPECT_EQ(carry_out("C-1").parsed()["drained"], json::array());
  ASSERT_EQ(take_back("C-1").status, 200);
  EXPECT_NE(state_of("n0"), "up");
  ASSERT_EQ(as("operator", "POST", "/v1/nodes/n0/up").status, 200);
  // Of two changes that want it down the last one to go lets it up.
  ASSERT_EQ(carry_out("C-2").status, 200);
  ASSERT_EQ(carry_out("C-3").status, 200);
  ASSERT_EQ(take_back("C-2").status, 200);
  EXPECT_NE(state_of("n0"), "up");
  ASSERT_EQ(take_back("C-3").status, 200);
  EXPECT_EQ(state_of("n0"), "up");
}

// kNow is a Friday, 08:00 UTC: hour 104 of the week.
TEST_F(ApiChangesTest, AScheduleRestsInItsHoursAlone) {
  const auto schedule = [&](const std::string& id, const std::string& hours) {
    return as("operator", "PUT", "/v1/changes/" + id,
              fmt::format(R"({{"title":"Nights","machines":["n0"],"off_hours_of_week":{}}})", hours));
  };
  const Answer awake = schedule("C-1", "[105]");
  ASSERT_EQ(awake.status, 200) << awake.body;
  EXPECT_EQ(awake.parsed()["rests"], false);
  EXPECT_EQ(state_of("n0"), "up");
  const Answer asleep = schedule("C-2", "[103,104]");
  EXPECT_EQ(asleep.parsed()["drained"], json({"n0"}));
  EXPECT_EQ(asleep.parsed()["off_hours_of_week"], json({103, 104}));
  EXPECT_EQ(asleep.parsed()["done"], true);
  EXPECT_NE(state_of("n0"), "up");
  EXPECT_EQ(schedule("C-2", "[103,104]").parsed(), asleep.parsed());
  EXPECT_EQ(schedule("C-2", "[103]").status, 409);
  for (const char* wrong : {"[]", "[168]", "[-1]", "7", R"(["mon"])"})
    EXPECT_EQ(schedule("C-4", wrong).status, 422) << wrong;
  ASSERT_EQ(take_back("C-2").status, 200);
  EXPECT_EQ(state_of("n0"), "up");
  auto book = FindingBook::open(dir_ / ".");
  EXPECT_EQ((*book)->carried().at("C-1").off, WeekHours().set(105)) << "it outlives the daemon";
}

TEST_F(ApiChangesTest, AFindingIsCarriedOutOnceItIsApproved) {
  ASSERT_EQ(
      as("operator", "PUT", "/v1/findings", R"({"schema":"stint-audit/1","findings":[{"id":"F-00000001","title":"Stop it"}]})")
          .status,
      200);
  const Answer early = carry_out("F-00000001");
  EXPECT_EQ(early.status, 409);
  EXPECT_THAT(early.body, HasSubstr("finding F-00000001 is not approved"));
  EXPECT_EQ(state_of("n0"), "up");
  ASSERT_EQ(as("operator", "POST", "/v1/findings/F-00000001/decision", R"({"decision":"approved"})").status, 200);
  EXPECT_EQ(carry_out("F-00000001").status, 200);
}

TEST_F(ApiChangesTest, JobsOfANameAreHeldToALimitUntilItIsTakenBack) {
  const auto limit_of = [&](const std::string& name, const std::string& asked) {
    const Answer job = as("submitter@acme", "POST", "/v1/jobs",
                          fmt::format(R"({{"queue":"acme","name":"{}","command":["x"],"gpus":1{}}})", name, asked));
    EXPECT_EQ(job.status, 201) << job.body;
    return job.parsed()["time_limit_s"];
  };
  EXPECT_EQ(limit_of("evaluate", ""), nullptr);
  const Answer done = as("operator", "PUT", "/v1/changes/L-1", R"({"title":"Limit","time_limits_s":{"evaluate":7200}})");
  ASSERT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(done.parsed()["time_limits_s"], json({{"evaluate", 7200}}));
  EXPECT_THAT(as("auditor", "GET", "/v1/audit-log").body, HasSubstr("jobs named evaluate at most 7200 s"));
  EXPECT_EQ(limit_of("evaluate", ""), 7200);
  EXPECT_EQ(limit_of("evaluate", R"(,"time_limit":"1h")"), 3600) << "less is less";
  EXPECT_EQ(limit_of("evaluate", R"(,"time_limit":"9h")"), 7200);
  EXPECT_EQ(limit_of("train", ""), nullptr);
  auto book = FindingBook::open(dir_ / ".");
  EXPECT_EQ((*book)->asks()->time_limits.at("evaluate"), Duration::hours(2)) << "it outlives the daemon";
  EXPECT_EQ(as("operator", "PUT", "/v1/changes/L-1", R"({"title":"Limit","time_limits_s":{"evaluate":60}})").status, 409);
  ASSERT_EQ(take_back("L-1").status, 200);
  EXPECT_EQ(limit_of("evaluate", ""), nullptr);
}

TEST_F(ApiChangesTest, LimitsThatAreNoneAreRefused) {
  const auto put = [&](const std::string& fields) {
    return as("operator", "PUT", "/v1/changes/L-1", fmt::format(R"({{"title":"Limit",{}}})", fields));
  };
  for (const char* wrong :
       {R"("time_limits_s":{})", R"("time_limits_s":{"a":0})", R"("time_limits_s":{"a":1.5})", R"("replicas":[2])",
        R"("replicas":{"rank":-1})", R"("machines":[])", R"("replicas":{"rank":1},"off_hours_of_week":[3])"})
    EXPECT_EQ(put(wrong).status, 422) << wrong;
  const Answer unknown = put(R"("replicas":{"rank":1})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr("no service rank whose replicas this daemon runs"));
  EXPECT_EQ(as("operator", "GET", "/v1/changes").parsed()["changes"], json::array());
}

TEST_F(ApiChangesTest, WhatCannotBeCarriedOutChangesNothing) {
  EXPECT_EQ(carry_out("C-1", R"(["n0","nowhere"])").status, 404);
  EXPECT_EQ(state_of("n0"), "up");
  EXPECT_EQ(carry_out("C-1", "[]").status, 422);
  EXPECT_EQ(carry_out("C-1", R"([7])").status, 422);
  EXPECT_EQ(carry_out("C%201").status, 422);
  EXPECT_EQ(as("operator", "PUT", "/v1/changes/C-1", R"({"machines":["n0"]})").status, 422);
  EXPECT_EQ(as("operator", "GET", "/v1/changes").parsed()["changes"], json::array());
  ASSERT_EQ(carry_out("C-1").status, 200);
  EXPECT_EQ(as("client-admin@acme", "DELETE", "/v1/changes/C-1").status, 403);
}

}  // namespace
}  // namespace stint
