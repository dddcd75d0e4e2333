// Replicas as jobs: they follow the load, are named while they are ready, and survive the daemon, a new configuration and their own end.
#include "daemon/replicas/replica_set.h"

#include <gmock/gmock.h>

#include <set>
#include <thread>

#include "daemon/replicas/replica_keeper.h"
#include "daemon/service_answer.h"
#include "daemon/testing_daemon.h"
#include "host/clock.h"
#include "host/file.h"

namespace stint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ReplicaSetTest : public ::testing::Test {
 protected:
  ReplicaSetTest() {
    config_.name = "rank";
    config_.job = testing_job(1, Duration());
    config_.job.name = "rank";
    config_.places = {"h:1", "h:2", "h:3", "h:4"};
    config_.rules.min_nodes = 1;
    config_.rules.max_nodes = 3;
    config_.endpoints = dir_ / "rank.json";
    service_ = testing_service(log_, dir_ / "events.db", backend_);
    begin();
  }
  ~ReplicaSetTest() override { service_->stop(); }

  /// As after a start of the daemon.
  void begin() { set_ = std::make_unique<ReplicaSet>(*service_, config_, asking()); }
  AskReplica asking() {
    return [this](const std::string& place, Instant) {
      if (silent_.contains(place)) return ReplicaHealth();
      ServiceFigures model{.service = "mlp", .p99_ms = {}, .headroom = 1 - used_, .per_second = used_ * 100};
      if (!tells_) model.headroom.reset();
      return ReplicaHealth{.answer = unready_.contains(place) ? ReplicaHealth::Answer::kNotReady : ReplicaHealth::Answer::kReady,
                           .figures = {model}};
    };
  }
  void look() { set_->look(at_); }
  void pass(Duration d) { at_ = at_ + d; }
  /// Looks on, at the same instant, until it is so: jobs begin and end on another thread.
  template <typename Is>
  bool comes(const Is& is) {
    for (int i = 0; i < 1'000; ++i) {
      look();
      if (is(set_->view())) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }
  bool comes_to_ready(size_t count) {
    return comes([count](const ReplicaSetView& view) {
      return view.replicas.size() == count &&
             std::ranges::all_of(view.replicas, [](const Replica& r) { return r.phase == ReplicaPhase::kReady && r.current; });
    });
  }
  std::vector<std::string> places() {
    std::vector<std::string> places;
    for (const Replica& replica : set_->view().replicas)
      places.push_back(replica.place);
    return places;
  }
  std::string named() { return read_all(config_.endpoints).value(); }
  std::vector<JobView> jobs() {
    return service_->get([](const Engine& e) { return replica_jobs(e, ""); }).get();
  }
  std::vector<std::string> events() {
    std::vector<std::string> told;
    for (const EventView& event : service_->get([](const Engine& e) { return e.events_since(0, 1'000); }).get())
      if (event.kind.starts_with("service.")) told.push_back(event.kind + " " + event.detail);
    return told;
  }
  void cancel(int64_t job) {
    CHECK(answer_of<JobView>([&](auto answer) { service_->cancel(job, {.actor = "ada", .idempotency_key = ""}, answer); }).ok(),
          "job {}", job);
  }

  ScratchDir dir_;
  SimulatedBackend backend_;
  std::optional<EventLog> log_;
  std::unique_ptr<Service> service_;
  ServiceConfig config_;
  std::unique_ptr<ReplicaSet> set_;
  Instant at_ = kDaemonStart;
  double used_ = 0.7;  // of the promise, each
  bool tells_ = true;
  std::set<std::string> silent_, unready_;
};

TEST_F(ReplicaSetTest, ReplicasAreJobsAndNamedOnceReady) {
  unready_ = {"h:1"};
  ASSERT_TRUE(
      comes([](const ReplicaSetView& v) { return v.replicas.size() == 1 && v.replicas[0].phase == ReplicaPhase::kStarting; }));
  EXPECT_EQ(named(), "[]\n");
  ASSERT_THAT(jobs(), SizeIs(1));
  EXPECT_THAT(jobs()[0].tags, Contains(std::pair<std::string, std::string>("stint.service", "rank")));
  unready_.clear();
  ASSERT_TRUE(comes_to_ready(1));
  EXPECT_EQ(named(), R"([{"targets":["h:1"],"labels":{"service":"rank"}}])"
                     "\n");
  EXPECT_NEAR(*set_->view().utilization, 0.7, 1e-9);
}

TEST_F(ReplicaSetTest, TellsWhatAThousandRequestsCost) {
  ASSERT_TRUE(comes_to_ready(1));
  const ReplicaSetView one = set_->view();
  EXPECT_EQ(one.per_second, 70);
  ASSERT_EQ(one.per_hour, jobs()[0].burn.per_hour());
  EXPECT_NEAR(cost_per_thousand(one)->to_double(), one.per_hour->to_double() / (70 * 3.6), 1e-9);
  used_ = 0;
  look();
  EXPECT_EQ(cost_per_thousand(set_->view()), std::nullopt) << "nothing is asked";
  used_ = 1.4;
  pass(Duration::minutes(2));
  ASSERT_TRUE(comes_to_ready(2));
  look();
  EXPECT_EQ(set_->view().per_second, 280);
  EXPECT_EQ(set_->view().per_hour, *one.per_hour + *one.per_hour);
}

TEST_F(ReplicaSetTest, GrowsWithTheLoadAndDrainsBeforeItStops) {
  ASSERT_TRUE(comes_to_ready(1));
  used_ = 1.4;
  pass(Duration::minutes(2));
  ASSERT_TRUE(comes_to_ready(2));
  EXPECT_THAT(events(), ElementsAre("service.scaled rank: 2 instead of 1 replicas: utilisation"));
  used_ = 0.1;
  look();
  pass(Duration::minutes(11));
  look();
  EXPECT_EQ(set_->view().wanted, 1);
  EXPECT_EQ(set_->view().replicas[1].phase, ReplicaPhase::kDraining);
  EXPECT_THAT(named(), HasSubstr(R"(["h:1"])"));
  EXPECT_EQ(jobs().size(), 2u) << "whoever was named it may still ask";
  pass(config_.drain);
  look();
  EXPECT_TRUE(comes([](const ReplicaSetView& v) { return v.replicas.size() == 1; }));
  EXPECT_THAT(places(), ElementsAre("h:1"));
}

TEST_F(ReplicaSetTest, WhoTellsNothingOfItsLoadStaysAsItIs) {
  tells_ = false;
  config_.rules.min_nodes = 2;
  begin();
  ASSERT_TRUE(comes_to_ready(2));
  pass(Duration::hours(1));
  look();
  pass(Duration::hours(1));
  look();
  EXPECT_EQ(set_->view().wanted, 2);
  EXPECT_FALSE(set_->view().utilization);
  EXPECT_EQ(set_->view().reason, "load not known");
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(ReplicaSetTest, ADaemonThatBeginsAgainTakesUpWhatRuns) {
  used_ = 1.4;
  ASSERT_TRUE(comes_to_ready(2));
  used_ = 0.7;
  const int64_t first = jobs().back().id;
  begin();
  look();
  EXPECT_EQ(set_->view().wanted, 2);
  EXPECT_THAT(jobs(), SizeIs(2));
  EXPECT_EQ(jobs().back().id, first);
}

TEST_F(ReplicaSetTest, ANewConfigurationReplacesThemOneByOne) {
  config_.rules.min_nodes = 3;
  begin();
  ASSERT_TRUE(comes_to_ready(3));
  config_.job.environment = {{"MODEL", "2"}};
  unready_ = {"h:4"};
  begin();
  for (int i = 0; i < 20; ++i)
    look();
  EXPECT_EQ(std::ranges::count(set_->view().replicas, ReplicaPhase::kReady, &Replica::phase), 3)
      << "no replica goes before one is there";
  unready_.clear();
  size_t least = 3;
  for (int i = 0; i < 2'000 && least == 3; ++i) {
    pass(Duration::seconds(1));
    look();
    const ReplicaSetView view = set_->view();
    const auto ready = std::ranges::count(view.replicas, ReplicaPhase::kReady, &Replica::phase);
    least = std::min(least, static_cast<size_t>(ready));
    if (view.replicas.size() == 3 && std::ranges::all_of(view.replicas, [](const Replica& r) { return r.current; })) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(least, 3u) << "ready at any time";
  EXPECT_TRUE(comes_to_ready(3));
  EXPECT_THAT(events(), IsEmpty());
}

// A change that was carried out.
TEST_F(ReplicaSetTest, FewerReplicasAreKeptOverAStartAndTakenBack) {
  config_.rules.min_nodes = 3;
  begin();
  ASSERT_TRUE(comes_to_ready(3));
  StandingAsks asks;
  asks.replicas = {{"other", 1}, {"rank", 2}};
  set_->heed(asks);
  pass(config_.drain);
  look();
  pass(config_.drain);
  ASSERT_TRUE(comes_to_ready(2));
  EXPECT_EQ(set_->view().most, 2);
  EXPECT_THAT(events(), ElementsAre(HasSubstr("2 instead of 3 replicas: a change")));
  begin();
  set_->heed(asks);
  ASSERT_TRUE(comes_to_ready(2));
  used_ = 1.4;
  pass(Duration::minutes(2));
  look();
  EXPECT_EQ(set_->view().wanted, 2) << "whatever the load";
  set_->heed({});
  ASSERT_TRUE(comes_to_ready(3));
}

// One after another, and none while the others have no room.
TEST_F(ReplicaSetTest, ReplicasLeaveMachinesThatRest) {
  config_.rules.min_nodes = 2;
  begin();
  ASSERT_TRUE(comes_to_ready(2));
  const std::string machine = jobs().front().placed.front().node;
  const std::string other = machine == "n0" ? "n1" : "n0";
  CHECK(answer_of<NodeView>([&](auto answer) { service_->drain_node(machine, {}, answer); }).ok(), "drain");
  StandingAsks asks;
  asks.resting = {machine};
  set_->heed(asks);
  size_t least = 2;
  const auto all_moved = [&](const ReplicaSetView& view) {
    pass(Duration::seconds(1));
    const auto ready = std::ranges::count(view.replicas, ReplicaPhase::kReady, &Replica::phase);
    least = std::min(least, static_cast<size_t>(ready));
    return view.replicas.size() == 2 && std::ranges::all_of(view.replicas, &Replica::current);
  };
  ASSERT_TRUE(comes(all_moved));
  EXPECT_EQ(least, 2U) << "ready at any time";
  for (const JobView& job : jobs())
    EXPECT_EQ(job.placed.front().node, other);
}

TEST_F(ReplicaSetTest, OneThatEndsByItselfComesAgainAfterAPause) {
  ASSERT_TRUE(comes_to_ready(1));
  const std::string name = set_->view().replicas[0].job_name;
  cancel(set_->view().replicas[0].job);
  ASSERT_TRUE(comes([](const ReplicaSetView& v) { return v.replicas.empty(); }));
  EXPECT_THAT(set_->view().trouble, HasSubstr(name + " ended: cancelled"));
  EXPECT_EQ(named(), "[]\n");
  pass(Duration::seconds(9));
  look();
  EXPECT_THAT(jobs(), IsEmpty());
  pass(Duration::seconds(1));
  ASSERT_TRUE(comes_to_ready(1));
  EXPECT_THAT(places(), ElementsAre("h:2")) << "somebody else may listen where it was";
  EXPECT_EQ(set_->view().trouble, "");
  EXPECT_THAT(events(), ElementsAre(HasSubstr("ended: cancelled")));
}

TEST_F(ReplicaSetTest, OneThatEndsBeforeItIsLookedAtIsNotBegunAtOnceAgain) {
  config_.job.simulated_duration = Duration::milliseconds(1);
  begin();
  look();
  for (int i = 0; i < 1'000 && !jobs().empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  look();
  EXPECT_THAT(set_->view().trouble, HasSubstr("ended: succeeded"));
  look();
  EXPECT_THAT(jobs(), IsEmpty());
  EXPECT_THAT(events(), SizeIs(1));
}

TEST_F(ReplicaSetTest, OneThatFallsSilentIsTakenOffAndReplaced) {
  ASSERT_TRUE(comes_to_ready(1));
  const int64_t job = set_->view().replicas[0].job;
  silent_ = {"h:1"};
  look();
  look();
  EXPECT_EQ(set_->view().replicas[0].phase, ReplicaPhase::kReady) << "one lost answer means nothing";
  look();
  EXPECT_EQ(set_->view().replicas[0].phase, ReplicaPhase::kStarting);
  EXPECT_EQ(named(), "[]\n");
  pass(config_.start_within);
  look();
  EXPECT_THAT(set_->view().trouble, HasSubstr("was not ready within 600 s"));
  silent_.clear();
  ASSERT_TRUE(comes([](const ReplicaSetView& v) { return v.replicas.empty(); }));
  pass(Duration::seconds(10));
  ASSERT_TRUE(comes_to_ready(1));
  EXPECT_NE(set_->view().replicas[0].job, job);
}

TEST_F(ReplicaSetTest, WhatCannotBeSubmittedIsSaidAndTriedAgainLater) {
  config_.job.queue = "nobody";
  begin();
  for (int i = 0; i < 50; ++i)
    look();
  EXPECT_THAT(set_->view().trouble, HasSubstr("could not be submitted"));
  EXPECT_THAT(events(), SizeIs(1)) << "not at every look";
}

TEST_F(ReplicaSetTest, AServiceThatIsConfiguredNoMoreIsEnded) {
  set_.reset();
  LiveTelemetry live;
  ReplicaKeeper keeper(*service_, live, {.clock = [] { return now(); }, .ask = asking()});
  config_.every = Duration::milliseconds(5);
  keeper.configure({config_});
  const auto comes = [&](const auto& is) {
    for (int i = 0; i < 1'000 && !is(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return is();
  };
  ASSERT_TRUE(comes([&] {
    return keeper.views().size() == 1 && !keeper.views()[0].replicas.empty() &&
           keeper.views()[0].replicas[0].phase == ReplicaPhase::kReady;
  }));
  keeper.configure({config_});
  EXPECT_THAT(jobs(), SizeIs(1)) << "nothing has changed";
  keeper.configure({});
  EXPECT_THAT(keeper.views(), IsEmpty());
  EXPECT_EQ(named(), "[]\n");
  EXPECT_TRUE(comes([&] { return jobs().empty(); }));
}

}  // namespace
}  // namespace stint
