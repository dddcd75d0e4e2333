#include "cli/serve/proven_download.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "host/sha256.h"

namespace stint {

Result<HttpResponse> fetch_proven(HttpClient& client, const HttpCall& call, const ProvenFile& file) {
  std::ofstream out(file.to, std::ios::binary);
  Sha256 hash;
  Result<HttpResponse> answer = client.follow(call, [&](std::string_view piece) {
    hash.update(piece);
    out.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    return out.good();
  });
  out.close();
  const bool is_proven = answer.ok() && answer->status == 200 && out.good() && hash.digest() == file.sha256;
  if (is_proven) return answer;
  std::remove(file.to.c_str());
  if (!answer.ok() || answer->status != 200) return answer;
  if (!out.good()) return make_error(ErrorCode::kUnavailable, "{}: cannot be written: is the disk full?", file.to);
  return invalid("{}: its bytes are not those that {} names: cut off, or changed since", call.url, file.named_by);
}

}  // namespace stint
