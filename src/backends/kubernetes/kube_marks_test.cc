#include "backends/kubernetes/kube_marks.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

namespace stint {
namespace {

using testing::ElementsAre;
using Json = nlohmann::json;

constexpr std::string_view kMark = "00c0ffee00c0ffee";

KubePlacingNode node_of(const Json& annotations, const Json& spec) {
  const Json node = {{"kind", "Node"},
                     {"metadata", {{"name", "n0"}, {"uid", "u0"}, {"resourceVersion", "41"}, {"annotations", annotations}}},
                     {"spec", spec},
                     {"status", {{"capacity", {{"nvidia.com/gpu", "8"}}}}}};
  KubePlacingDecoder decoder;
  return std::get<KubePlacingNode>(decoder.decode(node.dump(), "Node").value());
}

/// The node after the change, as the API server merges it.
KubePlacingNode after(const KubePlacingNode& node, const KubeChange& change, Json annotations, Json spec) {
  const Json body = Json::parse(change.body);
  EXPECT_EQ(change.path, "/api/v1/nodes/" + node.node.meta.name);
  EXPECT_EQ(body["metadata"]["resourceVersion"], node.version) << "refused where the node has changed";
  annotations.merge_patch(body["metadata"]["annotations"]);
  if (body.contains("spec")) spec.merge_patch(body["spec"]);
  return node_of(annotations, spec);
}

const MachineAsk kNothing;
const MachineAsk kDrained{.drained = "drained by ada", .is_uncertain = false, .broken = {}};
const MachineAsk kBroken{.drained = {}, .is_uncertain = false, .broken = "offers 7 of its 8 GPUs"};

TEST(KubeMarks, CordonAndSayWhoDidThenTakeBackBoth) {
  const KubePlacingNode plain = node_of(Json::object(), Json::object());
  EXPECT_FALSE(mark_request(plain, kNothing, kMark));
  const auto cordon = mark_request(plain, kDrained, kMark);
  ASSERT_TRUE(cordon);
  const KubePlacingNode cordoned = after(plain, *cordon, Json::object(), Json::object());
  EXPECT_TRUE(cordoned.node.unschedulable);
  EXPECT_EQ(why_cordoned(cordoned), "drained by ada");
  EXPECT_FALSE(mark_request(cordoned, kDrained, kMark)) << "done";
  const auto release = mark_request(cordoned, kNothing, kMark);
  ASSERT_TRUE(release);
  const KubePlacingNode again =
      after(cordoned, *release, {{"stint/cordoned", cordoned.annotation("stint/cordoned")}}, {{"unschedulable", true}});
  EXPECT_FALSE(again.node.unschedulable);
  EXPECT_FALSE(is_marked(again));
}

TEST(KubeMarks, WhatOthersCordonStaysTheirs) {
  const KubePlacingNode theirs = node_of(Json::object(), {{"unschedulable", true}});
  EXPECT_FALSE(mark_request(theirs, kDrained, kMark));
  EXPECT_FALSE(mark_request(theirs, kNothing, kMark));
  EXPECT_EQ(why_cordoned(theirs), "");
  const KubePlacingNode another =
      node_of({{"stint/cordoned", "drained by bo (stint daemon 1111111111111111)"}}, {{"unschedulable", true}});
  EXPECT_FALSE(mark_request(another, kNothing, kMark)) << "another daemon's";
  EXPECT_FALSE(mark_request(another, kDrained, kMark));
}

TEST(KubeMarks, WhoeverUncordonsHasTheLastWordUntilSomethingElseIsAsked) {
  const Json said = {{"stint/cordoned", fmt::format("drained by ada (stint daemon {})", kMark)}};
  const KubePlacingNode uncordoned = node_of(said, Json::object());
  EXPECT_FALSE(mark_request(uncordoned, kDrained, kMark));
  const auto anew = mark_request(uncordoned, {.drained = "drained by bo", .is_uncertain = false, .broken = {}}, kMark);
  ASSERT_TRUE(anew);
  EXPECT_TRUE(after(uncordoned, *anew, said, Json::object()).node.unschedulable);
  const auto forget = mark_request(uncordoned, kNothing, kMark);
  ASSERT_TRUE(forget);
  EXPECT_FALSE(is_marked(after(uncordoned, *forget, said, Json::object())));
}

TEST(KubeMarks, ABrokenGpuIsATaintBesideThoseOfOthers) {
  const Json others = {{"key", "team"}, {"value", "vision"}, {"effect", "NoExecute"}, {"timeAdded", "2026-11-27T00:00:00Z"}};
  const Json spec = {{"taints", Json::array({others})}};
  const KubePlacingNode sound = node_of(Json::object(), spec);
  const auto taint = mark_request(sound, kBroken, kMark);
  ASSERT_TRUE(taint);
  const KubePlacingNode tainted = after(sound, *taint, Json::object(), spec);
  EXPECT_THAT(tainted.taints,
              ElementsAre(KubeTaint{"team", "vision", "NoExecute"}, KubeTaint{"stint/broken-gpu", "", "NoSchedule"}));
  EXPECT_EQ(Json::parse(tainted.taints_json)[0], others) << "whole, its time too";
  EXPECT_FALSE(tainted.node.unschedulable);
  EXPECT_FALSE(mark_request(tainted, kBroken, kMark));
  const Json said = {{"stint/broken-gpu", tainted.annotation("stint/broken-gpu")}};
  const auto heal = mark_request(tainted, kNothing, kMark);
  ASSERT_TRUE(heal);
  const KubePlacingNode healed = after(tainted, *heal, said, {{"taints", Json::parse(tainted.taints_json)}});
  EXPECT_THAT(healed.taints, ElementsAre(KubeTaint{"team", "vision", "NoExecute"}));
  EXPECT_FALSE(is_marked(healed));
}

TEST(KubeMarks, ATaintOfSomebodyElseStays) {
  const Json taint = {{"key", "stint/broken-gpu"}, {"effect", "NoExecute"}};
  const KubePlacingNode theirs = node_of(Json::object(), {{"taints", Json::array({taint})}});
  EXPECT_FALSE(mark_request(theirs, kBroken, kMark));
  EXPECT_FALSE(mark_request(theirs, kNothing, kMark));
}

TEST(KubeMarks, LongWordsAreCutAndStayOurs) {
  const KubePlacingNode plain = node_of(Json::object(), Json::object());
  const MachineAsk ask{.drained = std::string(5'000, 'x'), .is_uncertain = false, .broken = {}};
  const auto cordon = mark_request(plain, ask, kMark);
  ASSERT_TRUE(cordon);
  const KubePlacingNode cordoned = after(plain, *cordon, Json::object(), Json::object());
  EXPECT_LT(cordoned.annotation("stint/cordoned").size(), 300U);
  EXPECT_FALSE(mark_request(cordoned, ask, kMark));
  EXPECT_TRUE(mark_request(cordoned, kNothing, kMark));
}

TEST(KubeMarks, WhatIsNotKnownStaysAsItIs) {
  const MachineAsk uncertain{.drained = {}, .is_uncertain = true, .broken = {}};
  EXPECT_FALSE(mark_request(node_of(Json::object(), Json::object()), uncertain, kMark));
  const Json said = {{"stint/cordoned", fmt::format("drained by ada (stint daemon {})", kMark)}};
  const KubePlacingNode cordoned = node_of(said, {{"unschedulable", true}});
  EXPECT_FALSE(mark_request(cordoned, uncertain, kMark));
  EXPECT_TRUE(is_cordoned_by(cordoned, kMark));
  EXPECT_FALSE(is_cordoned_by(cordoned, "1111111111111111"));
  EXPECT_FALSE(is_cordoned_by(node_of(said, Json::object()), kMark));
}

TEST(KubeMachineAsks, SayWhenTheyAreInLineOrWhyNot) {
  KubeMachineAsks asks;
  EXPECT_EQ(asks.get().asks, nullptr);
  const MachineAsks one = {{"n0", kDrained}};
  EXPECT_FALSE(asks.bring_in_line(one, Duration()).ok()) << "nothing has looked yet";
  const auto asked = asks.get();
  EXPECT_EQ(*asked.asks, one);
  asks.looked(asked.number, true, "may not patch nodes");
  EXPECT_EQ(asks.bring_in_line(one, Duration()).error().message, "may not patch nodes");
  asks.looked(asked.number, false, "");
  EXPECT_TRUE(asks.bring_in_line(one, Duration()).ok());
  EXPECT_FALSE(asks.bring_in_line({}, Duration()).ok());
  asks.looked(asked.number, false, "");  // a look that began before
  EXPECT_FALSE(asks.bring_in_line({}, Duration()).ok());
}

}  // namespace
}  // namespace stint
