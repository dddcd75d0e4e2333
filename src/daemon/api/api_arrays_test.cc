// Arrays over HTTP: one id for all of their jobs, and one for each.
#include <gmock/gmock.h>

#include "daemon/api/testing_api.h"

namespace stint {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ApiArrayTest : public ::testing::Test, protected TestingApi {
 protected:
  Answer get(const std::string& path) { return as("submitter@acme", "GET", path); }
  Answer control(const std::string& id, const std::string& what, const char* who = "submitter@acme") {
    return as(who, "POST", fmt::format("/v1/jobs/{}/{}", id, what));
  }
  /// {"running": 3, …}
  json jobs_of(const std::string& id) { return get("/v1/jobs/" + id).parsed()["array"]["jobs"]; }
};

TEST_F(ApiArrayTest, IsCalledByOneIdAndItsJobsByTheirPlaces) {
  submit("submitter@acme", "acme");
  const std::string array = submit("submitter@acme", "acme", R"(,"array":20)");  // 16 GPUs: 15 run
  EXPECT_EQ(array, "acme-2");
  const json all = get("/v1/jobs/acme-2").parsed();
  EXPECT_EQ(all["array"], json::parse(R"({"id":"acme-2","size":20,"jobs":{"waiting":5,"running":15}})"));
  EXPECT_EQ(all["state"], "running");
  EXPECT_EQ(all["gpu_milli"], 20'000);
  EXPECT_EQ(all["placed"].size(), 15U);
  EXPECT_EQ(all["per_hour"]["amount"], "30");  // 15 × 2
  const json one = get("/v1/jobs/acme-2_3").parsed();
  EXPECT_EQ(one["id"], "acme-2_3");
  EXPECT_EQ(one["array"], json::parse(R"({"id":"acme-2","index":3,"size":20})"));
  EXPECT_EQ(one["gpu_milli"], 1'000);
  // Each counts as a job of the client's, and is found by that number, too. Where one sees one client alone, its name can be left out.
  EXPECT_EQ(get("/v1/jobs/acme-5").parsed()["id"], "acme-2_3");
  EXPECT_EQ(get("/v1/jobs/2_3").parsed()["id"], "acme-2_3");
  EXPECT_EQ(get("/v1/jobs/acme-2_0").parsed()["array"]["index"], 0);
  for (const char* none : {"acme-2_20", "acme-1_0", "acme-3_0", "acme-2_", "acme-2_-1", "acme-2_x", "acme-2_1_1"})
    EXPECT_EQ(get(std::string("/v1/jobs/") + none).status, 404) << none;
  EXPECT_EQ(submit("submitter@acme", "acme"), "acme-22");
}

TEST_F(ApiArrayTest, IsHeldReleasedAndCancelledAsOne) {
  submit("submitter@acme", "acme", R"(,"array":20)");
  EXPECT_EQ(control("acme-1_17", "cancel").parsed()["state"], "cancelled");
  EXPECT_EQ(jobs_of("acme-1"), json::parse(R"({"waiting":3,"running":16,"cancelled":1})"));
  // Those that run go on, and do not start again.
  EXPECT_EQ(control("acme-1", "hold").parsed()["array"]["jobs"], json::parse(R"({"on-hold":3,"running":16,"cancelled":1})"));
  EXPECT_EQ(control("acme-1", "release").parsed()["array"]["jobs"], json::parse(R"({"waiting":3,"running":16,"cancelled":1})"));
  EXPECT_EQ(control("acme-1_18", "hold").parsed()["state"], "on-hold");
  EXPECT_EQ(jobs_of("acme-1"), json::parse(R"({"on-hold":1,"waiting":2,"running":16,"cancelled":1})"));
  const Answer cancelled = control("acme-1", "cancel");
  EXPECT_EQ(cancelled.status, 200) << cancelled.body;
  EXPECT_EQ(cancelled.parsed()["array"]["jobs"]["cancelled"].get<int>() + cancelled.parsed()["array"]["jobs"].value("leaving", 0),
            20);
  // The audit log tells which.
  EXPECT_THAT(as("auditor", "GET", "/v1/audit-log?limit=1000").body, HasSubstr("19 jobs: acme-1_0-16,18-19"));
  const Answer again = control("acme-1", "cancel");
  EXPECT_EQ(again.status, 409);
  EXPECT_THAT(again.body, HasSubstr("all jobs of array acme-1 have ended"));
}

TEST_F(ApiArrayTest, IsItsUsersAlone) {
  submit("client-admin@acme", "acme", R"(,"array":3)");
  for (const char* what : {"cancel", "hold", "release"}) {
    EXPECT_EQ(control("acme-1", what).status, 403) << what;
    EXPECT_EQ(control("acme-1_1", what).status, 403) << what;
    EXPECT_EQ(control("acme-1", what, "submitter@zoo").status, 404) << what;
    EXPECT_EQ(control("acme-1_1", what, "submitter@zoo").status, 404) << what;
  }
  EXPECT_EQ(jobs_of("acme-1"), json::parse(R"({"running":3})"));
  EXPECT_EQ(as("submitter@zoo", "GET", "/v1/jobs?array=acme-1").status, 422);
}

TEST_F(ApiArrayTest, WhatOnlyOneJobHasNamesTheJobsToAskFor) {
  submit("submitter@acme", "acme", R"(,"array":3)");
  for (const auto& [method, what] : {std::pair{"GET", "logs"}, {"POST", "checkpoint"}}) {
    const Answer answer = as("submitter@acme", method, fmt::format("/v1/jobs/acme-1/{}", what));
    EXPECT_EQ(answer.status, 422);
    EXPECT_THAT(answer.body, HasSubstr("acme-1 is an array of 3 jobs: name one of them, such as acme-1_0"));
    EXPECT_EQ(as("submitter@acme", method, fmt::format("/v1/jobs/acme-1_0/{}", what)).status, 200) << what;
  }
}

TEST_F(ApiArrayTest, WhySpeaksOfTheJobThatIsNext) {
  submit("submitter@acme", "acme", R"(,"array":18)");
  const json why = get("/v1/jobs/acme-1/why").parsed();
  EXPECT_EQ(why["job"], "acme-1");
  EXPECT_THAT(why["text"].get<std::string>(), HasSubstr("array acme-1: 16 running, 2 waiting\nnext is job acme-1_16:\n"));
  EXPECT_EQ(why["explanation"], get("/v1/jobs/acme-1_16/why").parsed()["explanation"]);
}

TEST_F(ApiArrayTest, IsOneLineOfAListThatWantsItSo) {
  submit("submitter@acme", "acme");
  submit("submitter@acme", "acme", R"(,"array":20)");
  submit("submitter@acme", "acme");
  const auto ids = [this](const std::string& query) {
    std::vector<std::string> found;
    const json page = get("/v1/jobs?" + query).parsed();
    for (const json& job : page["jobs"])
      found.push_back(job["id"]);
    return found;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(ids("arrays=as-one"), ElementsAre("acme-22", "acme-2", "acme-1"));
  EXPECT_THAT(ids("arrays=as-one&state=waiting"), ElementsAre("acme-22", "acme-2"));
  EXPECT_THAT(ids("arrays=as-one&state=failed"), ElementsAre());
  EXPECT_THAT(ids("array=acme-2&state=waiting"), ElementsAre("acme-2_19", "acme-2_18", "acme-2_17", "acme-2_16", "acme-2_15"));
  EXPECT_EQ(ids("array=acme-2").size(), 20U);
  EXPECT_EQ(ids("").size(), 22U);
  // A page after the other.
  EXPECT_EQ(get("/v1/jobs?arrays=as-one&limit=2").parsed()["next"], "acme-2");
  EXPECT_THAT(ids("arrays=as-one&limit=2&cursor=acme-2"), ElementsAre("acme-1"));
  EXPECT_EQ(get("/v1/jobs?array=acme-2&limit=19").parsed()["next"], "acme-2_1");
  EXPECT_THAT(ids("array=acme-2&cursor=acme-2_1"), ElementsAre("acme-2_0"));
  EXPECT_EQ(get("/v1/jobs?array=acme-1").status, 422);
  EXPECT_EQ(get("/v1/jobs?array=acme-99").status, 422);
  EXPECT_EQ(get("/v1/jobs?arrays=all").status, 422);
}

TEST_F(ApiArrayTest, TheBoardListsWhatOfItWaitsInOneLine) {
  submit("submitter@acme", "acme", R"(,"array":20)");
  const json board = get("/v1/board?why=1").parsed();
  ASSERT_EQ(board["running"].size(), 16U);
  EXPECT_EQ(board["running"][2]["id"], "acme-1_2");
  EXPECT_EQ(board["running"][2]["array"]["id"], "acme-1");
  ASSERT_EQ(board["waiting"].size(), 1U);
  const json waits = board["waiting"][0];
  EXPECT_EQ(waits["id"], "acme-1");
  EXPECT_EQ(waits["state"], "waiting");
  EXPECT_EQ(waits["gpu_milli"], 4'000);
  EXPECT_EQ(waits["array"]["jobs"], json::parse(R"({"waiting":4,"running":16})"));
  EXPECT_EQ(waits["why"], "1 more GPU would have to be free");
}

TEST_F(ApiArrayTest, AJobCanWaitForAllOfIt) {
  submit("submitter@acme", "acme", R"(,"array":3)");
  const std::string last = submit("submitter@acme", "acme", R"(,"after":["acme-1"])");
  EXPECT_EQ(get("/v1/jobs/" + last).parsed()["after"], json({"acme-1_0", "acme-1_1", "acme-1_2"}));
  const std::string second = submit("submitter@acme", "acme", R"(,"after":["acme-1_1"])");
  EXPECT_EQ(get("/v1/jobs/" + second).parsed()["after"], json({"acme-1_1"}));
}

TEST_F(ApiArrayTest, IsSubmittedOnceMoreAsAWholeOrAJobOfIt) {
  submit("submitter@acme", "acme", R"(,"array":3,"at_once":2)");
  const json all = get("/v1/jobs/acme-1/request").parsed();
  EXPECT_EQ(all["array"], 3);
  EXPECT_EQ(all["at_once"], 2);
  const json one = get("/v1/jobs/acme-1_1/request").parsed();
  EXPECT_FALSE(one.contains("array"));
  EXPECT_FALSE(one.contains("at_once"));
}

}  // namespace
}  // namespace stint
