#include "collect/zip.h"

#include <gmock/gmock.h>

#include "collect/testing_zip.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using Files = std::vector<std::pair<std::string, std::string>>;

/// What a reader tells when it is fed pieces of this size.
Result<Files> unzip(std::string_view bytes, size_t piece) {
  Files files;
  ZipReader reader("a.zip", {.begin = [&](const std::string& name) { return files.emplace_back(name, ""), Status(); },
                             .data = [&](std::string_view part) { return files.back().second += part, Status(); },
                             .end = [] { return Status(); }});
  for (size_t at = 0; at < bytes.size(); at += piece)
    TRY(reader.feed(bytes.substr(at, piece)));
  TRY(reader.finish());
  return files;
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
  EXPECT_THAT(unzip(other, 64).error().message, HasSubstr("method 9"));
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

}  // namespace
}  // namespace stint
