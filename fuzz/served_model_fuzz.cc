// Any bytes are a model.json, a model.synthetic.json, a SHA256SUMS, a manifest or an address of an OCI artifact, or an error.
#include <cstdint>

#include "base/check.h"
#include "codec/serving/model_sums.h"
#include "codec/serving/oci_artifact.h"
#include "codec/serving/served_model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto config = stint::read_served_model(input, "fuzz"); config.ok()) {
    CHECK(config->max_batch >= 1 && config->queue_limit >= 1, "batch {}, queue {}", config->max_batch, config->queue_limit);
    for (const auto& [name, dimension] : config->dimensions)
      CHECK(dimension.largest.value_or(1) >= 1, "{} up to {}", name, *dimension.largest);
  }
  if (const auto model = stint::read_synthetic_model(input, "fuzz"); model.ok())
    CHECK(!model->inputs.empty() && !model->outputs.empty(), "a model without tensors");
  if (const auto sums = stint::read_model_sums(input, "fuzz"); sums.ok())
    for (const auto& [path, hash] : *sums)
      CHECK(hash.size() == 64 && path.find("..") != 0 && path.find("/..") == std::string::npos, "{}", path);
  if (const auto files = stint::read_oci_manifest(input, "fuzz"); files.ok())
    for (const auto& [path, hash] : *files)
      CHECK(hash.size() == 64 && path.find("..") != 0 && path.find("/..") == std::string::npos, "{}", path);
  if (const auto place = stint::parse_oci_place(input); place.ok())
    CHECK(place->host.find('/') == std::string::npos && place->repository.find("..") != 0 && !place->reference.empty(), "{}",
          input);
  if (const auto challenge = stint::read_oci_challenge(input, "fuzz"); challenge.ok())
    CHECK(!challenge->realm.empty(), "no realm");
  if (const auto token = stint::read_oci_token(input, "fuzz"); token.ok())
    CHECK(token->find('\n') == std::string::npos, "a token of several lines");
  return 0;
}
