// Unpacks deflated bytes piece by piece: the content of gzip files and of members of ZIP archives.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

/// A file that unpacks to more than this times its size, beyond kFreeUnpackedBytes, is no bill: real ones reach 10 to 50 times,
/// deflate itself 1,032 times.
inline constexpr uint64_t kMaxUnpackRatio = 250;
inline constexpr uint64_t kFreeUnpackedBytes = uint64_t{64} << 20;
/// @return error naming `source` when `unpacked` bytes out of `packed` are more than that.
Status check_unpacked(const std::string& source, uint64_t packed, uint64_t unpacked);

class Inflater {
 public:
  enum class Coding { kDeflate, kGzip };  ///< bare, as in a ZIP archive; or gzip, several members in a row included
  Inflater(Coding coding, std::string source);
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater();

  using Use = std::function<Status(std::string_view)>;
  /// Unpacks what `bytes` holds. @return how many of them belong to the data: fewer than all only once ended().
  /// Error of `use`, or when the data are damaged or unpack to too much.
  Result<size_t> feed(std::string_view bytes, const Use& use);
  /// The data are complete; of gzip: another member may still follow.
  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] uint64_t packed_bytes() const { return packed_; }
  [[nodiscard]] uint64_t unpacked_bytes() const { return unpacked_; }
  /// CRC-32 of what was unpacked.
  [[nodiscard]] uint32_t crc() const { return crc_; }

 private:
  const Coding coding_;
  const std::string source_;
  z_stream stream_ = {};
  std::vector<char> out_;
  uint64_t packed_ = 0;
  uint64_t unpacked_ = 0;
  uint32_t crc_ = 0;
  bool ended_ = false;
};

}  // namespace stint
