// Reads a tar archive as a stream. Source: POSIX.1-2001 pax and ustar; GNU tar manual, "Basic Tar Format".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "collect/archive.h"

namespace stint {

/// Everything in an archive begins at a multiple of this.
inline constexpr size_t kTarBlock = 512;

/// Does this look like the beginning of a tar archive? @param bytes  at least 512 where there are as many.
bool is_tar(std::string_view bytes);

class TarReader {
 public:
  TarReader(std::string source, ArchiveEvents events) : source_(std::move(source)), events_(std::move(events)) {}

  /// The next piece, cut anywhere. @return error of an event, or when the archive is damaged.
  Status feed(std::string_view bytes);
  /// @return error when the archive is cut off.
  Status finish();

 private:
  enum class Member { kNone, kFile, kLongName, kPaxHeader, kSkipped };
  Status header(std::string_view block);
  Status content(std::string_view bytes);
  Status end_of_member();

  std::string source_;
  ArchiveEvents events_;
  std::string block_;  ///< of a header, as far as it has come
  Member member_ = Member::kNone;
  uint64_t left_ = 0;      ///< bytes of the member still to come
  uint64_t padding_ = 0;   ///< up to the next block
  std::string text_;       ///< of a long name or pax header
  std::string long_name_;  ///< for the next file
  bool ended_ = false;     ///< a block of zeros was met
};

}  // namespace stint
