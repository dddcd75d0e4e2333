#include "backends/output_order.h"

#include <gmock/gmock.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "host/scratch_dir.h"

namespace stint {
namespace {

constexpr int64_t kAll = 1 << 20;

class Output : public testing::Test {
 protected:
  Output() : files_(output_files(dir_ / "17.0.0")) {
    print("");
    complain("");
  }
  void print(std::string_view text) const { std::ofstream(files_.output, std::ios::app) << text; }
  void complain(std::string_view text) const { std::ofstream(files_.error, std::ios::app) << text; }
  [[nodiscard]] std::string merged(bool ended, int64_t offset = 0, int64_t limit = kAll) const {
    const auto piece = read_merged_log(files_, offset, limit, ended);
    return piece.ok() ? piece->bytes : "error: " + piece.error().message;
  }
  [[nodiscard]] size_t notes() const { return std::filesystem::file_size(files_.order) / 34; }

  ScratchDir dir_;
  OutputFiles files_;
};

TEST_F(Output, IsReadInTheOrderInWhichItCame) {
  OutputOrder order(files_);
  print("one\n");
  order.look();
  complain("two\n");
  order.look();
  print("three\n");
  complain("four\n");  // between the same two looks: output first
  order.look();
  EXPECT_EQ(merged(false), "one\ntwo\nthree\nfour\n");
  order.finish();
  EXPECT_EQ(merged(true), "one\ntwo\nthree\nfour\n");
}

TEST_F(Output, BeyondALimitTheOldestGoesAndWhatIsLeftStaysWhereItIs) {
  OutputOrder order(files_);
  const OutputCap cap(files_, Bytes::mebi(1));
  std::string lines;
  while (lines.size() < (3U << 20))
    lines += fmt::format("line {}\n", lines.size());
  print(lines);
  complain("error\n");
  order.look();
  cap.hold();
  struct stat status = {};
  ASSERT_EQ(stat(files_.output.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, static_cast<off_t>(lines.size()));
  EXPECT_LE(status.st_blocks * 512, 1 << 20);
  const auto left = read_log(files_.output, 0, 10 << 20);
  ASSERT_TRUE(left.ok());
  EXPECT_EQ(left->size, static_cast<int64_t>(lines.size()));
  EXPECT_GE(left->bytes.size(), size_t{1} << 19) << "half of the limit is kept";
  EXPECT_EQ(left->bytes, lines.substr(static_cast<size_t>(left->offset)));
  order.finish();
  // Merged: what is gone of one stream is passed over, the other is whole; in pieces of any size.
  EXPECT_EQ(merged(true, 0, 10 << 20), left->bytes + "error\n");
  std::string pieces;
  for (int64_t at = 0;;) {
    const auto piece = read_merged_log(files_, at, 100'000, true);
    ASSERT_TRUE(piece.ok());
    pieces += piece->bytes;
    at = piece->offset + static_cast<int64_t>(piece->bytes.size());
    if (at >= piece->size) break;
  }
  EXPECT_EQ(pieces, left->bytes + "error\n");
}

TEST_F(Output, LinesAreNotTorn) {
  OutputOrder order(files_);
  print("begun ");
  order.look();
  complain("warning\n");
  order.look();
  EXPECT_EQ(merged(false), "warning\n");
  print("and done\n10 %\r");
  order.look();
  EXPECT_EQ(merged(false), "warning\nbegun and done\n10 %\r");
  print("no end");
  order.finish();
  EXPECT_EQ(merged(true), "warning\nbegun and done\n10 %\rno end");
}

/// Whoever follows asks for what comes behind that of which they have read.
TEST_F(Output, WhatWasReadStaysAsItWas) {
  OutputOrder order(files_);
  std::string before;
  for (int i = 0; i < 50; ++i) {
    if (i % 3 != 0) print(fmt::format("out {}\nhalf", i));
    if (i % 5 != 0) complain(fmt::format("err {}\n", i));
    order.look();
    const std::string now = merged(false);
    EXPECT_TRUE(now.starts_with(before)) << i;
    before = now;
  }
  order.finish();
  EXPECT_TRUE(merged(true).starts_with(before));
}

TEST_F(Output, IsReadInPiecesAndFromTheEnd) {
  OutputOrder order(files_);
  print("abc\n");
  order.look();
  complain("def\n");
  order.look();
  print("ghi\n");
  order.finish();
  std::string whole;
  for (int64_t at = 0; at < 12; at += 5)
    whole += merged(true, at, 5);
  EXPECT_EQ(whole, "abc\ndef\nghi\n");
  EXPECT_EQ(merged(true, -6), "f\nghi\n");
  EXPECT_EQ(merged(true, -100), whole);
  EXPECT_EQ(merged(true, 100), "");
}

TEST_F(Output, OneStreamNeedsOneNote) {
  OutputOrder order(files_);
  for (int i = 0; i < 100; ++i) {
    print("step\n");
    order.look();
  }
  EXPECT_EQ(notes(), 1u);
  complain("x\n");
  order.look();
  for (int i = 0; i < 100; ++i) {
    print("step\n");
    order.look();
  }
  EXPECT_EQ(notes(), 3u);
  EXPECT_EQ(merged(false).size(), 200 * 5 + 2u);
}

TEST_F(Output, WithoutNotesErrorsStandBehind) {
  print("out\n");
  complain("err\n");
  EXPECT_EQ(merged(false), "out\n");
  EXPECT_EQ(merged(true), "out\nerr\n");
  std::ofstream(files_.order) << "no note at all, but as long as one is\n";
  EXPECT_EQ(merged(true), "out\nerr\n");
}

TEST_F(Output, OfATaskWithAFileOfItsOwnTheOtherStreamIsThere) {
  OutputFiles files = files_;
  files.output = "";
  OutputOrder order(files);
  complain("err\n");
  order.finish();
  const auto piece = read_merged_log(files, 0, kAll, true);
  ASSERT_TRUE(piece.ok());
  EXPECT_EQ(piece->bytes, "err\n");
}

TEST_F(Output, ItsGrowthIsToldByTheKernel) {
  OutputOrder order(files_);
  ASSERT_GE(order.descriptor(), 0);
  print("x\n");
  char event[256];
  EXPECT_GT(::read(order.descriptor(), event, sizeof event), 0);
}

}  // namespace
}  // namespace stint
