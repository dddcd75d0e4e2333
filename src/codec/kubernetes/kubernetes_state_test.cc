// A cluster's objects as they change: watches, lists that are read again, what is kept and what is forgotten.
#include "codec/kubernetes/kubernetes_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/kubernetes/kubernetes_snapshot.h"
#include "codec/testing_sink.h"

namespace stint {
namespace {

using testing::HasSubstr;

const Instant kAt = Instant::from_seconds(1'790'000'000);

std::string changing_pod(std::string_view name, std::string_view phase, int gpus = 1) {
  return fmt::format(R"({{"kind":"Pod","metadata":{{"name":"{0}","namespace":"a","uid":"u-{0}","resourceVersion":"7",
      "creationTimestamp":"2026-09-01T00:00:00Z"}},"spec":{{"nodeName":"n","containers":[{{"name":"m","resources":{{"limits":{{{2}}}}}}}]}},
      "status":{{"phase":"{1}","startTime":"2026-09-01T00:00:00Z"}}}})",
                     name, phase, gpus == 0 ? "" : fmt::format(R"("nvidia.com/gpu":"{}")", gpus));
}

std::string line_of(std::string_view type, std::string_view object) {
  return fmt::format(R"({{"type":"{}","object":{}}})", type, object);
}

std::map<std::string, RunState> states(const KubernetesState& state) {
  TestingSink sink;
  KubernetesSnapshot(state, {.at = kAt, .client_label = {}}).give(sink);
  std::map<std::string, RunState> out;
  for (const stint::Run& run : sink.runs)
    out[run.holder.pod] = run.state;
  return out;
}

TEST(KubernetesState, DeletedPodIsToldOnceMoreWithItsEnd) {
  KubernetesState state;
  ASSERT_TRUE(state.event(line_of("ADDED", changing_pod("x", "Running")), "Pod", kAt).ok());
  const auto event = state.event(line_of("DELETED", changing_pod("x", "Running")), "Pod", kAt);
  ASSERT_TRUE(event.ok()) << event.error().message;
  EXPECT_EQ(event->version, "7");
  EXPECT_EQ(states(state).at("x"), RunState::kCancelled);
  EXPECT_EQ(state.contents().pods.begin()->second.ended, kAt);
  state.forget_gone();
  EXPECT_TRUE(states(state).empty());
}

TEST(KubernetesState, WhatANewListLacksIsGone) {
  KubernetesState state;
  for (const char* name : {"stays", "goes", "small"})
    state.read(changing_pod(name, "Running", std::string_view(name) == "small" ? 0 : 1), "Pod");
  state.begin_list("Pod");
  state.read(changing_pod("goes", "Running"), "Pod");
  state.begin_list("Pod");  // the server forgot the list in the middle
  state.read(changing_pod("stays", "Running"), "Pod");
  state.end_list("Pod", kAt);
  EXPECT_EQ(states(state), (std::map<std::string, RunState>{{"stays", RunState::kRunning}, {"goes", RunState::kCancelled}}));
  EXPECT_TRUE(state.contents().other_pods.empty());
}

TEST(KubernetesState, ExpiredVersionIsAnErrorEventAndBookmarksChangeNothing) {
  KubernetesState state;
  const auto bookmark =
      state.event(R"({"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"12"}}})", "Pod", kAt);
  ASSERT_TRUE(bookmark.ok()) << bookmark.error().message;
  EXPECT_EQ(bookmark->version, "12");
  const auto expired = state.event(R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})", "Pod", kAt);
  ASSERT_TRUE(expired.ok());
  EXPECT_EQ(expired->error_code, 410);
  EXPECT_THAT(state.event("{}", "Pod", kAt).error().message, HasSubstr("no event of a watch"));
  EXPECT_TRUE(state.contents().pods.empty());
}

TEST(KubernetesState, ObjectThatCannotBeUnderstoodIsCountedAndTheWatchGoesOn) {
  KubernetesState state;
  const auto event = state.event(line_of("ADDED", changing_pod("x", "Running").replace(0, 1, R"({"status":1,)")), "Pod", kAt);
  ASSERT_TRUE(event.ok()) << event.error().message;
  TestingSink sink;
  KubernetesSnapshot(state, {.at = kAt, .client_label = {}}).give(sink);
  EXPECT_EQ(sink.rejected.size(), state.contents().refused_count);
}

TEST(KubernetesState, MachineKeptByPodsWithoutGpusIsNamed) {
  KubernetesState state;
  for (const char* name : {"n", "free"})
    state.read(
        fmt::format(
            R"({{"kind":"Node","metadata":{{"name":"{0}","uid":"{0}"}},"status":{{"capacity":{{"nvidia.com/gpu":"8"}}}}}})",
            name),
        "");
  state.read(changing_pod("web", "Running", 0), "Pod");
  TestingSink sink;
  KubernetesSnapshot(state, {.at = kAt, .client_label = {}}).give(sink);
  EXPECT_THAT(sink.notes, testing::Contains("2 machines with 16 GPUs without a pod that holds one"));
  EXPECT_THAT(sink.notes, testing::Contains("1 of them kept by pods without GPUs, by machines: a/web 1"));
}

}  // namespace
}  // namespace stint
