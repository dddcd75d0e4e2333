// The small JSON files of a model repository: how a model is to be served, and models that only pretend (synthetic).
// docs/formats.md describes both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "codec/serving/tensor_values.h"

namespace stint {

/// A dimension beside the batch that each request sets.
struct ServedDimension {
  std::optional<int64_t> largest;  ///< none: as large as the model runs, at most 512
  std::optional<std::map<std::string, double>>
      pad;  ///< filled up with these values, by input, 0 where an input is not named; none: not said
  std::map<std::string, std::string> pad_texts;  ///< and with these, inputs of BYTES; with the empty text where one is not named
  bool never_padded = false;
  std::vector<int64_t> sizes;  ///< to which it is filled up, ascending; none: powers of two
};

/// A version that answers some of the requests once more, to be compared.
struct ServedShadow {
  int64_t version = 0;
  int64_t percent = 100;    ///< of the requests, 1 … 100
  double tolerance = 0.01;  ///< of a value, as a part of the largest value of its item's output; 0 … 1
};

/// A version that gets more of the requests step by step, as long as it answers well.
struct ServedCanary {
  int64_t version = 0;
  std::vector<int64_t> percent = {1, 10, 50, 100};  ///< of the requests without a version, ascending, 1 … 100
  Duration step = Duration::minutes(5);             ///< at each of them at least
  int64_t least_requests = 100;                     ///< that it has to have had there
};

/// A value of a tensor as a configuration writes it.
using ServedValue = std::variant<double, std::string>;

/// A model whose answers lead to its next request, until one of them says that it is done.
struct ServedGeneration {
  std::map<std::string, std::string> feed;                  ///< inputs that are an output of the step before, by name
  std::map<std::string, std::string> append;                ///< inputs to which an output of each step is added at the end
  std::map<std::string, double> append_numbers;             ///< or a number
  std::optional<std::pair<std::string, ServedValue>> stop;  ///< an output, and its value that ends the stream
  int64_t steps = 256;                                      ///< at most
  Duration longest = Duration::seconds(60);                 ///< of the whole stream
  std::vector<std::string> answers;                         ///< outputs that are sent; none: all
};

/// How a model is served: `model.json` beside its versions. Every field may be left out.
struct ServedModelConfig {
  int64_t max_batch = 32;  ///< items
  Duration max_wait;       ///< for company while an instance is free
  std::vector<int64_t> preferred;
  int64_t instances = 1;  ///< batches at the same time
  int64_t queue_limit = 1024;
  std::optional<Duration> timeout;  ///< of requests that name none
  std::optional<Duration> promise;  ///< at p99: what the headroom is told of
  bool tune = false;                ///< max_wait and preferred follow the load, so that the promise is kept; needs one
  bool pinned = false;              ///< never evicted
  bool cache = false;               ///< equal requests at the same time are computed once, and answers kept where there is room
  std::optional<Bytes> budget;      ///< weights and activations together
  std::map<std::string, ServedDimension> dimensions;  ///< by their names in the model
  std::optional<ServedGeneration> generate;
  std::optional<ServedShadow> shadow;
  std::optional<ServedCanary> canary;
  std::map<int64_t, int64_t> traffic;  ///< parts of the requests without a version, by version; none: the highest has all
};
/// @param source  for messages.
Result<ServedModelConfig> read_served_model(std::string_view bytes, const std::string& source);

/// A model without a network: its outputs repeat its first input, a batch takes base + item × items.
struct SyntheticModel {
  struct Tensor {
    std::string name;
    DataType type = DataType::kFp32;
    std::vector<int64_t> item_shape;
  };
  std::vector<Tensor> inputs, outputs;  ///< outputs are of the first input's type
  Duration base, item;
  Bytes weights = Bytes::mebi(1);
  Bytes activation;  ///< of an item
};
Result<SyntheticModel> read_synthetic_model(std::string_view bytes, const std::string& source);

}  // namespace stint
