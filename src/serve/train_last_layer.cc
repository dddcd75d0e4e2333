// Softmax regression on the features that the layers before a model's last one make, by stochastic gradient descent.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/prng.h"
#include "serve/example_models.h"

namespace stint::serve {
namespace {

constexpr int kRounds = 12;
constexpr double kStep = 0.02;    // of the first round; it falls to nothing
constexpr double kShrink = 1e-4;  // of the weights, each step

/// Rows of features, each feature with mean 0 and deviation 1.
struct Features {
  size_t width = 0;
  std::vector<float> values;
  std::vector<double> mean, deviation;
};

Features standardised(std::vector<float> values, size_t rows) {
  Features features{values.size() / rows, std::move(values), {}, {}};
  for (size_t f = 0; f < features.width; ++f) {
    double sum = 0, squares = 0;
    for (size_t r = 0; r < rows; ++r) {
      const double value = features.values[r * features.width + f];
      sum += value;
      squares += value * value;
    }
    const double mean = sum / static_cast<double>(rows);
    const double spread = std::sqrt(std::max(0.0, squares / static_cast<double>(rows) - mean * mean));
    features.mean.push_back(mean);
    features.deviation.push_back(spread > 1e-9 ? spread : 1);
    for (size_t r = 0; r < rows; ++r) {
      float& value = features.values[r * features.width + f];
      value = static_cast<float>((value - mean) / features.deviation[f]);
    }
  }
  return features;
}

/// Class by class: weights of the features, and an offset.
struct Readout {
  size_t classes = 0;
  std::vector<float> weights;  // feature × class
  std::vector<float> offsets;
};

void step(Readout& readout, std::span<const float> row, size_t label, float rate) {
  std::vector<float> scores = readout.offsets;
  for (size_t f = 0; f < row.size(); ++f)
    for (size_t c = 0; c < readout.classes; ++c)
      scores[c] += row[f] * readout.weights[f * readout.classes + c];
  const float most = *std::ranges::max_element(scores);
  float sum = 0;
  for (float& score : scores)
    sum += score = std::exp(score - most);
  for (size_t c = 0; c < readout.classes; ++c) {
    scores[c] = rate * ((c == label ? 1.0F : 0.0F) - scores[c] / sum);
    readout.offsets[c] += scores[c];
  }
  const float kept = 1 - rate * static_cast<float>(kShrink);
  for (size_t f = 0; f < row.size(); ++f)
    for (size_t c = 0; c < readout.classes; ++c)
      readout.weights[f * readout.classes + c] = readout.weights[f * readout.classes + c] * kept + row[f] * scores[c];
}

Readout fitted(const Features& features, const std::vector<int64_t>& labels, size_t classes) {
  Readout readout{classes, std::vector<float>(features.width * classes), std::vector<float>(classes)};
  std::vector<size_t> order(labels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  Prng prng(1);
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[prng.below(i)]);
    // A row's length grows with its features: so that a step does not, the rate falls with them.
    const double rate = kStep * (1 - static_cast<double>(round) / kRounds) * 64 / static_cast<double>(features.width);
    for (const size_t r : order)
      step(readout, std::span(features.values).subspan(r * features.width, features.width), static_cast<size_t>(labels[r]),
           static_cast<float>(rate));
  }
  return readout;
}

}  // namespace

Result<std::string> train_last_layer(const OnnxRuntime& onnx, const std::string& model, const LabelledData& data) {
  TRY_ASSIGN(OnnxGraph graph, OnnxGraph::parse(model, "example"));
  const OnnxNode last = graph.nodes.back();
  CHECK(last.op == "Gemm" && last.inputs.size() == 3 && !last.integer("transB"), "the last layer is a {}", last.op);
  OnnxGraph open = graph;
  open.expose(last.inputs[0]);
  TRY_ASSIGN(const std::unique_ptr<Runtime> runtime, onnx.open(open.encode(), "example"));
  std::vector<float> values;
  TRY(run_rows(*runtime, data.rows, [&](int64_t, const std::vector<std::vector<float>>& out) {
    values.insert(values.end(), out.back().begin(), out.back().end());
  }));
  const Features features = standardised(std::move(values), static_cast<size_t>(data.count()));
  OnnxTensor& weight = graph.constants.at(last.inputs[1]);
  OnnxTensor& bias = graph.constants.at(last.inputs[2]);
  Readout readout = fitted(features, data.labels, static_cast<size_t>(weight.shape[1]));
  // The standardisation becomes part of the layer.
  for (size_t f = 0; f < features.width; ++f) {
    for (size_t c = 0; c < readout.classes; ++c) {
      float& w = readout.weights[f * readout.classes + c];
      w = static_cast<float>(w / features.deviation[f]);
      readout.offsets[c] -= static_cast<float>(w * features.mean[f]);
    }
  }
  weight = OnnxTensor::of<float>(weight.name, weight.shape, OnnxType::kFloat, readout.weights);
  bias = OnnxTensor::of<float>(bias.name, bias.shape, OnnxType::kFloat, readout.offsets);
  return graph.encode();
}

}  // namespace stint::serve
