#include "collect/zip.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50;
constexpr uint32_t kCentralHeader = 0x02014b50;
constexpr uint32_t kEndOfDirectory = 0x06054b50;
constexpr uint32_t kDescriptor = 0x08074b50;
constexpr size_t kLocalHeaderBytes = 26;  // after its signature
constexpr uint16_t kEncrypted = 1, kSizesFollow = 8;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint32_t kInExtra = 0xffffffff;
constexpr uint64_t kMaxMembers = 10'000;

/// An integer with its lowest byte first.
uint64_t little(std::string_view bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

}  // namespace

bool is_zip(std::string_view bytes) {
  if (bytes.size() < 4) return false;
  const uint64_t first = little(bytes, 0, 4);
  return first == kLocalHeader || first == kEndOfDirectory;
}

Error ZipReader::damaged(std::string_view how) const { return invalid("{}: the ZIP archive {}: fetch it again", source_, how); }

/// Fills gathered_ up to `size` bytes. @return whether it is full.
Result<bool> ZipReader::gather(std::string_view& bytes, size_t size) {
  const std::string_view part = bytes.substr(0, size - std::min(size, gathered_.size()));
  gathered_.append(part);
  bytes.remove_prefix(part.size());
  return gathered_.size() >= size;
}

Status ZipReader::feed(std::string_view bytes) {
  for (;;) {
    size_t wanted = 0;
    switch (state_) {
      case State::kEnded: return {};
      case State::kContent:
        if (bytes.empty() && !(method_ == kStored && left_ == 0)) return {};
        TRY(content(bytes));
        continue;
      case State::kDescriptor:
        if (bytes.empty()) return {};
        TRY(descriptor(bytes));
        continue;
      case State::kSignature: wanted = 4; break;
      case State::kHeader: wanted = kLocalHeaderBytes; break;
      case State::kName: wanted = size_t{name_bytes_} + extra_bytes_; break;
    }
    TRY_ASSIGN(const bool full, gather(bytes, wanted));
    if (!full) return {};
    if (state_ == State::kSignature)
      TRY(signature());
    else if (state_ == State::kHeader)
      TRY(header());
    else
      TRY(name_and_extra());
    gathered_.clear();
  }
}

Status ZipReader::signature() {
  const uint64_t value = little(gathered_, 0, 4);
  if (value == kLocalHeader)
    state_ = State::kHeader;
  else if (value == kCentralHeader || value == kEndOfDirectory)
    state_ = State::kEnded;
  else
    return damaged("is damaged");
  return {};
}

Status ZipReader::header() {
  flags_ = static_cast<uint16_t>(little(gathered_, 2, 2));
  method_ = static_cast<uint16_t>(little(gathered_, 4, 2));
  crc_ = static_cast<uint32_t>(little(gathered_, 10, 4));
  packed_ = little(gathered_, 14, 4);
  unpacked_ = little(gathered_, 18, 4);
  name_bytes_ = static_cast<uint16_t>(little(gathered_, 22, 2));
  extra_bytes_ = static_cast<uint16_t>(little(gathered_, 24, 2));
  state_ = State::kName;
  return {};
}

Status ZipReader::name_and_extra() {
  name_ = gathered_.substr(0, name_bytes_);
  large_ = false;
  for (std::string_view extra = std::string_view(gathered_).substr(name_bytes_); extra.size() >= 4;) {
    const size_t size = std::min<size_t>(little(extra, 2, 2), extra.size() - 4);
    std::string_view field = extra.substr(4, size);
    if (little(extra, 0, 2) == 1) {
      large_ = true;
      for (uint64_t* value : {&unpacked_, &packed_}) {
        if (*value != kInExtra || field.size() < 8) continue;
        *value = little(field, 0, 8);
        field.remove_prefix(8);
      }
    }
    extra.remove_prefix(4 + size);
  }
  const std::string what = fmt::format("{}:{}", source_, excerpt(name_));
  if (++members_ > kMaxMembers) return invalid("{}: more than {} files in one archive", source_, kMaxMembers);
  if ((flags_ & kEncrypted) != 0) return invalid("{}: is encrypted: unpack it yourself", what);
  if (method_ != kStored && method_ != kDeflated)
    return invalid("{}: is packed by method {}, not by deflate: unpack it yourself, or pack it as gzip", what, method_);
  if (method_ == kStored && (flags_ & kSizesFollow) != 0)
    return invalid("{}: is stored without its size: unpack it yourself, or pack it as gzip", what);
  folder_ = name_.ends_with('/');
  left_ = method_ == kStored ? packed_ : 0;
  seen_ = 0, seen_crc_ = 0;
  inflater_ = method_ == kDeflated ? std::make_unique<Inflater>(Inflater::Coding::kDeflate, what) : nullptr;
  state_ = State::kContent;
  return folder_ ? Status() : events_.begin(name_);
}

Status ZipReader::pass_on(std::string_view bytes) {
  seen_ += bytes.size();
  return folder_ ? Status() : events_.data(bytes);
}

Status ZipReader::content(std::string_view& bytes) {
  if (inflater_) {
    TRY_ASSIGN(const size_t used, inflater_->feed(bytes, [this](std::string_view piece) -> Status {
      TRY(check_unpacked(source_, all_packed_ + inflater_->packed_bytes(), all_unpacked_ + inflater_->unpacked_bytes()));
      return pass_on(piece);
    }));
    bytes.remove_prefix(used);
    if (!inflater_->ended()) return {};
  } else {
    const std::string_view part = bytes.substr(0, std::min<uint64_t>(left_, bytes.size()));
    seen_crc_ =
        static_cast<uint32_t>(crc32(seen_crc_, reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(part.size())));
    TRY(pass_on(part));
    left_ -= part.size();
    bytes.remove_prefix(part.size());
    if (left_ > 0) return {};
  }
  if ((flags_ & kSizesFollow) != 0) {
    state_ = State::kDescriptor;
    return {};
  }
  return end_of_member();
}

Status ZipReader::descriptor(std::string_view& bytes) {
  const size_t sizes = large_ ? 16 : 8;
  TRY_ASSIGN(const bool first, gather(bytes, 4));
  if (!first) return {};
  // Its signature is optional.
  const size_t before = little(gathered_, 0, 4) == kDescriptor ? 4 : 0;
  TRY_ASSIGN(const bool full, gather(bytes, before + 4 + sizes));
  if (!full) return {};
  crc_ = static_cast<uint32_t>(little(gathered_, before, 4));
  packed_ = little(gathered_, before + 4, sizes / 2);
  unpacked_ = little(gathered_, before + 4 + sizes / 2, sizes / 2);
  gathered_.clear();
  return end_of_member();
}

Status ZipReader::end_of_member() {
  const uint32_t crc = inflater_ ? inflater_->crc() : seen_crc_;
  if (crc != crc_ || seen_ != unpacked_) return damaged(fmt::format("is damaged at {}", excerpt(name_)));
  all_packed_ += packed_, all_unpacked_ += unpacked_;
  inflater_.reset();
  state_ = State::kSignature;
  return folder_ ? Status() : events_.end();
}

Status ZipReader::finish() {
  if (state_ != State::kEnded) return damaged("ends in the middle: it is cut off");
  return {};
}

}  // namespace stint
