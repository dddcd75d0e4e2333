#include "sim/event_queue.h"

#include <gtest/gtest.h>

#include <tuple>

#include "base/prng.h"

namespace stint::sim {
namespace {

TEST(EventQueue, OrdersByTimeThenKindThenInsertion) {
  EventQueue<char> queue;
  queue.push(Instant::from_seconds(2), 0, 'd');
  queue.push(Instant::from_seconds(1), 5, 'c');
  queue.push(Instant::from_seconds(1), 2, 'a');
  queue.push(Instant::from_seconds(1), 2, 'b');
  std::string order;
  while (!queue.empty())
    order += queue.pop().payload;
  EXPECT_EQ(order, "abcd");
}

TEST(EventQueue, AgreesWithAStableSortWhilePushesAndPopsAlternate) {
  Prng prng(7);
  EventQueue<int> queue;
  std::vector<std::tuple<Instant, uint8_t, int>> pushed;
  std::vector<int> popped;
  Instant now;
  for (int i = 0; i < 2'000; ++i) {
    const Instant at = now + Duration::seconds(static_cast<int64_t>(prng.below(50)));
    const auto kind = static_cast<uint8_t>(prng.below(3));
    // Everything still pending and everything to come is at or after `now`, so the order of pops is the sorted order only
    // when a later push never precedes an earlier pop: a push at `now` gets the highest kind.
    queue.push(at, at == now ? 3 : kind, i);
    pushed.emplace_back(at, at == now ? 3 : kind, i);
    if (prng.below(2) == 0) {
      const auto entry = queue.pop();
      now = entry.at;
      popped.push_back(entry.payload);
    }
  }
  while (!queue.empty())
    popped.push_back(queue.pop().payload);
  std::ranges::sort(pushed);
  ASSERT_EQ(popped.size(), pushed.size());
  for (size_t i = 0; i < popped.size(); ++i)
    ASSERT_EQ(popped[i], std::get<2>(pushed[i])) << "at " << i;
}

}  // namespace
}  // namespace stint::sim
