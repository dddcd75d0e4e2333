#include "backends/supervise/object_copies.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>

#include "backends/supervise/restore_point.h"
#include "backends/supervise/testing_object_store.h"
#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/secret.h"
#include "host/testing_files.h"

namespace stint {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kMib = int64_t{1} << 20;

/// One machine with its folder; several may share a bucket.
class Machine {
 public:
  explicit Machine(TestingBucket& bucket, int keep = 0)
      : bucket_(bucket), target_{.to = "s3://bucket/job", .keep = keep, .encryption_key = ""} {
    fs::create_directories(folder_);
  }

  void save(const std::string& name, const std::string& text, int age_s) {
    fs::create_directories(folder_ + "/" + name + "/part");
    for (const char* file : {"/model.bin", "/part/0.bin"}) {
      put_file(folder_ + "/" + name + file, text + file);
      fs::last_write_time(folder_ + "/" + name + file, fs::file_time_type::clock::now() - std::chrono::seconds(age_s));
    }
  }
  /// As a new process of the same folder. @return its RestorePoint.
  RestorePoint start() {
    hold_.claimed = hold_.lost = false;
    hold_.run = random_hex(8);
    const auto copies = open();
    RestorePoint point = choose_restore_point(folder_, copies.get(), state_, Unproven::kTaken);
    hold_ = copies->hold();
    return point;
  }
  Result<int64_t> copy(const std::string& name, int64_t bytes_per_second = 0) {
    const auto all = list_checkpoints(folder_).value();
    for (const Checkpoint& c : all) {
      if (c.name != name) continue;
      const auto copies = open();
      auto sent = copies->copy(folder_, c, digest_of(folder_, c).value(), state_,
                               {.bytes_per_second = bytes_per_second, .sleep = [this](Duration d) { slept_ = slept_ + d; }});
      hold_ = copies->hold();
      notes_ = copies->take_notes();
      return sent;
    }
    return make_error(ErrorCode::kNotFound, "no such checkpoint");
  }
  [[nodiscard]] std::string text(const std::string& file) const { return read_all(folder_ + "/" + file).value(); }

  std::unique_ptr<CheckpointCopies> open() {
    return open_object_copies(target_, hold_,
                              [this](const ObjectStoreOptions&) {
                                return Result<std::unique_ptr<ObjectStore>>(std::make_unique<TestingObjectStore>(bucket_));
                              })
        .value();
  }

  TestingBucket& bucket_;
  ScratchDir dir_;
  std::string folder_ = dir_ / "ck";
  CopyTarget target_;
  CheckpointCopies::Hold hold_ = {.position = {}, .run = random_hex(8)};
  SupervisorState state_;
  Duration slept_;
  std::vector<std::string> notes_;
};

TEST(ObjectCopies, AnotherMachineGoesOnFromTheNewest) {
  TestingBucket bucket;
  Machine first(bucket);
  EXPECT_FALSE(first.start().chosen);
  first.save("step-1", "one", 100);
  ASSERT_TRUE(first.copy("step-1").ok());
  first.save("step-2", "two", 50);
  ASSERT_TRUE(first.copy("step-2").ok());

  Machine second(bucket);
  const RestorePoint point = second.start();
  ASSERT_TRUE(point.chosen) << point.unreachable;
  EXPECT_EQ(point.chosen->name, "step-2");
  EXPECT_TRUE(point.fetched);
  EXPECT_TRUE(point.chosen->copied);
  EXPECT_EQ(second.text("step-2/part/0.bin"), "two/part/0.bin");
  const auto here = list_checkpoints(second.folder_).value();
  ASSERT_THAT(here, SizeIs(1)) << "no draft is left";
  EXPECT_EQ(here[0].signature(), point.chosen->signature) << "times are as they were";
  EXPECT_THAT(point.copies_passed_over, IsEmpty());
  EXPECT_FALSE(point.state.empty()) << "what the first had measured comes along";
}

TEST(ObjectCopies, ALaterRecordIsNewerWhateverTheClocksSaid) {
  TestingBucket bucket;
  Machine first(bucket);
  (void)first.start();
  first.save("step-1", "one", 0);
  ASSERT_TRUE(first.copy("step-1").ok());
  first.save("step-2", "two", 5'000);
  ASSERT_TRUE(first.copy("step-2").ok());
  EXPECT_EQ(Machine(bucket).start().chosen->name, "step-2");
}

TEST(ObjectCopies, OfTwoRunsTheLaterHasThePlace) {
  TestingBucket bucket;
  Machine old(bucket), young(bucket);
  (void)old.start();
  old.save("step-1", "one", 100);
  ASSERT_TRUE(old.copy("step-1").ok());
  ASSERT_TRUE(young.start().chosen);
  old.save("step-2", "two", 50);
  const auto refused = old.copy("step-2");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_THAT(refused.error().message, HasSubstr("another stint run (on "));
  EXPECT_THAT(refused.error().message, HasSubstr("has this place: nothing more is copied there from here"));
  EXPECT_TRUE(old.hold_.lost);
  young.save("step-3", "three", 10);
  EXPECT_TRUE(young.copy("step-3").ok());
  EXPECT_EQ(Machine(bucket).start().chosen->name, "step-3") << "nothing of the loser counts";
}

TEST(ObjectCopies, OneThatIsOvertakenWhileItSendsDoesNotWin) {
  TestingBucket bucket;
  Machine old(bucket), young(bucket);
  (void)old.start();
  old.save("step-1", "one", 100);
  std::atomic<bool> came = false;  // files go on several threads
  bucket.before_put = [&](const std::string& key) -> Status {
    if (key.find("/data/") == std::string::npos || came.exchange(true)) return {};
    EXPECT_FALSE(young.start().chosen);
    return {};
  };
  EXPECT_EQ(old.copy("step-1").error().code, ErrorCode::kConflict);
  EXPECT_TRUE(came);
  EXPECT_TRUE(old.hold_.lost);
  EXPECT_FALSE(Machine(bucket).start().chosen);
}

TEST(ObjectCopies, ANumberThatBecameFreeAgainDoesNotLetALoserWin) {
  TestingBucket bucket;
  Machine old(bucket), young(bucket, 1);
  (void)old.start();
  old.save("step-1", "one", 100);
  std::atomic<bool> came = false;  // files go on several threads
  bucket.before_put = [&](const std::string& key) -> Status {
    if (key.find("/data/") == std::string::npos || came.exchange(true)) return {};
    (void)young.start();
    for (const char* name : {"step-5", "step-6", "step-7"}) {  // each takes the one before away
      young.save(name, name, 10);
      EXPECT_TRUE(young.copy(name).ok());
    }
    return {};
  };
  EXPECT_EQ(old.copy("step-1").error().code, ErrorCode::kConflict);
  EXPECT_TRUE(old.hold_.lost);
  EXPECT_EQ(Machine(bucket).start().chosen->name, "step-7");
}

TEST(ObjectCopies, ALostAnswerToTheRecordIsNoLoss) {
  TestingBucket bucket;
  Machine machine(bucket);
  (void)machine.start();
  machine.save("step-1", "one", 100);
  bucket.answers_lost = 1;  // of conditional writes: done, and the second try finds it there
  ASSERT_TRUE(machine.copy("step-1").ok());
  EXPECT_EQ(bucket.answers_lost, 0);
  EXPECT_EQ(Machine(bucket).start().chosen->name, "step-1");
}

TEST(ObjectCopies, ANumberWhoseRecordIsGoneAgainIsTriedAgain) {
  TestingBucket bucket;
  Machine machine(bucket);
  bucket.answers_lost = 1;
  // As another run takes a claim away that it has followed on.
  bucket.before_get = [&](const std::string& key) {
    const std::scoped_lock lock(bucket.mutex);
    bucket.objects.erase(key);
    return Status();
  };
  const RestorePoint point = machine.start();
  EXPECT_EQ(point.unreachable, "");
  EXPECT_TRUE(machine.hold_.claimed);
  EXPECT_EQ(machine.hold_.position.last, 1);
}

TEST(ObjectCopies, AWorkerThatWasKilledBehindItsRecordIsNoOtherRun) {
  TestingBucket bucket;
  Machine machine(bucket);
  (void)machine.start();
  machine.save("step-1", "one", 100);
  const auto before = machine.hold_;
  ASSERT_TRUE(machine.copy("step-1").ok());
  machine.hold_ = before;  // the supervisor was not told
  ASSERT_TRUE(machine.copy("step-1").ok());
  EXPECT_FALSE(machine.hold_.lost);
  machine.hold_.claimed = false;  // nor of the claim
  machine.hold_.position.last = 0;
  machine.save("step-2", "two", 50);
  ASSERT_TRUE(machine.copy("step-2").ok());
  EXPECT_EQ(Machine(bucket).start().chosen->name, "step-2");
}

TEST(ObjectCopies, OneThatDidNotReadWhatIsThereDoesNotHideIt) {
  TestingBucket bucket;
  Machine first(bucket);
  (void)first.start();
  first.save("step-400", "far on", 100);
  ASSERT_TRUE(first.copy("step-400").ok());
  Machine second(bucket);  // began while the store could not be reached
  second.save("step-1", "from the beginning", 10);
  const auto refused = second.copy("step-1");
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("that this one does not go on from"));
  EXPECT_TRUE(second.hold_.lost);
  EXPECT_EQ(Machine(bucket).start().chosen->name, "step-400");
}

TEST(ObjectCopies, NorDoesOneThatClaimedAndThenCouldNotRead) {
  TestingBucket bucket;
  Machine first(bucket);
  (void)first.start();
  first.save("step-400", "far on", 100);
  ASSERT_TRUE(first.copy("step-400").ok());
  const auto cut = [](const std::string& key) {
    return key.ends_with("model.bin") ? Status(make_error(ErrorCode::kUnavailable, "cut")) : Status();
  };
  int asked = 0;
  const auto cut_behind_the_claim = [&](const std::string&) {
    return ++asked > 2 ? Status(make_error(ErrorCode::kUnavailable, "cut")) : Status();
  };
  for (const std::function<Status(const std::string&)>& trouble :
       {std::function<Status(const std::string&)>(cut), std::function<Status(const std::string&)>(cut_behind_the_claim)}) {
    Machine second(bucket);
    bucket.before_get = trouble;
    EXPECT_FALSE(second.start().chosen);
    EXPECT_TRUE(second.hold_.claimed);
    bucket.before_get = nullptr;
    second.save("step-1", "from the beginning", 10);
    EXPECT_THAT(second.copy("step-1").error().message, HasSubstr("that this one does not go on from"));
    EXPECT_EQ(Machine(bucket).start().chosen->name, "step-400");
  }
}

TEST(ObjectCopies, OneThatReachesAnEmptyPlaceLateTakesIt) {
  TestingBucket bucket;
  Machine machine(bucket);
  machine.save("step-1", "one", 10);
  ASSERT_TRUE(machine.copy("step-1").ok());
  EXPECT_EQ(Machine(bucket).start().chosen->name, "step-1");
}

TEST(ObjectCopies, ADamagedOneIsPassedOverAndTheOneBeforeIsTaken) {
  TestingBucket bucket;
  Machine first(bucket);
  (void)first.start();
  for (const char* name : {"step-1", "step-2", "step-3", "step-4"}) {
    first.save(name, name, 10);
    ASSERT_TRUE(first.copy(name).ok());
  }
  const auto file_of = [&](const std::string& name) {
    for (const std::string& key : bucket.keys("job/data/"))
      if (key.ends_with("/" + name + "/model.bin")) return key;
    return std::string();
  };
  bucket.objects[file_of("step-4")].bytes[0] ^= 1;
  bucket.objects.erase(file_of("step-3"));
  bucket.objects["job/log/0000000004.json"].bytes = "{\"version\": 1";  // step-3's
  Machine second(bucket);
  const RestorePoint point = second.start();
  ASSERT_TRUE(point.chosen);
  EXPECT_EQ(point.chosen->name, "step-2");
  ASSERT_THAT(point.copies_passed_over, SizeIs(2));
  EXPECT_THAT(point.copies_passed_over[0].second, HasSubstr("is no record of a copy"));
  EXPECT_EQ(point.copies_passed_over[1].first, "step-4");
  EXPECT_THAT(point.copies_passed_over[1].second, HasSubstr("its bytes are not those that were saved"));
}

TEST(ObjectCopies, AHalfUploadedOneIsNamedAndNotTaken) {
  TestingBucket bucket;
  Machine first(bucket);
  (void)first.start();
  first.save("step-1", "one", 100);
  ASSERT_TRUE(first.copy("step-1").ok());
  first.save("step-2", "two", 50);
  bucket.before_put = [&](const std::string& key) -> Status {
    return key.ends_with("0.bin") ? Status(make_error(ErrorCode::kUnavailable, "gone")) : Status();
  };
  EXPECT_FALSE(first.copy("step-2").ok());
  bucket.before_put = nullptr;
  Machine second(bucket);
  const RestorePoint point = second.start();
  EXPECT_EQ(point.chosen->name, "step-1");
  ASSERT_THAT(point.copies_passed_over, SizeIs(1));
  EXPECT_EQ(point.copies_passed_over[0].first, "step-2");
  EXPECT_THAT(point.copies_passed_over[0].second, HasSubstr("did not come to its end"));
}

TEST(ObjectCopies, ACutUploadGoesOnWhereItWas) {
  TestingBucket bucket;
  Machine machine(bucket);
  (void)machine.start();
  put_file(machine.folder_ + "/big.pt", std::string(static_cast<size_t>(50 * kMib), 'x'));
  int parts = 0;
  bucket.before_put = [&](const std::string& key) -> Status {
    if (key.find("/data/") == std::string::npos) return {};
    const std::scoped_lock lock(bucket.mutex);
    return ++parts > 2 ? Status(make_error(ErrorCode::kUnavailable, "cut")) : Status();
  };
  EXPECT_FALSE(machine.copy("big.pt").ok());
  EXPECT_FALSE(machine.hold_.lost);
  bucket.before_put = nullptr;
  const int64_t before = bucket.bytes_taken;
  EXPECT_EQ(before / kMib, 32);
  ASSERT_TRUE(machine.copy("big.pt").ok());
  EXPECT_EQ((bucket.bytes_taken - before) / kMib, 18) << "what was there is not sent again";
  Machine second(bucket);
  EXPECT_EQ(second.start().chosen->name, "big.pt");
  EXPECT_EQ(second.text("big.pt"), machine.text("big.pt"));
}

TEST(ObjectCopies, TheNewestAreKeptAndTheirFilesWithThem) {
  TestingBucket bucket;
  Machine first(bucket);
  (void)first.start();
  first.save("step-0", "zero", 200);
  ASSERT_TRUE(first.copy("step-0").ok());
  Machine machine(bucket, 2);
  (void)machine.start();
  bucket.uploads["job/data/" + machine.hold_.position.writer + "-0123456789abcdef/step-9/left.bin"];
  for (const char* name : {"step-1", "step-2", "step-3"}) {
    machine.save(name, name, 10);
    ASSERT_TRUE(machine.copy(name).ok());
  }
  EXPECT_THAT(bucket.keys("job/log/"), SizeIs(2));
  std::vector<std::string> names;
  for (const std::string& key : bucket.keys("job/data/"))
    if (key.ends_with("/model.bin")) names.push_back(fs::path(key).parent_path().filename());
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("step-2", "step-3"));
  EXPECT_THAT(bucket.uploads, IsEmpty());
  EXPECT_EQ(Machine(bucket).start().chosen->name, "step-3");
}

TEST(ObjectCopies, WithoutALimitAllAreKeptAndOnlyOwnClaimsGo) {
  TestingBucket bucket;
  Machine machine(bucket);
  (void)machine.start();
  for (const char* name : {"step-1", "step-2", "step-3"}) {
    machine.save(name, name, 10);
    ASSERT_TRUE(machine.copy(name).ok());
  }
  EXPECT_THAT(bucket.keys("job/log/"),
              ElementsAre("job/log/0000000002.json", "job/log/0000000003.json", "job/log/0000000004.json"));
}

TEST(ObjectCopies, AStoreThatHeedsNoConditionsIsNamed) {
  TestingBucket bucket;
  bucket.heeds_conditions = false;
  Machine machine(bucket);
  EXPECT_THAT(machine.start().notes, ElementsAre(HasSubstr("does not heed `If-None-Match`")));
}

TEST(ObjectCopies, WhatCannotBeReachedIsNoDamage) {
  TestingBucket bucket;
  Machine first(bucket);
  (void)first.start();
  first.save("step-1", "one", 100);
  ASSERT_TRUE(first.copy("step-1").ok());
  bucket.before_get = [](const std::string&) { return Status(make_error(ErrorCode::kUnavailable, "no route")); };
  const RestorePoint all = Machine(bucket).start();
  EXPECT_EQ(all.unreachable, "no route");
  EXPECT_FALSE(all.hopeless);
  bucket.last_failure = CloudFailure::kCredential;
  EXPECT_TRUE(Machine(bucket).start().hopeless);
  bucket.before_get = [](const std::string& key) {
    return key.find("/data/") == std::string::npos ? Status() : Status(make_error(ErrorCode::kUnavailable, "no route"));
  };
  const RestorePoint file = Machine(bucket).start();
  EXPECT_FALSE(file.chosen);
  EXPECT_EQ(file.unreachable, "no route");
}

TEST(ObjectCopies, ABoundIsKeptOverManySmallFiles) {
  TestingBucket bucket;
  Machine machine(bucket);
  (void)machine.start();
  machine.save("step-1", std::string(1000, 'x'), 100);
  ASSERT_TRUE(machine.copy("step-1", 100).ok());
  // Two files of a thousand bytes at 100 a second: the second one is due after 20 s.
  EXPECT_GT(machine.slept_, Duration::seconds(15));
}

}  // namespace
}  // namespace stint
