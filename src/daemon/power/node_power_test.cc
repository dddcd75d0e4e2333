// Machines that a stand-in for a provider switches: which, when, and what a restart, a failure and an operator make of it.
#include "daemon/power/node_power.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <future>

#include "base/text.h"
#include "daemon/power/power_rows.h"
#include "daemon/testing_daemon.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class NodePowerTest : public ::testing::Test {
 protected:
  NodePowerTest() {
    put_file(program_, fmt::format("#!/bin/sh\n[ -e {0}/broken ] && {{ echo no power >&2; exit 3; }}\n"
                                   "while [ -e {0}/slow ]; do touch {0}/coming; sleep 0.01; done\n"
                                   "echo $1 $2 >>{0}/told\n",
                                   folder()));
    ::chmod(program_.c_str(), 0755);
    start();
  }
  ~NodePowerTest() override { stop(); }

  /// As a daemon does: what is in the log is all that is known.
  void start(std::optional<PowerConfig> config = {}) {
    auto log = EventLog::open(dir_ / "events.db");
    CHECK(log.ok(), "{}", log.error().message);
    log_.emplace(std::move(*log));
    std::vector<std::string> rows;
    const Status read = log_->read_side_rows(kPowerStream, 0, INT64_MAX, [&rows](int64_t, std::string_view row) -> Status {
      rows.emplace_back(row);
      return {};
    });
    CHECK(read.ok(), "{}", read.error().message);
    owner_ = read_power_rows(rows).owner;
    const Instant last_at = log_->last_at();
    auto engine = Engine::follow(*log_, {});
    CHECK(engine.ok(), "{}", engine.error().message);
    engine->keep_machines(machines_in_power_rows(rows).value());
    const Status taken = engine->take_over(testing_fleet(3), backend_, std::max(now(), last_at));
    CHECK(taken.ok(), "{}", taken.error().message);
    service_ = std::make_unique<Service>(std::move(*engine), backend_, EventClock(last_at));
    // n2 is in no pool.
    PowerPool pool{.name = "burst", .nodes = {"n0", "n1"}, .rules = {}};
    pool.rules.min_nodes = 1;
    pool.rules.max_nodes = 2;
    pool.rules.up_cooldown = pool.rules.down_cooldown = pool.rules.idle_grace = Duration();
    if (!config) config = PowerConfig{.program = program_, .every = Duration::milliseconds(20), .pools = {pool}};
    power_ = std::make_unique<NodePower>(*service_, off_, *config, rows);
  }
  void stop() {
    power_.reset();
    service_->stop();
    service_.reset();
    log_.reset();
  }

  [[nodiscard]] std::string folder() const { return dir_ / "."; }
  std::vector<std::string> told() {
    std::vector<std::string> lines;
    if (const auto text = read_all(dir_ / "told"); text.ok())
      for (const auto line : split(trim(*text), '\n'))
        lines.emplace_back(line);
    return lines;
  }
  std::vector<NodeView> nodes() {
    return service_->get([](const Engine& e) { return e.nodes(); }).get();
  }
  std::vector<std::string> events() {
    std::vector<std::string> kinds;
    for (const EventView& event : service_->get([](const Engine& e) { return e.events_since(0, 1'000); }).get())
      kinds.push_back(event.kind + " " + event.node + " " + event.detail);
    return kinds;
  }
  int64_t submit(int gpus) {
    std::promise<int64_t> done;
    service_->submit(testing_job(gpus, kHour * 100), {},
                     [&done](const Result<JobView>& job) { done.set_value(job.ok() ? job->id : 0); });
    return done.get_future().get();
  }
  void cancel(int64_t job) {
    std::promise<void> done;
    service_->cancel(job, {}, [&done](const auto&) { done.set_value(); });
    done.get_future().get();
  }
  void drain(const std::string& node) {
    std::promise<void> done;
    service_->drain_node(node, {}, [&done](const auto&) { done.set_value(); });
    done.get_future().get();
  }
  bool wanted(const std::string& node) {
    std::promise<bool> heard;
    power_->want(node, [&heard](bool comes) { heard.set_value(comes); });
    return heard.get_future().get();
  }
  template <typename What>
  static void wait_until(const What& what) {
    for (int i = 0; i < 6'000; ++i) {
      if (what()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    FAIL() << "it does not come about";
  }

  ScratchDir dir_;
  std::string program_ = dir_ / "switch";
  SimulatedBackend backend_;
  OffMachines off_;
  std::string owner_;  ///< by the log, at the last start
  std::optional<EventLog> log_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<NodePower> power_;
};

TEST_F(NodePowerTest, AnUnneededMachineIsDrainedAndSwitchedOffAndComesBackForWhatWaits) {
  wait_until([&] { return told() == std::vector<std::string>{"down n1"}; });
  wait_until([&] { return nodes()[1].state == NodeState::kDrained; });
  std::vector<int64_t> jobs;
  for (int i = 0; i < 3; ++i)  // two fit on what is on
    jobs.push_back(submit(8));
  wait_until([&] { return service_->get([](const Engine& e) { return e.overview().running; }).get() == 3; });
  EXPECT_THAT(told(), ElementsAre("down n1", "up n1"));
  EXPECT_EQ(nodes()[1].state, NodeState::kUp);
  // Two machines of the pool have work: none goes, whatever else ends.
  for (const int64_t job : jobs)
    cancel(job);
  wait_until([&] { return told().size() == 3; });
  EXPECT_THAT(told(), ElementsAre("down n1", "up n1", "down n1"));
  EXPECT_EQ(nodes()[2].state, NodeState::kUp) << "is in no pool";
}

TEST_F(NodePowerTest, OneThatJustCameUpCountsSoThePoolNeverPassesItsMost) {
  PowerPool pool{.name = "burst", .nodes = {"n0", "n1", "n2"}, .rules = {}};
  pool.rules.min_nodes = 1;
  pool.rules.max_nodes = 2;
  pool.rules.up_cooldown = pool.rules.down_cooldown = pool.rules.idle_grace = Duration();
  power_->reconfigure(PowerConfig{.program = program_, .every = Duration::milliseconds(20), .pools = {pool}});
  wait_until([&] { return told().size() == 2; });  // n1 and n2 go
  wait_until([&] { return off_.absences("n1", now()).size() == 1 && off_.absences("n2", now()).size() == 1; });
  for (int i = 0; i < 4; ++i)
    submit(8);
  wait_until([&] { return service_->get([](const Engine& e) { return e.overview().running; }).get() == 2; });
  const Instant since = now();
  wait_until([&] { return now() - since > Duration::milliseconds(200); });  // ten looks
  EXPECT_THAT(told(), SizeIs(3)) << "a third machine was switched on";
}

TEST_F(NodePowerTest, WhatIsOffIsShownSoAndUnlessItIsOwnedCostsNothing) {
  const auto shown_now = [&] {
    std::vector<NodeView> shown = nodes();
    off_.mark(shown);
    return shown;
  };
  wait_until([&] { return shown_now()[1].state == NodeState::kOff; });
  std::vector<NodeView> shown = shown_now();
  EXPECT_EQ(shown[0].state, NodeState::kUp);
  NodeView& node = shown[1];
  node.rate = Rate::per_hour(Money::units(3));
  node.market = Market::kOwned;
  EXPECT_EQ(rate_now(node), node.rate);
  node.market = Market::kOnDemand;
  EXPECT_EQ(rate_now(node), Rate());
  node.state = NodeState::kDrained;
  EXPECT_EQ(rate_now(node), node.rate);
  put_file(dir_ / "slow", "");
  EXPECT_TRUE(wanted("n1"));
  wait_until([&] { return std::filesystem::exists(dir_ / "coming"); });
  wait_until([&] { return shown_now()[1].state == NodeState::kDrained; });  // one that comes is paid for
  EXPECT_THAT(off_.absences("n1", now()), SizeIs(1));
  std::filesystem::remove(dir_ / "slow");
}

TEST_F(NodePowerTest, WithoutAProgramNothingIsSaidToBeOff) {
  const auto off = [&] { return off_.absences("n1", now() + kHour); };
  wait_until([&] { return !off().empty() && off().back().end > now(); });
  power_->reconfigure({});
  wait_until([&] { return off().back().end <= now(); });
}

TEST_F(NodePowerTest, KnowsAfterARestartWhatItSwitchedOff) {
  wait_until([&] { return nodes()[1].state == NodeState::kDrained && !told().empty(); });
  stop();
  start();
  for (int i = 0; i < 3; ++i)
    submit(8);
  wait_until([&] { return service_->get([](const Engine& e) { return e.overview().running; }).get() == 3; });
  EXPECT_THAT(told(), Contains("up n1"));
}

TEST_F(NodePowerTest, WhatAnOperatorDrainedIsLeftAlone) {
  wait_until([&] { return nodes()[1].state == NodeState::kDrained && !told().empty(); });
  drain("n0");
  // One is to be on, and n0 is not ours any more.
  wait_until([&] { return nodes()[1].state == NodeState::kUp; });
  EXPECT_THAT(told(), Not(Contains(HasSubstr("n0"))));
  EXPECT_EQ(nodes()[0].state, NodeState::kDrained);
}

// A change that was carried out: off once it is empty, whatever waits, and over a restart; on when it is wanted.
TEST_F(NodePowerTest, WhatRestsIsSwitchedOffAndNotByDemandOnAgain) {
  const int64_t first = submit(8), second = submit(8);
  wait_until([&] { return service_->get([](const Engine& e) { return e.overview().running; }).get() == 2; });
  power_->rest({"n0", "n2"});
  const std::string busy = nodes()[0].jobs.empty() ? "n1" : "n0";
  ASSERT_EQ(busy, "n0");
  drain("n0");
  const Instant since = now();
  wait_until([&] { return now() - since > Duration::milliseconds(200); });  // ten looks
  EXPECT_THAT(told(), Not(Contains("down n0"))) << "work runs there";
  cancel(nodes()[0].jobs.front());
  wait_until([&] { return off_.absences("n0", now()).size() == 1; });
  EXPECT_THAT(told(), Contains("down n0"));
  for (int i = 0; i < 4; ++i)
    submit(8);
  wait_until([&] { return nodes()[1].state == NodeState::kUp; });  // the pool wants one at least, and has another
  const Instant waits_since = now();
  wait_until([&] { return now() - waits_since > Duration::milliseconds(200); });
  EXPECT_THAT(told(), Not(Contains("up n0"))) << "jobs wait, but it rests";
  EXPECT_THAT(told(), Not(Contains(HasSubstr("n2")))) << "is in no pool";
  EXPECT_TRUE(wanted("n0"));
  wait_until([&] { return nodes()[0].state == NodeState::kUp; });
  power_->rest({});
  EXPECT_THAT(told(), Contains("up n0"));
  (void)first, (void)second;
}

TEST_F(NodePowerTest, WhoWantsAMachineThatIsOffGetsItWhenItCanBeUsed) {
  wait_until([&] { return nodes()[1].state == NodeState::kDrained && !told().empty(); });
  put_file(dir_ / "slow", "");
  EXPECT_TRUE(wanted("n1"));
  wait_until([&] { return std::filesystem::exists(dir_ / "coming"); });
  EXPECT_EQ(nodes()[1].state, NodeState::kDrained) << "its program has not ended";
  std::filesystem::remove(dir_ / "slow");
  wait_until([&] { return std::ranges::any_of(events(), [](const std::string& e) { return e.starts_with("node.on n1"); }); });
  EXPECT_THAT(told(), Contains("up n1"));
  EXPECT_FALSE(wanted("n2")) << "is not ours";
  EXPECT_FALSE(wanted("n9"));
}

TEST_F(NodePowerTest, AFailureIsToldAndTheMachineTakesNoWork) {
  wait_until([&] { return nodes()[1].state == NodeState::kDrained && !told().empty(); });
  put_file(dir_ / "broken", "");
  for (int i = 0; i < 3; ++i)
    submit(8);
  wait_until(
      [&] { return std::ranges::any_of(events(), [](const std::string& e) { return e.starts_with("node.switch-failed n1"); }); });
  EXPECT_THAT(events(), Contains(HasSubstr("up n1: it ended with 3: no power")));
  EXPECT_EQ(nodes()[1].state, NodeState::kDrained);
  EXPECT_EQ(service_->get([](const Engine& e) { return e.overview().running; }).get(), 2);
}

/// Up to two machines of eight GPUs, ready at once and made by a cloud that loses no answer.
PowerConfig making_two() {
  PowerConfig config;
  config.every = Duration::milliseconds(20);
  config.cloud = SimulatedCloudOptions{.answer_after = Duration::milliseconds(1), .start_mean = Duration::milliseconds(1)};
  config.cloud->spot_life = Duration();
  PowerPool pool{.name = "cloud"};
  CapacityPool kind{.name = "cloud/x/spot", .machine = testing_fleet(1).nodes.front()};
  kind.machine.market = Market::kSpot;
  kind.machine.rate = Rate::per_hour(Money::units(7));
  pool.kinds = {kind};
  pool.rules.max_nodes = 2;
  pool.rules.up_cooldown = pool.rules.down_cooldown = pool.rules.idle_grace = Duration();
  config.pools = {pool};
  return config;
}

TEST_F(NodePowerTest, WhatWaitsIsMadeAndGivenBackAndKnownAfterARestart) {
  wait_until([&] { return off_.absences("n1", now()).size() == 1; });  // and is the operator's from here on
  stop();
  start(making_two());
  std::vector<int64_t> jobs;
  for (int i = 0; i < 6; ++i)  // two fit on what is there
    jobs.push_back(submit(8));
  wait_until([&] { return nodes().size() == 5; });
  wait_until([&] { return service_->get([](const Engine& e) { return e.overview().running; }).get() == 4; });
  EXPECT_EQ(nodes()[3].rate, Rate::per_hour(Money::units(7)));
  EXPECT_EQ(nodes()[3].market, Market::kSpot);
  PowerView view;
  wait_until([&] { return (view = power_->view()).machines.size() == 2; });
  EXPECT_EQ(view.by, "simulated cloud");
  EXPECT_EQ(view.machines.front().name, nodes()[3].name);
  stop();
  start(making_two());
  EXPECT_THAT(nodes(), SizeIs(5)) << "they are there";
  EXPECT_EQ(service_->get([](const Engine& e) { return e.overview().running; }).get(), 4);
  for (const int64_t job : jobs)
    cancel(job);
  wait_until([&] { return nodes().size() == 3; });
  wait_until([&] { return power_->view().machines.empty(); });
  EXPECT_THAT(events(), Contains(HasSubstr("node.gone cloud-")));
}

/// Two daemons on one account: what one made bears no mark that the other knows.
TEST_F(NodePowerTest, TheMarkOnMachinesIsOfOneLogAndOutlivesTheDaemon) {
  wait_until([&] { return told().size() == 1; });
  stop();
  start(making_two());
  const std::string first = owner_;
  EXPECT_EQ(first.size(), std::string_view("stint-0123456789abcdef").size());
  stop();
  start(making_two());
  EXPECT_EQ(owner_, first);
  stop();
  std::filesystem::remove(dir_ / "events.db");
  start();
  EXPECT_EQ(owner_, "");
  wait_until([&] { return told().size() == 2; });  // "down n1" by each of the two
  stop();
  start();
  EXPECT_NE(owner_, first);
  EXPECT_NE(owner_, "");
}

TEST_F(NodePowerTest, AReclaimedSpotMachineDrainsAndAnotherComes) {
  stop();
  PowerConfig config = making_two();
  config.cloud->spot_life = Duration::seconds(2);
  config.cloud->spot_notice = Duration::seconds(1);
  start(config);
  for (int i = 0; i < 5; ++i)
    submit(8);
  wait_until(
      [&] { return std::ranges::any_of(events(), [](const std::string& e) { return e.starts_with("node.draining cloud-"); }); });
  EXPECT_THAT(events(), Contains(HasSubstr("spot: taken back")));
  wait_until([&] {
    return std::ranges::count_if(events(), [](const std::string& e) { return e.starts_with("node.added cloud-"); }) > 2;
  });
}

TEST_F(NodePowerTest, ASweepEndsWhatIsNotKnownAndAProgramThatCannotListSaysSo) {
  const auto sweep = [&] {
    std::promise<Result<PowerView>> done;
    power_->sweep([&done](const Result<PowerView>& view) { done.set_value(view); });
    return done.get_future().get();
  };
  EXPECT_THAT(sweep().error().message, HasSubstr("cannot list"));
  power_->reconfigure({});
  wait_until([&] { return sweep().error().message.find("no machines are switched") != std::string::npos; });
  stop();
  start(making_two());
  const auto swept = sweep();
  ASSERT_TRUE(swept.ok());
  EXPECT_THAT(swept->unread, IsEmpty());
}

TEST_F(NodePowerTest, AProviderThatCannotBeReadIsNamedWithItsReason) {
  stop();
  PowerConfig config;
  config.provider = {program_};
  config.provider_lists = true;
  config.every = Duration::milliseconds(20);
  PowerPool pool{.name = "burst", .nodes = {"n0"}, .rules = {}};
  pool.rules.min_nodes = pool.rules.max_nodes = 1;
  config.pools = {pool};
  put_file(dir_ / "broken", "");
  start(config);
  std::promise<Result<PowerView>> done;
  power_->sweep([&done](const Result<PowerView>& view) { done.set_value(view); });
  const Result<PowerView> swept = done.get_future().get();
  ASSERT_TRUE(swept.ok());
  ASSERT_THAT(swept->unread, SizeIs(1));
  EXPECT_EQ(swept->unread.front().name, "program");
  EXPECT_THAT(swept->unread.front().why, HasSubstr("no power"));
}

}  // namespace
}  // namespace stint
