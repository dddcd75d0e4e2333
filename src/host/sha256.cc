#include "host/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "host/descriptor.h"

namespace stint {

struct Sha256::Context {
  EVP_MD_CTX* digest = EVP_MD_CTX_new();
  Context() { CHECK(digest != nullptr && EVP_DigestInit_ex(digest, EVP_sha256(), nullptr) == 1, "the library has no SHA-256"); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context() { EVP_MD_CTX_free(digest); }
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) { EVP_DigestUpdate(context_->digest, bytes.data(), bytes.size()); }

std::string Sha256::digest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw = {};
  unsigned size = 0;
  EVP_DigestFinal_ex(context_->digest, raw.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i)
    text += fmt::format("{:02x}", raw[i]);
  return text;
}

Result<std::string> sha256_of_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto failed = [&] {
    return make_error(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "{}: cannot be read: {}", path,
                      std::strerror(errno));
  };
  if (!file.valid()) return failed();
  Sha256 hash;
  std::vector<char> piece(size_t{1} << 20);
  for (;;) {
    const ssize_t n = ::read(file.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failed();
    if (n == 0) return hash.digest();
    hash.update({piece.data(), static_cast<size_t>(n)});
  }
}

}  // namespace stint
