// The one file in a tar archive, as a stream; bytes that are no archive pass through as they are.
// POSIX.1-1988 ustar header: name at 0, size in octal at 124, type at 156, "ustar" at 257, blocks of 512 bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

class TarMember {
 public:
  using Use = std::function<Status(std::string_view)>;
  explicit TarMember(std::string source) : source_(std::move(source)) {}

  /// @return error of `use`, or when the archive is damaged or holds a second file.
  Status feed(std::string_view bytes, const Use& use);
  /// @return error when the archive ends in the middle of its file or holds none.
  Status finish(const Use& use);

 private:
  enum class State : uint8_t { kFirstBlock, kPlain, kHeader, kContent, kSkipped };
  Status read_header(std::string_view block);

  std::string source_;
  State state_ = State::kFirstBlock;
  std::string block_;     ///< of a header, as far as it has come
  uint64_t content_ = 0;  ///< bytes of the member still to come
  uint64_t padding_ = 0;  ///< bytes after it up to the next block
  bool found_ = false;
};

}  // namespace stint
