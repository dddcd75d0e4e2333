#include "clouds/digests.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <memory>

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

Result<std::string> sign_rs256(const std::string& key, std::string_view message) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())), BIO_free);
  // A password is never asked for.
  const auto no_password = [](char*, int, int, void*) { return 0; };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pkey(
      text ? PEM_read_bio_PrivateKey(text.get(), nullptr, no_password, nullptr) : nullptr, EVP_PKEY_free);
  if (!pkey || EVP_PKEY_get_base_id(pkey.get()) != EVP_PKEY_RSA)
    return invalid("the private key is no RSA key in PEM without a password");
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
  size_t size = static_cast<size_t>(EVP_PKEY_get_size(pkey.get()));
  std::string signature(size, '\0');
  if (EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, pkey.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes, message.size()) != 1)
    return invalid("the private key does not sign");
  signature.resize(size);
  return signature;
}

}  // namespace stint
