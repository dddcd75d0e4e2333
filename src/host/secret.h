// Secrets: random numbers that cannot be guessed, and the hash under which they are kept.
#pragma once

#include <string>
#include <string_view>

namespace stint {

/// SHA-256 (FIPS 180-4) as 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// HMAC-SHA-256 (RFC 2104) of `bytes` under `key`, as 64 hexadecimal digits.
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);

/// So many random bytes from the operating system, as hexadecimal digits.
std::string random_hex(size_t bytes);

/// The bytes that such digits stand for.
std::string bytes_of_hex(std::string_view digits);

}  // namespace stint
