// Writes a tar archive as a stream. Source: POSIX.1-1988 ustar; GNU tar manual, "Basic Tar Format", for sizes in base 256.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

class TarWriter {
 public:
  using Sink = std::function<Status(std::string_view bytes)>;
  explicit TarWriter(Sink sink) : sink_(std::move(sink)) {}

  /// Begins a regular file, readable to its owner alone. @param name  at most 100 bytes. @param size  of what data() will bring.
  Status begin(std::string_view name, uint64_t size, int64_t modified_s);
  Status data(std::string_view bytes);
  /// After the last file.
  Status finish();

 private:
  Status pad();
  Sink sink_;
  uint64_t size_ = 0;
  uint64_t left_ = 0;  ///< bytes of the file still to come
};

}  // namespace stint
