#include "collect/archive.h"

#include <gmock/gmock.h>

#include "collect/testing_zip.h"

namespace stint {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Files = std::vector<std::pair<std::string, std::string>>;

/// What a reader tells when it is fed pieces of this size.
Result<Files> unpack(const std::string& name, ArchiveKind kind, std::string_view bytes, size_t piece) {
  Files files;
  TRY(read_archive(name, kind,
                   [&]() -> Result<std::string_view> {
                     const std::string_view next = bytes.substr(0, piece);
                     bytes.remove_prefix(next.size());
                     return next;
                   },
                   {.begin = [&](const std::string& file) { return files.emplace_back(file, ""), Status(); },
                    .data = [&](std::string_view part) { return files.back().second += part, Status(); },
                    .end = [] { return Status(); }}));
  return files;
}
Result<Files> unzip(std::string_view bytes, size_t piece) { return unpack("a.zip", ArchiveKind::kZip, bytes, piece); }
Result<Files> untar(std::string_view bytes, size_t piece) { return unpack("a.tar", ArchiveKind::kTar, bytes, piece); }

std::string tar(const Files& files) {
  std::string out;
  TarWriter writer([&](std::string_view bytes) { return out += bytes, Status(); });
  for (const auto& [name, text] : files) {
    EXPECT_TRUE(writer.begin(name, text.size(), 1'700'000'000).ok());
    EXPECT_TRUE(writer.data(text).ok());
  }
  EXPECT_TRUE(writer.finish().ok());
  return out;
}

TEST(Zip, FilesComeOutWhereverThePiecesAreCut) {
  const Files files = {{"bill/part-1.csv", std::string(5000, 'a') + "end"}, {"bill/part-2.csv", "x,y\n1,2\n"}, {"empty.csv", ""}};
  for (const ZipSizes sizes : {ZipSizes::kBefore, ZipSizes::kAfter})
    for (const size_t piece : {size_t{1}, size_t{7}, size_t{1} << 20}) {
      const auto out = unzip(zip(files, sizes), piece);
      ASSERT_TRUE(out.ok()) << out.error().message;
      EXPECT_EQ(*out, files);
    }
}

TEST(Zip, FoldersArePassedOver) {
  const auto out = unzip(zip({{"bill/", ""}, {"bill/a.csv", "a"}}), 64);
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ(*out, Files({{"bill/a.csv", "a"}}));
}

TEST(Zip, CutOffAnywhereIsAnError) {
  const std::string whole = zip({{"a.csv", "a,b\n1,2\n"}});
  const size_t directory = whole.find("PK\x01\x02");
  for (size_t size = 4; size < directory; ++size)
    EXPECT_FALSE(unzip(whole.substr(0, size), 16).ok()) << size;
}

TEST(Zip, AChangedByteIsAnErrorOrChangesNoContent) {
  const Files files = {{"a.csv", "a,b\n1,2\n"}};
  const std::string whole = zip(files);
  for (size_t at = 0; at < whole.find("PK\x01\x02"); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x21);
    const auto out = unzip(changed, 16);
    if (!out.ok()) continue;
    for (const auto& file : *out)
      EXPECT_EQ(file.second, files[0].second) << at;
  }
}

TEST(Zip, EncryptedAndOtherwisePackedFilesAreNamed) {
  std::string encrypted = zip({{"a.csv", "a"}});
  encrypted[6] = 1;
  EXPECT_THAT(unzip(encrypted, 64).error().message, HasSubstr("a.csv: is encrypted"));
  std::string other = zip({{"a.csv", "a"}});
  other[8] = 9;
  EXPECT_THAT(unzip(other, 64).error().message, AllOf(HasSubstr("a.csv: cannot be unpacked"), HasSubstr("method (9")));
}

TEST(Zip, ABombIsRefusedBeforeItIsUnpacked) {
  // 80 MiB of zeros pack to 80 KiB: 1,000 times.
  const auto out =
      unzip(zip({{"a.csv", std::string(size_t{80} << 20, '0')}, {"b.csv", std::string(size_t{80} << 20, '0')}}), 1 << 16);
  ASSERT_FALSE(out.ok());
  EXPECT_THAT(out.error().message, HasSubstr("unpacks to more than 250 times its size"));
}

TEST(Zip, ManySmallBombsAreOneBomb) {
  Files files;
  for (int i = 0; i < 12; ++i)
    files.emplace_back(std::to_string(i), std::string(size_t{12} << 20, '0'));
  const auto out = unzip(zip(files), 1 << 16);
  ASSERT_FALSE(out.ok());
  EXPECT_THAT(out.error().message, HasSubstr("a.zip: unpacks"));
}

TEST(Zip, WhatItsBeginningTells) {
  EXPECT_EQ(archive_kind(zip({{"a.csv", "a"}})), ArchiveKind::kZip);
  EXPECT_EQ(archive_kind(tar({{"a.csv", "a"}})), ArchiveKind::kTar);
  EXPECT_EQ(archive_kind("time,value\n1,2\n"), ArchiveKind::kNone);
  EXPECT_EQ(archive_kind(""), ArchiveKind::kNone);
}

TEST(Tar, FilesComeOutWhereverThePiecesAreCut) {
  const Files files = {{"bill/part-1.csv", std::string(5000, 'a') + "end"},
                       {std::string(150, 'n') + ".csv", "a name longer than a header has room for"},
                       {"empty.csv", ""}};
  const std::string whole = tar(files);
  EXPECT_EQ(whole, tar(files)) << "the same files are the same bytes";
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{512}, size_t{1} << 20}) {
    const auto out = untar(whole, piece);
    ASSERT_TRUE(out.ok()) << out.error().message;
    EXPECT_EQ(*out, files);
  }
}

TEST(Tar, CutOffAnywhereIsAnError) {
  const std::string whole = tar({{"a.csv", "a,b\n1,2\n"}, {"b.csv", "c"}});
  for (size_t size = 512; size <= 4 * 512; size += 64)
    EXPECT_FALSE(untar(whole.substr(0, size), 100).ok()) << size;
}

TEST(Tar, AnErrorOfTheSourceOrTheReaderIsPassedOn) {
  const std::string whole = tar({{"a.csv", "a"}});
  const ArchiveEvents none = {.begin = [](const std::string&) { return Status(); },
                              .data = [](std::string_view) { return Status(); },
                              .end = [] { return Status(); }};
  const Status read =
      read_archive("a.tar", ArchiveKind::kTar, []() -> Result<std::string_view> { return invalid("no disk"); }, none);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "no disk");
  ArchiveEvents refusing = none;
  refusing.data = [](std::string_view) -> Status { return invalid("bad row"); };
  std::string_view left = whole;
  const Status refused = read_archive(
      "a.tar", ArchiveKind::kTar, [&]() -> Result<std::string_view> { return std::exchange(left, std::string_view()); },
      refusing);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "bad row");
}

}  // namespace
}  // namespace stint
