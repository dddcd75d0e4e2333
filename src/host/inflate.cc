#include "host/inflate.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace stint {

Status check_unpacked(const std::string& source, uint64_t packed, uint64_t unpacked) {
  if (unpacked <= kFreeUnpackedBytes || (unpacked - kFreeUnpackedBytes) / kMaxUnpackRatio <= packed) return {};
  return invalid("{}: unpacks to more than {} times its size: that is no bill or telemetry; unpack it yourself if you trust it",
                 source, kMaxUnpackRatio);
}

Inflater::Inflater(Coding coding, std::string source) : coding_(coding), source_(std::move(source)), out_(size_t{256} << 10) {
  constexpr int kWindow = 15;
  const int window = coding == Coding::kGzip ? kWindow + 16 : -kWindow;
  CHECK(inflateInit2(&stream_, window) == Z_OK, "zlib cannot start");
}

Inflater::~Inflater() { inflateEnd(&stream_); }

Result<size_t> Inflater::feed(std::string_view bytes, const Use& use) {
  const size_t given = std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max());
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_.avail_in = static_cast<uInt>(given);
  const uint64_t before = packed_;
  while (stream_.avail_in > 0 || stream_.avail_out == 0) {
    if (ended_) {
      if (coding_ == Coding::kDeflate || stream_.avail_in == 0) break;
      // Another gzip member, or padding with zeros as some tools write it.
      if (*stream_.next_in == 0) {
        --stream_.avail_in, ++stream_.next_in;
        continue;
      }
      inflateReset(&stream_);
      ended_ = false;
    }
    stream_.next_out = reinterpret_cast<Bytef*>(out_.data());
    stream_.avail_out = static_cast<uInt>(out_.size());
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      return invalid("{}: the packed data are damaged ({}): fetch the file again", source_,
                     stream_.msg == nullptr ? "no detail" : stream_.msg);
    const size_t made = out_.size() - stream_.avail_out;
    packed_ = before + (given - stream_.avail_in);
    unpacked_ += made;
    crc_ = static_cast<uint32_t>(crc32(crc_, reinterpret_cast<const Bytef*>(out_.data()), static_cast<uInt>(made)));
    TRY(check_unpacked(source_, packed_, unpacked_));
    if (code == Z_STREAM_END) ended_ = true;
    if (made > 0) TRY(use({out_.data(), made}));
    if (code == Z_BUF_ERROR && made == 0) break;
  }
  packed_ = before + (given - stream_.avail_in);
  return given - stream_.avail_in;
}

}  // namespace stint
