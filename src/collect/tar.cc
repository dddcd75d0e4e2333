#include "collect/tar.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"

namespace stint {
namespace {

constexpr uint64_t kMaxNameBytes = 1 << 16;

std::string_view field(std::string_view block, size_t at, size_t size) {
  const std::string_view whole = block.substr(at, size);
  return whole.substr(0, whole.find('\0'));
}

/// Octal text, or GNU's base 256 for large files.
std::optional<uint64_t> number(std::string_view block, size_t at, size_t size) {
  uint64_t value = 0;
  if (static_cast<unsigned char>(block[at]) == 0x80) {
    for (size_t i = size - 8; i < size; ++i)
      value = value << 8 | static_cast<unsigned char>(block[at + i]);
    return value;
  }
  const std::string_view digits = trim(field(block, at, size));
  for (const char c : digits) {
    if (c < '0' || c > '7') return std::nullopt;
    value = value * 8 + static_cast<uint64_t>(c - '0');
  }
  return digits.empty() ? std::nullopt : std::optional(value);
}

/// The header's bytes summed, its own checksum field as blanks.
bool checksum_fits(std::string_view block) {
  uint64_t sum = 0;
  for (size_t i = 0; i < kTarBlock; ++i)
    sum += i >= 148 && i < 156 ? uint64_t{' '} : static_cast<unsigned char>(block[i]);
  return number(block, 148, 8) == sum;
}

/// `path` of a pax header: records `LENGTH KEY=VALUE\n`.
std::string pax_path(std::string_view text) {
  while (!text.empty()) {
    const size_t blank = text.find(' ');
    const auto length = parse_int(text.substr(0, blank));
    if (blank == std::string_view::npos || !length || *length <= static_cast<int64_t>(blank) ||
        static_cast<size_t>(*length) > text.size())
      return {};
    const std::string_view record = text.substr(blank + 1, static_cast<size_t>(*length) - blank - 1);
    if (record.starts_with("path=")) return std::string(trim(record.substr(5)));
    text.remove_prefix(static_cast<size_t>(*length));
  }
  return {};
}

}  // namespace

bool is_tar(std::string_view bytes) {
  return bytes.size() >= kTarBlock && bytes.substr(257, 5) == "ustar" && checksum_fits(bytes.substr(0, kTarBlock));
}

Status TarReader::feed(std::string_view bytes) {
  while (!bytes.empty() && !ended_) {
    if (left_ > 0) {
      const std::string_view part = bytes.substr(0, std::min<uint64_t>(left_, bytes.size()));
      TRY(content(part));
      left_ -= part.size();
      bytes.remove_prefix(part.size());
      if (left_ == 0) TRY(end_of_member());
    } else if (padding_ > 0) {
      const uint64_t part = std::min<uint64_t>(padding_, bytes.size());
      padding_ -= part;
      bytes.remove_prefix(part);
    } else {
      const std::string_view part = bytes.substr(0, kTarBlock - block_.size());
      block_.append(part);
      bytes.remove_prefix(part.size());
      if (block_.size() < kTarBlock) continue;
      const std::string block = std::move(block_);
      block_.clear();
      TRY(header(block));
    }
  }
  return {};
}

Status TarReader::header(std::string_view block) {
  if (std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; })) {
    ended_ = true;
    return {};
  }
  const auto size = number(block, 124, 12);
  if (!checksum_fits(block) || !size || *size > uint64_t{1} << 50)
    return invalid("{}: the tar archive is damaged: fetch it again", source_);
  const char type = block[156];
  const std::string_view prefix = field(block, 345, 155);
  std::string name = std::string(field(block, 0, 100));
  if (block.substr(257, 6) == std::string_view("ustar\0", 6) && !prefix.empty()) name = fmt::format("{}/{}", prefix, name);
  if (type == 'L' || type == 'x') {
    if (*size > kMaxNameBytes) return invalid("{}: the tar archive has a name of {} bytes: it is damaged", source_, *size);
    member_ = type == 'L' ? Member::kLongName : Member::kPaxHeader;
    text_.clear();
  } else if (type == '0' || type == '\0' || type == '7') {
    if (!long_name_.empty()) name = std::exchange(long_name_, {});
    member_ = Member::kFile;
    TRY(events_.begin(name));
  } else {
    member_ = Member::kSkipped;
    if (type != 'g') long_name_.clear();
  }
  left_ = *size;
  padding_ = (kTarBlock - *size % kTarBlock) % kTarBlock;
  return left_ == 0 ? end_of_member() : Status();
}

Status TarReader::content(std::string_view bytes) {
  if (member_ == Member::kFile) return events_.data(bytes);
  if (member_ != Member::kSkipped) text_.append(bytes);
  return {};
}

Status TarReader::end_of_member() {
  switch (std::exchange(member_, Member::kNone)) {
    case Member::kFile: return events_.end();
    case Member::kLongName: long_name_ = text_.substr(0, text_.find('\0')); break;
    case Member::kPaxHeader:
      if (std::string path = pax_path(text_); !path.empty()) long_name_ = std::move(path);
      break;
    case Member::kNone:
    case Member::kSkipped: break;
  }
  return {};
}

Status TarReader::finish() {
  if (left_ > 0 || padding_ > 0 || !block_.empty())
    return invalid("{}: the tar archive ends in the middle: it is cut off; fetch it again", source_);
  return {};
}

}  // namespace stint
