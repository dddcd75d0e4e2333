// Each behaviour that users of other tools miss, by itself; capacity_random_test.cc has them under faults.
#include "capacity/capacity_book.h"

#include <gmock/gmock.h>

#include "capacity/testing_capacity.h"

namespace stint {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

CapacityWish wish_for(int machines) { return {.id = "burst", .client = "acme", .machines = machines}; }

SimulatedCloudOptions with_stock(std::map<std::string, int32_t> stock) {
  SimulatedCloudOptions options = quiet_cloud();
  options.stock = std::move(stock);
  return options;
}

TEST(CapacityBook, MakesWhatIsWantedAndEndsWhatIsReleased) {
  CapacityWorld world(testing_rules({testing_pool("a", 32)}), quiet_cloud());
  world.wishes = {wish_for(3)};
  world.run_for(Duration::minutes(20));
  EXPECT_EQ(world.in_state(MadeState::kReady), 3);
  EXPECT_THAT(world.there(), ElementsAre("burst-1", "burst-2", "burst-3"));
  EXPECT_EQ(world.book.burn(), Money::units(96));
  world.wishes = {wish_for(2)};
  world.run_for(Duration::minutes(1));
  EXPECT_EQ(world.in_state(MadeState::kReady), 3) << "one that may have work goes when it is released";
  world.released = {"burst-2"};
  world.run_for(Duration::minutes(2));
  EXPECT_THAT(world.there(), ElementsAre("burst-1", "burst-3"));
  EXPECT_THAT(world.book.machines(), SizeIs(2));
  EXPECT_EQ(world.heard_of(CapacityEvent::kGone), 1);
}

TEST(CapacityBook, WhatIsIntendedIsARowBeforeItsOrder) {
  CapacityWorld world(testing_rules({testing_pool("a", 32)}), quiet_cloud());
  world.wishes = {wish_for(1)};
  ASSERT_FALSE(world.step(1)) << "killed when the rows are there and no order is given";
  EXPECT_THAT(world.there(), IsEmpty());
  EXPECT_EQ(world.in_state(MadeState::kUnsure), 1);
  world.run_for(Duration::minutes(20));
  EXPECT_THAT(world.there(), ElementsAre("burst-1")) << "under the same name";
  EXPECT_EQ(world.cloud.made(), 1);
}

TEST(CapacityBook, AnUnknownOutcomeIsLookedForBeforeItIsTriedAgain) {
  SimulatedCloudOptions options = quiet_cloud();
  options.lost_answers = 1;
  CapacityWorld world(testing_rules({testing_pool("a", 32)}), options);
  world.wishes = {wish_for(1)};
  world.run_for(Duration::minutes(30));
  EXPECT_EQ(world.in_state(MadeState::kReady), 1);
  EXPECT_EQ(world.tried("a"), 1) << "it was made, and the list says so";
}

TEST(CapacityBook, AnOrderThatNeverArrivedIsGivenAgainUnderItsName) {
  CapacityWorld world(testing_rules({testing_pool("a", 32)}), quiet_cloud());
  world.wishes = {wish_for(1)};
  CapacityStep step = world.book.step(world.now, {.wishes = world.wishes}, {});
  ASSERT_THAT(step.creates, SizeIs(1));  // and is lost
  world.now = world.now + Duration::seconds(1);
  world.run_for(Duration::minutes(20));
  EXPECT_THAT(world.there(), ElementsAre("burst-1"));
}

/// The first order was lost with who gave it, and might still come true for two minutes.
TEST(CapacityBook, WhatWasAskedForTwiceIsToldGoneAsSoonAsItIsGone) {
  SimulatedCloudOptions options = quiet_cloud();
  options.start_mean = Duration::seconds(1);
  CapacityRules rules = testing_rules({testing_pool("a", 32)});
  rules.settle = Duration::seconds(2);
  CapacityWorld world(rules, options);
  world.wishes = {wish_for(1)};
  ASSERT_FALSE(world.step(1)) << "killed when the row is there and the order is not given";
  world.run_for(Duration::seconds(20));
  ASSERT_EQ(world.in_state(MadeState::kReady), 1);
  world.wishes.clear();
  world.released = {"burst-1"};
  world.run_for(Duration::seconds(10));
  EXPECT_THAT(world.there(), IsEmpty());
  ASSERT_EQ(world.heard_of(CapacityEvent::kGone), 1);
  EXPECT_TRUE(world.news.back().was_ready);
  EXPECT_EQ(world.in_state(MadeState::kEnding), 1) << "its name is kept as long as the first order may be carried out";
  world.kill();
  world.run_for(Duration::minutes(3));
  EXPECT_THAT(world.book.machines(), IsEmpty());
  EXPECT_EQ(std::ranges::count(world.news, true, &CapacityNews::was_ready), 2) << "handed over once, and gone once";
}

TEST(CapacityBook, WhatTheListShowsNeedsNoAnswer) {
  SimulatedCloudOptions options = quiet_cloud();
  options.start_mean = Duration::seconds(4);
  options.lost_answers = 1;
  CapacityRules rules = testing_rules({testing_pool("a", 32)});
  rules.settle = Duration::seconds(2);
  CapacityWorld world(rules, options);
  world.wishes = {wish_for(2)};
  world.run_for(Duration::seconds(30));
  EXPECT_EQ(world.in_state(MadeState::kReady), 2);
  EXPECT_EQ(world.book.counts().made, 2);
  world.wishes.clear();
  world.released = {"burst-1", "burst-2"};
  world.run_for(Duration::seconds(10));
  EXPECT_THAT(world.there(), IsEmpty());
  EXPECT_THAT(world.book.machines(), IsEmpty());
}

TEST(CapacityBook, WhatIsNotWantedAnyMoreEndsAsSoonAsTheListShowsIt) {
  SimulatedCloudOptions options = quiet_cloud();
  options.lost_answers = 1;
  CapacityRules rules = testing_rules({testing_pool("a", 32)});
  rules.settle = Duration::seconds(2);
  CapacityWorld world(rules, options);
  world.wishes = {wish_for(1)};
  world.step();
  world.wishes.clear();
  world.run_for(Duration::seconds(20));
  EXPECT_THAT(world.there(), IsEmpty());
  EXPECT_THAT(world.book.machines(), IsEmpty());
}

TEST(CapacityBook, AnAnswerThatItWasNotMadeEndsWhatAListHasShown) {
  CapacityBook book(testing_rules({testing_pool("a", 10)}));
  Instant now = Instant::from_seconds(1'800'000'000);
  const CapacityStep asked = book.step(now, {.wishes = {wish_for(1)}}, {});
  ASSERT_THAT(asked.creates, SizeIs(1));
  ASSERT_TRUE(asked.list);
  CapacityHeard heard;
  heard.lists.push_back(
      {.call = *asked.list, .unread = {}, .machines = {{.id = "i-1", .name = "burst-1", .owner = "stint-test"}}});
  now = now + Duration::seconds(1);
  (void)book.step(now, {.wishes = {wish_for(1)}}, heard);
  EXPECT_EQ(book.machines().at("burst-1").state, MadeState::kComing);
  heard = {};
  heard.answers = {{.call = asked.creates.front().call, .name = "burst-1", .outcome = CapacityOutcome::kStockout, .detail = {}}};
  const CapacityStep ended = book.step(now, {.wishes = {wish_for(1)}}, heard);
  ASSERT_THAT(ended.destroys, SizeIs(1));
  EXPECT_EQ(ended.destroys.front().targets.front().name, "burst-1");
  EXPECT_THAT(book.shut(), SizeIs(1));
}

TEST(CapacityBook, NotFoundAfterItWasMadeMeansWait) {
  SimulatedCloudOptions options = quiet_cloud();
  options.list_lag = Duration::minutes(5);
  CapacityWorld world(testing_rules({testing_pool("a", 32)}), options);
  world.wishes = {wish_for(1)};
  world.run_for(Duration::minutes(4));
  EXPECT_EQ(world.in_state(MadeState::kComing), 1);
  world.run_for(Duration::minutes(10));
  EXPECT_EQ(world.in_state(MadeState::kReady), 1);
  EXPECT_EQ(world.cloud.made(), 1);
}

TEST(CapacityBook, APoolWithoutStockIsLeftAloneAndTheNextTriedAtOnce) {
  std::vector<CapacityPool> pools;
  std::map<std::string, int32_t> stock;
  for (int i = 0; i < 24; ++i) {
    pools.push_back(testing_pool(fmt::format("p{:02}", i), 10 + i));
    if (i != 23) stock[pools.back().name] = 0;
  }
  CapacityRules rules = testing_rules(pools);
  rules.stockout_most = rules.stockout_for;
  CapacityWorld world(rules, with_stock(stock));
  world.wishes = {wish_for(1)};
  const Instant begin = world.now;
  while (world.in_state(MadeState::kComing) == 0) {
    world.step();
    world.now = world.now + Duration::seconds(1);
    ASSERT_LT(world.now - begin, Duration::minutes(3));
  }
  EXPECT_THAT(world.cloud.tried(), SizeIs(24)) << "one pass";
  // 24 orders, each with its answer after two seconds.
  EXPECT_LE(world.now - begin, Duration::seconds(24 * 3));
  world.wishes = {wish_for(2)};
  world.run_for(Duration::minutes(30));
  EXPECT_EQ(world.in_state(MadeState::kReady), 2);
  std::map<std::string, Instant> last;
  for (const SimulatedCloud::Tried& tried : world.cloud.tried()) {
    if (tried.outcome != CapacityOutcome::kStockout) continue;
    const auto before = last.find(tried.pool);
    if (before != last.end()) {
      EXPECT_GE(tried.at - before->second, rules.stockout_for) << tried.pool;
    }
    last[tried.pool] = tried.at;
  }
}

/// What a first order of one machine is told, and who is asked after it.
class AfterARefusal {
 public:
  explicit AfterARefusal(std::vector<CapacityPool> pools) : book_(testing_rules(std::move(pools))) {}
  std::vector<std::string> asked(CapacityOutcome outcome) {
    std::vector<std::string> pools;
    CapacityStep step = book_.step(now_, {.wishes = {wish_for(1)}}, {});
    while (!step.creates.empty()) {
      const CreateOrder order = step.creates.front();
      pools.push_back(order.pool);
      CapacityHeard heard;
      heard.answers = {{.call = order.call, .name = order.names.front(), .outcome = outcome, .detail = {}}};
      now_ = now_ + Duration::seconds(1);
      step = book_.step(now_, {.wishes = {wish_for(1)}}, heard);
    }
    return pools;
  }
  static CapacityPool pool(const std::string& name, int per_hour, const std::string& zone, Market market = Market::kSpot) {
    CapacityPool pool = testing_pool(name, per_hour, market);
    pool.machine.instance_type = "p5.48xlarge";
    pool.machine.region = "us-east-1";
    pool.machine.zone = "us-east-1" + zone;
    return pool;
  }

 private:
  CapacityBook book_;
  Instant now_ = Instant::from_seconds(1'800'000'000);
};

TEST(CapacityBook, AStockoutIsOfATypeInAZoneOnAMarketWhateverThePool) {
  const std::vector<CapacityPool> pools = {AfterARefusal::pool("burst/a", 10, "a"), AfterARefusal::pool("eval/a", 11, "a"),
                                           AfterARefusal::pool("eval/b", 12, "b"),
                                           AfterARefusal::pool("eval/a/on-demand", 90, "a", Market::kOnDemand)};
  EXPECT_THAT(AfterARefusal(pools).asked(CapacityOutcome::kStockout), ElementsAre("burst/a", "eval/b", "eval/a/on-demand"));
}

TEST(CapacityBook, AQuotaIsOfATypeInARegionOnAMarket) {
  std::vector<CapacityPool> pools = {AfterARefusal::pool("a", 10, "a"), AfterARefusal::pool("b", 11, "b"),
                                     AfterARefusal::pool("on-demand", 90, "a", Market::kOnDemand)};
  CapacityPool elsewhere = AfterARefusal::pool("elsewhere", 13, "a");
  elsewhere.machine.region = "eu-north-1";
  pools.push_back(elsewhere);
  EXPECT_THAT(AfterARefusal(pools).asked(CapacityOutcome::kQuota), ElementsAre("a", "elsewhere", "on-demand"));
  EXPECT_THAT(AfterARefusal(pools).asked(CapacityOutcome::kRefused), ElementsAre("a", "b", "elsewhere", "on-demand"))
      << "another order may be right";
}

TEST(CapacityBook, AMachineThatEndsBeforeItIsReadyIsNotWaitedForNorBoughtAgainAtOnce) {
  CapacityBook book(testing_rules({testing_pool("a", 10), testing_pool("b", 20)}));
  Instant now = Instant::from_seconds(1'800'000'000);
  const CapacityStep asked = book.step(now, {.wishes = {wish_for(1)}}, {});
  CapacityHeard heard;
  heard.answers = {{.call = asked.creates.front().call, .name = "burst-1", .outcome = CapacityOutcome::kMade, .detail = {}}};
  heard.lists.push_back({.call = *asked.list,
                         .unread = {},
                         .machines = {{.id = "i-1", .name = "burst-1", .owner = "stint-test", .state = ListedState::kGoing}}});
  now = now + Duration::seconds(2);
  const CapacityStep next = book.step(now, {.wishes = {wish_for(1)}}, heard);
  EXPECT_FALSE(book.machines().contains("burst-1"));
  ASSERT_THAT(next.creates, SizeIs(1)) << "at once";
  EXPECT_EQ(next.creates.front().pool, "b");
  EXPECT_THAT(book.shut().at("a").why, HasSubstr("before it was ready"));
}

TEST(CapacityBook, StockoutsInARowAreWaitedForLongerUpToABound) {
  CapacityWorld world(testing_rules({testing_pool("a", 32)}), with_stock({{"a", 0}}));
  world.wishes = {wish_for(1)};
  world.run_for(kHour * 3, Duration::seconds(5));
  std::vector<int64_t> minutes;
  for (size_t i = 1; i < world.cloud.tried().size(); ++i)
    minutes.push_back(((world.cloud.tried()[i].at - world.cloud.tried()[i - 1].at).whole_seconds() + 30) / 60);
  EXPECT_THAT(minutes, ElementsAre(5, 10, 20, 40, 40, 40));
}

TEST(CapacityBook, AnExclusionOutlivesTheCaller) {
  CapacityWorld world(testing_rules({testing_pool("a", 32)}), with_stock({{"a", 0}}));
  world.wishes = {wish_for(1)};
  world.run_for(Duration::seconds(10));
  ASSERT_EQ(world.tried("a"), 1);
  world.kill();
  world.run_for(Duration::minutes(4));
  EXPECT_EQ(world.tried("a"), 1);
}

TEST(CapacityBook, AQuotaIsNoStockoutAndSaysSo) {
  SimulatedCloudOptions options = quiet_cloud();
  options.quota = 1;
  CapacityRules rules = testing_rules({testing_pool("a", 32)});
  rules.offer_every = Duration();
  CapacityWorld world(rules, options);
  world.wishes = {wish_for(2)};
  world.run_for(Duration::minutes(50), Duration::seconds(5));
  EXPECT_EQ(world.in_state(MadeState::kReady), 1);
  ASSERT_THAT(world.last.shortages, SizeIs(1));
  EXPECT_EQ(world.last.shortages.front().missing, 1);
  EXPECT_THAT(world.last.shortages.front().why, HasSubstr("quota: the account may have 1 machines"));
  EXPECT_EQ(world.tried("a"), 2) << "once, in less than an hour";
}

TEST(CapacityBook, WhatTheQuotaLeavesIsAskedFirst) {
  SimulatedCloudOptions options = quiet_cloud();
  options.quota = 3;
  CapacityWorld world(testing_rules({testing_pool("a", 32)}), options);
  world.run_for(Duration::seconds(5));  // the offer comes
  world.wishes = {{.id = "gang", .client = {}, .machines = 4, .together = true}};
  world.run_for(Duration::minutes(1));
  EXPECT_EQ(world.tried("a"), 0);
  EXPECT_THAT(world.last.shortages.front().why, HasSubstr("quota: 3 more may be had"));
}

TEST(CapacityBook, AProviderThatThrottlesIsAskedMoreAndMoreSeldom) {
  SimulatedCloudOptions options = quiet_cloud();
  options.throttled = 1;
  CapacityRules rules = testing_rules({testing_pool("a", 32), testing_pool("b", 33)});
  CapacityWorld world(rules, options);
  world.wishes = {wish_for(1)};
  world.run_for(Duration::minutes(10));
  // 2, 4, 8, …, 64, 120, 120, … seconds, and two for each answer: 126 s for six, then four in 488 s.
  EXPECT_EQ(world.cloud.tried().size(), 10u);
  EXPECT_EQ(world.tried("b"), 0) << "it is of the same provider";
  EXPECT_THAT(world.book.shut(), IsEmpty()) << "no pool is to blame";
  world.cloud.change_options(quiet_cloud());
  world.run_for(Duration::minutes(10));
  EXPECT_EQ(world.in_state(MadeState::kReady), 1);
}

TEST(CapacityBook, WhatIsNotReadyInTimeIsEndedAndCounted) {
  SimulatedCloudOptions options = quiet_cloud();
  options.never_ready = 1;
  CapacityWorld world(testing_rules({testing_pool("a", 32)}), options);
  world.wishes = {wish_for(1)};
  world.run_for(Duration::minutes(16));
  EXPECT_EQ(world.book.counts().late, 1);
  EXPECT_THAT(world.there(), IsEmpty());
  EXPECT_THAT(world.news, Contains(AllOf(Field(&CapacityNews::event, CapacityEvent::kFailed),
                                         Field(&CapacityNews::detail, "not ready within 15 minutes"))));
}

TEST(CapacityBook, AGangComesWholeOrNotAtAll) {
  CapacityWorld world(testing_rules({testing_pool("a", 10), testing_pool("b", 20)}), with_stock({{"a", 3}}));
  world.wishes = {{.id = "gang", .client = {}, .machines = 4, .together = true}};
  world.run_for(Duration::minutes(15));
  EXPECT_EQ(world.in_state(MadeState::kReady), 4);
  for (const auto& [id, instance] : world.cloud.there())
    EXPECT_EQ(instance.pool, "b");
  EXPECT_EQ(world.heard_of(CapacityEvent::kReady), 4);
}

/// A provider that cannot give several in one step: two of three come.
TEST(CapacityBook, WhatCameOfABrokenGangEndsAtOnce) {
  CapacityRules rules = testing_rules({testing_pool("a", 10)});
  CapacityBook book(rules);
  const Instant now = Instant::from_seconds(1'800'000'000);
  const std::vector<CapacityWish> wishes = {{.id = "gang", .client = {}, .machines = 3, .together = true}};
  const CapacityStep first = book.step(now, {.wishes = wishes}, {});
  ASSERT_THAT(first.creates, SizeIs(1));
  CapacityHeard heard;
  for (const std::string& name : first.creates.front().names)
    heard.answers.push_back(
        {.call = first.creates.front().call,
         .name = name,
         .outcome = name == first.creates.front().names.back() ? CapacityOutcome::kStockout : CapacityOutcome::kReady,
         .detail = {}});
  const CapacityStep second = book.step(now + Duration::seconds(2), {.wishes = wishes}, heard);
  ASSERT_THAT(second.destroys, SizeIs(1));
  EXPECT_THAT(second.destroys.front().targets, SizeIs(2));
  for (const CapacityNews& news : second.news)
    EXPECT_NE(news.event, CapacityEvent::kReady) << "nothing is handed over that does not stay";
  EXPECT_THAT(second.creates, IsEmpty()) << "its only pool is out of stock";
}

TEST(CapacityBook, NothingIsHandedOverBeforeTheGangIsReady) {
  CapacityWorld world(testing_rules({testing_pool("a", 10)}), quiet_cloud());
  world.wishes = {{.id = "gang", .client = {}, .machines = 8, .together = true}};
  int64_t before = 0;
  for (int i = 0; i < 900; ++i) {
    world.step();
    const int64_t ready = world.in_state(MadeState::kReady);
    EXPECT_TRUE(ready == 0 || ready == 8) << ready;
    before = ready;
    world.now = world.now + Duration::seconds(1);
  }
  EXPECT_EQ(before, 8);
}

TEST(CapacityBook, NeverMoreThanMayBeAndTheCheapestFirst) {
  CapacityPool cheap = testing_pool("cheap", 8);
  cheap.most = 2;
  CapacityRules rules = testing_rules({testing_pool("dear", 32), cheap});
  rules.most = 3;
  CapacityWorld world(rules, quiet_cloud());
  world.wishes = {wish_for(9)};
  world.step();
  EXPECT_EQ(world.tried("cheap"), 2);
  EXPECT_EQ(world.tried("dear"), 1);
  ASSERT_THAT(world.last.shortages, SizeIs(1));
  EXPECT_EQ(world.last.shortages.front().missing, 6);
  EXPECT_THAT(world.last.shortages.front().why, HasSubstr("there are the 3 machines there may be"));
  world.run_for(Duration::minutes(20));
  EXPECT_EQ(world.in_state(MadeState::kReady), 3);
}

TEST(CapacityBook, SpendsNoMoreAnHourThanItMayForAllAndForAClient) {
  CapacityRules rules = testing_rules({testing_pool("a", 32)});
  rules.most_burn = Rate::per_hour(Money::units(100));
  rules.client_burn = {{"acme", Rate::per_hour(Money::units(40))}};
  CapacityWorld world(rules, quiet_cloud());
  world.wishes = {wish_for(5), {.id = "other", .client = "beta", .machines = 5}};
  world.step();
  ASSERT_THAT(world.last.shortages, SizeIs(2));
  EXPECT_THAT(world.last.shortages[0].why, HasSubstr("64.00 USD an hour of acme would be more than 40.00 USD"));
  EXPECT_THAT(world.last.shortages[1].why, HasSubstr("128.00 USD an hour would be more than 100.00 USD"));
  EXPECT_EQ(world.tried("a"), 3);
}

TEST(CapacityBook, PaysNoMoreForOneThanItMayAtTodaysPrice) {
  CapacityPool spot = testing_pool("spot", 10, Market::kSpot);
  spot.limit = Rate::per_hour(Money::units(12));
  CapacityBook book(testing_rules({spot}));
  CapacityHeard heard;
  heard.offers = {{.pool = "spot", .rate = Rate::per_hour(Money::units(13)), .quota_left = {}}};
  const Instant now = Instant::from_seconds(1'800'000'000);
  CapacityStep step = book.step(now, {.wishes = {wish_for(1)}}, heard);
  EXPECT_THAT(step.creates, IsEmpty());
  EXPECT_THAT(step.shortages.front().why, HasSubstr("13.00 USD an hour is more than the 12.00 USD"));
  heard.offers.front().rate = Rate::per_hour(Money::units(11));
  step = book.step(now + Duration::seconds(1), {.wishes = {wish_for(1)}}, heard);
  ASSERT_THAT(step.creates, SizeIs(1));
  EXPECT_EQ(book.burn(), Money::units(11)) << "the price of the purchase is kept";
}

TEST(CapacityBook, ReservedMachinesComeFirstAndTheOverflowProviderLast) {
  CapacityPool overflow = testing_pool("overflow", 1);
  overflow.order = 1;
  CapacityPool reserved = testing_pool("reserved", 50, Market::kReserved);
  reserved.most = 1;
  CapacityPool primary = testing_pool("primary", 30);
  primary.most = 1;
  CapacityWorld world(testing_rules({overflow, primary, reserved}), quiet_cloud());
  world.wishes = {wish_for(3)};
  world.step();
  std::vector<std::string> order;
  for (const CreateOrder& create : world.last.creates)
    order.push_back(create.pool);
  EXPECT_THAT(order, ElementsAre("reserved", "primary", "overflow"));
}

TEST(CapacityBook, SpotMachinesAreSpreadAsLongAsOthersCanBeHad) {
  CapacityRules rules = testing_rules(
      {testing_pool("a", 10, Market::kSpot), testing_pool("b", 11, Market::kSpot), testing_pool("c", 12, Market::kSpot)});
  rules.spread = 0.4;
  CapacityWorld world(rules, with_stock({{"c", 0}}));
  world.wishes = {wish_for(10)};
  world.run_for(Duration::minutes(20));
  EXPECT_EQ(world.in_state(MadeState::kReady), 10);
  EXPECT_EQ(std::ranges::count(world.book.machines(), "b", [](const auto& m) { return m.second.pool; }), 4);
}

TEST(CapacityBook, AMachineThatIsToBeTakenBackDrainsAndItsReplacementComesWhileItIsThere) {
  SimulatedCloudOptions options = quiet_cloud();
  options.start_mean = Duration::seconds(20);
  CapacityWorld world(testing_rules({testing_pool("a", 10, Market::kSpot)}), options);
  world.wishes = {wish_for(1)};
  world.run_for(Duration::minutes(10));
  ASSERT_EQ(world.in_state(MadeState::kReady), 1);
  const Instant until = world.now + Duration::minutes(10);
  world.more.notices = {{.name = "burst-1", .until = until, .maintenance = false, .detail = "taken back"}};
  world.run_for(Duration::minutes(9));
  EXPECT_EQ(world.book.machines().at("burst-1").state, MadeState::kLeaving);
  EXPECT_EQ(world.book.machines().at("burst-2").state, MadeState::kReady);
  const auto draining = std::ranges::find(world.news, CapacityEvent::kDraining, &CapacityNews::event);
  ASSERT_NE(draining, world.news.end());
  EXPECT_EQ(draining->until, until);
  world.run_for(Duration::minutes(2));
  EXPECT_THAT(world.there(), ElementsAre("burst-2"));
}

TEST(CapacityBook, OneAtRiskDrainsWhenItsReplacementIsReady) {
  CapacityWorld world(testing_rules({testing_pool("a", 10, Market::kSpot)}), quiet_cloud());
  world.wishes = {wish_for(1)};
  world.run_for(Duration::minutes(15));
  world.more.notices = {{.name = "burst-1", .until = {}, .maintenance = false, .detail = "rebalance"}};
  world.run_for(Duration::seconds(20));
  EXPECT_EQ(world.heard_of(CapacityEvent::kDraining), 0);
  world.run_for(Duration::minutes(15));
  EXPECT_EQ(world.heard_of(CapacityEvent::kDraining), 1);
  EXPECT_EQ(world.in_state(MadeState::kReady), 1);
  EXPECT_EQ(world.book.machines().at("burst-1").state, MadeState::kLeaving);
}

TEST(CapacityBook, LossesAreLearntFromTheListAndAreReplaced) {
  CapacityWorld world(testing_rules({testing_pool("a", 10)}), quiet_cloud());
  world.wishes = {wish_for(2)};
  world.run_for(Duration::minutes(15));
  world.cloud.destroy({.call = 0, .targets = {{.name = "burst-1", .id = {}}}}, world.now);  // by somebody else
  world.run_for(Duration::minutes(20));
  EXPECT_EQ(world.heard_of(CapacityEvent::kLost), 1);
  EXPECT_THAT(world.there(), ElementsAre("burst-2", "burst-3"));
}

TEST(CapacityBook, WhatBearsOurMarkAndIsUnknownIsEndedAndOthersAreLeftAlone) {
  CapacityWorld world(testing_rules({testing_pool("a", 10)}), quiet_cloud());
  world.cloud.restore("forgotten-7", "a", "stint-test", "", world.now);
  world.cloud.restore("theirs", "a", "stint-test-2", "", world.now);
  world.run_for(Duration::minutes(2));
  ASSERT_THAT(world.cloud.there(), SizeIs(1));
  EXPECT_EQ(world.cloud.there().begin()->second.name, "theirs");
  EXPECT_EQ(world.book.counts().swept, 1);
  EXPECT_EQ(world.heard_of(CapacityEvent::kSwept), 1);
}

/// The list was read while the machine was there, and arrives when its end has been confirmed.
TEST(CapacityBook, AListFromBeforeAMachineEndedDoesNotMakeItUnknown) {
  CapacityBook book(testing_rules({testing_pool("a", 10)}));
  Instant now = Instant::from_seconds(1'800'000'000);
  const std::vector<ListedMachine> machines = {
      {.id = "i-1", .name = "burst-1", .owner = "stint-test", .state = ListedState::kReady}};
  const CapacityStep made = book.step(now, {.wishes = {wish_for(1)}}, {});
  CapacityHeard ready;
  ready.answers = {{.call = made.creates.front().call, .name = "burst-1", .outcome = CapacityOutcome::kReady, .detail = {}}};
  CapacityStep ended = book.step(now, {.wishes = {wish_for(1)}}, ready);
  for (int second = 0; second < 30 && ended.destroys.empty(); ++second) {
    now = now + Duration::seconds(1);
    ended = book.step(now, {.wishes = {}, .released = {"burst-1"}}, {});
  }
  ASSERT_THAT(ended.destroys, SizeIs(1));
  CapacityHeard gone;
  gone.answers = {{.call = ended.destroys.front().call, .name = "burst-1", .outcome = CapacityOutcome::kGone, .detail = {}}};
  book.step(now, {.wishes = {}}, gone);
  ASSERT_FALSE(book.machines().contains("burst-1"));
  CapacityHeard old;
  old.lists = {{.call = *made.list, .unread = {}, .machines = machines}};
  EXPECT_THAT(book.step(now, {.wishes = {}}, old).destroys, IsEmpty());
  EXPECT_EQ(book.counts().swept, 0);
  CapacityStep later;
  now = now + testing_rules({}).settle;
  for (int minute = 0; minute < 120 && !later.list; ++minute) {
    now = now + Duration::minutes(1);
    later = book.step(now, {.wishes = {}}, {});
  }
  ASSERT_TRUE(later.list);
  CapacityHeard fresh;
  fresh.lists = {{.call = *later.list, .unread = {}, .machines = machines}};
  EXPECT_THAT(book.step(now, {.wishes = {}}, fresh).destroys, SizeIs(1)) << "it is still there";
}

TEST(CapacityBook, AMachineThatIsThereTwiceIsThereOnceAfterOneSweep) {
  SimulatedCloudOptions options = quiet_cloud();
  options.twice = 1;
  CapacityWorld world(testing_rules({testing_pool("a", 10)}), options);
  world.wishes = {wish_for(3)};
  world.run_for(Duration::minutes(15));
  EXPECT_EQ(world.cloud.made(), 6);
  EXPECT_THAT(world.there(), ElementsAre("burst-1", "burst-2", "burst-3"));
}

CapacityPool pool_at(const std::string& name, const std::string& provider) {
  CapacityPool pool = testing_pool(name, 10);
  pool.machine.provider = provider;
  return pool;
}

/// One ready machine of each of these pools, called `m-POOL`; and a pool that is no longer configured.
/// @return names of those that are in the book after ten minutes of lists that show none and miss these.
std::vector<std::string> left_after_lists_without(const std::vector<UnreadProvider>& unread) {
  CapacityBook book(testing_rules({pool_at("aws", "aws"), pool_at("azure", "azure")}));
  for (const std::string pool : {"aws", "azure", "former"}) {
    MadeMachine ready{.pool = pool, .wish = "burst", .client = {}, .state = MadeState::kReady};
    ready.was_ready = true;
    book.adopt("m-" + pool, ready);
  }
  Instant now = Instant::from_seconds(1'800'000'000);
  CapacityHeard heard;
  for (int minute = 0; minute < 10; ++minute) {
    const CapacityStep step = book.step(now, {.wishes = {wish_for(0)}}, heard);
    heard = {};
    if (step.list) heard.lists.push_back({.call = *step.list, .unread = unread, .machines = {}});
    now = now + Duration::minutes(1);
  }
  std::vector<std::string> names;
  for (const auto& [name, made] : book.machines())
    if (made.state == MadeState::kReady) names.push_back(name);
  return names;
}

TEST(CapacityBook, AListSaysNothingOfWhatIsMissingAtAProviderThatCouldNotBeRead) {
  EXPECT_THAT(left_after_lists_without({}), IsEmpty());
  EXPECT_THAT(left_after_lists_without({{.provider = "azure", .name = "Azure", .why = "no answer"}}),
              ElementsAre("m-azure", "m-former"))
      << "whose a machine of no pool is is not known";
  EXPECT_THAT(left_after_lists_without({{.provider = "", .name = "program", .why = "it ended with 1"}}),
              ElementsAre("m-aws", "m-azure", "m-former"));
}

TEST(CapacityBook, NamedMachinesAreSwitchedOneByOneAndWithoutAList) {
  CapacityPool pool = testing_pool("rack", 4);
  pool.names = {"n0", "n1", "n2"};
  CapacityRules rules = testing_rules({pool});
  rules.lists = false;
  CapacityBook book(rules);
  const Instant now = Instant::from_seconds(1'800'000'000);
  const CapacityStep step = book.step(now, {.wishes = {wish_for(2)}}, {});
  ASSERT_THAT(step.creates, SizeIs(1));
  EXPECT_THAT(step.creates.front().names, ElementsAre("n0", "n1"));
  EXPECT_FALSE(step.list);
  CapacityHeard heard;
  heard.answers = {{.call = step.creates.front().call, .name = "n0", .outcome = CapacityOutcome::kStockout, .detail = "broken"},
                   {.call = step.creates.front().call, .name = "n1", .outcome = CapacityOutcome::kReady, .detail = {}}};
  const CapacityStep next = book.step(now + Duration::seconds(1), {.wishes = {wish_for(2)}}, heard);
  ASSERT_THAT(next.creates, SizeIs(1));
  EXPECT_THAT(next.creates.front().names, ElementsAre("n2")) << "n0 is left alone, its pool is not";
  EXPECT_EQ(book.machines().at("n0").state, MadeState::kOff);
  EXPECT_EQ(book.machines().at("n1").state, MadeState::kReady);
}

TEST(CapacityBook, NamedMachinesThatAWishLeavesOutAreNotSwitchedOn) {
  CapacityPool pool = testing_pool("rack", 4);
  pool.names = {"n0", "n1", "n2"};
  CapacityBook book(testing_rules({pool}));
  CapacityWish wish = wish_for(2);
  wish.without = {"n0", "n2"};
  const CapacityStep none = book.step(Instant::from_seconds(1'800'000'000), {.wishes = {wish}}, {});
  ASSERT_THAT(none.creates, SizeIs(1));
  EXPECT_THAT(none.creates.front().names, ElementsAre("n1"));
  ASSERT_THAT(none.shortages, SizeIs(1));
  EXPECT_EQ(none.shortages.front().missing, 1);
}

TEST(CapacityBook, WhatDrainsMayBeKeptUntilItIsReleased) {
  CapacityBook book(testing_rules({testing_pool("a", 10)}));
  MadeMachine ready{.pool = "a", .wish = "burst", .client = {}, .state = MadeState::kReady};
  ready.was_ready = true;
  book.adopt("burst-1", ready);
  const Instant now = Instant::from_seconds(1'800'000'000);
  CapacityStep step = book.step(now, {.drain = {"burst-1"}}, {});
  EXPECT_EQ(book.machines().at("burst-1").state, MadeState::kLeaving);
  EXPECT_THAT(step.news, ElementsAre(Field(&CapacityNews::event, CapacityEvent::kDraining)));
  step = book.step(now, {.wishes = {wish_for(1)}, .keep = {"burst-1"}}, {});
  EXPECT_EQ(book.machines().at("burst-1").state, MadeState::kReady);
  EXPECT_THAT(step.news, ElementsAre(Field(&CapacityNews::event, CapacityEvent::kReady)));
  EXPECT_THAT(step.creates, IsEmpty());
  step = book.step(now, {.released = {"burst-1"}}, {});
  EXPECT_THAT(step.destroys, SizeIs(1));
  EXPECT_THAT(book.step(now, {.keep = {"burst-1"}}, {}).news, IsEmpty()) << "it is too late";
}

TEST(CapacityBook, RowsThatCouldNotBeWrittenComeWithTheNext) {
  CapacityWorld world(testing_rules({testing_pool("a", 10)}), quiet_cloud());
  const CapacityStep failed = world.book.step(world.now, {.wishes = {wish_for(1)}}, {});
  world.book.not_given(failed);
  EXPECT_THAT(world.book.machines(), IsEmpty());
  world.wishes = {wish_for(1)};
  world.run_for(Duration::minutes(15));
  EXPECT_EQ(world.in_state(MadeState::kReady), 1);
  const auto again = CapacityBook::recover(world.rules, world.rows, world.now);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->machines(), world.book.machines());
}

TEST(CapacityBook, TheCompactedRowsAreTheSameBook) {
  SimulatedCloudOptions options = with_stock({{"a", 2}});
  CapacityWorld world(testing_rules({testing_pool("a", 10), testing_pool("b", 20, Market::kSpot)}), options);
  world.wishes = {wish_for(5)};
  world.run_for(Duration::minutes(15));
  const auto long_way = CapacityBook::recover(world.rules, world.rows, world.now);
  const auto short_way = CapacityBook::recover(world.rules, world.book.compacted(), world.now);
  ASSERT_TRUE(long_way.ok() && short_way.ok());
  EXPECT_EQ(long_way->machines(), short_way->machines());
  EXPECT_EQ(long_way->compacted(), short_way->compacted());
}

TEST(CapacityBook, ARowThatIsNoneIsNamed) {
  const std::vector<std::string> rows = {"number\t3", "machine\tx"};
  const auto book = CapacityBook::recover(testing_rules({}), rows, Instant());
  ASSERT_FALSE(book.ok());
  EXPECT_THAT(book.error().message, HasSubstr("row 2: 2 fields in place of 16"));
}

}  // namespace
}  // namespace stint
