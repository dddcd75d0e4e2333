// Secrets: random numbers nobody can guess, and the hash under which they are kept.
#pragma once

#include <string>
#include <string_view>

namespace stint {

/// SHA-256 (FIPS 180-4) as 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// So many random bytes from the operating system, as hexadecimal digits.
std::string random_hex(size_t bytes);

}  // namespace stint
