// Which GPU a job gets that does not say which it wants, where GPUs differ in price.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sched/scheduler.h"

namespace stint::sched {
namespace {

using testing::ElementsAre;

const Instant kStart = Instant::from_seconds(1'800'000'000);

/// One H100 machine at 12.29 an hour and GPU, then one L4 machine at 0.70; both idle.
class TwoPrices : public ::testing::Test {
 protected:
  explicit TwoPrices(Policy policy = {}) : scheduler(policy) {
    add_node("h100", "H100-80GB", 12'290'000'000);
    add_node("l4", "L4", 700'000'000);
  }

  NodeId add_node(const char* name, const char* model, int64_t nanos_per_hour) {
    NodeSpec node;
    node.name = name;
    node.gpu_model = model;
    node.gpus = 2;
    node.cpu_milli = 64'000;
    node.memory = Bytes::of(int64_t{256} << 30);
    node.gpu_memory = Bytes::of(int64_t{24} << 30);
    node.gpu_rate = Rate::per_hour(Money::nanos(nanos_per_hour));
    return scheduler.add_node(node);
  }

  /// The node on which a job of `tasks` such tasks starts, at once; the first task's.
  NodeId start(const Request& request, int32_t tasks = 1) {
    if (!queue.valid()) queue = scheduler.add_queue({.name = "all"});
    JobSpec spec;
    spec.queue = queue;
    spec.tasks = spec.min_tasks = tasks;
    spec.request = scheduler.intern(request);
    const Event submitted{.kind = EventKind::kSubmit, .job = scheduler.add(spec), .task = {}, .node = {}, .until = {}};
    for (const Decision& d : scheduler.step(kStart, {{submitted}}))
      if (d.kind == DecisionKind::kStart) return d.places.front().node;
    return {};
  }
  static Request gpus(int32_t count) {
    Request request;
    request.gpus = count;
    return request;
  }

  Scheduler scheduler;
  QueueId queue;
};

TEST_F(TwoPrices, OneGpuWithoutAWishIsTheCheapest) {
  EXPECT_EQ(start(gpus(1)), NodeId(1));
  EXPECT_EQ(start(gpus(1)), NodeId(1));
  EXPECT_EQ(start(gpus(1)), NodeId(0));  // no L4 is left
}

TEST_F(TwoPrices, SoIsOneThatAsksForCpusAndMemoryToo) {
  Request request = gpus(1);
  request.cpu_milli = 4000;
  request.memory = Bytes::of(int64_t{8} << 30);
  EXPECT_EQ(start(request), NodeId(1));
}

TEST_F(TwoPrices, SoIsAPartOfAGpu) {
  Request request;
  request.milli = 250;
  EXPECT_EQ(start(request), NodeId(1));
}

TEST_F(TwoPrices, ANamedModelIsGiven) {
  Request request = gpus(1);
  request.gpu_models = {"H100-80GB"};
  EXPECT_EQ(start(request), NodeId(0));
}

TEST_F(TwoPrices, AmongMachinesOfOnePriceTheFullestIsTaken) {
  const NodeId other = add_node("l4-b", "L4", 700'000'000);
  EXPECT_EQ(start(gpus(2)), NodeId(1));
  EXPECT_EQ(start(gpus(1)), other);
  EXPECT_EQ(start(gpus(1)), other);
}

TEST_F(TwoPrices, APriceThatChangesCounts) {
  queue = scheduler.add_queue({.name = "all"});
  Event price{.kind = EventKind::kPrice, .job = {}, .task = {}, .node = NodeId(0), .until = {}};
  price.price = Rate::per_hour(Money::nanos(500'000'000));
  (void)scheduler.step(kStart, {{price}});
  EXPECT_EQ(start(gpus(1)), NodeId(0));
}

/// Machines of 4 T4, 8 A100 and 4 + 4 L4, by increasing price of a GPU: L4, T4, A100. In the order of the names given.
class Gangs : public ::testing::Test {
 protected:
  void add_nodes(std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      NodeSpec node;
      node.name = name;
      node.gpu_model = name.substr(0, name.find('-'));
      node.gpus = node.gpu_model == "A100" ? 8 : 4;
      node.cpu_milli = 64'000;
      node.memory = Bytes::of(int64_t{256} << 30);
      const int64_t cents = node.gpu_model == "A100" ? 400 : node.gpu_model == "T4" ? 100 : 70;
      node.gpu_rate = Rate::per_hour(Money::nanos(cents * 10'000'000));
      scheduler.add_node(node);
    }
    queue = scheduler.add_queue({.name = "all"});
  }

  /// Names of the nodes on which tasks start now, sorted.
  std::vector<std::string> start(const Request& request, int32_t tasks, int32_t min_tasks) {
    JobSpec spec;
    spec.queue = queue;
    spec.tasks = tasks;
    spec.min_tasks = min_tasks;
    spec.request = scheduler.intern(request);
    const Event submitted{.kind = EventKind::kSubmit, .job = scheduler.add(spec), .task = {}, .node = {}, .until = {}};
    std::vector<std::string> on;
    for (const Decision& d : scheduler.step(kStart, {{submitted}}))
      for (const Place& place : d.places)
        on.push_back(scheduler.cluster().node(place.node).name);
    std::ranges::sort(on);
    return on;
  }

  static std::vector<Request> requests(int32_t gpus) {
    Request plain, with_cpus;
    plain.gpus = with_cpus.gpus = gpus;
    with_cpus.cpu_milli = 4000;
    return {plain, with_cpus};
  }

  Scheduler scheduler{Policy()};
  QueueId queue;
};

TEST_F(Gangs, StayOnOneModelWhereItFits) {
  for (const Request& request : requests(4)) {
    scheduler = Scheduler(Policy());
    add_nodes({"T4", "A100"});
    EXPECT_THAT(start(request, 2, 2), ElementsAre("A100", "A100")) << "half of it on a T4 would hold up the other half";
  }
}

TEST_F(Gangs, GetTheCheapestModelThatTakesThemWhole) {
  for (const auto& names : {std::vector{"A100", "T4", "L4-1", "L4-2"}, std::vector{"L4-1", "T4", "L4-2", "A100"}})
    for (const Request& request : requests(4)) {
      scheduler = Scheduler(Policy());
      add_nodes({names[0], names[1], names[2], names[3]});
      EXPECT_THAT(start(request, 2, 2), ElementsAre("L4-1", "L4-2"));
      EXPECT_THAT(start(request, 2, 2), ElementsAre("A100", "A100"));
    }
}

TEST_F(Gangs, AreMixedBeforeTheyWait) {
  for (const Request& request : requests(4)) {
    scheduler = Scheduler(Policy());
    add_nodes({"A100", "T4"});
    EXPECT_THAT(start(request, 3, 3), ElementsAre("A100", "A100", "T4"));
  }
}

TEST_F(Gangs, ElasticOnesGoWhereAllOfThemFit) {
  add_nodes({"L4-1", "A100"});
  EXPECT_THAT(start(requests(4).front(), 2, 1), ElementsAre("A100", "A100"));
}

TEST_F(Gangs, OfOneModelTheCheapestMachines) {
  for (const Request& request : requests(4)) {
    scheduler = Scheduler(Policy());
    add_nodes({"A100-dear", "A100-spot"});
    Event price{.kind = EventKind::kPrice, .job = {}, .task = {}, .node = NodeId(1), .until = {}};
    price.price = Rate::per_hour(Money::nanos(1'300'000'000));
    (void)scheduler.step(kStart, {{price}});
    EXPECT_THAT(start(request, 2, 2), ElementsAre("A100-spot", "A100-spot"));
  }
}

class PriceIgnored : public TwoPrices {
 protected:
  PriceIgnored()
      : TwoPrices([] {
          Policy policy;
          policy.cheapest = false;
          return policy;
        }()) {}
};

TEST_F(PriceIgnored, APolicyMaySayOtherwise) { EXPECT_EQ(start(gpus(1)), NodeId(0)); }

}  // namespace
}  // namespace stint::sched
