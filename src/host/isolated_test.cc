#include "host/isolated.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace stint {
namespace {

std::map<int64_t, IsolatedOutcome> run(int64_t count, int workers, const std::function<std::string(int64_t)>& function) {
  std::map<int64_t, IsolatedOutcome> outcomes;
  const Status done = run_isolated(count, workers, Duration::seconds(1), function, [&](int64_t i, const IsolatedOutcome& o) {
    outcomes[i] = o;
    return true;
  });
  EXPECT_TRUE(done.ok());
  return outcomes;
}

TEST(RunIsolated, ReturnsWhatEachFunctionReturned) {
  const auto outcomes = run(20, 3, [](int64_t i) { return std::string(static_cast<size_t>(i) * 10'000, 'x'); });
  ASSERT_EQ(outcomes.size(), 20u);
  for (const auto& [i, outcome] : outcomes) {
    EXPECT_TRUE(outcome.ok());
    EXPECT_EQ(outcome.result.size(), static_cast<size_t>(i) * 10'000);
  }
}

TEST(RunIsolated, AnAbortIsAnOutcomeWithItsLastWords) {
  const auto outcomes = run(2, 2, [](int64_t i) -> std::string {
    if (i == 0) {
      std::fputs("too much", stderr);
      std::abort();
    }
    return "fine";
  });
  EXPECT_EQ(outcomes.at(0).status.signal, SIGABRT);
  EXPECT_EQ(outcomes.at(0).said, "too much");
  EXPECT_EQ(outcomes.at(1).result, "fine");
}

TEST(RunIsolated, WhatDoesNotEndIsEnded) {
  const auto outcomes = run(1, 1, [](int64_t) -> std::string {
    for (volatile bool forever = true; forever;) {
    }
    return "";
  });
  EXPECT_EQ(outcomes.at(0).status.signal, SIGALRM);
}

TEST(RunIsolated, StartsNoMoreWhenToldSo) {
  int seen = 0;
  const Status done = run_isolated(
      100, 1, Duration::seconds(1), [](int64_t) { return std::string(); },
      [&](int64_t, const IsolatedOutcome&) { return ++seen < 3; });
  EXPECT_TRUE(done.ok());
  EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace stint
