// A file for what passes through, which only this process's user may read, gone with its holder.
#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace stint {

class TemporaryFile {
 public:
  /// Empty, below TMPDIR or /tmp.
  static Result<TemporaryFile> create();
  TemporaryFile(TemporaryFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFile& operator=(TemporaryFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryFile();

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace stint
