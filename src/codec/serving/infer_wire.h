// The bodies of inference over HTTP: requests and answers of the Open Inference Protocol ("KServe v2"), tensors as JSON or as
// bytes behind the JSON head.
//
// Source: Open Inference Protocol, version 2, REST; its binary tensor data extension (`Inference-Header-Content-Length`).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "codec/serving/tensor_values.h"

namespace stint {

/// A tensor as it came: its values are in `bytes` where they came so, else in `own`.
struct InferTensor {
  std::string name;
  DataType type = DataType::kFp32;
  std::vector<int64_t> shape;  ///< each ≥ 0; the product is count()
  std::string_view bytes;      ///< of the body, which must outlive this
  std::vector<std::byte> own;

  [[nodiscard]] int64_t count() const;
  /// count() of them, not necessarily aligned; of BYTES as in tensor_texts.h.
  [[nodiscard]] std::span<const std::byte> values() const;
};

/// @return error when it has too many dimensions or values, or one below 0. @param name  of the input, for the message
Status check_infer_shape(std::span<const int64_t> shape, std::string_view name);

struct WantedOutput {
  std::string name;
  bool binary = false;
};

inline constexpr int64_t kLongestInferTimeout_us = 3'600'000'000;

struct InferRequest {
  std::string id;
  std::optional<Duration> timeout;      ///< parameter `timeout`, in microseconds: later the answer is worth nothing
  int64_t priority = 0;                 ///< parameter `priority`: 1 is the most urgent, 0 = not said
  std::optional<int64_t> most_answers;  ///< parameter `max_tokens`: of a stream
  std::vector<InferTensor> inputs;
  std::vector<WantedOutput> outputs;  ///< none: all
  bool binary_output = false;         ///< of those that are not named
};

/// Keeps its memory from request to request, where that is not much. For one thread.
class InferParser {
 public:
  InferParser();
  InferParser(InferParser&&) noexcept;
  ~InferParser();
  /// Takes NaN, Infinity and -Infinity where numbers of a floating type are expected, bare or in quotes.
  /// @param body  as it came; the tensors point into it. @param head_bytes  of JSON; none: all of it.
  Result<InferRequest> parse(std::string_view body, std::optional<size_t> head_bytes);
  /// What parse() takes of memory at most while it runs, what it returns included, the body not.
  static uint64_t most_bytes(size_t head_bytes);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A tensor of a message that is written. `shape` begins with the batch.
struct InferPart {
  std::string_view name;
  DataType type = DataType::kFp32;
  std::span<const int64_t> shape;
  std::span<const std::byte> values;  ///< as many as the shape says, in whole
  bool binary = false;
};

struct InferMessage {
  std::string body;
  std::optional<size_t> head_bytes;  ///< when parts are binary: to be sent as Inference-Header-Content-Length
};

/// Characters of the values as JSON, at most. @param values  of BYTES: whole texts
uint64_t json_room(DataType type, std::span<const std::byte> values);

/// NaN and infinity are written as NaN, Infinity and -Infinity, as Triton does; strict readers of JSON do not know them.
/// @return error for a text that is no UTF-8, where its part is not binary.
Result<InferMessage> write_infer_answer(std::string_view model, int64_t version, std::string_view id,
                                        std::span<const InferPart> outputs);
/// Of Triton's generate extension: outputs as members beside the model's name; one value alone, several as a list, whatever their shape.
/// @return error as write_infer_answer() has it
Result<std::string> write_generate_answer(std::string_view model, int64_t version, std::string_view id,
                                          std::span<const InferPart> outputs);
/// @param timeout  none: not said. Outputs are asked for in binary when the first input is.
Result<InferMessage> write_infer_request(std::span<const InferPart> inputs, std::optional<Duration> timeout);

/// As a JSON string, in quotes; what is no UTF-8 is replaced.
std::string json_text(std::string_view text);

}  // namespace stint
