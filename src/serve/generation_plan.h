// What each answer of a model leads to: its next request. So models that tell one token of a text at a time, or go on from a state of
// theirs, answer with a stream.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "codec/serving/served_model_file.h"
#include "serve/runtime.h"

namespace stint::serve {

/// Of one item: what a step of a generation takes.
struct GenerationState {
  std::vector<Values> values;  ///< by input
  std::vector<Shape> shapes;   ///< of the item
};

class GenerationPlan {
 public:
  /// @param largest  of each free dimension of the inputs
  /// @return error naming what the model does not have, or what does not fit together
  static Result<GenerationPlan> create(const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs,
                                       const Sizes& largest, const ServedGeneration& config);
  [[nodiscard]] int64_t steps() const { return steps_; }
  [[nodiscard]] Duration longest() const { return longest_; }
  /// Names of the outputs that are sent; empty: all.
  [[nodiscard]] const std::vector<std::string>& answers() const { return answers_; }
  /// Inputs become larger with each step.
  [[nodiscard]] bool grows() const { return grows_; }
  /// The answer is the last one.
  [[nodiscard]] bool stops(std::span<const OutputRows> outputs) const;
  /// What the next step takes.
  /// @return false: an input would be larger than is served, and nothing comes after this answer. Error when sizes do not go together
  Result<bool> advance(GenerationState& state, std::span<const OutputRows> outputs) const;

 private:
  /// Of an input, in the next step.
  struct Source {
    std::optional<size_t> output;  ///< none: a number, or what it was
    bool appended = false;
    Values number;
  };
  std::vector<TensorSpec> inputs_;
  Sizes largest_;
  std::vector<Source> sources_;  ///< by input
  std::optional<size_t> stop_;   ///< the output
  Values stop_value_;
  int64_t steps_ = 0;
  Duration longest_;
  std::vector<std::string> answers_;
  bool grows_ = false;
};

}  // namespace stint::serve
