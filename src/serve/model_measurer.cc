#include "serve/model_measurer.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "host/process.h"
#include "host/sha256.h"

namespace stint::serve {
namespace {

/// A process that measures models hangs where a model does.
constexpr Duration kLongest = Duration::minutes(30);
constexpr size_t kMostKnown = 1024;

nlohmann::json specs_json(const std::vector<TensorSpec>& specs) {
  auto list = nlohmann::json::array();
  for (const TensorSpec& spec : specs)
    list.push_back({{"name", spec.name}, {"datatype", name_of(spec.type)}, {"shape", spec.item_shape}, {"free", spec.free}});
  return list;
}

std::vector<TensorSpec> specs_of(const nlohmann::json& list) {
  std::vector<TensorSpec> specs;
  for (const nlohmann::json& object : list) {
    const Result<DataType> type = read_data_type(object.at("datatype").get<std::string>());
    if (!type.ok()) throw std::runtime_error(type.error().message);
    specs.push_back({object.at("name").get<std::string>(), *type, object.at("shape").get<Shape>(),
                     object.at("free").get<std::vector<std::string>>()});
  }
  return specs;
}

/// Throws where a member is missing, or of another type.
Result<Measurement> measurement_of(const nlohmann::json& json) {
  if (json.contains("error"))
    return make_error(static_cast<ErrorCode>(json.at("code").get<int>()), "{}", json.at("error").get<std::string>());
  Measurement told;
  told.inputs = specs_of(json.at("inputs"));
  told.outputs = specs_of(json.at("outputs"));
  if (json.contains("front")) told.front = Duration::nanoseconds(json.at("front").get<int64_t>());
  told.weights = Bytes::of(json.at("weights").get<int64_t>());
  told.loading = Bytes::of(json.at("loading").get<int64_t>());
  told.reload = Duration::nanoseconds(json.at("reload_ns").get<int64_t>());
  for (const auto& [name, size] : json.at("largest").items())
    told.largest[name] = size.get<int64_t>();
  told.output_shapes = json.at("output_shapes").get<std::vector<Shape>>();
  told.masked = json.at("masked").get<std::vector<std::string>>();
  for (const nlohmann::json& size : json.at("sizes")) {
    batching::MeasuredBatch batch{size.at("items").get<int64_t>(), {}};
    for (const int64_t ns : size.at("times_ns").get<std::vector<int64_t>>())
      batch.times.push_back(Duration::nanoseconds(ns));
    told.peaks.emplace_back(batch.batch, Bytes::of(size.at("peak").get<int64_t>()));
    told.batches.push_back(std::move(batch));
  }
  return told;
}

}  // namespace

std::string write_measurement(const Result<Measurement>& measured) {
  if (!measured.ok())
    return nlohmann::json({{"error", measured.error().message}, {"code", static_cast<int>(measured.error().code)}})
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  auto sizes = nlohmann::json::array();
  for (size_t s = 0; s < measured->batches.size(); ++s) {
    auto times = nlohmann::json::array();
    for (const Duration time : measured->batches[s].times)
      times.push_back(time.count_ns());
    sizes.push_back(
        {{"items", measured->batches[s].batch}, {"peak", measured->peaks[s].second.count()}, {"times_ns", std::move(times)}});
  }
  auto largest = nlohmann::json::object();
  for (const auto& [name, size] : measured->largest)
    largest[name] = size;
  nlohmann::json json = {{"inputs", specs_json(measured->inputs)},
                         {"outputs", specs_json(measured->outputs)},
                         {"weights", measured->weights.count()},
                         {"loading", measured->loading.count()},
                         {"reload_ns", measured->reload.count_ns()},
                         {"largest", std::move(largest)},
                         {"output_shapes", measured->output_shapes},
                         {"masked", measured->masked},
                         {"sizes", std::move(sizes)}};
  if (measured->front) json["front"] = measured->front->count_ns();
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Result<Measurement> read_measurement(std::string_view json, const std::string& source) {
  try {
    return measurement_of(nlohmann::json::parse(json));
  } catch (const std::exception& failure) {
    return make_error(ErrorCode::kInternal, "{}: the process that measures it answered what is no measurement: {}", source,
                      failure.what());
  }
}

Result<MeasuredModel> ModelMeasurer::measure(const ModelSource& source, const ServedModelConfig& config) {
  if (command_.empty() || source.onnx() == nullptr || source.gpu() != nullptr) return measure_model(source, config);
  TRY_ASSIGN(std::string hash, sha256_of_file(source.file()));
  const Key key(std::move(hash), source.onnx()->version(), config.max_batch, largest_in(config));
  auto known = known_.find(key);
  if (known == known_.end()) {
    TRY_ASSIGN(Measurement measured, measure_apart(source, config));
    if (known_.size() >= kMostKnown) known_.clear();
    known = known_.emplace(key, std::move(measured)).first;
  }
  return facts_of(known->second, config);
}

Result<Measurement> ModelMeasurer::measure_apart(const ModelSource& source, const ServedModelConfig& config) const {
  std::vector<std::string> command = command_;
  command.insert(command.end(), {"--model", source.file(), "--max-batch", std::to_string(config.max_batch), "--onnxruntime",
                                 source.onnx()->library()});
  for (const auto& [name, size] : largest_in(config))
    command.insert(command.end(), {"--dimension", fmt::format("{}={}", name, size)});
  TRY_ASSIGN(const CommandOutput out, run_command(command, kLongest));
  if (out.status.signal != 0)
    return make_error(ErrorCode::kUnavailable,
                      "{}: signal {} ended the process that measured it: there was not enough memory for batches of {}, perhaps: "
                      "give a smaller max_batch",
                      source.file(), out.status.signal, config.max_batch);
  return read_measurement(out.standard_output, source.file());
}

}  // namespace stint::serve
