// Imports that die: killed at any point, out of disk, beside another importer. The file is as it was before,
// or as it is after; never between.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "base/prng.h"
#include "host/scratch_dir.h"
#include "store/history_file.h"
#include "store/sqlite.h"

namespace stint {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Instant kStart = *parse_instant("2026-10-01T00:00:00Z");
constexpr int kSteps = 400;

/// One step of a long import: a node, a device, an hour of it and a bill line.
void import_step(Sink& sink, std::string_view import_name, int step) {
  Node node;
  node.name = fmt::format("{}-{}", import_name, step % 50);
  node.provider = "aws";
  sink.node(node);
  SeriesKey key;
  key.device.node = node.name;
  key.device.index = 0;
  std::vector<Sample> samples;
  for (int m = 0; m < 60; ++m)
    samples.push_back({kStart + kHour * (step / 50) + Duration::minutes(m), static_cast<double>(step % 100)});
  sink.samples(sink.series(key), samples);
  BillLine line;
  line.billing_account = import_name;  // each brings the bill of another account
  line.resource_id = node.name;
  // Long enough for pages to spill out of the cache into the log before the commit.
  line.description = std::string(20'000, 'd');
  line.billed = Money::nanos(step);
  sink.bill_line(line);
}

Status import_whole(const std::string& path, std::string_view name, int kill_at) {
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(path, OpenMode::kCreate));
  TRY_ASSIGN(const auto import, file.begin_import("test", name, kStart));
  for (int step = 0; step < kSteps; ++step) {
    if (step == kill_at) kill(getpid(), SIGKILL);
    import_step(*import, name, step);
  }
  if (kill_at == kSteps) kill(getpid(), SIGKILL);
  TRY(import->commit(name));
  return {};
}

/// Every row of the file: the second method is SQLite's own shell of a query per table.
std::string dump(const std::string& path) {
  auto db = Database::open(path, DatabaseAccess::kReadOnly);
  CHECK(db.ok(), "{}", db.error().message);
  std::string out;
  for (const char* sql : {"SELECT kind || source || fingerprint || accepted FROM import",
                          "SELECT id || name || provider FROM node", "SELECT id || resource_id || billed FROM bill_line",
                          "SELECT key || hex(data) FROM rollup_day", "SELECT id || device_id || metric FROM series"}) {
    auto statement = db->prepare(sql);
    CHECK(statement.ok(), "{}", statement.error().message);
    while (*statement->step())
      out += fmt::format("{}\n", statement->bytes(0));
  }
  return out;
}

std::vector<std::string> problems_of(const std::string& path) {
  auto file = HistoryFile::open(path, OpenMode::kReadOnly);
  CHECK(file.ok(), "{}", file.error().message);
  return *file->check();
}

/// Runs `work` in a child. @return its raw wait status.
template <typename Work>
int in_child(const Work& work) {
  const pid_t pid = fork();
  if (pid == 0) _exit(work());
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

TEST(CrashedImport, KilledAtAnyStepLeavesTheFileAsItWas) {
  const ScratchDir dir;
  const std::string path = dir / "fleet.db";
  ASSERT_TRUE(import_whole(path, "first", -1).ok());
  const std::string before = dump(path);
  for (const int kill_at : {0, 1, 50, 51, 200, 399, kSteps}) {
    const int status = in_child([&] { return import_whole(path, "second", kill_at).ok() ? 0 : 1; });
    ASSERT_TRUE(WIFSIGNALED(status)) << "killed at step " << kill_at;
    EXPECT_TRUE(dump(path) == before) << "killed at step " << kill_at;
    EXPECT_THAT(problems_of(path), IsEmpty());
  }
  // And the same import, let live, goes in.
  ASSERT_TRUE(import_whole(path, "second", -1).ok());
  EXPECT_FALSE(dump(path) == before);
  EXPECT_THAT(problems_of(path), IsEmpty());
}

TEST(CrashedImport, KilledAtARandomTimeLeavesTheFileBeforeOrAfter) {
  const ScratchDir dir;
  const std::string path = dir / "fleet.db";
  ASSERT_TRUE(import_whole(path, "first", -1).ok());
  const std::string before = dump(path);
  const std::string whole = dir / "whole.db";
  ASSERT_TRUE(import_whole(whole, "first", -1).ok());
  ASSERT_TRUE(import_whole(whole, "second", -1).ok());
  const std::string after = dump(whole);
  const uint64_t seed = 20261001;
  Prng prng(seed);
  bool done = false;
  for (int round = 0; round < 12 && !done; ++round) {
    const pid_t pid = fork();
    if (pid == 0) _exit(import_whole(path, "second", -1).ok() ? 0 : 1);
    usleep(static_cast<useconds_t>(prng.below(150'000)));
    kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    const std::string now = dump(path);
    done = now == after;
    EXPECT_TRUE(done || now == before) << "round " << round << ", seed " << seed;
    EXPECT_THAT(problems_of(path), IsEmpty());
  }
}

TEST(CrashedImport, KilledWhileTheFileIsMadeLeavesOneThatCanBeUsed) {
  const ScratchDir dir;
  for (const int kill_at : {0, 30}) {
    const std::string path = dir / fmt::format("{}.db", kill_at);
    ASSERT_TRUE(WIFSIGNALED(in_child([&] { return import_whole(path, "first", kill_at).ok() ? 0 : 1; })));
    EXPECT_TRUE(import_whole(path, "first", -1).ok());
    EXPECT_THAT(problems_of(path), IsEmpty());
  }
}

TEST(CrashedImport, AFullDiskIsSaidAndLeavesTheFileAsItWas) {
  const ScratchDir dir;
  const std::string path = dir / "fleet.db";
  ASSERT_TRUE(import_whole(path, "first", -1).ok());
  const std::string before = dump(path);
  const std::string said = dir / "said";
  const int status = in_child([&] {
    // No file may grow beyond what this one has already: to SQLite a disk that takes no more.
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = 1 << 20, .rlim_max = 1 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    const Status done = import_whole(path, "second", -1);
    if (done.ok()) return 0;
    FILE* out = fopen(said.c_str(), "w");
    fputs(done.error().message.c_str(), out);
    fclose(out);
    return 3;
  });
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 3) << "the import must fail";
  std::string message(4096, '\0');
  FILE* in = fopen(said.c_str(), "r");
  message.resize(fread(message.data(), 1, message.size(), in));
  fclose(in);
  EXPECT_THAT(message, HasSubstr("fleet.db"));
  EXPECT_THAT(message, AnyOf(HasSubstr("check the disk"), HasSubstr("disk is full")));
  EXPECT_TRUE(dump(path) == before);
  EXPECT_THAT(problems_of(path), IsEmpty());
}

TEST(ConcurrentImport, WaitsForTheOtherAndThenGoesIn) {
  const ScratchDir dir;
  const std::string path = dir / "fleet.db";
  ASSERT_TRUE(import_whole(path, "first", -1).ok());
  // The child is made before the file is open here: SQLite must not be carried over a fork.
  std::array<int, 2> begun = {};
  ASSERT_EQ(pipe(begun.data()), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    char go = 0;
    (void)!read(begun[0], &go, 1);
    _exit(import_whole(path, "other", -1).ok() ? 0 : 1);
  }
  auto file = HistoryFile::open(path, OpenMode::kReadWrite);
  auto held = file->begin_import("test", "mine", kStart);
  ASSERT_TRUE(held.ok());
  ASSERT_EQ(write(begun[1], "!", 1), 1);
  usleep(100'000);
  import_step(**held, "mine", 1);
  ASSERT_TRUE((*held)->commit("mine").ok());
  int status = 0;
  waitpid(pid, &status, 0);
  close(begun[0]), close(begun[1]);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(file->info()->imports, 3U);
  EXPECT_THAT(problems_of(path), IsEmpty());
}

TEST(ConcurrentImport, SaysThatAnotherIsWritingWhenItLastsTooLong) {
  const ScratchDir dir;
  const std::string path = dir / "fleet.db";
  ASSERT_TRUE(import_whole(path, "first", -1).ok());
  auto one = HistoryFile::open(path, OpenMode::kReadWrite);
  auto held = one->begin_import("test", "mine", kStart);
  ASSERT_TRUE(held.ok());
  auto two = HistoryFile::open(path, OpenMode::kReadWrite, Duration::milliseconds(20));
  const auto refused = two->begin_import("test", "other", kStart);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_THAT(refused.error().message, HasSubstr("another process is writing"));
}

}  // namespace
}  // namespace stint
