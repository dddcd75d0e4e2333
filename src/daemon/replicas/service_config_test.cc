// The list `services` of a daemon's configuration: what it is read to, and what is wrong with it.
#include "daemon/replicas/service_config.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "daemon/fleet_config.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

Json rank() {
  return Json::parse(R"({"name": "rank", "ports": [8481, 8483], "job": {"queue": "acme", "user": "ada", "command": ["serve"]}})");
}

Result<DaemonConfig> with(const std::vector<Json>& services) {
  const Json config = {{"nodes", {{{"name", "n0"}, {"cpu_milli", 1000}, {"memory", "1GiB"}, {"per_hour", "1"}}}},
                       {"queues", {{{"name", "acme"}}}},
                       {"services", services}};
  return parse_daemon_config(config.dump(), "fleet.json");
}

TEST(ServiceConfig, TakesAPortMoreThanItHasReplicas) {
  const auto config = with({rank()});
  ASSERT_TRUE(config.ok()) << config.error().message;
  const ServiceConfig& service = config->services.at(0);
  EXPECT_THAT(service.places, ElementsAre("127.0.0.1:8481", "127.0.0.1:8482", "127.0.0.1:8483"));
  Json six = rank();
  six["address"] = "::1";
  EXPECT_EQ(with({six})->services.at(0).places.at(0), "[::1]:8481");
  EXPECT_EQ(service.rules.min_nodes, 1);
  EXPECT_EQ(service.rules.max_nodes, 2);
  EXPECT_EQ(service.job.name, "rank");
}

struct Wrong {
  const char* name;
  const char* patch;  // JSON merge patch of rank()
  const char* says;
};
void PrintTo(const Wrong& wrong, std::ostream* to) { *to << wrong.name; }
class WrongService : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongService, IsSaid) {
  Json service = rank();
  service.merge_patch(Json::parse(GetParam().patch));
  const auto config = with({service});
  ASSERT_FALSE(config.ok());
  EXPECT_THAT(config.error().message, HasSubstr("fleet.json"));
  EXPECT_THAT(config.error().message, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(Services, WrongService,
                         ::testing::Values(Wrong{"Name", R"({"name": null})", "name"}, Wrong{"NoJob", R"({"job": null})", "job"},
                                           Wrong{"NoCommand", R"({"job": {"command": null}})", "command"},
                                           Wrong{"Tasks", R"({"job": {"tasks": 2}})", "one task"},
                                           Wrong{"Array", R"({"job": {"array": 2}})", "one task"},
                                           Wrong{"OnePort", R"({"ports": [8481]})", "ports"},
                                           Wrong{"Backwards", R"({"ports": [8483, 8481]})", "ports"},
                                           Wrong{"NoPort", R"({"ports": [-9223372036854775807, 9223372036854775807]})", "ports"},
                                           Wrong{"NoPortToSpare", R"({"ports": [8481, 8481]})", "one more than"},
                                           Wrong{"TooMany", R"({"max": 3})", "max"}, Wrong{"NeverNone", R"({"min": 0})", "min"},
                                           Wrong{"Address", R"({"address": "everywhere"})", "address"},
                                           Wrong{"Endpoints", R"({"endpoints": "rank.json"})", "endpoints"},
                                           Wrong{"Unknown", R"({"replicas": 3})", "replicas"},
                                           Wrong{"Every", R"({"every": "0s"})", "every"}),
                         [](const auto& the) { return std::string(the.param.name); });

TEST(ServiceConfig, NamesAndPortsBelongToOne) {
  Json other = rank();
  EXPECT_THAT(with({rank(), other}).error().message, HasSubstr("already"));
  other["name"] = "other";
  EXPECT_THAT(with({rank(), other}).error().message, HasSubstr("127.0.0.1:8481 is among the ports of another service"));
}

}  // namespace
}  // namespace stint
