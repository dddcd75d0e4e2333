#include "daemon/allocation_desk.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <future>

#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

/// A desk whose stint is this script.
class AllocationDeskTest : public ::testing::Test {
 protected:
  std::string program(const std::string& script) {
    const std::string path = dir_ / "program";
    put_file(path, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::string history() {
    put_file(dir_ / "history.db", "x");
    return dir_ / "history.db";
  }
  static AllocationQuestion question() {
    return {
        .window = {*parse_instant("2026-10-01"), *parse_instant("2026-10-03")}, .aggregate = "namespace", .step = std::nullopt};
  }
  static Result<std::string> ask(AllocationDesk& desk, AllocationQuestion q) {
    std::promise<Result<std::string>> said;
    desk.ask(std::move(q), [&](Result<std::string> answer) { said.set_value(std::move(answer)); });
    return said.get_future().get();
  }
  ScratchDir dir_;
};

TEST_F(AllocationDeskTest, AsksStintForTheBill) {
  AllocationDesk desk(program(R"(for word in "$@"; do echo "$word"; done)"), history());
  AllocationQuestion q = question();
  q.step = kHour * 24;
  q.clients = {"acme", "--help"};
  EXPECT_EQ(*ask(desk, q), "bill\n--history=" + history() +
                               "\n--format\nopencost\n--by=namespace\n--idle\nleft-out\n--since=2026-10-01T00:00:00Z\n"
                               "--until=2026-10-03T00:00:00Z\n--step=86400s\n--client=acme\n--client=--help\n");
}

TEST_F(AllocationDeskTest, WithoutAHistoryNothingHasACost) {
  AllocationDesk desk(program("echo no"), dir_ / "absent.db");
  AllocationQuestion q = question();
  EXPECT_THAT(*ask(desk, q), HasSubstr(R"("data":[{}])"));
  q.step = kHour * 24;
  EXPECT_THAT(*ask(desk, q), HasSubstr(R"("data":[{},{}])"));
}

TEST_F(AllocationDeskTest, AFailureIsToldWithItsLastLine) {
  AllocationDesk desk(program("echo first >&2; echo the reason >&2; exit 3"), history());
  const auto answer = ask(desk, question());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(answer.error().message, "the allocation ended with 3: the reason");
}

TEST_F(AllocationDeskTest, ManyWaitInTurnMoreAreToldToComeAgainAndTheEndAnswersAll) {
  std::vector<std::future<Result<std::string>>> answers;
  {
    AllocationDesk desk(program("sleep 1000"), history());
    for (int i = 0; i < 40; ++i) {
      auto said = std::make_shared<std::promise<Result<std::string>>>();
      answers.push_back(said->get_future());
      desk.ask(question(), [said](Result<std::string> answer) { said->set_value(std::move(answer)); });
    }
  }
  int refused = 0;
  for (auto& answer : answers) {
    const auto said = answer.get();
    EXPECT_EQ(said.error().code, ErrorCode::kUnavailable);
    refused += said.error().message.starts_with("many ask") ? 1 : 0;
  }
  // One may be at work when the sixteen after it wait.
  EXPECT_THAT(refused, ::testing::AnyOf(23, 24));
}

}  // namespace
}  // namespace stint
