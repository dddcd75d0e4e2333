// Any body with any head length is a request whose tensors lie within it, or an error; what is read can be written and read again.
#include <cstdint>

#include "base/check.h"
#include "codec/infer_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t head = data[0] + size_t{256} * (data[1] & 3U);
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  const bool whole = (data[1] & 128U) != 0;
  stint::InferParser parser;
  const auto request = parser.parse(body, whole ? std::nullopt : std::optional(head));
  if (!request.ok()) return 0;
  std::vector<std::vector<float>> values;
  std::vector<stint::InferPart> parts;
  for (const stint::InferTensor& tensor : request->inputs) {
    values.emplace_back(static_cast<size_t>(tensor.count()));
    tensor.copy_to(values.back());
    parts.push_back({tensor.name, tensor.shape, values.back(), true});
  }
  const auto written = stint::write_infer_request(parts, request->timeout);
  CHECK(written.ok(), "what was read is not written: {}", written.error().message);
  // A tensor of no values has no binary data, and a head alone is told by nothing but its being the whole.
  const auto again = parser.parse(written->body, written->head_bytes);
  CHECK(again.ok(), "what was written is refused: {}", again.error().message);
  CHECK(again->inputs.size() == request->inputs.size(), "inputs were lost");
  return 0;
}
