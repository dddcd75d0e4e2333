#include "codec/served_model_file.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "codec/json_fields.h"

namespace stint {
namespace {

using json_fields::integer_of;
using json_fields::Json;
using json_fields::Malformed;
using json_fields::number_of;

constexpr int64_t kMostBatch = 65'536;
constexpr double kLongestMs = 3.6e6;
constexpr int64_t kMostMebi = int64_t{1} << 30;
constexpr int64_t kLargestTensor = int64_t{1} << 28;  // values of an item

/// A misspelt setting must not be passed over.
void check_members(const Json& object, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) throw Malformed(object, "expected an object");
  for (const auto& [name, value] : object.items())
    if (name != json_fields::kLine && std::ranges::find(known, name) == known.end())
      throw Malformed(object, fmt::format("unknown field \"{}\"; known: {}", excerpt(name), fmt::join(known, ", ")));
}

Duration milliseconds_of(const Json& object, const char* name) {
  return Duration::nanoseconds(std::llround(number_of(object, name, 0, kLongestMs) * 1e6));
}
Duration microseconds_of(const Json& object, const char* name) {
  return Duration::nanoseconds(std::llround(number_of(object, name, 0, kLongestMs * 1e3) * 1e3));
}

/// False where it is left out.
bool flag_of(const Json& object, const char* name) {
  if (!object.contains(name)) return false;
  if (!object[name].is_boolean()) throw Malformed(object, fmt::format("{} must be true or false", name));
  return object[name].get<bool>();
}

std::map<int64_t, int64_t> traffic_of(const Json& object) {
  std::map<int64_t, int64_t> traffic;
  int64_t sum = 0;
  for (const auto& [name, value] : object.items()) {
    if (name == json_fields::kLine) continue;
    const std::optional<int64_t> version = parse_int(name);
    if (!version || *version < 1) throw Malformed(object, fmt::format("traffic: {} is no version", excerpt(name)));
    traffic[*version] = integer_of(object, name.c_str(), 0, 1000);
    sum += traffic[*version];
  }
  if (sum == 0) throw Malformed(object, "traffic: no version gets any of it");
  return traffic;
}

ServedModelConfig config_of(const Json& json) {
  check_members(json, {"max_batch", "max_wait_ms", "preferred", "instances", "queue", "timeout_ms", "promise_p99_ms", "tune",
                       "pinned", "budget_mib", "traffic"});
  ServedModelConfig config;
  if (json.contains("max_batch")) config.max_batch = integer_of(json, "max_batch", 1, kMostBatch);
  if (json.contains("max_wait_ms")) config.max_wait = milliseconds_of(json, "max_wait_ms");
  if (json.contains("preferred")) {
    for (const Json& size : json_fields::array_of(json, "preferred")) {
      if (!size.is_number_integer()) throw Malformed(json, "preferred: whole numbers are expected");
      config.preferred.push_back(size.get<int64_t>());
    }
  }
  if (json.contains("instances")) config.instances = integer_of(json, "instances", 1, 256);
  if (json.contains("queue")) config.queue_limit = integer_of(json, "queue", 1, 1 << 20);
  if (json.contains("timeout_ms")) config.timeout = milliseconds_of(json, "timeout_ms");
  if (json.contains("promise_p99_ms")) config.promise = milliseconds_of(json, "promise_p99_ms");
  if (config.timeout == Duration() || config.promise == Duration()) throw Malformed(json, "a time to answer of 0");
  config.tune = flag_of(json, "tune");
  if (config.tune && !config.promise) throw Malformed(json, "tune is for a promise: give promise_p99_ms too");
  config.pinned = flag_of(json, "pinned");
  if (json.contains("budget_mib")) config.budget = Bytes::mebi(integer_of(json, "budget_mib", 1, kMostMebi));
  if (json.contains("traffic")) config.traffic = traffic_of(json["traffic"]);
  return config;
}

std::vector<SyntheticModel::Tensor> tensors_of(const Json& json, const char* name) {
  std::vector<SyntheticModel::Tensor> tensors;
  for (const Json& object : json_fields::array_of(json, name)) {
    check_members(object, {"name", "datatype", "shape"});
    SyntheticModel::Tensor tensor;
    tensor.name = json_fields::text_of(object, "name");
    if (object.contains("datatype"))
      tensor.type = json_fields::taken(object, read_data_type(json_fields::text_of(object, "datatype")));
    int64_t values = 1;
    for (const Json& size : json_fields::array_of(object, "shape")) {
      const int64_t n = size.is_number_integer() ? size.get<int64_t>() : 0;
      if (n < 1 || n > kLargestTensor / values) throw Malformed(object, "a shape is of whole numbers above 0, not too large");
      values *= n;
      tensor.item_shape.push_back(n);
    }
    if (tensor.name.empty()) throw Malformed(object, "a tensor without a name");
    tensors.push_back(std::move(tensor));
  }
  if (tensors.empty()) throw Malformed(json, fmt::format("no {}", name));
  return tensors;
}

SyntheticModel synthetic_of(const Json& json) {
  check_members(json, {"inputs", "outputs", "base_us", "item_us", "weights_mib", "activation_mib"});
  SyntheticModel model;
  model.inputs = tensors_of(json, "inputs");
  model.outputs = tensors_of(json, "outputs");
  for (const SyntheticModel::Tensor& output : model.outputs)
    if (output.type != model.inputs.front().type)
      throw Malformed(json, fmt::format("output {} is {}; it repeats the first input, which is {}", output.name,
                                        name_of(output.type), name_of(model.inputs.front().type)));
  if (json.contains("base_us")) model.base = microseconds_of(json, "base_us");
  if (json.contains("item_us")) model.item = microseconds_of(json, "item_us");
  if (json.contains("weights_mib")) model.weights = Bytes::mebi(integer_of(json, "weights_mib", 1, kMostMebi));
  if (json.contains("activation_mib")) model.activation = Bytes::mebi(integer_of(json, "activation_mib", 0, kMostMebi));
  return model;
}

}  // namespace

Result<ServedModelConfig> read_served_model(std::string_view bytes, const std::string& source) {
  return json_fields::read_document<ServedModelConfig>(bytes, source, config_of);
}

Result<SyntheticModel> read_synthetic_model(std::string_view bytes, const std::string& source) {
  return json_fields::read_document<SyntheticModel>(bytes, source, synthetic_of);
}

}  // namespace stint
