// Which GPU a job gets that does not say which it wants, where GPUs differ in price.
#include <gtest/gtest.h>

#include "sched/scheduler.h"

namespace stint::sched {
namespace {

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
