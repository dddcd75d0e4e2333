// stint serve quantize: a smaller, faster variant of a model, kept only where it is both and still right.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/serve/onnx_options.h"
#include "cli/serve/serve.h"
#include "host/file.h"
#include "serve/half_precision.h"
#include "serve/measure.h"
#include "serve/model_judge.h"

namespace stint {
namespace {

constexpr double kLeastGain = 1.05;  // below it a difference may be noise

struct QuantizeCommand {
  std::string model, output, labels;
  std::vector<std::string> data;  ///< FILE, or INPUT=FILE
  OnnxOptions onnx;
  std::string method = "best";
  double max_drop = 1;
  int64_t batch = 32;
  bool for_size = false;
  bool json = false;

  [[nodiscard]] bool tries(std::string_view variant) const {
    return method == variant || (method == "best" && variant != "fp16");
  }
};

struct JudgedVariant {
  std::string method;
  std::string file;  ///< bytes of it
  double accuracy = 0;
  double items_per_s_alone = 0, items_per_s = 0;
  std::string verdict;
};

struct OutputComparison {
  JudgedVariant given;
  std::vector<JudgedVariant> variants;
  std::optional<size_t> kept;  ///< of variants
  int64_t calibrated_on = 0, judged_on = 0;
  bool by_labels = false;
};

/// The file with the rows of each input.
Result<std::vector<std::string>> files_by_input(const std::vector<std::string>& given,
                                                const std::vector<serve::TensorSpec>& inputs) {
  std::vector<std::string> names, files(inputs.size());
  for (const serve::TensorSpec& input : inputs)
    names.push_back(input.name);
  for (const std::string& text : given) {
    const auto input = std::ranges::find_if(names, [&](const std::string& name) { return text.starts_with(name + "="); });
    if (input == names.end() && names.size() != 1)
      return invalid("--calibrate {}: expected INPUT=FILE, as the model has the inputs {}", excerpt(text),
                     fmt::join(names, ", "));
    std::string& file = files[input == names.end() ? 0 : static_cast<size_t>(input - names.begin())];
    if (!file.empty()) return invalid("--calibrate {}: there is {} for that input already", excerpt(text), excerpt(file));
    file = input == names.end() ? text : text.substr(input->size() + 1);
  }
  for (size_t i = 0; i < files.size(); ++i)
    if (files[i].empty()) return invalid("the model's input {} has no rows: add --calibrate {}=FILE", names[i], names[i]);
  return files;
}

Result<serve::LabelledData> read_data(const QuantizeCommand& command, const std::vector<serve::TensorSpec>& inputs) {
  TRY_ASSIGN(const std::vector<std::string> files, files_by_input(command.data, inputs));
  serve::LabelledData data;
  for (const std::string& file : files) {
    TRY_ASSIGN(const std::string rows, read_all(file));
    TRY_ASSIGN(serve::NpyArray array, serve::read_npy(rows, file));
    data.rows.push_back(std::move(array));
  }
  if (data.count() < 20)
    return invalid("{}: {} rows: 20 are the least, half of them to calibrate, half to judge", files.front(), data.count());
  if (command.labels.empty()) return data;
  TRY_ASSIGN(const std::string bytes, read_all(command.labels));
  TRY_ASSIGN(const serve::NpyArray labels, serve::read_npy(bytes, command.labels));
  if (std::ssize(labels.values) != data.count())
    return invalid("{}: {} labels for {} rows", command.labels, labels.values.size(), data.count());
  for (const float label : labels.values)
    data.labels.push_back(static_cast<int64_t>(label));
  return data;
}

Result<JudgedVariant> judge(const serve::OnnxRuntime& onnx, std::string method, std::string file,
                            const serve::LabelledData& held_out, int64_t batch) {
  JudgedVariant judged{std::move(method), std::move(file), 0, 0, 0, {}};
  TRY_ASSIGN(const std::unique_ptr<serve::Runtime> runtime, onnx.open(judged.file, judged.method));
  TRY_ASSIGN(const std::vector<int64_t> classes, serve::classes_of(*runtime, held_out.rows));
  judged.accuracy = serve::agreement(classes, held_out.labels);
  TRY_ASSIGN(serve::Sizes sizes, serve::sizes_of_rows(*runtime, held_out.rows));
  TRY_ASSIGN(const std::vector<batching::MeasuredBatch> measured,
             serve::measure_latencies(*runtime,
                                      {.most_batch = batch, .longest = Duration::milliseconds(400), .sizes = std::move(sizes)}));
  TRY_ASSIGN(const batching::LatencyProfile profile, batching::LatencyProfile::create(measured));
  judged.items_per_s_alone = 1 / profile.quantile(1, 0.5).to_seconds();
  const int64_t largest = profile.measured_sizes().back();
  judged.items_per_s = static_cast<double>(largest) / profile.quantile(largest, 0.5).to_seconds();
  return judged;
}

std::string verdict_on(const JudgedVariant& variant, const JudgedVariant& given, const QuantizeCommand& command) {
  const double drop = (given.accuracy - variant.accuracy) * 100;
  if (drop > command.max_drop)
    return fmt::format("refused: {:.2f} points less accurate, {:g} are allowed", drop, command.max_drop);
  if (command.for_size) return variant.file.size() < given.file.size() ? "fit" : "refused: not smaller";
  if (variant.items_per_s >= given.items_per_s * kLeastGain) return "fit";
  std::string verdict = "refused: not measurably faster on this machine";
  if (variant.method == "fp16")
    verdict += " (a processor computes float16 by casting it to float32); --for-size keeps it for its size";
  return verdict;
}

/// The faster one, or with --for-size the smaller one.
bool is_better(const JudgedVariant& a, const JudgedVariant& b, const QuantizeCommand& command) {
  return command.for_size ? a.file.size() < b.file.size() : a.items_per_s > b.items_per_s;
}

Result<OutputComparison> compare(const QuantizeCommand& command) {
  TRY_ASSIGN(const serve::OnnxRuntime onnx, open_onnxruntime(command.onnx, std::nullopt));
  TRY_ASSIGN(const std::string model, read_all(command.model));
  TRY_ASSIGN(const serve::OnnxGraph graph, serve::OnnxGraph::parse(model, command.model));
  TRY_ASSIGN(const std::unique_ptr<serve::Runtime> given, onnx.open(model, command.model));
  TRY_ASSIGN(const serve::LabelledData data, read_data(command, given->inputs()));
  TRY(serve::sizes_of_rows(*given, data.rows));
  const int64_t half = data.count() / 2;
  const serve::LabelledData calibration = data.part(0, half);
  serve::LabelledData held_out = data.part(half, data.count());
  OutputComparison compared{
      .calibrated_on = command.tries("static") ? half : 0, .judged_on = held_out.count(), .by_labels = !data.labels.empty()};
  if (!compared.by_labels) {
    TRY_ASSIGN(held_out.labels, serve::classes_of(*given, held_out.rows));
  }
  TRY_ASSIGN(compared.given, judge(onnx, "float32", model, held_out, command.batch));
  std::vector<std::string> troubles;
  const auto add = [&](const std::string& method, const Result<serve::OnnxGraph>& quantized) -> Status {
    if (!quantized.ok()) {
      troubles.push_back(method + ": " + quantized.error().message);
      return {};
    }
    TRY_ASSIGN(JudgedVariant variant, judge(onnx, method, quantized->encode(), held_out, command.batch));
    variant.verdict = verdict_on(variant, compared.given, command);
    compared.variants.push_back(std::move(variant));
    return {};
  };
  if (command.tries("fp16")) TRY(add("fp16", serve::in_half_precision(graph)));
  if (command.tries("dynamic")) TRY(add("dynamic", serve::quantize_dynamic(graph)));
  if (command.tries("static")) {
    TRY_ASSIGN(const auto ranges, serve::ranges_of(onnx, graph, serve::tensors_to_calibrate(graph), calibration.rows));
    TRY(add("static", serve::quantize_static(graph, ranges)));
  }
  if (compared.variants.empty()) return invalid("{}: {}", command.model, fmt::join(troubles, "; "));
  for (size_t v = 0; v < compared.variants.size(); ++v) {
    const JudgedVariant& variant = compared.variants[v];
    if (variant.verdict == "fit" && (!compared.kept || is_better(variant, compared.variants[*compared.kept], command)))
      compared.kept = v;
  }
  return compared;
}

nlohmann::ordered_json judged_json(const JudgedVariant& judged, const JudgedVariant& given) {
  nlohmann::ordered_json json = {
      {"method", judged.method},
      {"bytes", judged.file.size()},
      {"accuracy", judged.accuracy},
      {"items_per_s_alone", judged.items_per_s_alone},
      {"items_per_s", judged.items_per_s},
      {"times_smaller", static_cast<double>(given.file.size()) / static_cast<double>(judged.file.size())},
      {"times_faster", judged.items_per_s / given.items_per_s},
      {"accuracy_drop_points", (given.accuracy - judged.accuracy) * 100}};
  if (!judged.verdict.empty()) json["verdict"] = judged.verdict;
  return json;
}

std::string text_of_comparison(const OutputComparison& compared, int64_t batch) {
  std::string text = compared.calibrated_on > 0
                         ? fmt::format("calibrated on {} rows, judged on {} others", compared.calibrated_on, compared.judged_on)
                         : fmt::format("judged on {} rows", compared.judged_on);
  text += compared.by_labels ? " by their labels\n" : " by what the float32 model answers\n";
  const auto line = [&](const JudgedVariant& j) {
    text += fmt::format(
        "{:8} {:9.1f} KiB ({:.2f}x smaller), accuracy {:.2f} %, items/s: {:.0f} alone, {:.0f} in batches of {} ({:.2f}x){}{}\n",
        j.method, static_cast<double>(j.file.size()) / 1024,
        static_cast<double>(compared.given.file.size()) / static_cast<double>(j.file.size()), j.accuracy * 100,
        j.items_per_s_alone, j.items_per_s, batch, j.items_per_s / compared.given.items_per_s, j.verdict.empty() ? "" : ": ",
        j.verdict);
  };
  line(compared.given);
  for (const JudgedVariant& variant : compared.variants)
    line(variant);
  return text;
}

ExitCode quantize(const QuantizeCommand& command) {
  const Result<OutputComparison> compared = compare(command);
  if (!compared.ok()) return fail(compared.error().message);
  const JudgedVariant* kept = compared->kept ? &compared->variants[*compared->kept] : nullptr;
  std::string said;
  if (command.json) {
    nlohmann::ordered_json json = {{"batch", command.batch}, {"given", judged_json(compared->given, compared->given)}};
    for (const JudgedVariant& variant : compared->variants)
      json["variants"].push_back(judged_json(variant, compared->given));
    json["kept"] = kept == nullptr ? nlohmann::ordered_json() : nlohmann::ordered_json(kept->method);
    said = json.dump(2) + "\n";
  } else {
    said = text_of_comparison(*compared, command.batch);
    said +=
        kept != nullptr ? fmt::format("kept: {}, in {}\n", kept->method, command.output) : "kept: none; nothing was written\n";
  }
  if (kept != nullptr)
    if (const Status written = write_output(command.output, kept->file); !written.ok()) return fail(written.error().message);
  const Status told = write_output("", said);
  if (!told.ok()) return fail(told.error().message);
  return kept != nullptr ? ExitCode::kOk : ExitCode::kPartly;
}

}  // namespace

void add_serve_quantize_command(Command& serve, Action& action) {
  auto options = std::make_shared<QuantizeCommand>();
  Command* command =
      serve.add_subcommand("quantize", "An INT8 or FP16 variant of a model, kept only if it is faster here and still right");
  command->add_option("model", options->model, "ONNX file, opset 13 or later")->required();
  command
      ->add_option("--calibrate", options->data,
                   "rows (.npy): the first half to calibrate, the rest to judge; of several inputs INPUT=FILE for each")
      ->required()
      ->allow_extra_args(false);
  command->add_option("--labels", options->labels,
                      "their classes (.npy); without them the float32 model's own answers are the measure");
  command->add_option("--max-drop", options->max_drop, "points of accuracy (%) that may be lost")
      ->check(in_range(0.0, 100.0))
      ->capture_default_str();
  command->add_option("--method", options->method, "INT8: dynamic, static, or best, the faster of both; fp16: all in float16")
      ->check(one_of({"dynamic", "static", "best", "fp16"}))
      ->capture_default_str();
  command->add_flag("--for-size", options->for_size, "keep the smallest that is still right, though it be no faster");
  command->add_option("--batch", options->batch, "at which the speed is compared")
      ->check(in_range(1, 4096))
      ->capture_default_str();
  add_onnx_options(*command, options->onnx);
  command->add_option("-o,--output", options->output, "ONNX file to write")->required();
  command->add_flag("--json", options->json, "print JSON");
  command->footer(
      "Exit code 3: no variant was good enough; nothing is written.\n"
      "Example: stint serve quantize mlp.onnx --calibrate mlp-x.npy --labels mlp-y.npy --max-drop 1 -o mlp.int8.onnx");
  command->callback([options, &action] { action = [options] { return quantize(*options); }; });
}

}  // namespace stint
