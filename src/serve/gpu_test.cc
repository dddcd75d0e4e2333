// Against the stand-in for CUDA's driver (tests/fake_cuda).
#include "serve/gpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace stint::serve {
namespace {

using ::testing::HasSubstr;

TEST(Gpu, TellsWhatIsUsedAndWhatHasComeSince) {
  setenv("FAKE_CUDA_USED_MIB", "1000", 1);
  const auto gpu = Gpu::open({}, STINT_FAKE_CUDA);
  ASSERT_TRUE(gpu.ok()) << gpu.error().message;
  setenv("FAKE_CUDA_USED_MIB", "1500", 1);
  const auto use = (*gpu)->memory({});
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(use->used, Bytes::mebi(int64_t{1500}));
  EXPECT_EQ(use->own, Bytes::mebi(int64_t{500}));
  EXPECT_EQ(use->limit, Bytes::gibi(int64_t{80}));
  EXPECT_EQ((*gpu)->memory(Bytes::mebi(int64_t{2000}))->limit, Bytes::mebi(int64_t{2000}));
  unsetenv("FAKE_CUDA_USED_MIB");
}

TEST(Gpu, OneThatIsNotThereIsSaid) {
  EXPECT_THAT(Gpu::open({.number = 1}, STINT_FAKE_CUDA).error().message,
              HasSubstr("cuda:1: this machine has 1 GPU, counted from 0"));
  EXPECT_EQ(Gpu::open({}, "/nowhere/libcuda.so.1").error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace stint::serve
