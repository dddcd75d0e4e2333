#include "host/totp.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "base/check.h"
#include "base/text.h"
#include "host/http_client.h"

namespace stint {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

}  // namespace

std::string to_base32(std::string_view bytes) {
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (const char c : bytes) {
    bits = (bits << 8U) | static_cast<unsigned char>(c);
    for (have += 8; have >= 5; have -= 5)
      out += kAlphabet[bits >> static_cast<unsigned>(have - 5) & 31U];
  }
  if (have > 0) out += kAlphabet[bits << static_cast<unsigned>(5 - have) & 31U];
  return out;
}

Result<std::string> from_base32(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int have = 0;
  for (const char c : text) {
    if (c == '=' || c == ' ') continue;
    const char upper = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    const size_t value = kAlphabet.find(upper);
    if (value == std::string_view::npos) return invalid("not base32: give letters A to Z and digits 2 to 7");
    bits = (bits << 5U) | static_cast<uint32_t>(value);
    have += 5;
    if (have < 8) continue;
    have -= 8;
    out += static_cast<char>(bits >> static_cast<unsigned>(have) & 255U);
  }
  return out;
}

std::string hotp(std::string_view secret, uint64_t counter, int digits) {
  std::array<unsigned char, 8> message = {};
  for (size_t i = 0; i < message.size(); ++i)
    message[i] = static_cast<unsigned char>(counter >> (56 - 8 * i) & 255U);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac = {};
  unsigned int size = 0;
  CHECK(HMAC(EVP_sha1(), secret.data(), static_cast<int>(secret.size()), message.data(), message.size(), mac.data(), &size) !=
            nullptr,
        "HMAC fails");
  const size_t at = mac[size - 1] & 15U;  // RFC 4226, 5.3
  const uint32_t number =
      (uint32_t{mac[at]} & 127U) << 24U | uint32_t{mac[at + 1]} << 16U | uint32_t{mac[at + 2]} << 8U | uint32_t{mac[at + 3]};
  uint32_t modulus = 1;
  for (int i = 0; i < digits; ++i)
    modulus *= 10;
  return fmt::format("{:0{}}", number % modulus, digits);
}

uint64_t totp_step(Instant t) { return static_cast<uint64_t>(t.seconds() / kTotpStep.whole_seconds()); }

std::optional<uint64_t> check_totp(std::string_view secret, std::string_view code, Instant now, std::optional<uint64_t> used) {
  const uint64_t current = totp_step(now);
  std::optional<uint64_t> found;
  for (uint64_t step = current - 1; step <= current + 1; ++step) {
    const std::string wanted = hotp(secret, step);
    if (code.size() == wanted.size() && CRYPTO_memcmp(code.data(), wanted.data(), wanted.size()) == 0 && (!used || step > *used))
      found = step;
  }
  return found;
}

std::string totp_uri(std::string_view issuer, std::string_view user, std::string_view secret) {
  return fmt::format("otpauth://totp/{}:{}?secret={}&issuer={}", escape_url(issuer), escape_url(user), to_base32(secret),
                     escape_url(issuer));
}

}  // namespace stint
