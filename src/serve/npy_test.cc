#include "serve/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace stint::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// As numpy 1.24 writes numpy.array([[1, -2]], dtype="<i8").
std::string numpy_int64() {
  std::string header = "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }";
  header.resize(117, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00v\x00", 10);  // v = 118
  const std::array<int64_t, 2> values = {1, -2};
  return file + header + std::string(reinterpret_cast<const char*>(values.data()), sizeof values);
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const auto read = read_npy(numpy_int64(), "y.npy");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(read->shape, ElementsAre(1, 2));
  EXPECT_THAT(read->values, ElementsAre(1, -2));
}

TEST(Npy, ReadsWhatItWrites) {
  const std::array<float, 6> values = {1, 2, 3, 4, 5, 6.5F};
  const std::string file = write_npy(std::array<int64_t, 2>{2, 3}, values);
  EXPECT_EQ((file.size() - sizeof values) % 64, 0U);  // the values are aligned, as the format asks
  const auto read = read_npy(file, "x.npy");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_THAT(read->shape, ElementsAre(2, 3));
  EXPECT_THAT(read->values, ElementsAre(1, 2, 3, 4, 5, 6.5F));
}

TEST(Npy, RefusesWhatIsCutOffOrOtherwise) {
  const std::string file = numpy_int64();
  for (size_t length = 0; length < file.size(); ++length)
    EXPECT_FALSE(read_npy(std::string_view(file).substr(0, length), "y.npy").ok()) << length;
  std::string fortran = file;
  fortran.replace(fortran.find("False"), 5, "True ");
  EXPECT_THAT(read_npy(fortran, "y.npy").error().message, HasSubstr("Fortran"));
  std::string huge = file;
  huge.replace(huge.find("(1, 2)"), 6, "(9e99,");
  EXPECT_FALSE(read_npy(huge, "y.npy").ok());
}

}  // namespace
}  // namespace stint::serve
