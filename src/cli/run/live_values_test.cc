#include "cli/run/live_values.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Json = nlohmann::ordered_json;

std::string behind(const std::vector<std::string>& words, std::string_view option) { return word_behind(words, option); }

TEST(LiveValues, FindTheWordBehindAnOption) {
  EXPECT_EQ(behind({"audit", "--history", "fleet.db", ""}, "--history"), "fleet.db");
  EXPECT_EQ(behind({"audit", "--history=fleet.db", ""}, "--history"), "fleet.db");
  EXPECT_EQ(behind({"audit", "--history", "=", "fleet.db", ""}, "--history"), "fleet.db") << "as bash cuts it";
  EXPECT_EQ(behind({"audit", "--history"}, "--history"), "");
  EXPECT_EQ(behind({"audit", "--historical=x"}, "--history"), "");
}

TEST(LiveValues, AreWhatTheDaemonAnswers) {
  const Json jobs = Json::parse(R"({"jobs": [{"id": "agency-4", "name": "train", "state": "running"}, {"id": null}]})");
  EXPECT_THAT(values_in_answer("JOB", jobs), ElementsAre(Candidate{"agency-4", "train, running"}));
  EXPECT_THAT(values_in_answer("QUEUE", Json::parse(R"({"queues": [{"path": "agency"}]})")),
              ElementsAre(Candidate{"agency", ""}));
  EXPECT_THAT(values_in_answer("NODE", Json::parse(R"({"nodes": [{"name": "gpu-7"}]})")), ElementsAre(Candidate{"gpu-7", ""}));
  EXPECT_THAT(values_in_answer(
                  "BUDGET", Json::parse(R"({"budgets": [{"name": "march", "queue": "agency"}, {"name": "all", "queue": ""}]})")),
              ElementsAre(Candidate{"march", "agency"}, Candidate{"all", ""}));
  EXPECT_THAT(values_in_answer("USER", Json::parse(R"({"users": [{"name": "ada"}]})")), ElementsAre(Candidate{"ada", ""}));
  EXPECT_THAT(values_in_answer("CLIENT", Json::parse(R"({"clients": [{"name": "agency"}]})")),
              ElementsAre(Candidate{"agency", ""}));
  const Json silences =
      Json::parse(R"({"silences": [{"id": 3, "comment": "repair", "holds": true}, {"id": 2, "holds": false}]})");
  EXPECT_THAT(values_in_answer("SILENCE", silences), ElementsAre(Candidate{"3", "repair"})) << "one that is over cannot be ended";
  EXPECT_THAT(values_in_answer("NODE", Json::parse(R"({"status": 404})")), IsEmpty());
  EXPECT_THAT(values_in_answer("NODE", Json::parse("[]")), IsEmpty());
}

}  // namespace
}  // namespace stint
