// What people look at and decide on, over HTTP: findings and audits, bills, the board.
#include <gmock/gmock.h>

#include <future>
#include <nlohmann/json.hpp>

#include "daemon/api/testing_api.h"

namespace stint {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ApiShownTest : public ::testing::Test, protected TestingApi {};

TEST_F(ApiShownTest, FindingsAreDecidedOnAndTheRecordSaysByWhom) {
  EXPECT_TRUE(as("operator", "GET", "/v1/findings").parsed()["audit"].is_null());
  const std::string decide = "/v1/findings/F-00000001/decision";
  EXPECT_EQ(as("operator", "POST", decide, R"({"decision":"approved"})").status, 404);
  const std::string audit = R"({"schema":"stint-audit/1","currency":"USD","findings":[{"id":"F-00000001","title":"Stop it"}]})";
  EXPECT_EQ(as("operator", "PUT", "/v1/findings", "{}").status, 422);
  EXPECT_EQ(as("operator", "PUT", "/v1/findings", audit).status, 200);
  for (const char* bad : {"{}", R"({"decision":"perhaps"})", R"({"decision":7})", R"({"decision":"open","note":1})",
                          R"({"decision":"open","why":""})"})
    EXPECT_EQ(as("operator", "POST", decide, bad).status, 422) << bad;
  const Answer decided = as("operator", "POST", decide, R"({"decision":"approved","note":"from Monday"})");
  EXPECT_EQ(decided.status, 200) << decided.body;
  const json shown = as("auditor", "GET", "/v1/findings").parsed();
  EXPECT_EQ(shown["audit"], json::parse(audit));
  EXPECT_EQ(shown["decisions"], json::parse(R"([{"finding":"F-00000001","decision":"approved","by":"operator",)"
                                            R"("at":"2027-01-15T08:00:00Z","note":"from Monday","title":"Stop it"}])"));
  EXPECT_THAT(as("auditor", "GET", "/v1/audit-log?limit=1000").body,
              HasSubstr("finding F-00000001 approved: Stop it; from Monday"));
  EXPECT_EQ(as("operator", "POST", decide, R"({"decision":"open"})").status, 200);
  EXPECT_TRUE(as("auditor", "GET", "/v1/findings").parsed()["decisions"].empty());
}

TEST_F(ApiShownTest, AllocationsAreAskedForTheClientsThatTheCallerSees) {
  const auto asked = [&](const std::string& roles, const std::string& query) {
    return as(roles, "GET", "/allocation?window=yesterday&" + query).parsed()["warning"].get<std::string>();
  };
  const std::string of_acme = asked("viewer@acme", "aggregate=namespace");
  EXPECT_THAT(of_acme, ::testing::EndsWith("--since=2027-01-14T00:00:00Z --until=2027-01-15T00:00:00Z --client=acme"));
  EXPECT_THAT(of_acme, HasSubstr("--by=namespace --idle left-out"));
  EXPECT_THAT(asked("viewer@acme,viewer@zoo", ""), ::testing::EndsWith("--client=acme --client=zoo"));
  EXPECT_THAT(asked("operator", ""),
              ::testing::AllOf(HasSubstr("--by=namespace,pod,container"), ::testing::Not(HasSubstr("--client"))));
  EXPECT_THAT(asked("auditor", "includeIdle=true&step=6h"),
              ::testing::AllOf(HasSubstr("--idle separate"), HasSubstr("--step=21600s")));
  EXPECT_THAT(asked("operator", "shareIdle=true&includeIdle=true"), HasSubstr("--idle spread"));
  for (const char* query : {"includeIdle=true", "shareIdle=true"})
    EXPECT_EQ(as("viewer@acme", "GET", std::string("/allocation?window=today&") + query).status, 403) << query;
  EXPECT_EQ(as("operator", "GET", "/allocation").status, 422);
  const Answer refused = as("operator", "GET", "/allocation?window=today&resolution=1m");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("parameter 'resolution': not supported here"));
}

TEST_F(ApiShownTest, AClientSeesItsOwnStatementsAndNoOthers) {
  const json mine = as("viewer@acme", "GET", "/v1/statements").parsed();
  EXPECT_EQ(mine["months"], json::parse(R"([{"month":"2026-10","written":"2027-01-15T08:00:00Z","statements":)"
                                        R"([{"client":"acme","total":{"amount":"12.50","currency":"USD"}}]}])"));
  EXPECT_TRUE(mine["run"].is_null());
  const json all = as("operator", "GET", "/v1/statements").parsed();
  EXPECT_EQ(all["months"][0]["statements"].size(), 2u);
  EXPECT_EQ(all["run"]["by"], "test");
  const Answer page = as("viewer@acme", "GET", "/v1/statements/2026-10/acme");
  EXPECT_EQ(page.body, "<html>acme only</html>\n");
  EXPECT_EQ(as("viewer@acme", "GET", "/v1/statements/2026-10/zoo").status, 404);
  EXPECT_EQ(as("viewer@acme", "GET", "/v1/statements/2026-09/acme").status, 404);
  EXPECT_EQ(as("viewer@acme", "GET", "/v1/statements/..%2Facme/acme").status, 404);
  EXPECT_EQ(as("operator", "POST", "/v1/statements", R"({"month":"2027-01"})").status, 422) << "it has not ended";
  for (const char* bad : {"{}", R"({"month":10})", R"({"month":"2026-13"})", R"({"months":"2026-10"})"})
    EXPECT_EQ(as("operator", "POST", "/v1/statements", bad).status, 422) << bad;
}

TEST_F(ApiShownTest, TheBoardSaysSinceWhenThereIsAnythingToShow) {
  put(Client{"older", false, {}, kNow - Duration::hours(5)});
  EXPECT_EQ(as("viewer@zoo", "GET", "/v1/board").parsed()["begins"], format_utc(kNow - Duration::hours(5)));
}

TEST_F(ApiShownTest, WhoMayApproveAJobSeesThatOnTheBoardAndWhyItWaits) {
  EXPECT_EQ(as("operator", "PUT", "/v1/budgets/b", R"({"queue":"acme","per_month":"1","at_limit":"approve"})").status, 200);
  const std::string job = submit("submitter@acme", "acme", R"(,"time_limit":"2h")");  // 1 of 8 GPUs at 16 an hour: 4 USD
  const auto line = [&](const char* roles) { return as(roles, "GET", "/v1/board?why=1").parsed()["waiting"][0]; };
  EXPECT_EQ(line("operator")["state"], "needs-approval");
  EXPECT_EQ(line("operator")["decide"], true);
  EXPECT_THAT(line("operator")["why"].get<std::string>(), HasSubstr("budget b"));
  EXPECT_EQ(line("client-admin@acme")["decide"], true);
  EXPECT_EQ(line("submitter@acme")["decide"], false);  // their own
  EXPECT_EQ(line("viewer@acme")["decide"], false);
  EXPECT_EQ(as("client-admin@acme", "GET", "/v1/jobs/" + job).parsed()["decide"], true);
  EXPECT_EQ(as("client-admin@acme", "POST", "/v1/jobs/" + job + "/approve").status, 200);
  EXPECT_EQ(as("client-admin@acme", "GET", "/v1/jobs/" + job).parsed()["decide"], false);
  EXPECT_EQ(as("submitter@acme", "GET", "/v1/jobs/" + job).parsed()["control"], true);
  EXPECT_EQ(as("viewer@acme", "GET", "/v1/jobs/" + job).parsed()["control"], false);
}

TEST_F(ApiShownTest, AJobsRequestSubmitsTheSameOnceMore) {
  const std::string first =
      submit("submitter@acme", "acme", R"(,"after":[],"on_hold":true,"environment":{"SEED":"7"},"tags":{"project":"x"})");
  const auto request = [&](const std::string& job) { return as("submitter@acme", "GET", "/v1/jobs/" + job + "/request"); };
  const Answer asked = request(first);
  EXPECT_EQ(asked.status, 200);
  // Not that it was on hold: that was about the one time.
  EXPECT_EQ(asked.parsed(), json::parse(R"({"queue":"acme","tags":{"project":"x"},"command":["sleep","1000"],)"
                                        R"("environment":{"SEED":"7"},"gpus":1,"simulated_duration":36000})"));
  const Answer again = as("submitter@acme", "POST", "/v1/jobs", asked.body);
  ASSERT_EQ(again.status, 201) << again.body;
  EXPECT_EQ(request(again.parsed()["id"]).parsed(), asked.parsed());
  // What it was started with may hold secrets: viewers do not see it. Trials follow each other in one study alone.
  EXPECT_EQ(as("viewer@acme", "GET", "/v1/jobs/" + first + "/request").status, 403);
  const std::string of_array = submit("submitter@acme", "acme", R"(,"array":3,"study":"s")");
  EXPECT_FALSE(request(of_array).parsed().contains("study"));
}

TEST_F(ApiShownTest, WhyOfAJobThatHasEndedSaysHow) {
  const std::string first = submit("submitter@acme", "acme", R"(,"on_hold":true)");
  const std::string second = submit("submitter@acme", "acme", fmt::format(R"(,"after":["{}"])", first));
  EXPECT_EQ(as("submitter@acme", "POST", "/v1/jobs/" + first + "/cancel").status, 200);
  const auto why = [&](const std::string& job) {
    return as("submitter@acme", "GET", "/v1/jobs/" + job + "/why").parsed()["text"].get<std::string>();
  };
  EXPECT_THAT(why(first), EndsWith("has ended\n  cancelled\n"));
  EXPECT_THAT(why(second), EndsWith(fmt::format("has ended\n  dependency-failed: job {} was cancelled\n", first)));
}

TEST_F(ApiShownTest, AQueueThatDoesNotExistNamesThoseOfItsClient) {
  const Answer answer = as("submitter@acme", "POST", "/v1/jobs", job_json("acme/visoin"));
  EXPECT_EQ(answer.status, 404);
  EXPECT_THAT(answer.body, HasSubstr("no queue 'acme/visoin'; did you mean 'acme/vision'? There is acme, acme/vision"));
  EXPECT_THAT(answer.body, Not(HasSubstr("zoo")));
}

TEST_F(ApiShownTest, TheBoardShowsWhatRunsWhatWaitsAndWhatItCosts) {
  for (int i = 0; i < 3; ++i)  // 2 × 8 GPUs: the third waits
    as("operator", "POST", "/v1/jobs",
       R"({"queue":"acme","command":["x"],"gpus":8,"time_limit":"20h","simulated_duration":"9h"})");
  const json board = as("operator", "GET", "/v1/board?why=1").parsed();
  EXPECT_EQ(board["running"].size(), 2U);
  ASSERT_EQ(board["waiting"].size(), 1U);
  EXPECT_EQ(board["waiting"][0]["why"], "room is reserved for it: 8 more GPUs would have to be free");
  // When the 20 hours of the first of them end; the clock of the test goes on by what it really takes.
  EXPECT_THAT(board["waiting"][0]["starts_at"].get<std::string>(), StartsWith("2027-01-16T04:0"));
  EXPECT_EQ(board["waiting"][0]["control"], true);
  EXPECT_EQ(as("viewer@acme", "GET", "/v1/board").parsed()["waiting"][0]["control"], false);
  // Two machines at 16 an hour each, both held as a whole.
  EXPECT_EQ(board["money"], json::parse(R"({"currency":"USD","jobs_per_hour":"32","fleet_per_hour":"32","idle_per_hour":"0"})"));
  EXPECT_EQ(as("viewer@acme", "GET", "/v1/board").parsed()["money"]["jobs_per_hour"], "32");
  EXPECT_EQ(as("viewer@zoo", "GET", "/v1/board").parsed()["money"]["jobs_per_hour"], "0");
  EXPECT_EQ(as("viewer@zoo", "GET", "/v1/board").parsed()["running"].size(), 0U);
  EXPECT_THAT(board["me"]["may"], ::testing::Contains("drainNode"));
  EXPECT_THAT(as("viewer@acme", "GET", "/v1/board").parsed()["me"]["may"], Not(::testing::Contains("drainNode")));
  const json runs = as("viewer@acme", "GET", "/v1/timeline?limit=1").parsed();
  EXPECT_EQ(runs["left_out"], 1);
  EXPECT_EQ(runs["runs"][0]["gpus"], json::parse("[0,1,2,3,4,5,6,7]"));
  EXPECT_TRUE(runs["runs"][0]["ended"].is_null());
  EXPECT_EQ(as("viewer@acme", "GET", "/v1/spending?hours=1&pieces=4").parsed()["pieces"].size(), 4U);
  for (const char* bad : {"/v1/board?why=21", "/v1/timeline?hours=0", "/v1/timeline?limit=x", "/v1/spending?pieces=501"})
    EXPECT_EQ(as("viewer@acme", "GET", bad).status, 422) << bad;
}

TEST_F(ApiShownTest, AnAuditIsMadeOnDemandAndItsFindingsAreThere) {
  const Answer begun = as("operator", "POST", "/v1/findings/audit");
  ASSERT_EQ(begun.status, 202) << begun.body;
  EXPECT_EQ(begun.parsed()["by"], "operator");
  json shown;
  do
    shown = as("operator", "GET", "/v1/findings").parsed();
  while (!shown["run"]["running_since"].is_null());
  EXPECT_EQ(shown["run"]["error"], "");
  EXPECT_EQ(shown["run"]["next"], json()) << "on demand alone";
  EXPECT_EQ(shown["audit"]["findings"][0]["title"], "Made here");
  EXPECT_THAT(as("auditor", "GET", "/v1/audit-log?limit=1000").body, HasSubstr("/v1/findings/audit"));
}

TEST_F(ApiShownTest, BillsAreOfThoseWhoSeeThem) {
  LogStep step;
  step.at = kNow + Duration::hours(3);
  step.records = {{.kind = 90, .payload = "{}"}};
  for (const char* client : {"acme", "zoo"})
    step.postings.push_back({.job = client == std::string_view("acme") ? 901 : 902,
                             .client = client,
                             .queue = client,
                             .node = "n0",
                             .when = {kNow, kNow + Duration::hours(2)},
                             .gpu_milli = 2000,
                             .amount = Money::units(8)});
  service_->stop();
  ASSERT_TRUE(log_->append(step).ok());
  std::promise<std::vector<ClientBill>> bills;
  bills_->ask([&](const Result<const BillSums*>& sums) { bills.set_value((*sums)->of(month_of(kNow).begin)); });
  EXPECT_EQ(bills.get_future().get().size(), 2U);
  const Answer csv = as("viewer@acme", "GET", "/v1/bills/acme/csv?month=2027-01");
  EXPECT_EQ(csv.body, "month,client,queue,machine,runs,gpu_hours,amount,currency\n2027-01,acme,acme,n0,1,4.000000,8,USD\n");
  EXPECT_EQ(as("viewer@acme", "GET", "/v1/bills/zoo/csv?month=2027-01").status, 404);
  EXPECT_EQ(as("viewer@acme", "GET", "/v1/bills?month=2027").status, 422);
}

}  // namespace
}  // namespace stint
