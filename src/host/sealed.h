// What lies on a disk and must be of no use to who gets only the disk: encrypted and authenticated with AES-256-GCM.
//
// A value is sealed as a whole, bound to what it is for, so that it cannot be put in another's place. A stream is sealed in pieces; each
// carries its place and whether it is the last, so pieces that are left out, swapped or cut off at the end are found.
// Sources: NIST SP 800-38D; Hoang, Reyhanitabar, Rogaway, Vizár, "Online Authenticated-Encryption and its Nonce-Reuse
// Misuse-Resistance" (CRYPTO 2015), section 7 (STREAM).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

/// 32 bytes.
class SealKey {
 public:
  /// A file of its owner alone with 64 hexadecimal digits. @return error with the remedy
  static Result<SealKey> read(const std::string& path);
  /// @param bytes  32
  static SealKey of(std::string bytes);

  /// "sealed:" and hexadecimal digits; never the same twice. @param purpose  what it is for: the same to open it
  [[nodiscard]] std::string seal(std::string_view plain, std::string_view purpose) const;
  /// @return error for what was sealed with another key or for something else, or was changed
  [[nodiscard]] Result<std::string> unseal(std::string_view sealed, std::string_view purpose) const;

 private:
  friend class SealWriter;
  friend class SealReader;
  explicit SealKey(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string bytes_;
};
/// Did seal() make it?
bool is_sealed(std::string_view text);

/// A file that holds one secret, as read_secret_file() reads it, or encrypted by seal_secret_file().
/// @param key  null: there is none @return error with the remedy for what is encrypted and cannot be read
Result<std::string> read_secret_file(const std::string& path, const SealKey* key);
/// The secret in the file is encrypted from here on: for that name, so that it cannot be put in another's place.
/// @return error for a file that is so already
Status seal_secret_file(const std::string& path, const SealKey& key);

/// A stream begins with this line.
inline constexpr std::string_view kSealedStream = "stint-sealed/1\n";

class SealWriter {
 public:
  using Sink = std::function<Status(std::string_view bytes)>;
  SealWriter(const SealKey& key, Sink sink);
  SealWriter(SealWriter&&) noexcept;
  ~SealWriter();
  Status write(std::string_view bytes);
  /// After the last.
  Status finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class SealReader {
 public:
  /// @param source  the next bytes of the stream behind kSealedStream, empty at its end
  SealReader(const SealKey& key, std::function<Result<std::string_view>()> source);
  ~SealReader();
  /// The next piece, valid until the next call; empty at the end. @return error where it is not what was written
  Result<std::string_view> read();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
