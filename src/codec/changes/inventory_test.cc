#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/importer.h"
#include "codec/testing_import.h"

namespace stint {
namespace {

using testing::HasSubstr;

TestingSink import(std::unique_ptr<Importer> (*make)(const ImportOptions&, Sink&), std::string_view text,
                   Status* status = nullptr) {
  return import_text(make, {.source = "f.csv"}, text, status);
}

TEST(Inventory, ReadsEveryColumn) {
  const TestingSink sink = import(make_inventory_importer,
                                  "node,resource_id,provider,region,zone,instance_type,market,gpu_model,gpu_count,vcpus,memory_"
                                  "gib,rate_per_hour,currency,kind,"
                                  "checkpointable,client,project,team,environment,workload,from,until\n"
                                  "n1,i-1,AWS,us-east-1,us-east-1a,p4d.24xlarge,spot,A100-40GB,8,96,1152,21.957642,EUR,training,"
                                  "yes,acme,p,t,prod,w,2026-10-01,2026-11-01\n");
  ASSERT_TRUE(sink.rejected.empty()) << sink.rejected[0].second;
  ASSERT_EQ(sink.nodes.size(), 1U);
  const Node& n = sink.nodes[0];
  EXPECT_EQ(n.name, "n1");
  EXPECT_EQ(n.resource_id, "i-1");
  EXPECT_EQ(n.provider, "aws");
  EXPECT_EQ(n.market, Market::kSpot);
  EXPECT_EQ(n.gpu_count, 8);
  EXPECT_EQ(n.vcpus, 96);
  EXPECT_EQ(n.memory, Bytes::gibi(int64_t{1152}));
  EXPECT_EQ(n.rate->per_hour().to_decimal(), "21.957642");
  EXPECT_EQ(n.rate->per_hour().currency().code(), "EUR");
  EXPECT_EQ(n.kind, WorkloadKind::kTraining);
  EXPECT_EQ(n.checkpointable, true);
  EXPECT_EQ(n.tenant, (Tenant{"acme", "p", "t", "prod", "w"}));
  EXPECT_EQ(format_utc(*n.present_until), "2026-11-01T00:00:00Z");
}

TEST(Inventory, OnlyTheNodeIsNeededAndNothingIsInvented) {
  const TestingSink sink = import(make_inventory_importer, "NODE\nn1\n");
  ASSERT_EQ(sink.nodes.size(), 1U);
  EXPECT_FALSE(sink.nodes[0].rate.has_value());
  EXPECT_EQ(sink.nodes[0].market, Market::kUnknown);
  EXPECT_FALSE(sink.nodes[0].checkpointable.has_value());
}

TEST(Inventory, UnknownColumnsAreNamedOnce) {
  const TestingSink sink = import(make_inventory_importer, "node,colour,gpus\nn1,red,8\nn2,blue,8\n");
  EXPECT_EQ(sink.nodes.size(), 2U);
  ASSERT_EQ(sink.rejected.size(), 1U);
  EXPECT_THAT(sink.rejected[0].second, HasSubstr("unknown columns, not read: colour, gpus"));
}

TEST(Inventory, BadValuesAreRejectedWithColumnAndValue) {
  const TestingSink sink = import(make_inventory_importer,
                                  "node,market,gpu_count,memory_gib,rate_per_hour,currency,kind,checkpointable,from,until\n"
                                  ",,,,,,,,,\n"
                                  "a,rented,,,,,,,,\n"
                                  "a,,eight,,,,,,,\n"
                                  "a,,,1e999,,,,,,\n"
                                  "a,,,,-1,,,,,\n"
                                  "a,,,,1,dollar,,,,\n"
                                  "a,,,,,,fun,,,\n"
                                  "a,,,,,,,maybe,,\n"
                                  "a,,,,,,,,soon,\n"
                                  "a,,,,,,,,2026-10-02,2026-10-01\n");
  EXPECT_TRUE(sink.nodes.empty());
  const std::vector<std::string> reasons = {
      "node: no name",      "market: 'rented'", "gpu_count: 'eight'",      "memory_gib: '1e999'", "rate_per_hour: '-1'",
      "currency: 'dollar'", "kind: 'fun'",      "checkpointable: 'maybe'", "from: 'soon'",        "is not after from"};
  ASSERT_EQ(sink.rejected.size(), reasons.size());
  for (size_t i = 0; i < reasons.size(); ++i) {
    EXPECT_EQ(sink.rejected[i].first, i + 2);
    EXPECT_THAT(sink.rejected[i].second, HasSubstr(reasons[i]));
  }
}

TEST(Inventory, WithoutNodeColumnItIsRefused) {
  Status status;
  import(make_inventory_importer, "host,gpus\na,1\n", &status);
  EXPECT_THAT(status.error().message, HasSubstr("f.csv: line 1: the header lacks the column node; found: host, gpus"));
}

TEST(Tenants, RulesKeepTheirOrder) {
  const TestingSink sink =
      import(make_tenants_importer, "pattern,client,project,team\nnamespace/acme-*,Acme,,nlp\n\"pod/x/*\",Other,p,\n*,Rest,,\n");
  ASSERT_EQ(sink.rules.size(), 3U);
  EXPECT_EQ(sink.rules[0].pattern, "namespace/acme-*");
  EXPECT_EQ(sink.rules[0].tenant, (Tenant{.client = "Acme", .project = "", .team = "nlp", .environment = "", .workload = ""}));
  EXPECT_EQ(sink.rules[2].pattern, "*");
}

TEST(Tenants, RulesThatCanDoNothingAreRejected) {
  const TestingSink sink = import(make_tenants_importer, "pattern,client\nacme,Acme\nnamespace/,Acme\nuser/ann,\n");
  EXPECT_TRUE(sink.rules.empty());
  ASSERT_EQ(sink.rejected.size(), 3U);
  EXPECT_THAT(sink.rejected[0].second, HasSubstr("'acme' matches nothing"));
  EXPECT_THAT(sink.rejected[2].second, HasSubstr("no client, project"));
}

TEST(Tenants, HeaderWithoutAnyDimensionIsRefused) {
  Status status;
  import(make_tenants_importer, "pattern,owner\n", &status);
  EXPECT_THAT(status.error().message, HasSubstr("none of the columns client"));
}

}  // namespace
}  // namespace stint
