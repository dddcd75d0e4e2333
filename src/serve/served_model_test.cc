// A served model that follows what its batches take and what load it gets.
#include "serve/served_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include "host/scratch_dir.h"
#include "host/testing_files.h"
#include "serve/shadow.h"

namespace stint::serve {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Is answered well when it is answered with what it asked.
class OneCall : public InferCall {
 public:
  explicit OneCall(std::promise<bool>& answered, float value = 0, bool apart = false)
      : answered_(answered), value_(value), apart_(apart) {}
  [[nodiscard]] std::span<const std::byte> input(size_t /*input*/) const override { return std::as_bytes(std::span(&value_, 1)); }
  [[nodiscard]] bool keeps_apart() const override { return apart_; }
  void answer(std::span<const OutputRows> outputs) override {
    answered_.set_value(std::ranges::equal(outputs[0].values, input(0)) && std::ranges::equal(outputs[0].item_shape, Shape{1}));
  }
  void refuse(batching::RefusalReason /*reason*/) override { answered_.set_value(false); }
  void fail(const Error& /*error*/) override { answered_.set_value(false); }

 private:
  std::promise<bool>& answered_;
  const float value_;
  const bool apart_;
};

class ServedModelTest : public ::testing::Test {
 protected:
  /// The keeper may be the last to let go of a model, too: it ends before what models work with.
  ~ServedModelTest() override { memory_->stop(); }

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

  /// Waits until it has counted so many, which is soon after they have their answers.
  static int64_t answered_by(const ServedModel& model, int64_t expected) {
    for (int patience = 0; patience < 60'000 && model.figures().answered < expected; ++patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return model.figures().answered;
  }

  ScratchDir dir_;
  std::unique_ptr<MemoryKeeper> memory_ = MemoryKeeper::create({.room = Bytes::mebi(1024)}, {}).value();
  WakeTimer timer_;
  ResponseCache cache_{Bytes::mebi(1), {1, 1}};  // models that the pool is the last to let go of forget what they keep
  WorkerPool pool_{2};
  ServeTools tools_{pool_, timer_, *memory_, cache_, {1, 1}};
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
    model->submit(std::make_unique<OneCall>(answered[i], 0.0F, i % 2 == 0), {});
  for (std::promise<bool>& one : answered)
    ASSERT_TRUE(one.get_future().get());
  EXPECT_EQ(model->figures().items, 8);
  EXPECT_EQ(model->figures().batches, 2);
}

/// Floats of one output, and what is asked with them, as rows.
class Rows {
 public:
  explicit Rows(std::vector<float> values, Shape item = {1}) : values_(std::move(values)), item_(std::move(item)) {}
  operator std::vector<OutputRows>() const {
    return {{std::as_bytes(std::span(values_)), item_}};
  }  // NOLINT(google-explicit-constructor)

 private:
  std::vector<float> values_;
  Shape item_;
};

TEST(AnswerDifference, IsOfItemsByTheLargestValueOfEach) {
  const std::vector<TensorSpec> outputs = {{.name = "y", .item_shape = {2}}};
  const auto seen = [&](std::vector<float> a, std::vector<float> b, double tolerance = 0.01) {
    const auto items = static_cast<int64_t>(a.size() / 2);
    const Rows first(std::move(a), {2}), second(std::move(b), {2});
    return difference_of(outputs, items, std::vector<OutputRows>(first), std::vector<OutputRows>(second), tolerance);
  };
  const AnswerDifference small = seen({100, 1, 5, 4}, {100, 1.5, 5, 4});
  EXPECT_EQ(small.items, 2);
  EXPECT_EQ(small.apart, 0);
  EXPECT_NEAR(small.largest, 0.005, 1e-6);
  EXPECT_EQ(seen({100, 1, 5, 4}, {100, 1.5, 5, 4}, 0.004).apart, 1);
  const AnswerDifference other = seen({100, 1, 5, 4}, {100, 1, 4, 5});
  EXPECT_EQ(other.apart, 1);
  EXPECT_EQ(other.other_choice, 1);
  EXPECT_NEAR(other.largest, 0.2, 1e-6);
  EXPECT_EQ(seen({NAN, 1}, {NAN, 1}).apart, 0);
  EXPECT_EQ(seen({NAN, 1}, {0, 1}).largest, 2);
  EXPECT_EQ(seen({0, 0}, {0, 0}).apart, 0);
  EXPECT_EQ(seen({0, 0}, {0, 1e-9F}).largest, 1);
}

TEST(AnswerDifference, IntegersAndTextsAreTheSameOrNot) {
  const auto seen = [](DataType type, std::vector<int64_t> a, std::vector<int64_t> b) {
    const Shape item = {1};
    const std::vector<OutputRows> first = {{std::as_bytes(std::span(a)), item}}, second = {{std::as_bytes(std::span(b)), item}};
    return difference_of({{.name = "y", .type = type, .item_shape = item}}, std::ssize(a), first, second, 0.01);
  };
  // Beyond what a float tells apart.
  EXPECT_EQ(seen(DataType::kInt64, {int64_t{1} << 40, 7}, {(int64_t{1} << 40) + 1, 7}).apart, 1);
  EXPECT_EQ(seen(DataType::kInt64, {3, 7}, {3, 7}).apart, 0);
  EXPECT_EQ(seen(DataType::kBytes, {3, 7}, {3, 8}).apart, 2) << "whose text it is, is not known";
  EXPECT_EQ(seen(DataType::kBytes, {3, 7}, {3, 7, 8}).largest, 2);
}

class ShadowTest : public ServedModelTest {
 protected:
  std::shared_ptr<Shadow> shadow(int64_t percent, uint64_t room = 1 << 20) {
    return std::make_shared<Shadow>(ServedShadow{.version = 2, .percent = percent}, serve({}, Duration::milliseconds(2)), pool_,
                                    ByteBudget::of(room));
  }
  /// As another version would that answers all with `answer`. @return whether that was what was asked
  static bool ask(Shadow& shadow, float value, float answer) {
    std::promise<bool> answered;
    const auto call = shadow.follow(std::make_unique<OneCall>(answered, value), {});
    const Rows rows({answer});
    call->answer(std::vector<OutputRows>(rows));
    return answered.get_future().get();
  }
  static AnswerDifference seen(const Shadow& shadow, int64_t items) {
    for (int patience = 0; patience < 60'000 && shadow.figures().seen.items < items; ++patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return shadow.figures().seen;
  }
};

TEST_F(ShadowTest, SaysHowManyAnswersAreOthers) {
  const auto other = shadow(100);
  EXPECT_TRUE(ask(*other, 1, 1));
  EXPECT_FALSE(ask(*other, 4, 3)) << "the client gets what the first version says";
  const AnswerDifference both = seen(*other, 2);
  EXPECT_EQ(both.items, 2);
  EXPECT_EQ(both.apart, 1);
  EXPECT_NEAR(both.largest, 0.25, 1e-6);
}

TEST_F(ShadowTest, AnswersItsPartOfEachHundred) {
  const auto other = shadow(7);
  for (int i = 0; i < 200; ++i)
    EXPECT_TRUE(ask(*other, 1, 1));
  EXPECT_EQ(seen(*other, 14).items, 14);
}

TEST_F(ShadowTest, WhatHasNoRoomIsLeftOutAndCounted) {
  const auto other = shadow(100, 4);
  EXPECT_TRUE(ask(*other, 1, 1));
  EXPECT_EQ(other->figures().left_out, 1);
  EXPECT_EQ(other->figures().seen.items, 0);
}

TEST_F(ShadowTest, WhatWasRefusedOrFailedIsNotAskedAgain) {
  const auto other = shadow(100);
  std::promise<bool> refused, failed;
  other->follow(std::make_unique<OneCall>(refused), {})->refuse(batching::RefusalReason::kQueueFull);
  other->follow(std::make_unique<OneCall>(failed), {})->fail(make_error(ErrorCode::kInternal, "broken"));
  EXPECT_FALSE(refused.get_future().get());
  EXPECT_FALSE(failed.get_future().get());
  EXPECT_TRUE(ask(*other, 1, 1));
  EXPECT_EQ(seen(*other, 1).items, 1);
}

class CachedModelTest : public ServedModelTest {
 protected:
  /// Waits for its answer. @return whether it was that to what was asked
  static bool ask_for(ServedModel& model, float value, bool apart = false, uint32_t tenant = 0) {
    std::promise<bool> answered;
    model.submit(std::make_unique<OneCall>(answered, value, apart), {.tenant = batching::TenantId(tenant)});
    return answered.get_future().get();
  }
  /// Hits, misses and joined.
  static std::array<int64_t, 3> counts(const ServedModel& model) {
    const ServeFigures figures = model.figures();
    return {figures.cache_hits, figures.cache_misses, figures.cache_joined};
  }
  /// Two different requests run at once, a single one not before an hour is over.
  static ServedModelConfig in_pairs() {
    ServedModelConfig config;
    config.cache = true;
    config.max_batch = 2;
    config.max_wait = Duration::hours(1);
    return config;
  }
};

TEST_F(CachedModelTest, WhatWasAskedBeforeIsNotComputedAgain) {
  const auto model = serve({.cache = true}, Duration::milliseconds(2));
  for (const float value : {1.0F, 2.0F, 1.0F, 1.0F, 2.0F})
    EXPECT_TRUE(ask_for(*model, value));
  EXPECT_THAT(counts(*model), ElementsAre(3, 2, 0));
  EXPECT_EQ(model->figures().batches, 2);
  EXPECT_EQ(answered_by(*model, 5), 5);
  EXPECT_EQ(cache_.figures().answers, 2);
}

TEST_F(CachedModelTest, NothingIsKeptUnlessItIsAskedFor) {
  const auto model = serve({}, Duration::milliseconds(2));
  EXPECT_TRUE(ask_for(*model, 1));
  EXPECT_TRUE(ask_for(*model, 1));
  EXPECT_THAT(counts(*model), ElementsAre(0, 0, 0));
  EXPECT_EQ(model->figures().batches, 2);
}

TEST_F(CachedModelTest, NoTenantIsAnsweredByWhatAnotherAsked) {
  const auto model = serve({.cache = true}, Duration::milliseconds(2));
  for (const uint32_t tenant : {0U, 1U, 1U, 0U})
    EXPECT_TRUE(ask_for(*model, 1, false, tenant));
  EXPECT_THAT(counts(*model), ElementsAre(2, 2, 0));
}

TEST_F(CachedModelTest, WhatMayBeSpoiltIsNotKept) {
  const auto model = serve({.cache = true}, Duration::milliseconds(2));
  EXPECT_TRUE(ask_for(*model, 1, true));
  EXPECT_TRUE(ask_for(*model, 1, true));
  EXPECT_THAT(counts(*model), ElementsAre(0, 0, 0));
}

TEST_F(CachedModelTest, WhatAVariantAnsweredIsNotKeptAndNothingOutlivesItsModel) {
  auto model = serve({.cache = true}, Duration::milliseconds(2));
  EXPECT_TRUE(ask_for(*model, 1));
  ASSERT_TRUE(model->load(Variant::kHost).ok());
  EXPECT_TRUE(ask_for(*model, 2));
  EXPECT_TRUE(ask_for(*model, 2));
  EXPECT_TRUE(ask_for(*model, 1)) << "the whole model's answer stands";
  EXPECT_THAT(counts(*model), ElementsAre(1, 3, 0));
  ASSERT_TRUE(model->load(Variant::kWhole).ok());
  EXPECT_TRUE(ask_for(*model, 2));
  EXPECT_EQ(cache_.figures().answers, 2);
  const auto reloaded = serve({.cache = true}, Duration::milliseconds(2));
  EXPECT_TRUE(ask_for(*reloaded, 1));
  EXPECT_THAT(counts(*reloaded), ElementsAre(0, 1, 0));
  EXPECT_EQ(cache_.figures().answers, 3);
  cache_.forget(0);
  EXPECT_EQ(cache_.figures().answers, 3) << "of nobody";
}

TEST_F(CachedModelTest, EqualRequestsAtTheSameTimeAreComputedOnce) {
  const auto model = serve(in_pairs(), Duration::milliseconds(2));
  std::vector<std::promise<bool>> answered(5);
  const std::array<float, 5> values = {1, 1, 1, 1, 2};
  for (size_t i = 0; i < values.size(); ++i)
    model->submit(std::make_unique<OneCall>(answered[i], values[i]), {});
  for (std::promise<bool>& one : answered)
    EXPECT_TRUE(one.get_future().get());
  EXPECT_THAT(counts(*model), ElementsAre(0, 2, 3));
  EXPECT_EQ(model->figures().items, 2);
  EXPECT_EQ(answered_by(*model, 5), 5);
}

TEST_F(CachedModelTest, WhoWaitsForOneThatGoesAwayIsComputedInItsPlace) {
  const auto model = serve(in_pairs(), Duration::milliseconds(2));
  std::vector<std::promise<bool>> answered(4);
  const batching::RequestId first = model->submit(std::make_unique<OneCall>(answered[0], 1.0F), {});
  const batching::RequestId second = model->submit(std::make_unique<OneCall>(answered[1], 1.0F), {});
  model->submit(std::make_unique<OneCall>(answered[2], 1.0F), {});
  model->cancel(first);
  model->cancel(second);
  EXPECT_EQ(model->open_calls(), 1);
  model->submit(std::make_unique<OneCall>(answered[3], 2.0F), {});
  EXPECT_TRUE(answered[2].get_future().get());
  EXPECT_TRUE(answered[3].get_future().get());
  EXPECT_EQ(model->figures().cancelled, 2);
  EXPECT_EQ(model->figures().items, 2);
}

TEST_F(CachedModelTest, WhoHasLessTimeDoesNotWaitForAnother) {
  const auto model = serve(in_pairs(), Duration::milliseconds(2));
  std::vector<std::promise<bool>> answered(2);
  model->submit(std::make_unique<OneCall>(answered[0], 1.0F), {});
  model->submit(std::make_unique<OneCall>(answered[1], 1.0F), {.timeout = Duration::hours(2)});
  for (std::promise<bool>& one : answered)
    EXPECT_TRUE(one.get_future().get());
  EXPECT_THAT(counts(*model), ElementsAre(0, 2, 0));
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
