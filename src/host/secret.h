// Secrets: random numbers that cannot be guessed, and the hash under which they are kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

/// SHA-256 (FIPS 180-4) as 64 hexadecimal digits.
std::string sha256_hex(std::string_view bytes);

/// HMAC-SHA-256 (RFC 2104) of `bytes` under `key`, as 64 hexadecimal digits.
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);

/// So many random bytes from the operating system, as hexadecimal digits.
std::string random_hex(size_t bytes);

/// The bytes that such digits stand for.
std::string bytes_of_hex(std::string_view digits);

/// A file for its owner alone, whole or not at all.
Status write_secret(const std::string& path, std::string_view text);

/// The key that a program keeps in a file of its own: 64 hexadecimal digits, made where it is absent.
/// @return error when the file cannot be written or read, is empty, or is not its owner's alone.
Result<std::string> own_key(const std::string& path);

enum class SecretReaders : uint8_t {
  kOwner,
  kOwnerAndGroup,  ///< for keys that a group of programs shares, as Debian's ssl-cert does
};
/// Is a file that holds a secret kept from others? What is no regular file (a pipe) and what is not there is for its reader to judge.
/// @return error with the remedy when others may read or write it.
Status check_secret_file(const std::string& path, SecretReaders readers = SecretReaders::kOwner);

}  // namespace stint
