#include "host/recurring.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

namespace stint {
namespace {

void wait_for(const std::atomic<int>& count, int least) {
  while (count < least)
    std::this_thread::yield();
}

TEST(Recurring, CallsEachAgainAndAgainAndNeverAfterItsEnd) {
  std::atomic<int> first = 0, second = 0;
  {
    const Recurring works({[&] {
                             ++first;
                             return Duration::milliseconds(1);
                           },
                           [&] {
                             ++second;
                             return Duration::hours(1);
                           }},
                          1);
    wait_for(first, 5);
  }
  const int seen = first;
  EXPECT_EQ(second, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(first, seen);
}

TEST(Recurring, OneThatTakesLongKeepsNoOtherWaitingWhereThereIsAnotherThread) {
  std::atomic<int> quick = 0;
  std::latch release(1);
  {
    const Recurring works({[&] {
                             release.wait();
                             return Duration::hours(1);
                           },
                           [&] {
                             if (++quick == 3) release.count_down();
                             return Duration::milliseconds(1);
                           }},
                          2);
    wait_for(quick, 3);
  }
  EXPECT_GE(quick, 3);
}

TEST(Recurring, OneThreadAtATimeCallsAWork) {
  std::atomic<int> inside = 0, calls = 0, most = 0;
  {
    const Recurring works({[&] {
                            most = std::max<int>(most, ++inside);
                            ++calls;
                            --inside;
                            return Duration();
                          }},
                          4);
    wait_for(calls, 20);
  }
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace stint
