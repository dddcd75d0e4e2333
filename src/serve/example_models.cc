#include "serve/example_models.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/check.h"
#include "base/prng.h"
#include "serve/onnx_writer.h"

namespace stint::serve {
namespace {

/// He et al. 2015: variance 2 ÷ inputs keeps the scale from layer to layer.
std::vector<float> random_weights(Prng& prng, int64_t count, int64_t inputs) {
  std::vector<float> weights(static_cast<size_t>(count));
  const double scale = std::sqrt(2.0 / static_cast<double>(inputs));
  for (float& weight : weights)
    weight = static_cast<float>(prng.normal() * scale);
  return weights;
}

/// y = x · w + b.
void dense(OnnxWriter& writer, Prng& prng, const std::string& in, const std::string& out, int64_t from, int64_t to) {
  const std::string w = out + ".weight", b = out + ".bias";
  writer.constant(w, std::array{from, to}, random_weights(prng, from * to, from));
  writer.constant(b, std::array{to}, random_weights(prng, to, from));
  writer.node("Gemm", std::array{in, w, b}, out);
}

}  // namespace

std::string example_mlp(const std::vector<int64_t>& widths, uint64_t seed) {
  CHECK(widths.size() >= 2, "{} widths", widths.size());
  Prng prng(seed);
  OnnxWriter writer("mlp");
  writer.input("x", std::array{widths.front()});
  writer.output("y", std::array{widths.back()});
  std::string last = "x";
  for (size_t layer = 1; layer < widths.size(); ++layer) {
    const bool end = layer + 1 == widths.size();
    const std::string out = end ? "y" : fmt::format("dense{}", layer);
    dense(writer, prng, last, out, widths[layer - 1], widths[layer]);
    last = out;
    if (end) break;
    writer.node("Relu", std::array{out}, out + ".relu");
    last = out + ".relu";
  }
  return writer.finish();
}

std::string example_cnn(uint64_t seed) {
  Prng prng(seed);
  OnnxWriter writer("cnn");
  writer.input("x", std::array<int64_t, 3>{3, 64, 64});
  writer.output("y", std::array<int64_t, 1>{10});
  std::string last = "x";
  int64_t channels = 3;
  for (const int64_t next : {32, 64, 128}) {
    const std::string conv = fmt::format("conv{}", next), w = conv + ".weight", relu = conv + ".relu";
    writer.constant(w, std::array<int64_t, 4>{next, channels, 3, 3}, random_weights(prng, next * channels * 9, channels * 9));
    writer.node("Conv", std::array{last, w}, conv,
                std::array{OnnxWriter::Ints{"kernel_shape", {3, 3}}, OnnxWriter::Ints{"strides", {2, 2}},
                           OnnxWriter::Ints{"pads", {1, 1, 1, 1}}});
    writer.node("Relu", std::array{conv}, relu);
    last = relu;
    channels = next;
  }
  writer.node("GlobalAveragePool", std::array{last}, "pool");
  writer.node("Flatten", std::array<std::string, 1>{"pool"}, "flat");
  dense(writer, prng, "flat", "y", channels, 10);
  return writer.finish();
}

}  // namespace stint::serve
