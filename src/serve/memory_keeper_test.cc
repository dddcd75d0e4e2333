// The keeper against a device whose use the test tells.
#include "serve/memory_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <deque>
#include <thread>

#include "serve/steady.h"

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
  Status load(Variant variant) override {
    if (variant == Variant::kHost && !runs_on_host) return invalid("it has CUDA's own operators");
    variant_ = variant;
    return {};
  }
  void unload() override { log_.add(name_ + " unloaded"); }
  void settled(const Status& status) override {
    constexpr std::array kLoaded = {" loaded", " small", " on the host"};
    log_.add(name_ + (status.ok() ? kLoaded[static_cast<size_t>(variant_)] : ": " + status.error().message));
  }
  [[nodiscard]] std::string name() const override { return name_; }
  void trim() override { log_.add(name_ + " trimmed"); }
  bool runs_on_host = true;

 private:
  std::string name_;
  Log& log_;
  Variant variant_ = Variant::kWhole;
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
  void start(Duration calm, Bytes host_room = {}) {
    WatchOptions watch;
    watch.every = Duration::milliseconds(1);
    watch.calm = calm;
    watch.host_room = host_room;
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

  ModelId load(batching::ModelMemory facts, const StandIns& stand_ins = {}) {
    model_ = std::make_shared<FakeModel>("mlp", done_);
    const ModelId id = *keeper_->add(std::move(facts), model_, stand_ins);
    keeper_->need(id);
    EXPECT_EQ(done_.next(), "mlp loaded");
    return id;
  }
  void comes_back_once_there_is_room(ModelId model) {
    others_mebi_ = 100;
    while (keeper_->figures().device->used > Bytes::mebi(100))
      std::this_thread::yield();
    keeper_->need(model);
    EXPECT_EQ(done_.next(), "mlp loaded");
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
  comes_back_once_there_is_room(model);
  EXPECT_EQ(run(model, 1), 1);
}

TEST_F(MemoryKeeperUnderPressure, TheLeastAskedForLeavesAFullDeviceForAnother) {
  start(Duration::hours(1));
  std::vector<std::shared_ptr<FakeModel>> models;
  std::vector<ModelId> ids;
  for (const char* name : {"hot", "cold", "new"}) {
    models.push_back(std::make_shared<FakeModel>(name, done_));
    ids.push_back(*keeper_->add(memory_of(10), models.back(), {}));
  }
  const Instant now = steady_now();  // the keeper's clock: what was asked for long ago counts for nothing
  for (int i = 0; i < 5; ++i)
    keeper_->want(ids[0], now);
  keeper_->want(ids[1], now);
  keeper_->need(ids[0]);
  EXPECT_EQ(done_.next(), "hot loaded");
  keeper_->need(ids[1]);
  EXPECT_EQ(done_.next(), "cold loaded");
  others_mebi_ = 610;  // 830 with both: a third would make 940, 900 are allowed; the books have room for nine
  while (keeper_->figures().device->used < Bytes::mebi(830))
    std::this_thread::yield();
  keeper_->want(ids[2], now);
  keeper_->need(ids[2]);
  EXPECT_EQ(done_.next(), "cold unloaded");
  EXPECT_EQ(done_.next(), "new loaded");
}

TEST_F(MemoryKeeperUnderPressure, TheSmallerVariantStandsInUntilTheOtherFits) {
  start(Duration::milliseconds(1));
  const ModelId model = load(memory_of(10), {.small = Bytes::mebi(25), .host = {}});
  others_mebi_ = 800;  // 60 MiB must go: 75 do
  EXPECT_EQ(done_.next(), "mlp unloaded");
  EXPECT_EQ(done_.next(), "mlp small");
  EXPECT_EQ(run(model, 1), 1);
  others_mebi_ = 600;
  EXPECT_EQ(done_.next(), "mlp unloaded");
  EXPECT_EQ(done_.next(), "mlp loaded");
  EXPECT_EQ(run(model, 4), 4);
}

TEST_F(MemoryKeeperUnderPressure, AModelRunsOnTheHostUntilTheDeviceHasRoom) {
  start(Duration::milliseconds(1), Bytes::mebi(200));
  const ModelId model = load(memory_of(10), {.small = {}, .host = Bytes::mebi(140)});
  others_mebi_ = 850;
  EXPECT_EQ(told_.next(), "memory is 96 % full: model mlp: to the host (frees 110 MiB)");
  EXPECT_EQ(done_.next(), "mlp unloaded");
  EXPECT_EQ(done_.next(), "mlp on the host");
  EXPECT_EQ(keeper_->loaded(model), Variant::kHost);
  EXPECT_EQ(keeper_->begin(model, 4), 4);
  EXPECT_EQ(keeper_->figures().used, Bytes()) << "nothing of the device";
  EXPECT_EQ(keeper_->figures().on_host, Bytes::mebi(140));
  others_mebi_ = 740;  // 850 with the model: as full as it may be
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(keeper_->loaded(model), Variant::kHost) << "it runs";
  keeper_->end(model, 4);
  EXPECT_EQ(done_.next(), "mlp unloaded");
  EXPECT_EQ(done_.next(), "mlp loaded");
  EXPECT_EQ(keeper_->figures().on_host, Bytes());
  EXPECT_EQ(run(model, 4), 4);
}

TEST_F(MemoryKeeperUnderPressure, TheHostTakesNoMoreThanItsRoom) {
  start(Duration::hours(1), Bytes::mebi(139));
  load(memory_of(10), {.small = {}, .host = Bytes::mebi(140)});
  others_mebi_ = 850;
  EXPECT_EQ(told_.next(), "memory is 96 % full: model mlp: unload (frees 110 MiB)");
}

TEST_F(MemoryKeeperUnderPressure, AModelThatDoesNotRunOnTheHostIsUnloaded) {
  start(Duration::hours(1), Bytes::mebi(200));
  const ModelId model = load(memory_of(10), {.small = {}, .host = Bytes::mebi(140)});
  model_->runs_on_host = false;
  others_mebi_ = 850;
  EXPECT_EQ(done_.next(), "mlp unloaded");
  EXPECT_EQ(done_.next(), "mlp: it has CUDA's own operators");
  told_.next();
  EXPECT_EQ(told_.next(), "model mlp does not run on the host: it has CUDA's own operators");
  EXPECT_EQ(keeper_->figures().on_host, Bytes());
  EXPECT_EQ(keeper_->loaded(model), std::nullopt);
  comes_back_once_there_is_room(model);
}

TEST_F(MemoryKeeperUnderPressure, OneThatIsRemovedGivesTheHostsRoomBack) {
  start(Duration::hours(1), Bytes::mebi(200));
  const ModelId model = load(memory_of(10), {.small = {}, .host = Bytes::mebi(140)});
  others_mebi_ = 850;
  EXPECT_EQ(done_.next(), "mlp unloaded");
  EXPECT_EQ(done_.next(), "mlp on the host");
  keeper_->remove(model);
  EXPECT_EQ(keeper_->figures().on_host, Bytes());
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
