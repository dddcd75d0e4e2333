#include "backends/local/gpu_handover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <thread>

#include "host/clock.h"
#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Launch launch_of(std::string owner, std::vector<int> gpus, Tenancy tenancy = Tenancy::kAlone) {
  Launch launch;
  launch.owner = std::move(owner);
  launch.tenancy = tenancy;
  for (const int gpu : gpus)
    launch.gpus.push_back({.index = gpu, .uuid = "", .mig_uuid = ""});
  return launch;
}

class Handover : public ::testing::Test {
 protected:
  Handover() {
    setenv("FAKE_NVML_PIDS", (dir_ / "pids").c_str(), 1);
    setenv("FAKE_NVML_USED_MIB", "10", 1);
    put_program("echo \"$@\" >> " + (dir_ / "scrubbed"));
    open();
  }
  ~Handover() override {
    unsetenv("FAKE_NVML_PIDS");
    unsetenv("FAKE_NVML_USED_MIB");
  }
  void put_program(const std::string& script) {
    const std::string draft = dir_ / "draft";
    put_file(draft, "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(draft, std::filesystem::perms::owner_all);
    std::filesystem::rename(draft, dir_ / "scrub");
  }
  void open(bool scrubs = true) {
    handover_.reset();
    auto made = GpuHandover::open(
        {.book = dir_ / "book.json",
         .scrub = scrubs ? dir_ / "scrub" : "",
         .pause = Duration::seconds(10),
         .clear = {.nvml_library = STINT_FAKE_NVML, .allowance = Bytes::mebi(512)},
         .tell = [this](int gpu, const std::string& why) { told_.push_back(fmt::format("{}: {}", gpu, why)); }});
    ASSERT_TRUE(made.ok()) << made.error().message;
    handover_ = std::move(*made);
  }
  /// Until what is being scrubbed is done.
  Status take(const Launch& launch, Instant now = kNow) {
    Status taken;
    for (int tries = 0; tries < 60'000; ++tries) {
      taken = handover_->take(launch, {}, now);
      if (taken.ok() || taken.error().message.find("is being scrubbed") == std::string::npos) return taken;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return taken;
  }
  std::string scrubbed() const {
    const auto text = read_all(dir_ / "scrubbed");
    return text.ok() ? *text : "";
  }

  static constexpr Instant kNow = Instant::from_seconds(1'800'000'000);
  ScratchDir dir_;
  std::vector<std::string> told_;
  std::unique_ptr<GpuHandover> handover_;
};

TEST_F(Handover, AGpuIsScrubbedBetweenClientsAndNotWithin) {
  EXPECT_THAT(handover_->take(launch_of("acme/eve", {0}), {}, kNow).error().message,
              HasSubstr("GPU 0: its memory is being scrubbed"))
      << "whoever had it before is not known";
  ASSERT_TRUE(take(launch_of("acme/eve", {0})).ok());
  EXPECT_EQ(scrubbed(), "0 GPU-fake-0\n");
  ASSERT_TRUE(handover_->take(launch_of("acme/vera", {0}), {}, kNow).ok()) << "of the same client";
  ASSERT_TRUE(take(launch_of("zoo/zoe", {0, 1})).ok());
  EXPECT_THAT(scrubbed(), AnyOf("0 GPU-fake-0\n0 GPU-fake-0\n1 GPU-fake-1\n", "0 GPU-fake-0\n1 GPU-fake-1\n0 GPU-fake-0\n"))
      << "both at a time";
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(Handover, WhoHadItIsKnownAfterARestart) {
  ASSERT_TRUE(take(launch_of("acme/eve", {0})).ok());
  open();
  ASSERT_TRUE(handover_->take(launch_of("acme/eve", {0}), {}, kNow).ok());
  EXPECT_EQ(handover_->take(launch_of("zoo/zoe", {0}), {}, kNow).error().code, ErrorCode::kUnavailable);
  ASSERT_TRUE(take(launch_of("zoo/zoe", {0})).ok());
  EXPECT_EQ(scrubbed(), "0 GPU-fake-0\n0 GPU-fake-0\n");
  put_file(dir_ / "book.json", "{\"version\":1,\"last\":{\"0\":7}}");
  const auto damaged = GpuHandover::open({.book = dir_ / "book.json"});
  ASSERT_FALSE(damaged.ok());
  EXPECT_THAT(damaged.error().message, HasSubstr("damaged"));
}

TEST_F(Handover, AScrubThatFailsHoldsTheGpuBackUntilOneDoesNot) {
  ASSERT_TRUE(take(launch_of("acme/eve", {1})).ok());
  put_program("echo the device is busy >&2; exit 3");
  const Status failed = take(launch_of("zoo/zoe", {1}));
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message,
              AllOf(HasSubstr("GPU 1: its memory was not scrubbed"), HasSubstr("code 3"), HasSubstr("the device is busy")));
  EXPECT_THAT(told_, ElementsAre(HasSubstr("1: GPU 1: its memory was not scrubbed")));
  EXPECT_EQ(take(launch_of("zoo/zoe", {1})).error().message, failed.error().message) << "not tried again at once";
  EXPECT_TRUE(handover_->take(launch_of("acme/eve", {1}), {}, kNow).ok()) << "whose data it is";
  ASSERT_FALSE(take(launch_of("zoo/zoe", {1}), kNow + Duration::seconds(10)).ok());
  put_program("exit 0");
  const Instant later = kNow + Duration::seconds(30);
  for (int tries = 0; tries < 60'000 && !told_.back().ends_with("1: "); ++tries) {
    handover_->look(later);  // by itself, without a job that asks
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(told_.back(), "1: ");
  EXPECT_TRUE(handover_->take(launch_of("zoo/zoe", {1}), {}, later).ok()) << "it is scrubbed, and no one had it since";
}

TEST_F(Handover, AProcessOrMemoryThatIsLeftHoldsItBack) {
  open(false);
  ASSERT_TRUE(handover_->take(launch_of("acme/eve", {0}), {}, kNow).ok());
  put_file(dir_ / "pids", fmt::format("{}\n", ::getpid()));
  EXPECT_THAT(handover_->take(launch_of("zoo/zoe", {0}), {}, kNow).error().message,
              HasSubstr(fmt::format("process {}", ::getpid())));
  EXPECT_THAT(handover_->take(launch_of("acme/eve", {0}, Tenancy::kShared), {}, kNow).error().message, HasSubstr("process"))
      << "no task of ours is there, so it is a stranger's";
  EXPECT_TRUE(handover_->take(launch_of("acme/eve", {0}, Tenancy::kShared), {0}, kNow).ok()) << "beside another task";
  EXPECT_EQ(told_.size(), 1U) << "the same once";
  put_file(dir_ / "pids", "");
  setenv("FAKE_NVML_USED_MIB", "600", 1);
  handover_->look(kNow + Duration::seconds(10));
  EXPECT_THAT(told_.back(), HasSubstr("629145600 bytes of its memory are in use"));
  setenv("FAKE_NVML_USED_MIB", "10", 1);
  handover_->look(kNow + Duration::seconds(11));
  EXPECT_THAT(told_.back(), HasSubstr("in use")) << "not before the pause is over";
  handover_->look(kNow + Duration::seconds(20));
  EXPECT_EQ(told_.back(), "0: ");
}

TEST_F(Handover, TheMpsServerMayBeThereForParts) {
  open(false);
  const auto started = [&](const std::string& name) {
    std::filesystem::copy_file("/bin/sleep", dir_ / name);
    auto child = ChildProcess::start({dir_ / name, "60"});
    CHECK(child.ok(), "{}", child.error().message);
    put_file(dir_ / "pids", fmt::format("{}\n", child->pid()));
    for (int tries = 0; tries < 10'000; ++tries) {  // until it is that program
      std::error_code failed;
      if (std::filesystem::read_symlink(fmt::format("/proc/{}/exe", child->pid()), failed).filename() == name) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return std::move(*child);
  };
  const ChildProcess server = started("nvidia-cuda-mps-server");
  EXPECT_TRUE(handover_->take(launch_of("acme/eve", {0}, Tenancy::kShared), {}, kNow).ok());
  EXPECT_FALSE(handover_->take(launch_of("acme/eve", {0}), {}, kNow).ok()) << "alone means alone";
  const ChildProcess other = started("nvidia-cuda-mps-servers");
  EXPECT_FALSE(handover_->take(launch_of("acme/eve", {0}, Tenancy::kShared), {}, kNow).ok());
}

TEST_F(Handover, WhatOthersMayWriteIsNotRun) {
  std::filesystem::permissions(dir_ / "scrub", std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  for (const std::string& program : {dir_ / "scrub", std::string("scrub"), dir_ / "none", dir_ / "."}) {
    const auto opened = GpuHandover::open({.book = dir_ / "book.json", .scrub = program});
    EXPECT_FALSE(opened.ok()) << program;
  }
}

}  // namespace
}  // namespace stint
