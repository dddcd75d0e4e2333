// Reads a ZIP archive as a stream, by its local headers. Source: PKWARE APPNOTE 6.3.10, sections 4.3 to 4.5.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "collect/archive.h"
#include "host/inflate.h"

namespace stint {

/// Does this look like the beginning of a ZIP archive? @param bytes  at least 4.
bool is_zip(std::string_view bytes);

class ZipReader {
 public:
  ZipReader(std::string source, ArchiveEvents events) : source_(std::move(source)), events_(std::move(events)) {}

  /// The next piece, cut anywhere. @return error of an event; when the archive is damaged, encrypted or packed by a method other than
  /// deflate; when it unpacks to too much.
  Status feed(std::string_view bytes);
  /// @return error when the archive is cut off.
  Status finish();

 private:
  enum class State { kSignature, kHeader, kName, kContent, kDescriptor, kEnded };
  Result<bool> gather(std::string_view& bytes, size_t size);
  Status signature();
  Status header();
  Status name_and_extra();
  Status content(std::string_view& bytes);
  Status descriptor(std::string_view& bytes);
  Status end_of_member();
  Status pass_on(std::string_view bytes);
  [[nodiscard]] Error damaged(std::string_view how) const;

  const std::string source_;
  const ArchiveEvents events_;
  State state_ = State::kSignature;
  std::string gathered_;
  // Of the member being read.
  std::string name_;
  uint16_t flags_ = 0, method_ = 0, name_bytes_ = 0, extra_bytes_ = 0;
  uint32_t crc_ = 0;
  uint64_t packed_ = 0, unpacked_ = 0;  ///< as the headers say
  bool large_ = false;                  ///< ZIP64: sizes of a descriptor have 8 bytes
  bool folder_ = false;
  uint64_t left_ = 0;  ///< of content that is stored
  uint64_t seen_ = 0;  ///< bytes of content given on
  uint32_t seen_crc_ = 0;
  std::unique_ptr<Inflater> inflater_;
  // Of the archive.
  uint64_t members_ = 0, all_packed_ = 0, all_unpacked_ = 0;
};

}  // namespace stint
