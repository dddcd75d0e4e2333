#include "backends/simulated_backend.h"

#include <gmock/gmock.h>

#include <csignal>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Instant at(int64_t seconds) { return Instant::from_seconds(1'000'000 + seconds); }

Launch launch_of(int64_t job, Duration duration) {
  Launch launch;
  launch.key = {.job = job, .attempt = 0, .task = 0};
  launch.command = {"train"};
  launch.simulated = SimulatedRun{.duration = duration, .exit_code = 0, .leaving_time = Duration::seconds(5)};
  return launch;
}

std::vector<std::string> told(SimulatedBackend& backend, Instant now) {
  std::vector<std::string> lines;
  for (const Report& r : backend.poll(now))
    lines.push_back(fmt::format("{} {} {} {}", (r.at - at(0)).whole_seconds(), format_key(r.key),
                                r.kind == ReportKind::kStarted ? "started" : name_of(r.cause), r.status.shell_code()));
  return lines;
}

TEST(LaunchKey, IsTextAndBack) {
  const LaunchKey key{.job = 17, .attempt = 2, .task = 3};
  EXPECT_EQ(format_key(key), "17.2.3");
  EXPECT_EQ(parse_key("17.2.3"), key);
  for (const char* text : {"", "1", "1.2", "1.2.3.4", "-1.2.3", "1.2.x", "01.2.3", "+1.2.3", "1.2.99999999999", "1..3"})
    EXPECT_FALSE(parse_key(text)) << text;
}

TEST(SimulatedBackend, EndsTasksInOrderAtTheTimesGiven) {
  SimulatedBackend backend;
  ASSERT_TRUE(backend.start(launch_of(1, Duration::seconds(100)), at(0)).ok());
  Launch fails = launch_of(2, Duration::seconds(30));
  fails.simulated->exit_code = 9;
  ASSERT_TRUE(backend.start(fails, at(10)).ok());
  EXPECT_EQ(backend.next_report_at(), at(0));
  EXPECT_THAT(told(backend, at(20)), ElementsAre("0 1.0.0 started 0", "10 2.0.0 started 0"));
  EXPECT_EQ(backend.next_report_at(), at(40));
  EXPECT_THAT(told(backend, at(39)), IsEmpty());
  EXPECT_THAT(told(backend, at(200)), ElementsAre("40 2.0.0 itself 9", "100 1.0.0 itself 0"));
  EXPECT_FALSE(backend.next_report_at());
}

TEST(SimulatedBackend, StopsAfterTheTimeToLeaveOrTheGrace) {
  SimulatedBackend backend;
  for (int64_t job = 1; job <= 3; ++job)
    ASSERT_TRUE(backend.start(launch_of(job, Duration::seconds(100)), at(0)).ok());
  ASSERT_TRUE(backend.stop({.job = 1, .attempt = 0, .task = 0}, Duration::seconds(60), at(10)).ok());
  ASSERT_TRUE(backend.stop({.job = 2, .attempt = 0, .task = 0}, Duration::seconds(3), at(10)).ok());
  ASSERT_TRUE(backend.stop({.job = 3, .attempt = 0, .task = 0}, Duration::seconds(60), at(97)).ok());
  told(backend, at(0));
  EXPECT_THAT(told(backend, at(100)), ElementsAre("13 2.0.0 stopped 137", "15 1.0.0 stopped 143", "100 3.0.0 itself 0"));
}

TEST(SimulatedBackend, KeepsToTheTimeLimit) {
  SimulatedBackend backend;
  Launch launch = launch_of(1, Duration::seconds(100));
  launch.time_limit = Duration::seconds(50);
  ASSERT_TRUE(backend.start(launch, at(0)).ok());
  launch.key.job = 2;
  launch.time_limit = Duration::seconds(100);
  ASSERT_TRUE(backend.start(launch, at(0)).ok());
  told(backend, at(0));
  EXPECT_THAT(told(backend, at(100)), ElementsAre("55 1.0.0 time limit 143", "100 2.0.0 itself 0"));
}

TEST(SimulatedBackend, SaysThatNothingRuns) {
  SimulatedBackend backend;
  EXPECT_THAT(backend.notes(), ElementsAre(HasSubstr("Simulated")));
  Launch launch = launch_of(1, Duration::seconds(1));
  launch.simulated.reset();
  EXPECT_EQ(backend.start(launch, at(0)).error().code, ErrorCode::kInvalidInput);
}

}  // namespace
}  // namespace stint
