#include "serve/flights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint::serve {
namespace {

using batching::Request;
using batching::RequestId;
using testing::ElementsAre;
using testing::IsEmpty;

Request request(uint64_t id, Instant deadline = batching::kNoDeadline, int priority = 3) {
  Request made;
  made.id = RequestId{id};
  made.deadline = deadline;
  made.priority = priority;
  return made;
}
Instant at(int64_t seconds) { return Instant::from_ns(0) + Duration::seconds(seconds); }

TEST(Flights, TheFirstLeadsAndTheOthersWait) {
  Flights flights;
  EXPECT_FALSE(flights.join("a", request(1)));
  EXPECT_TRUE(flights.join("a", request(2)));
  EXPECT_FALSE(flights.join("b", request(3)));
  EXPECT_TRUE(flights.join("a", request(4)));
  EXPECT_THAT(flights.land("a", RequestId{2}), IsEmpty()) << "it does not lead";
  EXPECT_THAT(flights.land("a", RequestId{1}), ElementsAre(RequestId{2}, RequestId{4}));
  EXPECT_FALSE(flights.join("a", request(5))) << "that flight has landed";
}

TEST(Flights, NobodyWaitsForWhatComesTooLateOrIsLessUrgent) {
  Flights flights;
  EXPECT_FALSE(flights.join("a", request(1, at(10), 2)));
  EXPECT_FALSE(flights.join("a", request(2, at(9), 2)));
  EXPECT_FALSE(flights.join("a", request(3, at(10), 1)));
  EXPECT_TRUE(flights.join("a", request(4, at(10), 2)));
  EXPECT_TRUE(flights.join("a", request(5, batching::kNoDeadline, 3)));
  EXPECT_THAT(flights.land("a", RequestId{3}), IsEmpty());
  EXPECT_THAT(flights.land("a", RequestId{1}), ElementsAre(RequestId{4}, RequestId{5}));
}

TEST(Flights, WhoLeadsIsFollowed) {
  Flights flights;
  flights.join("a", request(1, at(5), 2));
  flights.join("a", request(2, at(20), 2));
  flights.join("a", request(3, at(10), 3));
  flights.join("a", request(4, at(30), 3));
  EXPECT_EQ(flights.leave("a", RequestId{4}), std::nullopt) << "it only waited";
  const auto next = flights.leave("a", RequestId{1});
  ASSERT_TRUE(next);
  EXPECT_EQ(next->id, RequestId{3}) << "it has the least time";
  EXPECT_EQ(next->priority, 2) << "one of those who wait for it is so urgent";
  EXPECT_THAT(flights.land("a", RequestId{3}), ElementsAre(RequestId{2}));
  flights.join("b", request(5));
  EXPECT_EQ(flights.leave("b", RequestId{5}), std::nullopt);
  EXPECT_FALSE(flights.join("b", request(6))) << "nobody leads any more";
  EXPECT_EQ(flights.leave("", RequestId{7}), std::nullopt);
}

}  // namespace
}  // namespace stint::serve
