// Any body under any coding unpacks to as much as is allowed, or is an error; what was unpacked can be packed and unpacked again.
#include <cstdint>

#include "base/check.h"
#include "host/http_coding.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  constexpr uint64_t kMost = 200'000;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  const auto coding = static_cast<stint::ContentCoding>(data[0] % 3);
  const size_t named = std::min<size_t>(data[1], rest.size());
  stint::HttpRequest request;
  request.headers.emplace_back("accept-encoding", rest.substr(0, named));
  const stint::ContentCoding taken = stint::accepted_coding(request);
  CHECK(taken == stint::ContentCoding::kIdentity || stint::accepts(request, taken), "what is taken is not accepted");
  (void)stint::coding_of(rest.substr(0, named));
  const auto body = stint::decoded(coding, rest.substr(named), kMost, [](uint64_t bytes) {
    CHECK(bytes <= kMost + 1, "{} bytes", bytes);
    return stint::Status();
  });
  if (!body.ok() || coding == stint::ContentCoding::kIdentity) return 0;
  CHECK(body->size() <= kMost, "{} bytes", body->size());
  const auto again = stint::decoded(coding, stint::encoded(coding, *body), kMost, [](uint64_t) { return stint::Status(); });
  CHECK(again.ok() && *again == *body, "another body comes back");
  return 0;
}
