#include "host/file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/prng.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

std::string random_text(uint64_t seed, size_t size) {
  Prng prng(seed);
  std::string text(size, '\0');
  for (char& c : text)
    c = static_cast<char>('a' + prng.below(20));
  return text;
}

TEST(InputFile, PlainAndPackedGiveTheSameBytes) {
  const ScratchDir dir;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, size_t{1} << 20, (size_t{5} << 20) + 7}) {
    const std::string text = random_text(size, size);
    put_file(dir / "plain", text);
    put_file(dir / "packed", gzip(text));
    EXPECT_TRUE(*read_all(dir / "plain") == text) << size;
    EXPECT_TRUE(*read_all(dir / "packed") == text) << size;
  }
}

TEST(InputFile, SeveralMembersAndPaddingAreOneText) {
  const ScratchDir dir;
  put_file(dir / "a.gz", gzip("one ") + gzip("") + gzip("two") + std::string(700, '\0'));
  EXPECT_EQ(*read_all(dir / "a.gz"), "one two");
}

TEST(InputFile, CutAtAnyByteIsAnError) {
  const ScratchDir dir;
  const std::string packed = gzip(random_text(1, 300));
  for (size_t size = 2; size < packed.size(); ++size) {
    put_file(dir / "cut.gz", std::string_view(packed).substr(0, size));
    const auto text = read_all(dir / "cut.gz");
    ASSERT_FALSE(text.ok()) << size;
    EXPECT_THAT(text.error().message, HasSubstr("cut.gz"));
  }
}

TEST(InputFile, DamagedPackedBytesAreAnError) {
  const ScratchDir dir;
  std::string packed = gzip(random_text(2, 5000));
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
  put_file(dir / "damaged.gz", packed);
  const auto text = read_all(dir / "damaged.gz");
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.error().message, HasSubstr("damaged"));
}

TEST(InputFile, FingerprintIsOfTheFilesOwnBytes) {
  const ScratchDir dir;
  const std::string packed = gzip(random_text(3, 3 << 20));
  put_file(dir / "a.gz", packed);
  auto file = InputFile::open(dir / "a.gz");
  while (!file->read()->empty()) {
  }
  EXPECT_EQ(file->fingerprint(), fingerprint_of_bytes(packed));
  EXPECT_EQ(file->fingerprint(), *fingerprint_of_file(dir / "a.gz"));
  EXPECT_EQ(file->consumed_bytes(), static_cast<int64_t>(packed.size()));
  EXPECT_EQ(file->total_bytes(), static_cast<int64_t>(packed.size()));
  // XXH3-128 of no bytes, from the algorithm's published test vectors.
  EXPECT_EQ(fingerprint_of_bytes(""), "99aa06d3014798d86001c324468d497f");
}

TEST(InputFile, AbsentFilesAndFoldersAreErrors) {
  const ScratchDir dir;
  EXPECT_EQ(InputFile::open(dir / "absent").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(InputFile::open(dir / "absent").error().message, (dir / "absent") + ": there is no such file: check the name");
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(InputFile::open("absent.csv").error().message, "absent.csv: there is no such file in " + here + ": check the name");
  EXPECT_THAT(InputFile::open(dir / "").error().message, HasSubstr("folder"));
  EXPECT_FALSE(is_regular_file(dir / ""));
  EXPECT_FALSE(is_regular_file("-"));
}

TEST(WriteFileAtomically, ReplacesWholeAndKeepsTheRights) {
  const ScratchDir dir;
  const std::string path = dir / "report.html";
  ASSERT_TRUE(write_file_atomically(path, "first").ok());
  chmod(path.c_str(), 0640);
  const std::string large = random_text(4, 1 << 20);
  ASSERT_TRUE(write_file_atomically(path, large).ok());
  EXPECT_TRUE(*read_all(path) == large);
  struct stat status = {};
  stat(path.c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir / ""))
    ++files;
  EXPECT_EQ(files, 1U) << "no temporary file is left";
}

TEST(WriteFileAtomically, SaysWhyItCannot) {
  const ScratchDir dir;
  const Status written = write_file_atomically(dir / "no/folder/x", "text");
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.error().message, HasSubstr("no/folder/x"));
}

TEST(SecretFile, HoldsOneSecretWithoutTheSpaceAroundIt) {
  const ScratchDir dir;
  put_file(dir / "token", "  abc\n");
  put_file(dir / "empty", " \n");
  EXPECT_THAT(read_secret_file(dir / "token").error().message, HasSubstr("chmod 600"));
  for (const char* name : {"token", "empty"})
    std::filesystem::permissions(dir / name, std::filesystem::perms::owner_read);
  EXPECT_EQ(read_secret_file(dir / "token").value(), "abc");
  EXPECT_EQ(read_secret_file("").value(), "");
  EXPECT_EQ(read_secret_file(dir / "empty").error().message, (dir / "empty") + ": is empty: put the secret there");
  EXPECT_FALSE(read_secret_file(dir / "absent").ok());
}

}  // namespace
}  // namespace stint
