// Files as streams of bytes: plain or gzip, by name or from standard input; and files written whole or not at all.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

/// Reads a file front to back, in pieces. gzip is recognised by its first bytes and unpacked, several members
/// in a row included.
class InputFile {
 public:
  /// @param path  "-" = standard input.
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&&) noexcept;
  InputFile& operator=(InputFile&&) noexcept;
  ~InputFile();

  /// The next piece, valid until the next call; empty at the end.
  /// @return error naming the file when it cannot be read, or is gzip and damaged or cut off.
  Result<std::string_view> read();

  /// Bytes taken from the file itself, before unpacking.
  [[nodiscard]] int64_t consumed_bytes() const;
  /// Size of the file itself; 0 = not known (a pipe).
  [[nodiscard]] int64_t total_bytes() const;
  /// XXH3-128 of the bytes consumed so far, 32 hexadecimal digits: of the whole file once read() gave its end.
  [[nodiscard]] std::string fingerprint() const;

 private:
  struct Impl;
  explicit InputFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A file that has to be seen as a whole to be read, unpacked when it is gzip. @return error above 1 GiB.
Result<std::string> read_all(const std::string& path);

/// A file that holds one secret, without the white space around it. @return "" for no path; error when the file is empty
/// or encrypted (host/sealed.h has the reader that takes a key).
Result<std::string> read_secret_file(const std::string& path);
/// The same, but an encrypted secret is returned as it is in the file. @return error for no path, too
Result<std::string> read_kept_file(const std::string& path);

/// A file of the kernel's (/proc, /sys), whose size is not told beforehand; "" when it is gone, also in the middle of
/// reading, or not ours to read.
std::string read_kernel_file(const std::string& path);

/// XXH3-128 of a file's bytes as they lie (packed ones unread), 32 hexadecimal digits.
Result<std::string> fingerprint_of_file(const std::string& path);
/// The same of bytes in memory.
std::string fingerprint_of_bytes(std::string_view bytes);
/// Is it a regular file, which can be read twice? "-" is not.
bool is_regular_file(const std::string& path);

/// Writes the file whole or leaves it as it was: a temporary file beside it, synced, then renamed over it.
Status write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace stint
