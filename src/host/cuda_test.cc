// The real loading path and the arithmetic of rates, against the stand-in library (tests/fake_cuda).
#include "host/cuda.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <stdlib.h>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

/// Three repeats, which the stand-in's clock says took 10, 20 and 30 ms.
BenchOptions small() {
  BenchOptions options;
  options.repeats = 3;
  options.copy = Bytes::mebi(int64_t{100});
  options.matrix = 1000;
  options.cublas = STINT_FAKE_CUDA;
  return options;
}

int held() {
  void* library = dlopen(STINT_FAKE_CUDA, RTLD_NOW);
  const int held = reinterpret_cast<int (*)()>(dlsym(library, "fake_cuda_held"))();
  dlclose(library);
  return held;
}

void expect_figure(const BenchFigure& figure, const char* rate, double work) {
  EXPECT_EQ(figure.rate, rate);
  EXPECT_NEAR(figure.median, work / 0.020, 1e-4 * work / 0.020);
  EXPECT_NEAR(figure.lowest, work / 0.030, 1e-4 * work / 0.030);
  EXPECT_NEAR(figure.highest, work / 0.010, 1e-4 * work / 0.010);
}

TEST(Cuda, TellsWhatOfAGpusMemoryIsInUse) {
  const Setting used("FAKE_CUDA_USED_MIB", "3000");
  {
    auto cuda = Cuda::load(STINT_FAKE_CUDA);
    ASSERT_TRUE(cuda.ok()) << cuda.error().message;
    for (int i = 0; i < 2; ++i) {
      const auto memory = cuda->memory(0);
      ASSERT_TRUE(memory.ok()) << memory.error().message;
      EXPECT_EQ(memory->used, Bytes::mebi(int64_t{3000}));
      EXPECT_EQ(memory->total, Bytes::gibi(int64_t{80}));
    }
    EXPECT_EQ(held(), 1) << "one context, kept";
  }
  EXPECT_EQ(held(), 0);
}

TEST(Cuda, RatesAreWorkByTime) {
  auto cuda = Cuda::load(STINT_FAKE_CUDA);
  ASSERT_TRUE(cuda.ok()) << cuda.error().message;
  ASSERT_THAT(cuda->gpus(), SizeIs(1));
  EXPECT_EQ(cuda->gpus()[0].name, "NVIDIA A100-SXM4-80GB");
  const auto result = cuda->measure(0, small());
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_THAT(result->figures, SizeIs(4));
  // 108 multiprocessors × 32 blocks × 256 threads, each 4,096 rounds of 64 multiply-adds of two operations.
  expect_figure(result->figures[0], "fp32_tflops", 108.0 * 32 * 256 * 4096 * 64 * 2 / 1e12);
  expect_figure(result->figures[1], "memory_gb_s", 2 * 104857600.0 / 1e9);  // read and written
  expect_figure(result->figures[2], "16bit_tflops", 2e9 / 1e12);            // 2 × 1000³
  expect_figure(result->figures[3], "tf32_tflops", 2e9 / 1e12);
  EXPECT_THAT(result->absent, IsEmpty());
  EXPECT_EQ(held(), 0) << "everything is given back";
}

TEST(Cuda, WhatCannotBeMeasuredIsAbsentWithItsReason) {
  auto cuda = Cuda::load(STINT_FAKE_CUDA);
  BenchOptions options = small();
  options.cublas = "libno-such-thing.so";
  const auto without = cuda->measure(0, options);
  ASSERT_TRUE(without.ok()) << without.error().message;
  EXPECT_THAT(without->figures, SizeIs(2));
  EXPECT_THAT(without->absent, ElementsAre(HasSubstr("install libcublas")));
  {
    const Setting old("FAKE_CUDA_CAPABILITY", "7");
    const auto volta = cuda->measure(0, small());
    ASSERT_TRUE(volta.ok());
    EXPECT_THAT(volta->figures, SizeIs(3));
    EXPECT_THAT(volta->absent, ElementsAre(HasSubstr("tf32")));
  }
  const Setting fail("FAKE_CUDA_FAIL", "cublas");
  const auto refused = cuda->measure(0, small());
  ASSERT_TRUE(refused.ok()) << refused.error().message;
  EXPECT_THAT(refused->figures, SizeIs(2));
  EXPECT_THAT(refused->absent, ElementsAre(HasSubstr("code 15"), HasSubstr("code 15")));
  EXPECT_EQ(held(), 0);
}

TEST(Cuda, AbsenceSaysWhatToDo) {
  const auto absent = Cuda::load("libno-such-thing.so.1");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(absent.error().message, HasSubstr("install the NVIDIA driver"));
  EXPECT_THAT(Cuda::load("libz.so.1").error().message, HasSubstr("no CUDA driver"));
  {
    const Setting fail("FAKE_CUDA_FAIL", "init");
    EXPECT_THAT(Cuda::load(STINT_FAKE_CUDA).error().message, HasSubstr("run where a GPU is"));
  }
  const Setting none("FAKE_CUDA_GPUS", "0");
  EXPECT_THAT(Cuda::load(STINT_FAKE_CUDA).error().message, HasSubstr("there is no GPU"));
}

TEST(Cuda, FullGpuIsAnErrorAndNothingStaysHeld) {
  auto cuda = Cuda::load(STINT_FAKE_CUDA);
  const Setting fail("FAKE_CUDA_FAIL", "memory");
  const auto result = cuda->measure(0, small());
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("measure on an idle GPU"));
  EXPECT_EQ(held(), 0);
}

}  // namespace
}  // namespace stint
