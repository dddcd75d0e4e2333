#include "codec/serving/served_model_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/json_fields.h"

namespace stint::json_fields {
namespace {

constexpr int64_t kMostBatch = 65'536;
constexpr double kSlowestMs = 3.6e6;
constexpr int64_t kMostMebi = int64_t{1} << 30;
constexpr int64_t kLargestTensor = int64_t{1} << 28;  // values of an item

/// A misspelt setting must not be passed over.
void check_members(const Json& object, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) throw Malformed(object, "expected an object");
  for (const auto& [name, value] : object.items())
    if (name != kLine && std::ranges::find(known, name) == known.end())
      throw Malformed(object, fmt::format("unknown field \"{}\"; known: {}", excerpt(name), fmt::join(known, ", ")));
}

Duration milliseconds_of(const Json& object, const char* name) {
  return Duration::nanoseconds(std::llround(number_of(object, name, 0, kSlowestMs) * 1e6));
}
Duration microseconds_of(const Json& object, const char* name) {
  return Duration::nanoseconds(std::llround(number_of(object, name, 0, kSlowestMs * 1e3) * 1e3));
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
    if (name == kLine) continue;
    const std::optional<int64_t> version = parse_int(name);
    if (!version || *version < 1) throw Malformed(object, fmt::format("traffic: {} is no version", excerpt(name)));
    traffic[*version] = integer_of(object, name.c_str(), 0, 1000);
    sum += traffic[*version];
  }
  if (sum == 0) throw Malformed(object, "traffic: no version gets any of it");
  return traffic;
}

ServedShadow shadow_of(const Json& object) {
  check_members(object, {"version", "percent", "tolerance"});
  ServedShadow shadow;
  shadow.version = integer_of(object, "version", 1, std::numeric_limits<int64_t>::max());
  if (object.contains("percent")) shadow.percent = integer_of(object, "percent", 1, 100);
  if (object.contains("tolerance")) shadow.tolerance = number_of(object, "tolerance", 0, 1);
  return shadow;
}

ServedCanary canary_of(const Json& object) {
  constexpr double kLongestStep = 30 * 24 * 3600;
  check_members(object, {"version", "percent", "step_s", "least_requests"});
  ServedCanary canary;
  canary.version = integer_of(object, "version", 1, std::numeric_limits<int64_t>::max());
  if (object.contains("step_s")) canary.step = Duration::from_seconds(number_of(object, "step_s", 0, kLongestStep));
  if (object.contains("least_requests")) canary.least_requests = integer_of(object, "least_requests", 1, 1'000'000'000);
  if (!object.contains("percent")) return canary;
  canary.percent.clear();
  for (const Json& part : array_of(object, "percent")) {
    const int64_t n = part.is_number_integer() ? part.get<int64_t>() : 0;
    if (n < 1 || n > 100 || (!canary.percent.empty() && n <= canary.percent.back()))
      throw Malformed(object, "percent: whole numbers from 1 to 100 are expected, ascending");
    canary.percent.push_back(n);
  }
  if (canary.percent.empty()) throw Malformed(object, "percent: at least one is expected");
  return canary;
}

ServedDimension dimension_of(const Json& object) {
  constexpr int64_t kMostSize = 1 << 20;
  check_members(object, {"largest", "pad", "sizes"});
  ServedDimension dimension;
  if (object.contains("largest")) dimension.largest = integer_of(object, "largest", 1, kMostSize);
  if (object.contains("pad")) {
    const Json& pad = object["pad"];
    if (pad.is_boolean() && !pad.get<bool>())
      dimension.never_padded = true;
    else if (!pad.is_object())
      throw Malformed(object, "pad: expected the value or text for each input, {\"input_ids\": 0}, or false");
    else
      dimension.pad.emplace();
    if (pad.is_object())
      for (const auto& [input, value] : pad.items()) {
        if (value.is_string())
          dimension.pad_texts[input] = value.get<std::string>();
        else if (input != kLine)
          (*dimension.pad)[input] = number_of(pad, input.c_str(), -1e9, 1e9);
      }
  }
  if (object.contains("sizes")) {
    for (const Json& size : array_of(object, "sizes")) {
      const int64_t n = size.is_number_integer() ? size.get<int64_t>() : 0;
      if (n < 1 || n > kMostSize || (!dimension.sizes.empty() && n <= dimension.sizes.back()))
        throw Malformed(object, "sizes: whole numbers above 0 are expected, ascending");
      dimension.sizes.push_back(n);
    }
  }
  return dimension;
}

std::map<std::string, std::string> names_of(const Json& object, const char* name) {
  std::map<std::string, std::string> names;
  for (const auto& [input, output] : member(object, name).items())
    if (input != kLine) names[input] = text_of(object[name], input.c_str());
  return names;
}

ServedGeneration generation_of(const Json& object) {
  constexpr int64_t kMostSteps = 1 << 16;
  constexpr double kLongest = 3600;
  check_members(object, {"feed", "append", "stop", "steps", "seconds", "answers"});
  ServedGeneration generation;
  for (const char* name : {"feed", "append", "stop"})
    if (object.contains(name) && !object[name].is_object()) throw Malformed(object, fmt::format("{}: expected an object", name));
  if (object.contains("feed")) generation.feed = names_of(object, "feed");
  if (object.contains("append")) {
    const Json& append = object["append"];
    for (const auto& [input, value] : append.items()) {
      if (input == kLine) continue;
      if (value.is_string())
        generation.append[input] = value.get<std::string>();
      else
        generation.append_numbers[input] = number_of(append, input.c_str(), -1e9, 1e9);
    }
  }
  if (generation.feed.empty() && generation.append.empty())
    throw Malformed(object, "generate: feed or append must say which output leads to the next step");
  if (object.contains("stop")) {
    const Json& stop = object["stop"];
    for (const auto& [output, value] : stop.items()) {
      if (output == kLine) continue;
      if (generation.stop) throw Malformed(object, "stop: one output and its value");
      if (value.is_string())
        generation.stop.emplace(output, value.get<std::string>());
      else
        generation.stop.emplace(output, number_of(stop, output.c_str(), -1e18, 1e18));
    }
  }
  if (object.contains("steps")) generation.steps = integer_of(object, "steps", 1, kMostSteps);
  if (object.contains("seconds")) generation.longest = Duration::from_seconds(number_of(object, "seconds", 0.001, kLongest));
  if (object.contains("answers")) generation.answers = texts_of(object, "answers");
  return generation;
}

ServedModelConfig config_of(const Json& document) {
  check_members(document, {"max_batch", "max_wait_ms", "preferred", "instances", "queue", "timeout_ms", "promise_p99_ms", "tune",
                           "pinned", "cache", "budget_mib", "traffic", "shadow", "canary", "dimensions", "generate"});
  ServedModelConfig config;
  if (document.contains("max_batch")) config.max_batch = integer_of(document, "max_batch", 1, kMostBatch);
  if (document.contains("max_wait_ms")) config.max_wait = milliseconds_of(document, "max_wait_ms");
  if (document.contains("preferred")) {
    for (const Json& size : array_of(document, "preferred")) {
      if (!size.is_number_integer()) throw Malformed(document, "preferred: whole numbers are expected");
      config.preferred.push_back(size.get<int64_t>());
    }
  }
  if (document.contains("instances")) config.instances = integer_of(document, "instances", 1, 256);
  if (document.contains("queue")) config.queue_limit = integer_of(document, "queue", 1, 1 << 20);
  if (document.contains("timeout_ms")) config.timeout = milliseconds_of(document, "timeout_ms");
  if (document.contains("promise_p99_ms")) config.promise = milliseconds_of(document, "promise_p99_ms");
  if (config.timeout == Duration() || config.promise == Duration()) throw Malformed(document, "a time to answer of 0");
  config.tune = flag_of(document, "tune");
  if (config.tune && !config.promise) throw Malformed(document, "tune is for a promise: give promise_p99_ms too");
  config.pinned = flag_of(document, "pinned");
  config.cache = flag_of(document, "cache");
  if (document.contains("budget_mib")) config.budget = Bytes::mebi(integer_of(document, "budget_mib", 1, kMostMebi));
  if (document.contains("traffic")) config.traffic = traffic_of(document["traffic"]);
  if (document.contains("shadow")) config.shadow = shadow_of(member(document, "shadow"));
  if (document.contains("canary")) config.canary = canary_of(member(document, "canary"));
  if (document.contains("generate")) config.generate = generation_of(member(document, "generate"));
  if (document.contains("dimensions")) {
    if (!document["dimensions"].is_object()) throw Malformed(document, "dimensions: expected an object");
    for (const auto& [name, object] : document["dimensions"].items())
      if (name != kLine) config.dimensions[name] = dimension_of(object);
  }
  return config;
}

std::vector<SyntheticModel::Tensor> tensors_of(const Json& document, const char* name) {
  std::vector<SyntheticModel::Tensor> tensors;
  for (const Json& object : array_of(document, name)) {
    check_members(object, {"name", "datatype", "shape"});
    SyntheticModel::Tensor tensor;
    tensor.name = text_of(object, "name");
    if (object.contains("datatype")) tensor.type = taken(object, read_data_type(text_of(object, "datatype")));
    int64_t values = 1;
    for (const Json& size : array_of(object, "shape")) {
      const int64_t n = size.is_number_integer() ? size.get<int64_t>() : 0;
      if (n < 1 || n > kLargestTensor / values) throw Malformed(object, "a shape is of whole numbers above 0, not too large");
      values *= n;
      tensor.item_shape.push_back(n);
    }
    if (tensor.name.empty()) throw Malformed(object, "a tensor without a name");
    tensors.push_back(std::move(tensor));
  }
  if (tensors.empty()) throw Malformed(document, fmt::format("no {}", name));
  return tensors;
}

SyntheticModel synthetic_of(const Json& document) {
  check_members(document, {"inputs", "outputs", "base_us", "item_us", "weights_mib", "activation_mib"});
  SyntheticModel model;
  model.inputs = tensors_of(document, "inputs");
  model.outputs = tensors_of(document, "outputs");
  for (const SyntheticModel::Tensor& output : model.outputs)
    if (output.type != model.inputs.front().type)
      throw Malformed(document, fmt::format("output {} is {}; it repeats the first input, which is {}", output.name,
                                            name_of(output.type), name_of(model.inputs.front().type)));
  if (document.contains("base_us")) model.base = microseconds_of(document, "base_us");
  if (document.contains("item_us")) model.item = microseconds_of(document, "item_us");
  if (document.contains("weights_mib")) model.weights = Bytes::mebi(integer_of(document, "weights_mib", 1, kMostMebi));
  if (document.contains("activation_mib")) model.activation = Bytes::mebi(integer_of(document, "activation_mib", 0, kMostMebi));
  return model;
}

}  // namespace
}  // namespace stint::json_fields

namespace stint {

Result<ServedModelConfig> read_served_model(std::string_view bytes, const std::string& source) {
  return json_fields::read_document<ServedModelConfig>(bytes, source, json_fields::config_of);
}

Result<SyntheticModel> read_synthetic_model(std::string_view bytes, const std::string& source) {
  return json_fields::read_document<SyntheticModel>(bytes, source, json_fields::synthetic_of);
}

}  // namespace stint
