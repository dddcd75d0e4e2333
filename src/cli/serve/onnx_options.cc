#include "cli/serve/onnx_options.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/output.h"
#include "cli/parser.h"

namespace stint {
namespace {

constexpr std::string_view kCuda = "cuda";
constexpr int64_t kMostGpus = 64;
constexpr int64_t kMostSize = int64_t{1} << 31;  // of a dimension

/// The number of `cuda` or `cuda:1`; none: it is neither.
std::optional<int> gpu_in(std::string_view device) {
  if (device == kCuda) return 0;
  if (!device.starts_with("cuda:")) return std::nullopt;
  const std::optional<int64_t> number = parse_int(device.substr(kCuda.size() + 1));
  return number && *number >= 0 && *number < kMostGpus ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

}  // namespace

void add_onnxruntime_option(Command& command, std::string& library) {
  command.add_option(
      "--onnxruntime", library,
      "ONNX Runtime's library (default: $STINT_ONNXRUNTIME, else the linker's; scripts/setup-onnxruntime fetches it)");
}

void add_onnx_options(Command& command, OnnxOptions& options, const char* flag) {
  add_onnxruntime_option(command, options.library);
  command
      .add_option(flag, options.device,
                  "where models run: cpu, cuda, cuda:N (GPU N), or auto: a GPU where one can be used, else the processor")
      ->check(passes([](const std::string& text) {
        return text == "cpu" || text == "auto" || gpu_in(text) ? "" : "expected cpu, cuda, cuda:N or auto";
      }))
      ->capture_default_str();
}

Result<serve::Sizes> read_sizes(const std::string& option, const std::vector<std::string>& texts) {
  serve::Sizes sizes;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    const std::optional<int64_t> size = equals == std::string::npos ? std::nullopt : parse_int(text.substr(equals + 1));
    if (!size || *size < 1 || *size > kMostSize || equals == 0)
      return invalid("{} {}: expected NAME=SIZE, such as sequence=128", option, excerpt(text));
    sizes[text.substr(0, equals)] = *size;
  }
  return sizes;
}

Result<serve::OnnxRuntime> open_onnxruntime(const OnnxOptions& options, std::optional<Bytes> most) {
  TRY_ASSIGN(serve::OnnxRuntime onnx, serve::load_onnxruntime(options.library));
  if (options.device == "cpu") return onnx;
  Result<serve::OnnxRuntime> on_gpu = onnx.on_gpu({.number = gpu_in(options.device).value_or(0), .most = most});
  if (on_gpu.ok() || options.device != "auto") return on_gpu;
  tell("stint: models run on the processor: {}\n", on_gpu.error().message);
  return onnx;
}

}  // namespace stint
