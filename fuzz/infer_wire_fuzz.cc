// Any body with any head length is a request whose tensors lie within it, or an error; what is read can be written and read again, as
// bytes and, where its values are such as JSON has, as text.
#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "codec/serving/infer_wire.h"
#include "codec/serving/tensor_texts.h"

namespace {

using stint::InferTensor;

/// As numbers: JSON has no sign of zero.
template <typename T>
bool same_numbers(std::span<const std::byte> a, std::span<const std::byte> b) {
  bool same = true;
  stint::each_value<T>(a, [&](T value) {
    T other;
    std::memcpy(&other, b.data(), sizeof other);
    b = b.subspan(sizeof other);
    const auto one = stint::plain(value), two = stint::plain(other);
    same = same && (one == two || (one != one && two != two));  // what is no number is not itself
  });
  return same;
}

bool same(const InferTensor& a, const InferTensor& b, bool binary) {
  if (a.type != b.type || a.shape != b.shape || a.values().size() != b.values().size()) return false;
  if (binary || a.type == stint::DataType::kBytes) return std::ranges::equal(a.values(), b.values());
  return stint::visit_type(a.type, [&]<typename T>(T) { return same_numbers<T>(a.values(), b.values()); });
}

void write_and_read(const stint::InferRequest& request, bool binary) {
  std::vector<stint::InferPart> parts;
  for (const InferTensor& tensor : request.inputs)
    parts.push_back({tensor.name, tensor.type, tensor.shape, tensor.values(), binary});
  const auto written = stint::write_infer_request(parts, request.timeout);
  CHECK(written.ok(), "what was read is not written: {}", written.error().message);
  // A tensor of no values has no binary data, and a head alone is told by nothing but its being the whole.
  const auto again = stint::InferParser().parse(written->body, written->head_bytes);
  CHECK(again.ok(), "what was written is refused: {}", again.error().message);
  CHECK(again->inputs.size() == request.inputs.size(), "inputs were lost");
  for (size_t i = 0; i < request.inputs.size(); ++i)
    CHECK(same(request.inputs[i], again->inputs[i], binary), "input {} is another", request.inputs[i].name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const size_t head = data[0] + size_t{256} * (data[1] & 3U);
  const std::string_view body(reinterpret_cast<const char*>(data) + 2, size - 2);
  const bool whole = (data[1] & 128U) != 0;
  stint::InferParser parser;
  const auto request = parser.parse(body, whole ? std::nullopt : std::optional(head));
  if (!request.ok()) return 0;
  write_and_read(*request, true);
  const bool fits_json = std::ranges::all_of(request->inputs, [](const InferTensor& tensor) {
    return tensor.type != stint::DataType::kBytes || stint::all_utf8(tensor.values());
  });
  if (fits_json) write_and_read(*request, false);
  return 0;
}
