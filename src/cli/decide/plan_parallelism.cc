// stint plan parallelism: how to spread a training run over GPUs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <tuple>

#include "base/text.h"
#include "cli/decide/catalog_source.h"
#include "cli/decide/plan.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "report/parallel_view.h"

namespace stint {
namespace {

struct ParallelOptions {
  std::string model;
  double parameters = 0;
  int sequence = 0;
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  std::string gpu;
  int64_t gpus = 8;
  int64_t gpus_per_node = 8;
  int64_t batch = 0;
  double network_gbps = 100;
  double link_gb_s = 0;
  std::string precision = "bf16";
  std::string measured;
  size_t top = 8;
  bool json = false;
};

Result<ModelFacts> model_of(const ParallelOptions& options) {
  ModelFacts model;
  if (options.parameters > 0) {
    if (options.parameters < 1e6 || options.parameters > 1e13)
      return invalid("--parameters {}: expected 1e6 to 1e13", options.parameters);
    model = decoder_of_size(options.parameters);
    // A size has proportions, not numbers that divide: whole groups of eight, as public models have.
    model.layers = model.heads = model.kv_heads = std::max(1, (model.layers + 4) / 8) * 8;
    model.hidden = 128 * model.layers;
  } else {
    const ModelFacts* known = find_model(options.model);
    if (known == nullptr) {
      std::vector<std::string> names;
      for (const ModelFacts& m : known_models())
        names.push_back(m.name);
      return invalid("--model {}: known are {}; or give --parameters", excerpt(options.model), fmt::join(names, ", "));
    }
    model = *known;
  }
  if (options.sequence > 0 && model.family != ModelFamily::kVision) model.sequence = options.sequence;
  if (options.layers > 0) model.layers = options.layers;
  if (options.hidden > 0) model.hidden = options.hidden;
  if (options.heads > 0) model.heads = model.kv_heads = options.heads;
  return model;
}

Result<ParallelView> plan_of(const ParallelOptions& options) {
  TRY_ASSIGN(const Catalog catalog, open_catalog("", options.measured));
  const GpuFacts* gpu = catalog.find_gpu(options.gpu);
  if (gpu == nullptr) return invalid("--gpu {}: not in the catalogue; see stint catalog --gpus", excerpt(options.gpu));
  ParallelView view;
  view.shown = options.top;
  TRY_ASSIGN(view.job.model, model_of(options));
  TRY_ASSIGN(view.job.precision, parse_precision(options.precision));
  view.job.batch = options.batch;
  constexpr double kBitsPerByte = 8;
  view.cluster = {.gpu = *gpu,
                  .gpus = options.gpus,
                  .gpus_per_node = options.gpus_per_node,
                  .link_gb_s = options.link_gb_s > 0 ? options.link_gb_s : link_of(*gpu),
                  .network_gb_s = options.network_gbps / kBitsPerByte / static_cast<double>(options.gpus_per_node)};
  TRY_ASSIGN(view.plan, plan_parallelism(view.job, view.cluster));
  return view;
}

Status print_plan(const ParallelOptions& options) {
  TRY_ASSIGN(const ParallelView view, plan_of(options));
  return write_output("", options.json ? parallel_json(view) : parallel_text(view, screen_of_stdout()));
}

}  // namespace

void add_plan_parallelism_command(Command& plan, Action& action) {
  auto options = std::make_shared<ParallelOptions>();
  Command* command =
      plan.add_subcommand("parallelism", "How to spread a training run over GPUs: data, tensor, pipeline, sharding, micro-batch");
  Option* model = command->add_option("--model", options->model, "a model the catalogue knows: llama-3-70b, bert-large, …");
  Option* parameters =
      command->add_option("--parameters", options->parameters, "a decoder of this size instead: 13e9")->excludes(model);
  for (const auto& [name, value, text] :
       {std::tuple("--layers", &options->layers, "its layers (default: the usual proportions)"),
        std::tuple("--hidden", &options->hidden, "its width"), std::tuple("--heads", &options->heads, "its attention heads")})
    command->add_option(name, *value, text)->check(in_range(1, 1'000'000))->needs(parameters);
  command->add_option("--sequence", options->sequence, "tokens of a sequence (default: the model's)")
      ->check(in_range(1, 10'000'000));
  command->add_option("--gpu", options->gpu, "GPU model: H100-80GB, A100-80GB, …")->required();
  command->add_option("--gpus", options->gpus, "how many, over all machines")->check(in_range(1, 65'536))->capture_default_str();
  command->add_option("--gpus-per-node", options->gpus_per_node, "how many are linked in one machine")
      ->check(in_range(1, 1024))
      ->capture_default_str();
  command->add_option("--batch", options->batch, "sequences or images of a step over all GPUs")
      ->required()
      ->check(positive_number());
  command->add_option("--network-gbps", options->network_gbps, "network of a machine, 10⁹ bits/s (100; p4d 400, p5 3200)")
      ->check(positive_number())
      ->capture_default_str();
  command
      ->add_option("--link", options->link_gb_s,
                   "between GPUs of a machine, 10⁹ bytes/s of one direction (default: half the data sheet's link, else PCIe 4.0)")
      ->check(positive_number());
  command->add_option("--precision", options->precision, "bf16, fp16, fp32 or fp8")->capture_default_str();
  command->add_option("--measured", options->measured, "rates measured by stint bench in place of data sheets");
  command->add_option("--top", options->top, "options to show")->capture_default_str();
  command->add_flag("--json", options->json, "print JSON");
  command->footer(
      "Example: stint plan parallelism --model llama-3-70b --gpu H100-80GB --gpus 64 --batch 512 --network-gbps 3200");
  command->callback([options, &action] {
    if (options->model.empty() && options->parameters == 0) missing_argument("--model or --parameters");
    action = [options] {
      const Status done = print_plan(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
