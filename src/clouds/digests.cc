#include "clouds/digests.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "base/check.h"
#include "host/jwt.h"
#include "host/secret.h"

namespace stint {

std::string to_base64(std::string_view bytes) {
  std::string text = to_base64url(bytes);
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  for (int padding = 0; padding < 2 && text.ends_with('='); ++padding)
    text.remove_suffix(1);
  if (text.find_first_of("-_=") != std::string_view::npos) return std::nullopt;
  std::string url(text);
  std::replace(url.begin(), url.end(), '+', '-');
  std::replace(url.begin(), url.end(), '/', '_');
  return from_base64url(url);
}

Md5::Md5() : context_(EVP_MD_CTX_new()) {
  CHECK(context_ != nullptr && EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), EVP_md5(), nullptr) == 1,
        "the library has no MD5");
}
Md5::~Md5() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }
void Md5::update(std::string_view bytes) { EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()); }
std::string Md5::digest() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> raw = {};
  unsigned size = 0;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), raw.data(), &size);
  return {reinterpret_cast<const char*>(raw.data()), size};
}

std::string md5_bytes(std::string_view bytes) {
  Md5 md5;
  md5.update(bytes);
  return md5.digest();
}

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes)
    text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) { return bytes_of_hex(hmac_sha256_hex(key, bytes)); }

}  // namespace stint
