// Any bytes are a job request, a pipeline or an error; what is accepted is written and read back the same.
#include <cstdint>

#include "base/check.h"
#include "daemon/engine/pipeline.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto check = [](const stint::JobRequest& request) {
    const std::string text = stint::to_json(request);
    const auto again = stint::parse_job_request(text);
    CHECK(again.ok(), "what was written is refused: {}", again.error().message);
    CHECK(stint::to_json(*again) == text, "writing is not stable: {} and {}", text, stint::to_json(*again));
  };
  if (const auto request = stint::parse_job_request(input); request.ok()) check(*request);
  if (const auto stages = stint::parse_pipeline(input); stages.ok())
    for (size_t i = 0; i < stages->size(); ++i) {
      check((*stages)[i].request);
      for (const size_t after : (*stages)[i].after)
        CHECK(after < i, "stage {} waits for stage {}", i, after);
    }
  return 0;
}
