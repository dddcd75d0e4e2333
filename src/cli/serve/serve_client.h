// What the subcommands of stint serve share that look at an inference server from outside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "batching/arrivals.h"
#include "codec/serving/tensor_values.h"
#include "serve/load_generator.h"
#include "serve/runtime.h"

namespace stint {

/// `50ms`, or a duration as everywhere: `2s`. @param option  for the message.
Result<Duration> parse_time_limit(const std::string& option, const std::string& text);

/// Arrivals with the gaps of a trace: the first column of a CSV whose values are times, ascending; seconds, or
/// "2023-11-16 18:15:46.68" as the public traces have it.
Result<batching::ArrivalPlan> trace_arrivals(const std::string& file);

struct ServedTensors {
  struct Input {
    std::string name;
    DataType type = DataType::kFp32;
    std::vector<int64_t> item_shape;
  };
  std::string model;
  std::vector<Input> inputs;
};

/// Any server that speaks the Open Inference Protocol over plain HTTP.
class ServeClient {
 public:
  /// @param server  `127.0.0.1:8480`.
  static Result<ServeClient> create(const std::string& server);
  /// @param sizes  of free dimensions, `INPUT.PLACE` (of the batch, 0); 16 for others. @return error naming one that there is not
  [[nodiscard]] Result<ServedTensors> tensors_of(const std::string& model, const serve::Sizes& sizes = {}) const;
  /// A whole HTTP request with random values that any model can take.
  [[nodiscard]] Result<std::string> infer_request(const ServedTensors& tensors, int64_t items, bool binary,
                                                  std::optional<Duration> timeout, Prng& prng) const;
  [[nodiscard]] serve::LoadTarget target() const { return {address_, port_, {}}; }

 private:
  std::string address_;
  uint16_t port_ = 0;
};

}  // namespace stint
