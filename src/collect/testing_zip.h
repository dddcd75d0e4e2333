// ZIP archives as tests need them.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"

namespace stint {

enum class ZipSizes { kBefore, kAfter };  ///< kAfter: in a descriptor, as what writes to a pipe does

inline std::string zip(const std::vector<std::pair<std::string, std::string>>& files, ZipSizes sizes = ZipSizes::kBefore) {
  const auto little = [](uint64_t value, size_t bytes) {
    std::string out;
    for (size_t i = 0; i < bytes; ++i)
      out += static_cast<char>(value >> (8 * i));
    return out;
  };
  std::string out, directory;
  for (const auto& [name, text] : files) {
    std::string packed(compressBound(text.size()) + 100, '\0');
    z_stream stream = {};
    CHECK(deflateInit2(&stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflateInit2");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate");
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    const uint64_t crc = crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
    const std::string facts = little(crc, 4) + little(packed.size(), 4) + little(text.size(), 4);
    const bool after = sizes == ZipSizes::kAfter;
    const std::string common = little(20, 2) + little(after ? 8 : 0, 2) + little(8, 2) + little(0, 4);
    const std::string names = little(name.size(), 2) + little(0, 2);
    directory += "PK\x01\x02" + little(20, 2) + common + facts + names + std::string(14, '\0') + name;
    out += "PK\x03\x04" + common + (after ? std::string(12, '\0') : facts) + names + name + packed;
    if (after) out += "PK\x07\x08" + facts;
  }
  return out + directory + "PK\x05\x06" + std::string(18, '\0');
}

}  // namespace stint
