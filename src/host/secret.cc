#include "host/secret.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/check.h"

#include "host/file.h"

namespace stint {
namespace {

std::string to_hex(std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const unsigned char byte : bytes) {
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned int size = 0;
  CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1, "SHA-256 fails");
  return to_hex({digest.data(), size});
}

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned int size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(), digest.data(), &size) != nullptr,
        "HMAC-SHA-256 fails");
  return to_hex({digest.data(), size});
}

std::string random_hex(size_t bytes) {
  std::string random(bytes, '\0');
  for (size_t have = 0; have < bytes;) {
    const ssize_t n = getrandom(random.data() + have, bytes - have, 0);
    CHECK(n > 0 || errno == EINTR, "the system gives no random numbers: errno {}", errno);
    if (n > 0) have += static_cast<size_t>(n);
  }
  return to_hex({reinterpret_cast<const unsigned char*>(random.data()), random.size()});
}

std::string bytes_of_hex(std::string_view digits) {
  const auto value = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  std::string bytes;
  for (size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(value(digits[i]) << 4U | value(digits[i + 1]));
  return bytes;
}

Status check_secret_file(const std::string& path, SecretReaders readers) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const mode_t others = readers == SecretReaders::kOwner ? S_IRWXG | S_IRWXO : S_IWGRP | S_IRWXO;
  if ((status.st_mode & others) == 0) return {};
  return invalid(
      "{}: holds a secret, and others than its owner may {} it (mode {:04o}): chmod {} it, and change the secret if others were "
      "here",
      path, (status.st_mode & others & (S_IRGRP | S_IROTH)) != 0 ? "read" : "write", status.st_mode & 07777,
      readers == SecretReaders::kOwner ? "600" : "640");
}

Status write_secret(const std::string& path, std::string_view text) {
  const std::string part = path + ".part";
  ::unlink(part.c_str());
  const int file = ::open(part.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
  const bool written =
      file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && fsync(file) == 0;
  if (file >= 0) ::close(file);
  if (!written || ::rename(part.c_str(), path.c_str()) != 0)
    return make_error(ErrorCode::kUnavailable, "cannot write {}: {}: check its folder and the space left", path,
                      std::strerror(errno));
  return {};
}

Result<std::string> own_key(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) TRY(write_secret(path, random_hex(32) + "\n"));
  return read_secret_file(path);
}

}  // namespace stint
