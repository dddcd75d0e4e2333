// Any bytes are a model file or an error; what is read is written and read back the same, and so is what becomes of it in float16 and INT8.
#include <cstdint>

#include "base/check.h"
#include "serve/half_precision.h"
#include "serve/quantize.h"

namespace {

std::string rewritten(const std::string& text) {
  const auto again = stint::serve::OnnxGraph::parse(text, "again");
  CHECK(again.ok(), "what was written is refused: {}", again.error().message);
  return again->encode();
}

/// Constants that are no floats are not looked at when they are read: from then on they come behind those that are.
void check(const stint::serve::OnnxGraph& graph) {
  const std::string text = rewritten(graph.encode());
  CHECK(rewritten(text) == text, "writing is not stable");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = stint::serve::OnnxGraph::parse({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!graph.ok()) return 0;
  check(*graph);
  if (const auto half = stint::serve::in_half_precision(*graph); half.ok()) check(*half);
  if (const auto bytes = stint::serve::quantize_dynamic(*graph); bytes.ok()) check(*bytes);
  if (const auto bytes = stint::serve::quantize_static(*graph, {}); bytes.ok()) check(*bytes);
  return 0;
}
