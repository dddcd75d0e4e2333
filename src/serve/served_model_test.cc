// A served model that follows what its batches take and what load it gets.
#include "serve/served_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <future>

#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint::serve {
namespace {

using testing::HasSubstr;

class OneCall : public InferCall {
 public:
  explicit OneCall(std::promise<bool>& answered, bool apart = false) : answered_(answered), apart_(apart) {}
  [[nodiscard]] std::span<const std::byte> input(size_t /*input*/) const override { return std::as_bytes(std::span(&value_, 1)); }
  [[nodiscard]] bool keeps_apart() const override { return apart_; }
  void answer(std::span<const OutputRows> /*outputs*/) override { answered_.set_value(true); }
  void refuse(batching::RefusalReason /*reason*/) override { answered_.set_value(false); }
  void fail(const Error& /*error*/) override { answered_.set_value(false); }

 private:
  std::promise<bool>& answered_;
  float value_ = 0;
  const bool apart_;
};

class ServedModelTest : public ::testing::Test {
 protected:
  /// A batch takes 2 ms, whatever was measured; the host is said to take ten times as long.
  std::shared_ptr<ServedModel> serve(const ServedModelConfig& config, Duration measured) {
    put_file(dir_ / "model.synthetic.json",
             R"({"inputs": [{"name": "x", "shape": [1]}], "outputs": [{"name": "y", "shape": [1]}], "base_us": 2000})");
    Result<ModelSource> source = ModelSource::find(dir_ / ".", nullptr);
    CHECK(source.ok(), "{}", source.error().message);
    MeasuredModel facts = *measure_model(*source, config);
    ServedVariants variants;
    for (const auto& [variant, took] : {std::pair(Variant::kWhole, measured), {Variant::kHost, measured * 10}}) {
      facts.latency = *batching::LatencyProfile::create({{1, {took}}, {config.max_batch, {took}}});
      variants[static_cast<size_t>(variant)] = {*source, facts};
    }
    auto model = ServedModel::create("test", std::move(variants), config, tools_);
    CHECK(model.ok(), "{}", model.error().message);
    return *model;
  }
  /// One after the other.
  static void ask(ServedModel& model, size_t times) {
    for (size_t i = 0; i < times; ++i) {
      std::promise<bool> answered;
      model.submit(std::make_unique<OneCall>(answered), {});
      ASSERT_TRUE(answered.get_future().get());
    }
  }

  ScratchDir dir_;
  std::unique_ptr<MemoryKeeper> memory_ = MemoryKeeper::create({.room = Bytes::mebi(1024)}, {}).value();
  WakeTimer timer_;
  WorkerPool pool_{2};
  ServeTools tools_{pool_, timer_, *memory_, {1}};
};

TEST_F(ServedModelTest, FollowsWhatItsBatchesTake) {
  ServedModelConfig config;
  config.promise = Duration::milliseconds(50);
  const auto model = serve(config, Duration::milliseconds(1));
  EXPECT_FALSE(model->retune());
  const double promised = model->figures().most_per_second;
  ask(*model, batching::LatencyWatch::kSeen);
  const auto told = model->retune();
  ASSERT_TRUE(told);
  EXPECT_THAT(*told, HasSubstr("times as long"));
  const ServeFigures figures = model->figures();
  EXPECT_GT(figures.latency_ratio, 1.9);
  EXPECT_LT(figures.most_per_second, promised * 0.7);
  EXPECT_EQ(figures.preferred_batch, config.max_batch) << "how it batches is as configured";
  EXPECT_EQ(figures.retunes, 1);
  ask(*model, 1);
}

TEST_F(ServedModelTest, WhatKeepsApartSharesBatchesWithItsLikeAlone) {
  ServedModelConfig config;
  config.max_batch = 8;
  config.max_wait = Duration::hours(1);  // so that they are run when they are eight
  const auto model = serve(config, Duration::milliseconds(2));
  std::vector<std::promise<bool>> answered(8);
  for (size_t i = 0; i < answered.size(); ++i)
    model->submit(std::make_unique<OneCall>(answered[i], i % 2 == 0), {});
  for (std::promise<bool>& one : answered)
    ASSERT_TRUE(one.get_future().get());
  EXPECT_EQ(model->figures().items, 8);
  EXPECT_EQ(model->figures().batches, 2);
}

TEST_F(ServedModelTest, PromisesWhatTheVariantThatIsLoadedCanKeep) {
  ServedModelConfig config;
  config.promise = Duration::milliseconds(100);
  const auto model = serve(config, Duration::milliseconds(2));
  ask(*model, 1);
  const double promised = model->figures().most_per_second;
  ASSERT_TRUE(model->load(Variant::kHost).ok());
  EXPECT_LT(model->figures().most_per_second, promised / 5);
  ask(*model, batching::LatencyWatch::kSeen);
  ASSERT_TRUE(model->retune());
  EXPECT_LT(model->figures().latency_ratio, 0.5) << "as against the host's times, which are too long";
  ASSERT_TRUE(model->load(Variant::kWhole).ok());
  EXPECT_EQ(model->figures().most_per_second, promised);
  EXPECT_EQ(model->figures().latency_ratio, 1);
}

TEST_F(ServedModelTest, ShortensAWaitThatBreaksItsPromise) {
  ServedModelConfig config;
  config.promise = Duration::milliseconds(50);
  config.max_wait = Duration::milliseconds(80);
  config.max_batch = 8;
  config.tune = true;
  const auto model = serve(config, Duration::milliseconds(2));
  EXPECT_LT(model->figures().max_wait, Duration::milliseconds(50)) << "as configured every request would be late";
  std::vector<std::promise<bool>> answered(200);
  for (std::promise<bool>& one : answered)
    model->submit(std::make_unique<OneCall>(one), {});
  for (std::promise<bool>& one : answered)
    ASSERT_TRUE(one.get_future().get());
  ASSERT_TRUE(model->retune());
  EXPECT_LT(model->figures().max_wait, Duration::milliseconds(50));
  EXPECT_GT(model->figures().most_per_second, 50);
}

}  // namespace
}  // namespace stint::serve
