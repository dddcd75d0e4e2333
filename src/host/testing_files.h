// Files as tests need them: written in one call, and packed.
#pragma once

#include <zlib.h>

#include <fstream>
#include <string>
#include <string_view>

#include "base/check.h"

namespace stint {

inline void put_file(const std::string& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// `text` as one gzip member.
inline std::string gzip(std::string_view text) {
  std::string out(compressBound(text.size()) + 100, '\0');
  z_stream stream = {};
  CHECK(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflateInit2");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace stint
