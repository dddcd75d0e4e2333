#include "host/sealed.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/secret.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

const SealKey kKey = SealKey::of(std::string(32, 'k'));
const SealKey kOtherKey = SealKey::of(std::string(32, 'o'));

TEST(Sealed, AValueOpensWithItsKeyForItsPurposeAlone) {
  const std::string sealed = kKey.seal("secret", "codes of ann");
  EXPECT_TRUE(is_sealed(sealed));
  EXPECT_EQ(sealed.find("secret"), std::string::npos);
  EXPECT_NE(sealed, kKey.seal("secret", "codes of ann")) << "never the same twice";
  EXPECT_EQ(*kKey.unseal(sealed, "codes of ann"), "secret");
  EXPECT_FALSE(kKey.unseal(sealed, "codes of eve").ok()) << "in another's place";
  EXPECT_FALSE(kOtherKey.unseal(sealed, "codes of ann").ok());
  for (size_t at = std::string("sealed:").size(); at < sealed.size(); ++at) {
    std::string changed = sealed;
    changed[at] = changed[at] == '0' ? '1' : '0';
    EXPECT_FALSE(kKey.unseal(changed, "codes of ann").ok()) << at;
  }
  for (const char* text : {"", "sealed:", "sealed:00", "sealed:xx", "secret"})
    EXPECT_FALSE(kKey.unseal(text, "").ok()) << text;
  EXPECT_EQ(*kKey.unseal(kKey.seal("", "x"), "x"), "");
}

std::string sealed_stream(const std::string& plain, size_t at_a_time) {
  std::string out;
  SealWriter writer(kKey, [&out](std::string_view bytes) {
    out += bytes;
    return Status();
  });
  for (size_t at = 0; at < plain.size(); at += at_a_time)
    EXPECT_TRUE(writer.write(std::string_view(plain).substr(at, at_a_time)).ok());
  EXPECT_TRUE(writer.finish().ok());
  return out;
}

/// What comes out of a stream, or the error.
std::string opened(std::string_view stream, const SealKey& key = kKey, size_t at_a_time = 1'000) {
  if (!stream.starts_with(kSealedStream)) return "no stream";
  stream.remove_prefix(kSealedStream.size());
  SealReader reader(key, [&stream, at_a_time]() -> Result<std::string_view> {
    const std::string_view piece = stream.substr(0, at_a_time);
    stream.remove_prefix(piece.size());
    return piece;
  });
  std::string plain;
  for (;;) {
    const Result<std::string_view> piece = reader.read();
    if (!piece.ok()) return "error: " + piece.error().message;
    if (piece->empty()) return plain;
    plain += *piece;
  }
}

TEST(Sealed, AStreamComesBackWhateverItsPieces) {
  constexpr size_t kPiece = 65'536;
  for (const size_t size : {size_t{0}, size_t{1}, kPiece - 1, kPiece, kPiece + 1, 3 * kPiece, 3 * kPiece + 7}) {
    std::string plain(size, '\0');
    for (size_t i = 0; i < size; ++i)
      plain[i] = static_cast<char>(i * 31 % 251);
    const std::string stream = sealed_stream(plain, 10'007);
    EXPECT_EQ(stream.size(), kSealedStream.size() + 16 + size + 16 * std::max<size_t>((size + kPiece - 1) / kPiece, 1)) << size;
    EXPECT_EQ(opened(stream), plain) << size;
    EXPECT_EQ(opened(stream, kKey, 1 << 20), plain) << size;
  }
}

TEST(Sealed, AStreamThatIsNotWhatWasWrittenIsRefused) {
  const std::string plain(150'000, 'x');
  const std::string stream = sealed_stream(plain, 10'000);
  constexpr size_t kWhole = 65'536 + 16;
  const size_t first = kSealedStream.size() + 16;
  EXPECT_THAT(opened(stream, kOtherKey), HasSubstr("another key"));
  EXPECT_THAT(opened(stream.substr(0, stream.size() - 1)), HasSubstr("cut off"));
  EXPECT_THAT(opened(stream.substr(0, first + 2 * kWhole)), HasSubstr("cut off")) << "at the end of a piece";
  EXPECT_THAT(opened(stream.substr(0, first)), HasSubstr("cut off"));
  EXPECT_THAT(opened(stream.substr(0, first - 1)), HasSubstr("cut off"));
  EXPECT_THAT(opened(stream + "x"), HasSubstr("changed"));
  std::string swapped = stream.substr(0, first) + stream.substr(first + kWhole, kWhole) + stream.substr(first, kWhole) +
                        stream.substr(first + 2 * kWhole);
  EXPECT_THAT(opened(swapped), HasSubstr("changed"));
  std::string bit = stream;
  bit[first + 70'000] = static_cast<char>(bit[first + 70'000] ^ 1);
  EXPECT_THAT(opened(bit), HasSubstr("changed"));
}

TEST(Sealed, AKeyIsAFileOfItsOwnersWithSixtyFourDigits) {
  const ScratchDir dir;
  const auto error = [&](const std::string& text, mode_t mode = 0600) {
    const std::string path = dir / "key";
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    const auto key = SealKey::read(path);
    return key.ok() ? std::string() : key.error().message;
  };
  EXPECT_EQ(error(std::string(64, 'a') + "\n"), "");
  EXPECT_THAT(error(std::string(63, 'a')), HasSubstr("openssl rand -hex 32"));
  EXPECT_THAT(error(std::string(64, 'g')), HasSubstr("openssl rand -hex 32"));
  EXPECT_NE(error(std::string(64, 'a'), 0644), "");
  EXPECT_FALSE(SealKey::read(dir / "none").ok());
}

TEST(Sealed, AFilesSecretIsReadWithItsKeyUnderItsNameAlone) {
  const ScratchDir dir;
  const std::string path = dir / "pager.key";
  ASSERT_TRUE(write_secret(path, "hush\n").ok());
  EXPECT_EQ(*read_secret_file(path, nullptr), "hush");
  EXPECT_EQ(*read_secret_file(path, &kKey), "hush");
  EXPECT_EQ(*read_secret_file("", &kKey), "");
  ASSERT_TRUE(seal_secret_file(path, kKey).ok());
  EXPECT_EQ(read_all(path)->find("hush"), std::string::npos);
  struct stat status = {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  EXPECT_EQ(*read_secret_file(path, &kKey), "hush");
  EXPECT_THAT(read_secret_file(path, &kOtherKey).error().message, HasSubstr(path));
  EXPECT_THAT(read_secret_file(path, nullptr).error().message, HasSubstr("--secrets-key"));
  EXPECT_THAT(read_secret_file(path).error().message, HasSubstr("is encrypted"));
  EXPECT_THAT(seal_secret_file(path, kKey).error().message, HasSubstr("already"));
  std::filesystem::rename(path, dir / "client.key");
  EXPECT_FALSE(read_secret_file(dir / "client.key", &kKey).ok()) << "in another's place";
  EXPECT_FALSE(seal_secret_file(dir / "none", kKey).ok());
}

}  // namespace
}  // namespace stint
