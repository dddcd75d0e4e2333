// The models whose shape is published. Sizes from the papers and model cards named in each row.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/text.h"
#include "catalog/sizing.h"

namespace stint {
namespace {

using Family = ModelFamily;

/// Vision activations: what PyTorch keeps per 224 × 224 image at 16 bit with AMP: batch 256 of ResNet-50 takes about
/// 22 GB (NVIDIA DeepLearningExamples), so 86 MB; EfficientNet in proportion to its activation count (Radosavovic et
/// al. 2020, "Designing Network Design Spaces"), ViT by the transformer formula of sizing.cc at 197 patches.
std::vector<ModelFacts> make_models() {
  return {
      {"bert-base", Family::kEncoder, 110e6, 85e6, 12, 768, 12, 12, 128, 0, 0, "Devlin et al. 2019, table 1; 128 tokens"},
      {"bert-large", Family::kEncoder, 340e6, 303e6, 24, 1024, 16, 16, 128, 0, 0, "Devlin et al. 2019, table 1; 128 tokens"},
      {"distilbert", Family::kEncoder, 66e6, 42.5e6, 6, 768, 12, 12, 128, 0, 0, "Sanh et al. 2019; 128 tokens"},
      {"roberta-base", Family::kEncoder, 125e6, 85e6, 12, 768, 12, 12, 128, 0, 0, "Liu et al. 2019; 128 tokens"},
      {"resnet50", Family::kVision, 25.6e6, 25.6e6, 50, 0, 0, 0, 0, 8.2e9, 86e6, "He et al. 2016, 4.1 GMAC; 224 × 224"},
      {"efficientnet-b0", Family::kVision, 5.3e6, 5.3e6, 18, 0, 0, 0, 0, 0.78e9, 52e6, "Tan and Le 2019, 0.39 GMAC; 224 × 224"},
      {"vit-base", Family::kVision, 86e6, 86e6, 12, 768, 12, 12, 0, 35.2e9, 90e6,
       "Dosovitskiy et al. 2021, 17.6 GMAC; 224 × 224"},
      {"gpt2", Family::kDecoder, 124e6, 85e6, 12, 768, 12, 12, 1024, 0, 0, "Radford et al. 2019"},
      {"llama-2-7b", Family::kDecoder, 6.74e9, 6.6e9, 32, 4096, 32, 32, 4096, 0, 0, "Touvron et al. 2023"},
      {"mistral-7b", Family::kDecoder, 7.24e9, 7.1e9, 32, 4096, 32, 8, 4096, 0, 0, "Jiang et al. 2023"},
      {"llama-3-8b", Family::kDecoder, 8.03e9, 7.5e9, 32, 4096, 32, 8, 4096, 0, 0, "Llama 3 model card 2024"},
      {"llama-2-13b", Family::kDecoder, 13.0e9, 12.8e9, 40, 5120, 40, 40, 4096, 0, 0, "Touvron et al. 2023"},
      {"llama-3-70b", Family::kDecoder, 70.6e9, 69.5e9, 80, 8192, 64, 8, 4096, 0, 0, "Llama 3 model card 2024"},
  };
}

}  // namespace

std::span<const ModelFacts> known_models() {
  static const std::vector<ModelFacts> kModels = make_models();
  return kModels;
}

const ModelFacts* find_model(std::string_view name) {
  for (const ModelFacts& m : known_models())
    if (equals_ignoring_case(m.name, trim(name))) return &m;
  return nullptr;
}

ModelFacts decoder_of_size(double parameters) {
  CHECK(parameters >= 1e6 && parameters <= 1e13, "{} parameters", parameters);
  ModelFacts m;
  m.name =
      parameters >= 1e9 ? fmt::format("{:.3g}B decoder", parameters / 1e9) : fmt::format("{:.3g}M decoder", parameters / 1e6);
  m.parameters = m.matmul_parameters = parameters;
  m.layers = std::max(1, static_cast<int>(std::lround(std::cbrt(parameters / (12.0 * 128 * 128)))));
  m.hidden = 128 * m.layers;
  m.heads = m.kv_heads = m.layers;  // heads of 128
  m.sequence = 4096;
  m.source = "proportions hidden = 128 × layers, parameters = 12 × layers × hidden² (Kaplan et al. 2020)";
  return m;
}

}  // namespace stint
