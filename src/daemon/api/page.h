// The page that the daemon serves to people: files compiled into the program, answered without asking anybody.
//
// `/` is the page itself, asked again each time (ETag). All it loads lies under /page/FINGERPRINT/, where the fingerprint is that of
// all files together: kept by browsers for a year, and never mixed with those of another version. Sent gzipped to who takes that.
// A Content-Security-Policy lets the page run its own files alone and talk to the daemon only.
#pragma once

#include <optional>
#include <string_view>

#include "host/http_server.h"

namespace stint {

/// A page of one message, for a browser that is led here: what happened, and the way back. Neither text is taken as HTML.
HttpReply page_notice(int status, std::string_view title, std::string_view text);

/// none = this path is not the page's. Any thread.
std::optional<HttpReply> page_reply(const HttpRequest& request);

}  // namespace stint
