// Models measured each in a process of its own, and each content once.
//
// What a process takes of memory is told for all of it: while other models load, run and leave in it, none of its growth can be said to be
// one model's. In a process that does nothing else it can; and a model that is measured there takes nothing of what is served here, nor
// does one that ends its process.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "serve/model_source.h"

namespace stint::serve {

class ModelMeasurer {
 public:
  /// @param command  that measures a model on the processor: `--model FILE --max-batch N --onnxruntime FILE` and `--dimension NAME=LARGEST` is put behind it, and it prints
  ///   what write_measurement() gives; empty: all are measured in this process.
  explicit ModelMeasurer(std::vector<std::string> command) : command_(std::move(command)) {}
  /// One thread at a time. Models on a GPU and synthetic ones are measured in this process, as often as they are asked for.
  Result<MeasuredModel> measure(const ModelSource& source, const ServedModelConfig& config);

 private:
  using Key =
      std::tuple<std::string, std::string, int64_t, Sizes>;  // SHA-256 of the model, the runtime's version, the largest batch
  [[nodiscard]] Result<Measurement> measure_apart(const ModelSource& source, const ServedModelConfig& config) const;

  const std::vector<std::string> command_;
  std::map<Key, Measurement> known_;
};

/// As JSON.
std::string write_measurement(const Result<Measurement>& measured);
/// @return the error, too, that was written. @param source  for messages
Result<Measurement> read_measurement(std::string_view json, const std::string& source);

}  // namespace stint::serve
