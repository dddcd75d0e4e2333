// Codes and digests as clouds write them: base64 (RFC 4648, section 4), MD5 as a checksum on the way, HMAC as bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

std::string to_base64(std::string_view bytes);
/// none = not that.
std::optional<std::string> from_base64(std::string_view text);
/// 16 bytes. Not for security.
std::string md5_bytes(std::string_view bytes);
/// The same of bytes that come in pieces.
class Md5 {
 public:
  Md5();
  Md5(const Md5&) = delete;
  Md5& operator=(const Md5&) = delete;
  ~Md5();
  void update(std::string_view bytes);
  [[nodiscard]] std::string digest();

 private:
  void* context_;
};
std::string to_hex(std::string_view bytes);
/// 32 bytes.
std::string hmac_sha256(std::string_view key, std::string_view bytes);
/// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 7518, section 3.3). @param key  PEM. @return kInvalidInput when it is no RSA key of use.
Result<std::string> sign_rs256(const std::string& key, std::string_view message);

}  // namespace stint
