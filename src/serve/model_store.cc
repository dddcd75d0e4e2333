#include "serve/model_store.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <ranges>
#include <thread>

#include "base/text.h"
#include "host/file.h"
#include "serve/onnx_graph.h"
#include "serve/steady.h"

namespace stint::serve {
namespace {

namespace fs = std::filesystem;

constexpr Duration kReap = Duration::milliseconds(100);
constexpr Duration kRetune = Duration::seconds(10);

/// A folder's name and nothing that leads elsewhere.
bool is_model_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !name.empty() && name.size() <= 128 && name[0] != '.' && name.find_first_not_of(kLetters) == std::string_view::npos;
}

/// Ascending; names that do not fit are none of ours.
std::vector<std::string> folders_of(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    if (std::error_code ignored; at->is_directory(ignored) && is_model_name(at->path().filename().string()))
      names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::vector<int64_t> versions_of(const std::string& folder) {
  std::vector<int64_t> versions;
  for (const std::string& name : folders_of(folder))
    if (const std::optional<int64_t> version = parse_int(name); version && *version > 0 && std::to_string(*version) == name)
      versions.push_back(*version);
  std::ranges::sort(versions);
  return versions;
}

Result<ServedModelConfig> config_of(const std::string& folder, const std::optional<std::string>& given) {
  if (given) return read_served_model(*given, "the configuration sent");
  const std::string file = folder + "/model.json";
  if (std::error_code ignored; !fs::exists(file, ignored)) return ServedModelConfig();
  TRY_ASSIGN(const std::string bytes, read_all(file));
  return read_served_model(bytes, file);
}

/// @return error when the model draws random numbers: no answer of it stands for another
Status check_cacheable(const ModelSource& source) {
  constexpr std::array<std::string_view, 6> kRandom = {"Bernoulli",        "Multinomial",   "RandomNormal",
                                                       "RandomNormalLike", "RandomUniform", "RandomUniformLike"};
  if (source.onnx() == nullptr) return {};
  TRY_ASSIGN(const std::string bytes, read_all(source.file()));
  TRY_ASSIGN(const OnnxGraph graph, OnnxGraph::parse(bytes, source.file()));
  for (const OnnxNode& node : graph.nodes)
    if (std::ranges::find(kRandom, node.op) != kRandom.end())
      return invalid("{}: draws random numbers ({}), so its answers are not to be kept: leave `cache` out of model.json",
                     source.file(), node.op);
  return {};
}

Result<ServedVariant> measured(ModelMeasurer& measurer, ModelSource source, const ServedModelConfig& config) {
  TRY_ASSIGN(MeasuredModel facts, measurer.measure(source, config));
  return ServedVariant{std::move(source), std::move(facts)};
}

/// A model may take smaller batches than it is configured to: one item at a time, say.
ServedModelConfig within(ServedModelConfig config, const MeasuredModel& facts) {
  config.max_batch = std::min(config.max_batch, std::ssize(facts.memory.activation));
  std::erase_if(config.preferred, [&](int64_t size) { return size > config.max_batch; });
  return config;
}

/// @return error when there is a smaller variant that cannot stand in for the model.
Result<std::optional<ServedVariant>> small_of(ModelMeasurer& measurer, const ServedVariant& whole,
                                              const ServedModelConfig& config) {
  std::optional<ModelSource> source = whole.source.small_variant();
  if (!source) return std::optional<ServedVariant>();
  TRY_ASSIGN(ServedVariant small, measured(measurer, std::move(*source), config));
  if (small.measured.inputs != whole.measured.inputs || small.measured.outputs != whole.measured.outputs)
    return invalid("{}: takes or gives other tensors than {}: take it away or make it anew", small.source.file(),
                   whole.source.file());
  return std::optional(std::move(small));
}

/// The highest, but for those that are still on trial.
int64_t version_to_answer(const std::vector<int64_t>& versions, const ServedModelConfig& config) {
  for (const int64_t version : versions | std::views::reverse)
    if (!(config.shadow && version == config.shadow->version) && !(config.canary && version == config.canary->version))
      return version;
  return versions.back();
}

batching::CanarySide side_of(const ServeFigures& figures) {
  return {.answered = figures.answered,
          .failed = figures.failed,
          .p99 = figures.p99,
          .per_second = figures.per_second,
          .most_per_second = figures.most_per_second};
}

constexpr Duration kCanaryLook = Duration::seconds(1);

constexpr uint64_t kShadowRoom = uint64_t{64} << 20;  ///< of requests that are to be asked again

}  // namespace

Result<std::unique_ptr<ModelStore>> ModelStore::open(StoreOptions options) {
  if (std::error_code ignored; !fs::is_directory(options.repository, ignored))
    return make_error(ErrorCode::kNotFound, "{}: no folder: give one that holds a folder for each model", options.repository);
  auto cache = std::make_unique<ResponseCache>(options.cache, options.tenant_weights);
  WatchOptions watch = options.watch;
  if (!options.onnx || !options.onnx->gpu()) watch.beside = [&cache = *cache] { return cache.figures().used; };
  TRY_ASSIGN(std::unique_ptr<MemoryKeeper> memory, MemoryKeeper::create(options.memory, std::move(watch)));
  return std::unique_ptr<ModelStore>(new ModelStore(std::move(options), std::move(cache), std::move(memory)));
}

ModelStore::ModelStore(StoreOptions options, std::unique_ptr<ResponseCache> cache, std::unique_ptr<MemoryKeeper> memory)
    : options_(std::move(options)),
      cache_(std::move(cache)),
      memory_(std::move(memory)),
      tools_{pool_, timer_, *memory_, *cache_, options_.tenant_weights},
      measurer_(options_.measure_command),
      pool_(options_.threads) {
  watch_models();
  watch_canaries();
}

/// Those that hand jobs to the pool from their own threads end before it does.
ModelStore::~ModelStore() {
  memory_->stop();
  timer_.stop();
}

std::vector<std::string> ModelStore::load_all() {
  std::vector<std::string> troubles;
  for (const std::string& name : folders_of(options_.repository))
    if (const Status loaded = load_fetched(name, std::nullopt); !loaded.ok()) troubles.push_back(loaded.error().message);
  return troubles;
}

Status ModelStore::load(const std::string& name, const std::optional<std::string>& config) {
  if (options_.fetch && is_model_name(name)) {
    const std::lock_guard one(loading_);
    TRY(options_.fetch(name));
  }
  return load_fetched(name, config);
}

Status ModelStore::load_fetched(const std::string& name, const std::optional<std::string>& config) {
  const std::lock_guard one(loading_);
  Result<Entry> made = make(name, config);
  std::vector<ServedVersion> before;
  {
    const std::lock_guard lock(mutex_);
    if (!made.ok()) {
      if (made.error().code != ErrorCode::kNotFound) models_[name].reason = made.error().message;
      return made.error();
    }
    Entry& entry = models_[name];
    before.swap(entry.versions);
    entry = std::move(*made);
  }
  retire(std::move(before));
  return {};
}

Result<ModelStore::Entry> ModelStore::make(const std::string& name, const std::optional<std::string>& config_text) {
  const std::string folder = options_.repository + "/" + name;
  const std::vector<int64_t> there = is_model_name(name) ? versions_of(folder) : std::vector<int64_t>();
  if (there.empty()) return make_error(ErrorCode::kNotFound, "{}: no such model in the repository", excerpt(name));
  TRY_ASSIGN(ServedModelConfig config, config_of(folder, config_text));
  if (config.traffic.empty()) config.traffic[version_to_answer(there, config)] = 1;
  if (config.shadow) config.traffic.try_emplace(config.shadow->version, 0);
  if (config.canary) config.traffic.try_emplace(config.canary->version, 0);
  Entry entry;
  for (const auto& [version, part] : config.traffic) {
    if (std::ranges::find(there, version) == there.end())
      return make_error(ErrorCode::kNotFound, "{}: has no version {}", name, version);
    TRY_ASSIGN(ModelSource source, ModelSource::find(fmt::format("{}/{}", folder, version), options_.onnx));
    if (config.cache) TRY(check_cacheable(source));
    TRY_ASSIGN(ServedVariants variants, variants_of(std::move(source), config));
    const ServedModelConfig own = within(config, variants.front()->measured);
    Result<std::shared_ptr<ServedModel>> model = ServedModel::create(name, std::move(variants), own, tools_);
    if (!model.ok()) return invalid("{}, version {}: {}", name, version, model.error().message);
    (*model)->preload();
    entry.versions.push_back({version, std::move(*model), nullptr});
    entry.parts.push_back(part);
    entry.all_parts += part;
  }
  if (config.shadow) TRY(let_follow(entry, name, *config.shadow));
  if (config.canary) {
    if (entry.versions.size() == 1)
      return invalid("{}: version {} cannot be a canary alone: let another version answer", name, config.canary->version);
    entry.canary_version = config.canary->version;
    entry.canary = std::make_shared<batching::Canary>(batching::CanaryRules{.percent = config.canary->percent,
                                                                            .step = config.canary->step,
                                                                            .least_requests = config.canary->least_requests,
                                                                            .promise = config.promise},
                                                      steady_now(), batching::CanarySide{}, batching::CanarySide{});
  }
  return entry;
}

Status ModelStore::let_follow(Entry& entry, const std::string& name, const ServedShadow& rules) {
  if (entry.versions.size() == 1)
    return invalid("{}: version {} cannot be the shadow of itself: let another version answer", name, rules.version);
  const auto& follower = *std::ranges::find(entry.versions, rules.version, &ServedVersion::version);
  const auto shadow = std::make_shared<Shadow>(rules, follower.model, pool_, ByteBudget::of(kShadowRoom));
  for (ServedVersion& served : entry.versions) {
    if (served.version == rules.version) continue;
    if (served.model->measured().inputs != follower.model->measured().inputs ||
        served.model->measured().outputs != follower.model->measured().outputs)
      return invalid("{}: version {} takes or gives other tensors than version {} and cannot be its shadow", name, rules.version,
                     served.version);
    served.shadow = shadow;
  }
  return {};
}

Result<ServedVariants> ModelStore::variants_of(ModelSource source, const ServedModelConfig& config) {
  TRY_ASSIGN(ServedVariant whole, measured(measurer_, std::move(source), config));
  ServedVariants all;
  TRY_ASSIGN(all[static_cast<size_t>(Variant::kSmall)], small_of(measurer_, whole, config));
  if (std::optional<ModelSource> on_host = whole.source.on_host(); on_host && options_.watch.host_room > Bytes()) {
    Result<ServedVariant> host = measured(measurer_, std::move(*on_host), config);
    if (host.ok())
      all[static_cast<size_t>(Variant::kHost)] = std::move(*host);
    else
      options_.watch.tell(fmt::format("cannot move to the host when the GPU is full: {}", host.error().message));
  }
  all[static_cast<size_t>(Variant::kWhole)] = std::move(whole);
  return all;
}

Status ModelStore::unload(const std::string& name) {
  std::vector<ServedVersion> before;
  {
    const std::lock_guard lock(mutex_);
    const auto found = models_.find(name);
    if (found == models_.end() || found->second.versions.empty())
      return make_error(ErrorCode::kNotFound, "{}: no such model is served", excerpt(name));
    before.swap(found->second.versions);
    found->second.canary = nullptr;
    found->second.reason = "unloaded";
  }
  retire(std::move(before));
  return {};
}

void ModelStore::retire(std::vector<ServedVersion> versions) {
  std::vector<std::shared_ptr<ServedModel>> done;  // end after the lock
  const std::lock_guard lock(mutex_);
  for (ServedVersion& version : versions)
    retired_.push_back(std::move(version.model));
  const auto still = std::ranges::stable_partition(retired_, [](const auto& model) { return model->open_calls() > 0; });
  done.assign(std::make_move_iterator(still.begin()), std::make_move_iterator(still.end()));
  retired_.erase(still.begin(), still.end());
  if (!retired_.empty()) timer_.wake(steady_now() + kReap, [this] { retire({}); });
}

void ModelStore::watch_models() {
  timer_.wake(steady_now() + kRetune, [this] {
    watcher_.submit([this] {
      for (const auto& [name, served] : served())
        if (const auto told = served.model->retune(); told && options_.watch.tell)
          options_.watch.tell(fmt::format("{}, version {}: {}", name, served.version, *told));
      watch_models();
    });
  });
}

void ModelStore::watch_canaries() {
  timer_.wake(steady_now() + kCanaryLook, [this] {
    watcher_.submit([this] {
      look_at_canaries();
      watch_canaries();
    });
  });
}

void ModelStore::look_at_canaries() {
  struct Seen {
    std::string name;
    std::shared_ptr<batching::Canary> canary;
    int64_t version = 0;
    std::vector<ServedVersion> versions;
  };
  std::vector<Seen> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, entry] : models_)
      if (entry.canary) all.push_back({name, entry.canary, entry.canary_version, entry.versions});
  }
  for (const Seen& seen : all) {
    batching::CanarySide own, others;
    for (const ServedVersion& served : seen.versions) {
      const batching::CanarySide side = side_of(served.model->figures());
      if (served.version == seen.version) {
        own = side;
        continue;
      }
      others.answered += side.answered;
      others.failed += side.failed;
      if (side.p99) others.p99 = std::max(side.p99, others.p99);
    }
    std::optional<std::string> told;
    {
      const std::lock_guard lock(mutex_);
      told = seen.canary->look(steady_now(), own, others);
    }
    if (told && options_.watch.tell) options_.watch.tell(fmt::format("{}, version {}: {}", seen.name, seen.version, *told));
  }
}

std::vector<ModelStore::CanaryRow> ModelStore::canaries() const {
  const std::lock_guard lock(mutex_);
  std::vector<CanaryRow> rows;
  for (const auto& [name, entry] : models_)
    if (entry.canary) rows.push_back({name, entry.canary_version, entry.canary->percent(), entry.canary->taken_back()});
  return rows;
}

std::optional<ServedVersion> ModelStore::find(std::string_view name, std::optional<int64_t> version) {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(name);
  if (found == models_.end() || found->second.versions.empty()) return std::nullopt;
  Entry& entry = found->second;
  if (!version && entry.canary) {
    const int64_t turn = entry.canary_turns++;
    if ((turn + 1) * entry.canary->percent() / 100 > turn * entry.canary->percent() / 100) version = entry.canary_version;
  }
  if (!version) {
    // In turn, as the parts say: of 90 and 10 the first ninety of each hundred would go to one; a step prime to the sum mixes them.
    constexpr int64_t kStep = 1'000'003;
    int64_t place = entry.asked++ % entry.all_parts * (kStep % entry.all_parts) % entry.all_parts;
    size_t at = 0;
    while (place >= entry.parts[at])
      place -= entry.parts[at++];
    return entry.versions[at];
  }
  for (const ServedVersion& served : entry.versions)
    if (served.version == *version) return served;
  return std::nullopt;
}

std::vector<int64_t> ModelStore::versions(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> versions;
  if (const auto found = models_.find(name); found != models_.end())
    for (const ServedVersion& served : found->second.versions)
      versions.push_back(served.version);
  return versions;
}

std::vector<ModelStore::Row> ModelStore::index() const {
  std::vector<Row> rows;
  const std::vector<std::string> there = folders_of(options_.repository);
  const std::lock_guard lock(mutex_);
  for (const std::string& name : there)
    if (!models_.contains(name)) rows.push_back({name, std::nullopt, false, "not loaded"});
  for (const auto& [name, entry] : models_) {
    if (entry.versions.empty()) rows.push_back({name, std::nullopt, false, entry.reason});
    for (const ServedVersion& served : entry.versions)
      rows.push_back({name, served.version, true, entry.reason});
  }
  std::ranges::stable_sort(rows, {}, &Row::name);
  return rows;
}

std::vector<std::pair<std::string, ServedVersion>> ModelStore::served() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::pair<std::string, ServedVersion>> all;
  for (const auto& [name, entry] : models_)
    for (const ServedVersion& served : entry.versions)
      all.emplace_back(name, served);
  return all;
}

int64_t ModelStore::drain(Duration longest) {
  const Instant end = steady_now() + longest;
  for (;;) {
    int64_t open = 0;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [name, entry] : models_)
        for (const ServedVersion& served : entry.versions)
          open += served.model->open_calls();
      for (const auto& model : retired_)
        open += model->open_calls();
    }
    if (open == 0 || steady_now() >= end) return open;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace stint::serve
