// The keeper against a device whose use the test tells.
#include "serve/memory_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <thread>

namespace stint::serve {
namespace {

using batching::ModelId;
using testing::HasSubstr;

/// What happened to all models, in order; and waiting for it.
class Log {
 public:
  void add(const std::string& line) {
    {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    }
    more_.notify_all();
  }
  /// The next line; the test ends as failed after a minute without one.
  std::string next() {
    std::unique_lock lock(mutex_);
    if (!more_.wait_for(lock, std::chrono::minutes(1), [this] { return !lines_.empty(); })) return "nothing within a minute";
    std::string line = lines_.front();
    lines_.pop_front();
    return line;
  }

 private:
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::string> lines_;
};

class FakeModel : public Resident {
 public:
  FakeModel(std::string name, Log& log) : name_(std::move(name)), log_(log) {}
  Status load() override { return {}; }
  void unload() override { log_.add(name_ + " unloaded"); }
  void settled(const Status& status) override {
    log_.add(name_ + (status.ok() ? (small_ ? " small" : " loaded") : ": " + status.error().message));
  }
  [[nodiscard]] std::string name() const override { return name_; }
  void trim() override { log_.add(name_ + " trimmed"); }
  void choose_variant(bool small) override { small_ = small; }

 private:
  std::string name_;
  Log& log_;
  bool small_ = false;
};

/// Weights of 100 MiB, batches up to 4 at `item` MiB an item.
batching::ModelMemory memory_of(int64_t item) {
  return {.weights = Bytes::mebi(100),
          .activation = {Bytes::mebi(item), Bytes::mebi(2 * item), Bytes::mebi(3 * item), Bytes::mebi(4 * item)},
          .reload = Duration::seconds(1)};
}

/// A device of 1000 MiB: pressure begins above 900 and is relieved down to 850.
class MemoryKeeperUnderPressure : public testing::Test {
 protected:
  void start(Duration calm) {
    WatchOptions watch;
    watch.every = Duration::milliseconds(1);
    watch.calm = calm;
    watch.read = [this]() -> std::optional<MemoryUse> {
      const MemoryKeeper* keeper = started_.load();
      const Bytes own = keeper == nullptr ? Bytes() : keeper->figures().used;
      return MemoryUse{Bytes::mebi(1000), Bytes::mebi(others_mebi_) + own, own};
    };
    watch.tell = [this](const std::string& line) { told_.add(line); };
    Result<std::unique_ptr<MemoryKeeper>> made = MemoryKeeper::create({.room = Bytes::mebi(1000)}, std::move(watch));
    ASSERT_TRUE(made.ok()) << made.error().message;
    keeper_ = std::move(*made);
    started_ = keeper_.get();
  }
  ~MemoryKeeperUnderPressure() override { keeper_->stop(); }

  ModelId load(batching::ModelMemory facts, std::optional<Bytes> small = {}) {
    model_ = std::make_shared<FakeModel>("mlp", done_);
    const ModelId id = *keeper_->add(std::move(facts), model_, small);
    keeper_->need(id);
    EXPECT_EQ(done_.next(), "mlp loaded");
    return id;
  }
  /// Runs one batch. @return of how many items
  int64_t run(ModelId model, int64_t items) {
    const int64_t granted = keeper_->begin(model, items).value_or(0);
    if (granted > 0) keeper_->end(model, granted);
    return granted;
  }

  std::atomic<int64_t> others_mebi_ = 0;  ///< used by others
  std::atomic<MemoryKeeper*> started_ = nullptr;
  Log done_, told_;
  std::shared_ptr<FakeModel> model_;
  std::unique_ptr<MemoryKeeper> keeper_;
};

TEST_F(MemoryKeeperUnderPressure, BatchesShrinkFirst) {
  start(Duration::hours(1));
  const ModelId model = load(memory_of(100));
  EXPECT_EQ(run(model, 4), 4);  // 500 MiB are held now
  others_mebi_ = 420;           // 70 must go; batches of 2 free 200
  EXPECT_EQ(told_.next(), "memory is 92 % full: model mlp: batches of at most 2 (frees 200 MiB)");
  EXPECT_EQ(done_.next(), "mlp trimmed");
  EXPECT_EQ(run(model, 4), 2);
  EXPECT_EQ(run(model, 1), 1);
}

TEST_F(MemoryKeeperUnderPressure, BatchesGrowBackOnceItHasBeenCalm) {
  start(Duration::milliseconds(1));
  const ModelId model = load(memory_of(100));
  EXPECT_EQ(run(model, 4), 4);
  others_mebi_ = 420;
  EXPECT_THAT(told_.next(), HasSubstr("at most 2"));
  EXPECT_EQ(told_.next(), "memory has room again: model mlp: batches of at most 4");
}

TEST_F(MemoryKeeperUnderPressure, WhatWasUnloadedComesBackOnlyWhenThereIsRoom) {
  start(Duration::hours(1));
  const ModelId model = load(memory_of(10));
  others_mebi_ = 850;
  EXPECT_EQ(done_.next(), "mlp unloaded");
  EXPECT_EQ(run(model, 1), 0);
  keeper_->need(model);
  EXPECT_EQ(done_.next(), "mlp: the device's memory is full");
  others_mebi_ = 100;
  while (keeper_->figures().device->used > Bytes::mebi(100))
    std::this_thread::yield();
  keeper_->need(model);
  EXPECT_EQ(done_.next(), "mlp loaded");
  EXPECT_EQ(run(model, 1), 1);
}

TEST_F(MemoryKeeperUnderPressure, TheSmallerVariantStandsInUntilTheOtherFits) {
  start(Duration::milliseconds(1));
  const ModelId model = load(memory_of(10), Bytes::mebi(25));
  others_mebi_ = 800;  // 60 MiB must go: 75 do
  EXPECT_EQ(done_.next(), "mlp unloaded");
  EXPECT_EQ(done_.next(), "mlp small");
  EXPECT_EQ(run(model, 1), 1);
  others_mebi_ = 600;
  EXPECT_EQ(done_.next(), "mlp unloaded");
  EXPECT_EQ(done_.next(), "mlp loaded");
  EXPECT_EQ(run(model, 4), 4);
}

TEST_F(MemoryKeeperUnderPressure, WhatIsPinnedStaysAndNewWorkIsRefused) {
  start(Duration::hours(1));
  batching::ModelMemory facts = memory_of(10);
  facts.pinned = true;
  const ModelId model = load(facts);
  others_mebi_ = 900;
  while (!keeper_->refusing())
    std::this_thread::yield();
  EXPECT_EQ(run(model, 1), 1);  // what it has taken is answered
  others_mebi_ = 700;
  while (keeper_->refusing())
    std::this_thread::yield();
  EXPECT_EQ(told_.next(), "memory is 101 % full: refuse new work: nothing more can be given up");
  const auto shed = static_cast<size_t>(batching::ReliefStep::Kind::kShed);
  EXPECT_EQ(keeper_->figures().relief_steps[shed], 1) << "once, however often it is seen";
}

}  // namespace
}  // namespace stint::serve
