#include "host/http_coding.h"

#include <zlib.h>

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace stint {
namespace {

constexpr int kWindowBits = 15;

/// As zlib is told them: 16 more for gzip.
int window_bits_of(ContentCoding coding) { return coding == ContentCoding::kGzip ? kWindowBits + 16 : kWindowBits; }

/// q=0, q=0.0 …: not at all.
bool refuses(std::string_view parameter) {
  parameter = trim(parameter);
  if (parameter.size() < 3 || !equals_ignoring_case(parameter.substr(0, 2), "q=")) return false;
  return parameter.substr(2).find_first_not_of("0.") == std::string_view::npos;
}

class Unpacking {
 public:
  explicit Unpacking(ContentCoding coding) { CHECK(inflateInit2(&stream, window_bits_of(coding)) == Z_OK, "zlib cannot start"); }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
  ~Unpacking() { inflateEnd(&stream); }
  z_stream stream = {};
};

}  // namespace

std::string_view name_of(ContentCoding coding) {
  switch (coding) {
    case ContentCoding::kIdentity: return "identity";
    case ContentCoding::kGzip: return "gzip";
    case ContentCoding::kDeflate: return "deflate";
  }
  return "";
}

std::optional<ContentCoding> coding_of(std::string_view header) {
  header = trim(header);
  if (equals_ignoring_case(header, "x-gzip")) return ContentCoding::kGzip;
  for (const ContentCoding coding : {ContentCoding::kIdentity, ContentCoding::kGzip, ContentCoding::kDeflate})
    if (equals_ignoring_case(header, name_of(coding))) return coding;
  return std::nullopt;
}

bool accepts(const HttpRequest& request, ContentCoding coding) {
  const std::string* header = request.header("accept-encoding");
  if (header == nullptr) return false;
  bool others = false;
  for (const std::string_view part : split(*header, ',')) {
    const auto words = split(part, ';');
    const std::string_view named = trim(words[0]);
    const bool wanted = words.size() == 1 || !refuses(words[1]);
    if (equals_ignoring_case(named, name_of(coding))) return wanted;
    if (named == "*") others = wanted;
  }
  return others;
}

ContentCoding accepted_coding(const HttpRequest& request) {
  for (const ContentCoding coding : {ContentCoding::kGzip, ContentCoding::kDeflate})
    if (accepts(request, coding)) return coding;
  return ContentCoding::kIdentity;
}

Result<std::string> decoded(ContentCoding coding, std::string_view body, uint64_t most, const TakesBytes& takes) {
  if (coding == ContentCoding::kIdentity) return std::string(body);
  Unpacking unpacking(coding);
  z_stream& stream = unpacking.stream;
  std::string all;
  size_t used = 0;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  CHECK(body.size() <= UINT32_MAX, "a body of {} bytes", body.size());
  stream.avail_in = static_cast<uInt>(body.size());
  for (;;) {
    if (used == all.size()) {
      // One byte more than allowed tells a body that is too long.
      const uint64_t size = std::min<uint64_t>(std::max<uint64_t>(2 * all.size(), 64U << 10), most + 1);
      if (size <= used) return invalid("the compressed body unpacks to more than {} bytes: send less at once", most);
      TRY(takes(size));
      all.resize(size);
    }
    const size_t room = std::min<size_t>(all.size() - used, 1U << 30);
    stream.next_out = reinterpret_cast<Bytef*>(all.data() + used);
    stream.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream, Z_NO_FLUSH);
    used += room - stream.avail_out;
    if (code == Z_STREAM_END) break;
    if (code == Z_BUF_ERROR || (code == Z_OK && stream.avail_in == 0 && stream.avail_out > 0))
      return invalid("the compressed body ends early");
    if (code != Z_OK)
      return invalid("the body is no {} data ({})", name_of(coding), stream.msg == nullptr ? "no detail" : stream.msg);
  }
  if (stream.avail_in > 0) return invalid("something follows the compressed body");
  if (used > most) return invalid("the compressed body unpacks to more than {} bytes: send less at once", most);
  all.resize(used);
  return all;
}

std::string encoded(ContentCoding coding, std::string_view body) {
  if (coding == ContentCoding::kIdentity) return std::string(body);
  CHECK(body.size() <= UINT32_MAX, "a body of {} bytes", body.size());
  constexpr int kMemoryLevel = 8;
  z_stream stream = {};
  CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, window_bits_of(coding), kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK,
        "zlib cannot start");
  std::string packed(deflateBound(&stream, body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int code = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  CHECK(code == Z_STREAM_END, "zlib did not end");
  return packed;
}

}  // namespace stint
