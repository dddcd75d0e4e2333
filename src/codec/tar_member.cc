#include "codec/tar_member.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

constexpr size_t kBlock = 512;

bool is_ustar(std::string_view block) { return block.size() == kBlock && block.substr(257, 5) == "ustar"; }

}  // namespace

Status TarMember::feed(std::string_view bytes, const Use& use) {
  while (!bytes.empty()) {
    switch (state_) {
      case State::kPlain: return use(bytes);
      case State::kFirstBlock:
      case State::kHeader: {
        const size_t part = std::min(bytes.size(), kBlock - block_.size());
        block_.append(bytes.substr(0, part));
        bytes.remove_prefix(part);
        if (block_.size() < kBlock) return {};
        if (state_ == State::kFirstBlock && !is_ustar(block_)) {
          state_ = State::kPlain;
          TRY(use(block_));
        } else {
          TRY(read_header(block_));
        }
        block_.clear();
        break;
      }
      case State::kContent:
      case State::kSkipped: {
        const auto part = static_cast<size_t>(std::min<uint64_t>(bytes.size(), content_));
        if (state_ == State::kContent && part > 0) TRY(use(bytes.substr(0, part)));
        bytes.remove_prefix(part);
        content_ -= part;
        const auto filler = static_cast<size_t>(std::min<uint64_t>(bytes.size(), content_ == 0 ? padding_ : 0));
        bytes.remove_prefix(filler);
        padding_ -= filler;
        if (content_ == 0 && padding_ == 0) state_ = State::kHeader;
        break;
      }
    }
  }
  return {};
}

Status TarMember::read_header(std::string_view block) {
  state_ = State::kHeader;
  if (block.find_first_not_of('\0') == std::string_view::npos) return {};  // the end, or what follows it
  if (!is_ustar(block)) return invalid("{}: damaged archive: a file's header is expected", source_);
  uint64_t size = 0;
  for (const char c : block.substr(124, 11)) {
    if (c < '0' || c > '7') return invalid("{}: damaged archive: a file's size is no octal number", source_);
    size = size * 8 + static_cast<uint64_t>(c - '0');
  }
  content_ = size;
  padding_ = (kBlock - size % kBlock) % kBlock;
  const std::string_view name = block.substr(0, std::min(block.find('\0'), size_t{100}));
  const std::string_view base = name.substr(name.rfind('/') + 1);
  const bool is_file = (block[156] == '0' || block[156] == '\0') && !base.starts_with("._");  // ._NAME: what a Mac adds
  if (is_file && found_) return invalid("{}: the archive holds more than one file ({}): extract them", source_, excerpt(name));
  found_ = found_ || is_file;
  state_ = is_file ? State::kContent : State::kSkipped;
  return {};
}

Status TarMember::finish(const Use& use) {
  if (state_ == State::kFirstBlock || state_ == State::kPlain) return block_.empty() ? Status() : use(block_);
  if (content_ > 0 || !block_.empty()) return invalid("{}: the archive is cut short", source_);
  if (!found_) return invalid("{}: the archive holds no file", source_);
  return {};
}

}  // namespace stint
