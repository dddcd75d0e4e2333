// Requests of different lengths in one batch: free dimensions filled up to a common size, and answers cut back to their own.
//
// That is right only where the model does not let what was filled in touch the rest: because the operator says so, or because a mask input
// says which part counts and the model, tried with and without filling, gave the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codec/serving/served_model_file.h"
#include "serve/runtime.h"

namespace stint::serve {

/// The input that says by 1 and 0 which part of a sequence counts, as models of Hugging Face's name it.
inline constexpr const char* kMaskInput = "attention_mask";

class Padding {
 public:
  /// @param largest  of each free dimension of the inputs. @param masked  those that may be filled up by what was tried
  /// @return error when the configuration names what the model does not have, or an output cannot be cut back
  static Result<Padding> create(const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs,
                                const Sizes& largest, const std::vector<std::string>& masked, const ServedModelConfig& config);
  [[nodiscard]] bool none() const { return sizes_.empty(); }
  /// The sizes that a request with these runs with.
  [[nodiscard]] Sizes filled_up(Sizes own) const;
  /// A value of the input for what is filled in, as it lies in memory; of BYTES the text without its length.
  [[nodiscard]] const Values& value(size_t input) const { return values_[input]; }

 private:
  std::map<std::string, std::vector<int64_t>, std::less<>> sizes_;  // by dimension, ascending; the last is the largest
  std::vector<Values> values_;                                      // by input
};

/// The free dimensions' sizes in these shapes, one for each spec.
Sizes sizes_in(const std::vector<TensorSpec>& specs, std::span<const Shape> shapes);

/// Copies what both arrays have, the corner at the origin.
void copy_corner(std::span<const std::byte> from, std::span<const int64_t> from_shape, std::span<std::byte> to,
                 std::span<const int64_t> to_shape);
/// The same element over and over.
void fill_with(std::span<std::byte> to, std::span<const std::byte> element);

/// The same for texts: those of `items` items are appended to `to`, with `fill` where there is none.
struct TextItems {
  std::span<const std::byte> texts;  ///< whole ones, as tensor_texts.h has them
  int64_t items = 0;
};
void append_corner(TextItems from, const Shape& from_shape, const Shape& to_shape, std::string_view fill, Values& to);

/// Runs the model with and without filling up the dimension of its mask. @param largest  of all free dimensions
/// @return the dimension, where both gave the same; none: there is no mask, or they did not
Result<std::vector<std::string>> try_mask(Runtime& runtime, const Sizes& largest);

}  // namespace stint::serve
