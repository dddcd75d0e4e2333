#include "cli/decide/work_options.h"

#include <algorithm>

#include "base/text.h"
#include "cli/parser.h"

namespace stint {
namespace {

struct WorkKindOption {
  const char* flag;
  WorkloadKind kind;
  const char* what;
};
constexpr std::array<WorkKindOption, 6> kWorkKinds = {{
    {"--train", WorkloadKind::kTraining, "train from scratch"},
    {"--fine-tune", WorkloadKind::kFineTuning, "fine-tune"},
    {"--serve", WorkloadKind::kRealtimeInference, "answer requests within a latency"},
    {"--batch", WorkloadKind::kBatchInference, "run over a batch of items"},
    {"--eval", WorkloadKind::kEvaluation, "evaluate"},
    {"--notebook", WorkloadKind::kNotebook, "one GPU to try things on"},
}};

/// A known model's name, or a number of parameters such as 7e9 or 7b.
Result<ModelFacts> parse_model(std::string_view text) {
  if (const ModelFacts* m = find_model(text)) return *m;
  std::string number = to_lower(trim(text));
  double unit = 1;
  if (!number.empty() && (number.back() == 'b' || number.back() == 'm')) {
    unit = number.back() == 'b' ? 1e9 : 1e6;
    number.pop_back();
  }
  const auto parameters = parse_number(number);
  if (parameters && *parameters * unit >= 1e6 && *parameters * unit <= 1e13) return decoder_of_size(*parameters * unit);
  std::vector<std::string> names;
  for (const ModelFacts& m : known_models())
    names.push_back(m.name);
  return invalid("'{}' is no known model: give its parameters (7e9, 1.3b) or one of {}", excerpt(text), fmt::join(names, ", "));
}

}  // namespace

bool WorkArguments::given() const {
  return std::ranges::any_of(models, [](const std::string& m) { return !m.empty(); });
}

void add_work_kinds(Command& group, WorkArguments& arguments, WorkKinds kinds) {
  for (size_t i = 0; i < kWorkKinds.size(); ++i)
    if (kinds == WorkKinds::kAll || kWorkKinds[i].kind != WorkloadKind::kRealtimeInference)
      group.add_option(kWorkKinds[i].flag, arguments.models[i], kWorkKinds[i].what)->type_name("MODEL");
}

void add_work_options(Command& command, WorkArguments& arguments, WorkKinds kinds) {
  command.add_option("--precision", arguments.precision, "fp32, bf16, fp16, fp8 or int8")->capture_default_str();
  command.add_option("--deadline", arguments.deadline, "jobs: done within, such as 24h");
  command.add_option("--tokens", arguments.tokens, "jobs: tokens to go through (training: 20 per parameter)")
      ->check(positive_number());
  command.add_option("--items", arguments.items, "jobs: sequences or images to go through, epochs included")
      ->check(positive_number())
      ->excludes("--tokens");
  command.add_flag("--lora", arguments.lora, "fine-tune adapters only");
  if (kinds == WorkKinds::kJobs) return;
  command.add_option("--qps", arguments.qps, "serving: requests per second")->check(positive_number());
  command.add_option("--p99", arguments.p99, "serving: latency promised, such as 50ms; of one token for text generation");
}

Result<Work> work_of(const WorkArguments& a) {
  const size_t chosen = static_cast<size_t>(
      std::find_if(a.models.begin(), a.models.end(), [](const std::string& m) { return !m.empty(); }) - a.models.begin());
  TRY_ASSIGN(const ModelFacts model, parse_model(a.models[chosen]));
  Work w = default_work(kWorkKinds[chosen].kind, model);
  TRY_ASSIGN(w.precision, parse_precision(a.precision));
  w.tuning = a.lora ? Tuning::kLora : Tuning::kFull;
  if (a.items > 0) w.items = a.items;
  if (a.tokens > 0) {
    if (model.sequence == 0) return invalid("--tokens does not go with {}, which reads images: use --items", model.name);
    w.items = a.tokens / model.sequence;
  }
  if (a.qps > 0) w.qps = a.qps;
  if (!a.deadline.empty()) {
    TRY_ASSIGN(const Duration deadline, parse_duration(a.deadline));
    w.deadline = deadline;
  }
  if (!a.p99.empty()) {
    // parse_duration knows no milliseconds: latencies are written in them.
    const std::string text = to_lower(trim(a.p99));
    const auto ms = text.ends_with("ms") ? parse_number(text.substr(0, text.size() - 2)) : std::nullopt;
    if (!ms || *ms <= 0 || *ms > 1e6) return invalid("--p99 '{}': write milliseconds, such as 50ms", excerpt(a.p99));
    w.latency_p99 = Duration::from_seconds(*ms / 1e3);
  }
  return w;
}

Result<std::vector<std::string>> gpu_models_of(const std::vector<std::string>& names, const Catalog& catalog) {
  std::vector<std::string> models;
  for (const std::string& name : names) {
    const GpuFacts* gpu = catalog.find_gpu(name);
    if (gpu == nullptr) return invalid("--gpu '{}' is not in the catalogue; see stint catalog gpus", excerpt(name));
    models.push_back(gpu->model);
  }
  return models;
}

}  // namespace stint
