// A file that is fetched by HTTP and is kept only if its bytes have the hash that was promised.
#pragma once

#include <string>

#include "host/http_client.h"

namespace stint {

struct ProvenFile {
  std::string sha256;    ///< 64 hexadecimal digits
  std::string named_by;  ///< what promised it, for messages
  std::string to;        ///< that is not there yet
};

/// @return the answer; where its status is 200, the file is there. Error, without the file: no whole answer came, its bytes are others, or
/// it cannot be written.
Result<HttpResponse> fetch_proven(HttpClient& client, const HttpCall& call, const ProvenFile& file);

}  // namespace stint
