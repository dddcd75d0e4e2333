// A tuned setup in the words of the server that is to keep it.
//
// Sources: Triton Inference Server, model configuration (ModelConfig of model_config.proto); TensorFlow Serving, batching guide
// (BatchingParameters of session_bundle_config.proto).
#pragma once

#include <string>

#include "batching/serving_sim.h"

namespace stint {

enum class ServingConfigKind : uint8_t {
  kStint,      ///< model.json
  kTriton,     ///< lines of config.pbtxt, to be put beside what names the model
  kTfServing,  ///< --batching_parameters_file
};

std::string write_serving_config(ServingConfigKind kind, const batching::ServingSetup& setup, const batching::Promise& promise);

}  // namespace stint
