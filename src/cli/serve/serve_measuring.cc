#include "cli/serve/serve_measuring.h"

#include <fmt/format.h>

#include "base/text.h"
#include "catalog/selection.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/serve/serve_client.h"
#include "host/file.h"
#include "report/short_text.h"
#include "serve/front_cost.h"
#include "serve/load_generator.h"

namespace stint {
namespace {

struct Measured {
  std::vector<batching::MeasuredBatch> batches;
  std::string what;
  std::optional<Duration> front;  ///< none: it is in the times
};

/// Of requests of one item to `stint serve run`.
Result<Duration> front_here(serve::Runtime& runtime, const serve::Sizes& sizes) {
  serve::Measurement like;
  like.inputs = runtime.inputs();
  like.outputs = runtime.outputs();
  like.largest = sizes;
  TRY_ASSIGN(const std::vector<serve::Shape> shapes, serve::input_shapes(runtime, sizes));
  TRY_ASSIGN(const std::vector<serve::ShapedValues> out, runtime.run_shaped(1, serve::random_inputs(runtime, 1, shapes), shapes));
  for (const serve::ShapedValues& one : out)
    like.output_shapes.push_back(one.item_shape);
  return serve::measure_front(like);
}

Result<Measured> measure_here(const MeasureSource& source) {
  TRY_ASSIGN(const serve::OnnxRuntime onnx, open_onnxruntime(source.onnx, std::nullopt));
  if (!source.gpu.empty() && !onnx.gpu())
    return invalid("--gpu {}: the model would run on the processor: add --run-on cuda, or measure a --server that has one",
                   excerpt(source.gpu));
  TRY_ASSIGN(const std::string bytes, read_all(source.model));
  TRY_ASSIGN(const std::unique_ptr<serve::Runtime> runtime, onnx.open(bytes, source.model));
  serve::MeasureOptions options = source.options;
  TRY_ASSIGN(options.sizes, read_sizes("--shape", source.shapes));
  TRY(serve::check_named(*runtime, options.sizes));
  TRY_ASSIGN(std::vector<batching::MeasuredBatch> measured, serve::measure_latencies(*runtime, options));
  TRY_ASSIGN(const Duration front, front_here(*runtime, options.sizes));
  return Measured{std::move(measured),
                  fmt::format("ONNX Runtime {}, {}", onnx.version(),
                              onnx.gpu() ? fmt::format("GPU {}", onnx.gpu()->options().number) : "CPU, one thread"),
                  front};
}

/// From outside: a request of n items is a batch of n to a server that has nothing else to do.
Result<Measured> measure_server(const MeasureSource& source) {
  TRY_ASSIGN(const ServeClient client, ServeClient::create(source.server));
  TRY_ASSIGN(const serve::Sizes sizes, read_sizes("--shape", source.shapes));
  TRY_ASSIGN(const ServedTensors tensors, client.tensors_of(source.model, sizes));
  TRY_ASSIGN(std::vector<batching::MeasuredBatch> measured,
             serve::measure_sizes(
                 [&](int64_t items) -> Result<std::function<Status()>> {
                   Prng prng(1);
                   TRY_ASSIGN(std::string request, client.infer_request(tensors, items, true, std::nullopt, prng));
                   serve::LoadTarget target = client.target();
                   target.requests.push_back(std::move(request));
                   return serve::one_by_one(std::move(target));
                 },
                 source.options));
  return Measured{std::move(measured), fmt::format("{} at {}, one request at a time", source.model, source.server), std::nullopt};
}

struct NamedDevice {
  std::string name;
  Rate price;
};

Result<NamedDevice> device_of(const MeasureSource& source) {
  NamedDevice device{source.device, {}};
  if (source.device.find_first_of(",\"\r\n") != std::string::npos)
    return invalid("--device {}: a name without commas, quotes and line ends", excerpt(source.device));
  if (source.price) device.price = Rate::per_hour(Money::estimate(*source.price));
  if (source.gpu.empty()) return device;
  const Catalog& catalog = Catalog::built_in();
  const GpuFacts* gpu = catalog.find_gpu(source.gpu);
  if (gpu == nullptr) return invalid("--gpu {}: the catalogue knows no such GPU: see stint catalog gpus", excerpt(source.gpu));
  device.name = gpu->model;
  if (source.price) return device;
  const std::optional<GpuPrice> cheapest = cheapest_gpu(catalog, *gpu);
  if (!cheapest)
    return invalid("--gpu {}: the catalogue has no on-demand price for it: give one with --price", excerpt(source.gpu));
  device.price = cheapest->rate;
  tell("stint: {}: {}/h, the least on demand: {} {} in {}\n", gpu->model, short_money(device.price.per_hour()),
       cheapest->type->provider, cheapest->type->name, cheapest->region);
  return device;
}

}  // namespace

Option* add_measure_source(Command& command, MeasureSource& source) {
  Option* model = command.add_option("--model", source.model,
                                     "ONNX file: tensors of numbers, the batch free; with --server the name of a model");
  add_onnx_options(command, source.onnx, "--run-on");
  command
      .add_option("--server", source.server,
                  "measure through a KServe v2 server (Triton, OpenVINO Model Server, stint) at this IP address and port")
      ->needs(model);
  command
      .add_option(
          "--shape", source.shapes,
          "NAME=SIZE of a free dimension beside the batch: sequence=128; with --server INPUT.PLACE=SIZE, counted from the "
          "batch, which is 0 (default there: 16)")
      ->needs(model)
      ->allow_extra_args(false);
  Option* device =
      command.add_option("--device", source.device, "name to write beside the times")->capture_default_str()->needs(model);
  command.add_option("--price", source.price, "of the device per hour, to write beside them")
      ->check(in_range(0.0, static_cast<double>(kMaxUnitsPerHour)))
      ->needs(model);
  command.add_option("--gpu", source.gpu, "what the device is: its name and least price on demand as the catalogue has them")
      ->excludes(device)
      ->needs(model);
  return model;
}

Result<MeasuredDevice> measure_device(const MeasureSource& source) {
  TRY_ASSIGN(NamedDevice device, device_of(source));
  TRY_ASSIGN(Measured measured, source.server.empty() ? measure_here(source) : measure_server(source));
  TRY_ASSIGN(batching::LatencyProfile latency, batching::LatencyProfile::create(measured.batches));
  tell("stint: {}; batch: median ms, p99 ms, items/s\n", measured.what);
  for (const int64_t size : latency.measured_sizes()) {
    const double median_s = latency.quantile(size, 0.5).to_seconds();
    tell("stint:   {}: {:.3f}, {:.3f}, {:.0f}\n", size, median_s * 1e3, latency.quantile(size, 0.99).to_seconds() * 1e3,
         static_cast<double>(size) / median_s);
  }
  if (measured.front)
    tell("stint: HTTP and copies: {:.3g} us a request of one item, so {:.0f} requests/s at most for a server\n",
         measured.front->to_seconds() * 1e6, batching::kFrontShare / measured.front->to_seconds());
  return MeasuredDevice{std::move(measured.batches),
                        {std::move(device.name), device.price, 1, std::move(latency), measured.front}};
}

}  // namespace stint
