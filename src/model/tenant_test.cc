#include "model/tenant.h"

#include <gtest/gtest.h>

#include "model/workload.h"

namespace stint {
namespace {

TEST(Tenant, TagsAreReadInTheSpellingsBillsUse) {
  const Tenant t = tenant_from_tags({{"user:Cost-Center", "CC7"},
                                     {"aws:owner", "vision"},
                                     {"Environment", "prod"},
                                     {"app.kubernetes.io/component", "ranker"},
                                     {"application", "search"}});
  EXPECT_EQ(t, (Tenant{"CC7", "search", "vision", "prod", "ranker"}));
}

TEST(Tenant, TheMoreTellingKeyWins) {
  EXPECT_EQ(tenant_from_tags({{"business_unit", "BU"}, {"client", "acme"}}).client, "acme");
  EXPECT_EQ(tenant_from_tags({{"client", ""}, {"business_unit", "BU"}}).client, "BU");
  EXPECT_TRUE(tenant_from_tags({{"Name", "node-1"}}).empty());
}

TEST(Tenant, MergingFillsOnlyWhatIsEmpty) {
  EXPECT_EQ(merged({.client = "acme"}, {.client = "other", .team = "ml"}), (Tenant{.client = "acme", .team = "ml"}));
}

TEST(Tenant, IdsAreDenseAndStable) {
  TenantTable table;
  const TenantId a = table.intern({.client = "a"});
  const TenantId b = table.intern({.client = "b"});
  EXPECT_EQ(table.intern({.client = "a"}), a);
  EXPECT_EQ(b.index(), 1u);
  EXPECT_EQ(table[b].client, "b");
}

TEST(Glob, StarsAndQuestionMarks) {
  EXPECT_TRUE(glob_matches("namespace/acme-*", "namespace/acme-prod"));
  EXPECT_FALSE(glob_matches("namespace/acme-*", "namespace/acme"));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("a*b*c", "axxbyyc"));
  EXPECT_FALSE(glob_matches("a?c", "ac"));
  EXPECT_FALSE(glob_matches("", "x"));
}

TEST(Glob, StaysLinearOnHostilePatterns) {
  const std::string text(20000, 'a');
  EXPECT_FALSE(glob_matches("*a*a*a*a*a*a*a*a*a*a*b", text));
}

TEST(TenantOf, TheFirstMatchingRuleWinsAndTheSourceFillsTheRest) {
  const std::vector<TenantRule> rules = {{"pod/shared/bert-*", {.client = "acme", .project = "search"}},
                                         {"namespace/shared", {.client = "platform"}}};
  const Tenant bert = tenant_of({.ns = "shared", .pod = "bert-serving-7d4f9c6b5-x2x9k"}, rules);
  EXPECT_EQ(bert.client, "acme");
  EXPECT_EQ(bert.workload, "bert-serving");
  EXPECT_EQ(tenant_of({.ns = "shared", .pod = "web-0"}, rules).client, "platform");
  EXPECT_EQ(tenant_of({.ns = "hub", .pod = "jupyter-amira"}, rules).workload, "jupyter-amira");  // a name, no suffix
  EXPECT_EQ(tenant_of({.ns = "other"}, rules).client, "other");
  EXPECT_EQ(tenant_of({.job = "17", .user = "eve", .account = "physics"}, rules).client, "physics");
}

TEST(TenantOf, ReplicasOfOneOwnerAreOneWorkload) {
  const auto workload = [](const char* pod) { return tenant_of({.ns = "shared", .pod = pod}, {}).workload; };
  for (const char* pod : {"vllm-0", "vllm-7", "vllm-12"})
    EXPECT_EQ(workload(pod), "vllm") << "a StatefulSet numbers its pods";
  for (const char* pod : {"bert-7d4f9c6b5-x2x9k", "bert-7d4f9c6b5-zzz4d"})
    EXPECT_EQ(workload(pod), "bert") << "a Deployment gives them the suffixes of its ReplicaSet and their own";
  EXPECT_EQ(workload("qwen-2-7d4f9c6b5-x2x9k"), "qwen-2") << "one suffix is the pod's, the number is the Deployment's";
  EXPECT_EQ(workload("eval-007"), "eval-007") << "no ordinal has leading zeros";
  EXPECT_EQ(workload("run-20260714"), "run-20260714") << "a date";
}

TEST(WorkloadKind, IsGuessedFromNamesOnlyWhenTheySay) {
  EXPECT_EQ(guess_workload_kind("acme-LoRA-7b"), WorkloadKind::kFineTuning);
  EXPECT_EQ(guess_workload_kind("weekly-eval"), WorkloadKind::kEvaluation);
  EXPECT_EQ(guess_workload_kind("triton-server"), WorkloadKind::kRealtimeInference);
  EXPECT_EQ(guess_workload_kind("pretrain"), WorkloadKind::kTraining);
  EXPECT_EQ(guess_workload_kind("postgres"), WorkloadKind::kUnknown);
}

TEST(WorkloadKind, NamesReadBack) {
  for (int k = 0; k <= static_cast<int>(WorkloadKind::kNotebook); ++k) {
    const auto kind = static_cast<WorkloadKind>(k);
    EXPECT_EQ(parse_workload_kind(name_of(kind)).value(), kind);
  }
  EXPECT_FALSE(parse_workload_kind("mining").ok());
}

}  // namespace
}  // namespace stint
