// Content codings of HTTP bodies: gzip and deflate.
//
// Source: RFC 9110, sections 8.4.1 (codings) and 12.5.3 (Accept-Encoding); RFC 1950 (zlib, which "deflate" is), RFC 1952 (gzip).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/http_server.h"

namespace stint {

enum class ContentCoding : uint8_t { kIdentity, kGzip, kDeflate };

/// As in Content-Encoding; of kIdentity "identity".
std::string_view name_of(ContentCoding coding);
/// @param header  value of Content-Encoding. @return none: another coding than these, or several
std::optional<ContentCoding> coding_of(std::string_view header);
/// Does the client take it? By its Accept-Encoding: named, or under `*`, and not with q=0. Without that header: no coding at all.
bool accepts(const HttpRequest& request, ContentCoding coding);
/// Of those it accepts, gzip first.
ContentCoding accepted_coding(const HttpRequest& request);

/// Called before a body takes so many bytes; an error ends it.
using TakesBytes = std::function<Status(uint64_t bytes)>;
/// @param most  bytes that the unpacked body may have.
/// @return kInvalidInput when the body is damaged, ends early, has something behind it, or is longer; or the error of `takes`
Result<std::string> decoded(ContentCoding coding, std::string_view body, uint64_t most, const TakesBytes& takes);
/// Quickly rather than small: zlib's level 1.
std::string encoded(ContentCoding coding, std::string_view body);

}  // namespace stint
