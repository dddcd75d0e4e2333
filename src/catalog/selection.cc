#include "catalog/selection.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace stint {
namespace {

/// Boot, driver, image pull and data load before a job does anything; billed. Start-up of a cold GPU node with a large
/// container image is commonly 5–15 minutes.
constexpr Duration kStartup = Duration::minutes(10);
constexpr int64_t kMaxInstances = 128;
/// Decode and resize of a 224 × 224 training image on one vCPU takes about 8 ms.
constexpr double kImagesPerVcpu = 125;
/// One GPU's link: PCIe 4.0 ×16 as measured, NVLink or Infinity Fabric at half the two-way figure. Between machines 400 Gbit/s
/// for eight A100 (AWS p4d), 3,200 for eight H100 or MI300X and later (AWS p5, Azure ND H100 v5 and MI300X v5), told apart by the link.
constexpr double kPcieBytesPerSecond = 25e9;
constexpr double kNetworkBytesPerSecond = 400e9 / 8 / 8;
constexpr double kFastNetworkBytesPerSecond = 3200e9 / 8 / 8;
constexpr double kFastNetworkFromLink = 896;
/// Tokens one GPU works on between exchanges of gradients and weights.
constexpr double kTokensPerStep = 8192;
constexpr double kItemsPerStep = 32;
/// Share of n GPUs' speed that one model split over them keeps.
constexpr double kSplitLinked = 0.85;
constexpr double kSplitPcie = 0.6;

bool is_service(WorkloadKind k) { return k == WorkloadKind::kRealtimeInference; }
bool is_training(WorkloadKind k) { return k == WorkloadKind::kTraining || k == WorkloadKind::kFineTuning; }
bool is_job(WorkloadKind k) { return !is_service(k) && k != WorkloadKind::kNotebook; }

double gib(double bytes) { return bytes / (1024.0 * 1024.0 * 1024.0); }

/// What an instance has of a GPU that it shares: arithmetic and bandwidth in proportion.
GpuFacts part_of(GpuFacts gpu, int64_t gpu_milli) {
  if (gpu_milli >= 1000) return gpu;
  const double part = static_cast<double>(gpu_milli) / 1000;
  gpu.memory_bandwidth_gb_s *= part;
  for (std::optional<double>* rate :
       {&gpu.fp32_tflops, &gpu.tf32_tflops, &gpu.fp16_tflops, &gpu.bf16_tflops, &gpu.fp8_tflops, &gpu.int8_tops,
        &gpu.measured.fp32_tflops, &gpu.measured.tf32_tflops, &gpu.measured.half_tflops, &gpu.measured.memory_gb_s})
    if (*rate) **rate *= part;
  return gpu;
}

/// One instance type under trial.
struct Trial {
  const Work& work;
  const Limits& limits;
  const InstanceType& type;
  const GpuFacts gpu;  ///< the part of it that the instance has
  Choice choice;
  std::string reason;  // why it does not do

  bool drop(std::string why) {
    reason = std::move(why);
    return false;
  }
  [[nodiscard]] int64_t gpus_each() const { return type.whole_gpus(); }
  [[nodiscard]] double host_rate() const {
    return work.model.family == ModelFamily::kVision ? kImagesPerVcpu * static_cast<double>(type.vcpus) : INFINITY;
  }
  bool fits_memory(double needed_per_gpu) {
    choice.memory_gib_needed = gib(needed_per_gpu);
    choice.memory_gib_usable = gib(usable_bytes(type.gpu_memory));
    if (choice.memory_gib_needed <= choice.memory_gib_usable) return true;
    return drop(fmt::format("memory: {:.1f} GiB a GPU needed, {:.1f} usable of {:.1f}", choice.memory_gib_needed,
                            choice.memory_gib_usable, type.gpu_memory.to_gibi()));
  }
};

double items_per_step(const ModelFacts& m) {
  return m.family == ModelFamily::kDecoder ? std::max(1.0, kTokensPerStep / std::max(1, m.sequence)) : kItemsPerStep;
}

/// Bytes over `link` bytes per second.
struct Exchange {
  double bytes = 0;
  double link = 1;
  [[nodiscard]] double seconds() const { return bytes / link; }
};

/// What each GPU exchanges in a step. Within a machine the state is sharded: weights twice, gradients once (ZeRO-3).
/// Between machines, when one machine holds the whole state, gradients alone: twice a shard (hybrid sharding, Zhao et
/// al. 2023, PyTorch FSDP); else everything crosses the network.
double exchange_seconds(const Trial& t, int64_t instances, bool machine_holds_state) {
  const double trained = t.work.tuning == Tuning::kLora ? 0.01 : 1.0;
  const double state = t.work.model.parameters * bytes_per_value(t.work.precision) * trained;
  const auto each = static_cast<double>(t.gpus_each());
  const bool linked = t.gpu.link_gb_s.has_value();
  const Exchange inside{3.0 * state * (each - 1) / each, linked ? *t.gpu.link_gb_s * 1e9 / 2 : kPcieBytesPerSecond};
  if (instances == 1) return inside.seconds();
  const double network = linked && *t.gpu.link_gb_s >= kFastNetworkFromLink ? kFastNetworkBytesPerSecond : kNetworkBytesPerSecond;
  const Exchange between{machine_holds_state ? 2.0 * state / each : 3.0 * state, network};
  return std::max(inside.seconds(), between.seconds());
}

/// Items a second of all GPUs training together: arithmetic and exchange overlap, the slower one counts.
double training_rate_together(const Trial& t, int64_t instances, bool machine_holds_state) {
  const double alone = training_rate(t.work.model, t.gpu, t.work.precision);
  const int64_t gpus = instances * t.gpus_each();
  if (gpus == 1) return alone;
  const double items = items_per_step(t.work.model);
  return static_cast<double>(gpus) * items / std::max(items / alone, exchange_seconds(t, instances, machine_holds_state));
}

/// Fills in what a job takes on `instances`. @return whether it meets the deadline.
bool time_job(Trial& t, int64_t instances, double rate) {
  Choice& c = t.choice;
  c.instances = instances;
  c.gpus = instances * t.gpus_each();
  c.rate = std::min(rate, t.host_rate() * static_cast<double>(instances));
  const double seconds = t.work.items / c.rate;
  if (seconds > 3e9) return t.drop("it would take a century");  // a Duration holds 292 years
  c.duration = kStartup + Duration::from_seconds(seconds);
  if (!t.work.deadline || *c.duration <= *t.work.deadline) return true;
  return t.drop(fmt::format("too slow: {:.1f} h on {} × {}, the deadline is {:.1f} h", c.duration->to_hours(), instances,
                            t.type.name, t.work.deadline->to_hours()));
}

/// Several machines train one model only with eight linked GPUs each and a network built for it.
bool trains_across_machines(const Trial& t) { return t.gpus_each() >= 8 && t.gpu.link_gb_s.has_value(); }

bool try_training(Trial& t) {
  const MemoryNeed need = training_memory(t.work.model, t.work.precision, t.work.tuning, items_per_step(t.work.model));
  const int64_t most = trains_across_machines(t) ? kMaxInstances : 1;
  const bool machine_holds_state = t.fits_memory(need.per_gpu(t.gpus_each()));
  for (int64_t n = 1; n <= most; ++n) {
    if (!machine_holds_state && !t.fits_memory(need.per_gpu(n * t.gpus_each()))) continue;
    if (time_job(t, n, training_rate_together(t, n, machine_holds_state))) return true;
  }
  return false;
}

/// One model replica over `split` GPUs of one machine.
double split_speed(const Trial& t, int64_t split) {
  if (split == 1) return 1;
  return static_cast<double>(split) * (t.gpu.link_gb_s ? kSplitLinked : kSplitPcie);
}

struct Replica {
  int64_t gpus = 1;
  double batch = 1;
  double per_second = 0;       // items or requests
  double latency_seconds = 0;  // of a request's worst case; decoders: of a token
};

/// The largest batch that fits memory and `latency` (0 = no promise) for encoders and images: a request waits for one
/// batch at most, then runs in the next.
std::optional<Replica> size_encoder(Trial& t, double latency) {
  Replica r;
  if (!t.fits_memory(inference_memory(t.work.model, t.work.precision, 1, 0).per_gpu(1))) return std::nullopt;
  for (double batch = 1; batch <= 256; ++batch) {
    const double seconds = forward_seconds(t.work.model, t.gpu, t.work.precision, batch);
    if (latency > 0 && 2 * seconds > latency) {
      if (batch == 1) t.drop(fmt::format("latency: {:.1f} ms at batch 1, {:.1f} ms promised", 2e3 * seconds, 1e3 * latency));
      break;
    }
    const double need = inference_memory(t.work.model, t.work.precision, batch, 0).per_gpu(1);
    if (gib(need) > t.choice.memory_gib_usable) break;
    t.choice.memory_gib_needed = gib(need);
    r.batch = batch;
    r.per_second = batch / seconds;
    r.latency_seconds = 2 * seconds;
  }
  return r.per_second > 0 ? std::optional(r) : std::nullopt;
}

/// Decoders: the smallest split that holds the model, the largest batch its memory and the token latency allow.
std::optional<Replica> size_decoder(Trial& t, double token_latency) {
  const ModelFacts& m = t.work.model;
  const Precision p = t.work.precision;
  const double tokens = t.work.prompt_tokens + t.work.answer_tokens;
  for (int64_t split = 1; split <= t.gpus_each(); split *= 2) {
    if (!t.fits_memory(inference_memory(m, p, 1, tokens).per_gpu(split))) continue;
    const double speed = split_speed(t, split);
    const double context = t.work.prompt_tokens + t.work.answer_tokens / 2;
    Replica r;
    for (double batch = 1; batch <= 256; ++batch) {
      const double step = decode_step_seconds(m, t.gpu, p, batch, context) / speed;
      const double need = inference_memory(m, p, batch, tokens).per_gpu(split);
      if (gib(need) > t.choice.memory_gib_usable) break;
      if (token_latency > 0 && step > token_latency) {
        if (batch == 1)
          t.drop(fmt::format("latency: {:.0f} ms a token at batch 1, {:.0f} ms promised", 1e3 * step, 1e3 * token_latency));
        break;
      }
      const double prefill = prefill_seconds(m, t.gpu, p, t.work.prompt_tokens) / speed;
      r = {split, batch, 1.0 / (prefill + t.work.answer_tokens * step / batch), step};
      t.choice.memory_gib_needed = gib(need);
    }
    if (r.per_second > 0) return r;
  }
  return std::nullopt;
}

std::optional<Replica> size_replica(Trial& t, double latency) {
  return t.work.model.family == ModelFamily::kDecoder ? size_decoder(t, latency) : size_encoder(t, latency);
}

bool try_batch(Trial& t) {
  const auto replica = size_replica(t, 0);
  if (!replica) return false;
  const int64_t replicas_each = t.gpus_each() / replica->gpus;
  const double each = replica->per_second * static_cast<double>(replicas_each);
  for (int64_t n = 1; n <= kMaxInstances; ++n)
    if (time_job(t, n, each * static_cast<double>(n))) return true;
  return false;
}

bool try_service(Trial& t) {
  const auto replica = size_replica(t, t.work.latency_p99.to_seconds());
  if (!replica) return false;
  Choice& c = t.choice;
  const int64_t replicas = gpus_for_demand(t.work.qps, replica->per_second, t.limits.headroom);
  const int64_t replicas_each = t.gpus_each() / replica->gpus;
  c.instances = (replicas + replicas_each - 1) / replicas_each;
  if (std::isfinite(t.host_rate()))
    c.instances = std::max(c.instances, gpus_for_demand(t.work.qps, t.host_rate(), t.limits.headroom));
  if (c.instances > kMaxInstances) return t.drop(fmt::format("{} instances would be needed", c.instances));
  c.gpus = c.instances * t.gpus_each();
  c.rate = std::min(static_cast<double>(c.instances * replicas_each) * replica->per_second,
                    t.host_rate() * static_cast<double>(c.instances));
  c.latency_ms = replica->latency_seconds * 1e3;
  return true;
}

/// A person tries things on one GPU: the model, one item in training.
bool try_notebook(Trial& t) {
  const Tuning tuning = t.work.model.parameters >= 1e9 ? Tuning::kLora : Tuning::kFull;
  t.choice.gpus = t.gpus_each();
  t.choice.rate = training_rate(t.work.model, t.gpu, t.work.precision);
  return t.fits_memory(training_memory(t.work.model, t.work.precision, tuning, 1).per_gpu(1));
}

bool try_work(Trial& t) {
  if (peak_flops(t.gpu, t.work.precision) <= 0) return t.drop("its rate is not known");
  if (is_training(t.work.kind)) return try_training(t);
  if (is_service(t.work.kind)) return try_service(t);
  if (t.work.kind == WorkloadKind::kNotebook) return try_notebook(t);
  return try_batch(t);
}

bool priced(Trial& t) {
  Choice& c = t.choice;
  c.per_hour = scale(c.price.rate.per_hour(), c.instances, 1);
  if (c.duration) c.total = Rate::per_hour(c.per_hour).over(*c.duration);
  if (!t.limits.budget_per_hour || c.per_hour <= *t.limits.budget_per_hour) return true;
  return t.drop(fmt::format("budget: {} an hour for {} of them", c.per_hour.to_text(), c.instances));
}

/// The cheapest price within the limits; in the currency of the budget, else US dollars.
const PriceRow* cheapest(const Catalog& catalog, const InstanceType& type, const Limits& limits) {
  const Currency currency = limits.budget_per_hour ? limits.budget_per_hour->currency() : Currency();
  const PriceRow* best = nullptr;
  for (const PriceRow& row : catalog.price_range(type.provider, type.name)) {
    if (row.market != limits.market || row.rate.per_hour().currency() != currency || !region_in(row.region, limits.region))
      continue;
    if (best == nullptr || row.rate < best->rate) best = &row;
  }
  return best;
}

bool considered(const InstanceType& type, const GpuFacts* gpu, const Limits& limits) {
  if (gpu == nullptr) return false;
  if (!limits.arch.empty() && limits.arch != "any" && type.arch != limits.arch) return false;
  if (!limits.provider.empty() && type.provider != limits.provider) return false;
  return limits.gpu_models.empty() ||
         std::find(limits.gpu_models.begin(), limits.gpu_models.end(), gpu->model) != limits.gpu_models.end();
}

auto rank_of(const Choice& c) {
  return std::make_tuple(c.total ? c.total->count_nanos() : c.per_hour.count_nanos(), c.per_hour.count_nanos(),
                         std::string_view(c.type->provider), std::string_view(c.type->name));
}

bool cheaper_first(const Dropped& a, const Dropped& b) {
  return std::make_tuple(a.per_hour.count_nanos(), std::string_view(a.type->name)) <
         std::make_tuple(b.per_hour.count_nanos(), std::string_view(b.type->name));
}

/// The nearest misses are the least above the budget, else the largest that were tried.
Error nothing_fits(const Limits& limits, const std::vector<Dropped>& dropped, std::vector<Dropped> over_budget) {
  std::vector<Dropped> nearest = std::move(over_budget);
  std::sort(nearest.begin(), nearest.end(), cheaper_first);
  if (nearest.empty()) nearest.assign(dropped.rbegin(), dropped.rend());
  std::vector<std::string> misses;
  for (size_t i = 0; i < std::min<size_t>(3, nearest.size()); ++i)
    misses.push_back(fmt::format("{}: {}", nearest[i].type->name, nearest[i].reason));
  return make_error(
      ErrorCode::kNotFound, "nothing in the catalogue does this{}{}{}",
      limits.region.empty() ? "" : fmt::format(" in {}", limits.region),
      misses.empty() ? ": no instance with a known price is within the limits" : "; nearest: ", fmt::join(misses, "; "));
}

std::vector<std::string> notes_on(const Work& work, const Limits& limits) {
  std::vector<std::string> notes = {
      "speeds are roofline estimates: 35 % of the data sheet's arithmetic, 80 % of its bandwidth; measure before you commit"};
  if (is_job(work.kind)) notes.push_back(fmt::format("10 minutes of start-up are billed; {:.3g} items", work.items));
  if (is_service(work.kind))
    notes.push_back(fmt::format("{:.3g} requests/s, {:.0f} ms promised, {:.0f} % headroom", work.qps,
                                work.latency_p99.to_seconds() * 1e3, 100 * limits.headroom));
  if (work.model.family == ModelFamily::kVision && work.kind != WorkloadKind::kNotebook)
    notes.push_back("images are decoded on the host: 125 a second on each vCPU");
  if (limits.market == Market::kSpot) notes.push_back("spot: interruptions and lost work are not in the cost");
  return notes;
}

}  // namespace

Work default_work(WorkloadKind kind, const ModelFacts& model) {
  Work w;
  w.kind = kind;
  w.model = model;
  const bool decoder = model.family == ModelFamily::kDecoder;
  switch (kind) {
    case WorkloadKind::kTraining:
      w.items = decoder ? 20.0 * model.parameters / std::max(1, model.sequence) : 90.0 * 100'000;
      break;
    case WorkloadKind::kFineTuning: w.items = 3.0 * 67'349; break;
    default: w.items = 100'000; break;
  }
  w.qps = decoder ? 1 : 100;
  w.latency_p99 = Duration::milliseconds(50);
  return w;
}

Result<Selection> select_instances(const Catalog& catalog, const Work& work, const Limits& limits) {
  Selection out;
  std::vector<Dropped> dropped;
  std::vector<Dropped> over_budget;
  int64_t unpriced = 0;
  for (const InstanceType& type : catalog.instances()) {
    const GpuFacts* gpu = type.gpu_model.empty() ? nullptr : catalog.find_gpu(type.gpu_model);
    if (!considered(type, gpu, limits)) continue;
    const PriceRow* price = cheapest(catalog, type, limits);
    if (price == nullptr) {
      ++unpriced;
      continue;
    }
    Trial t{work, limits, type, part_of(*gpu, type.gpu_milli), {}, {}};
    t.choice.type = &type;
    t.choice.price = *price;
    t.choice.basis = basis_of(*gpu, work.precision);
    if (!try_work(t)) {
      dropped.push_back({&type, price->rate.per_hour(), std::move(t.reason)});
    } else if (!priced(t)) {
      over_budget.push_back({&type, t.choice.per_hour, t.reason});
      dropped.push_back({&type, price->rate.per_hour(), std::move(t.reason)});
    } else {
      out.choices.push_back(std::move(t.choice));
    }
  }
  std::sort(dropped.begin(), dropped.end(), cheaper_first);
  if (out.choices.empty()) return nothing_fits(limits, dropped, std::move(over_budget));
  std::sort(out.choices.begin(), out.choices.end(), [](const Choice& a, const Choice& b) { return rank_of(a) < rank_of(b); });
  const Money best = out.choices.front().per_hour;
  std::copy_if(dropped.begin(), dropped.end(), std::back_inserter(out.dropped),
               [&](const Dropped& d) { return d.per_hour < best; });
  out.notes = notes_on(work, limits);
  if (std::ranges::any_of(out.choices, [](const Choice& c) { return c.type->gpu_milli < 1000; }))
    out.notes.emplace_back(
        "an instance with a part of a GPU is taken to have that part of its speed; neighbours may take more, or leave more");
  if (unpriced > 0)
    out.notes.push_back(fmt::format("{} instance types without a price within these limits are left out", unpriced));
  return out;
}

double Choice::gpus_held() const { return static_cast<double>(instances * type->gpu_milli) / 1000; }

std::optional<GpuPrice> cheapest_gpu(const Catalog& catalog, const GpuFacts& gpu) {
  std::optional<GpuPrice> best;
  for (const InstanceType& type : catalog.instances()) {
    if (type.gpu_model != gpu.model || type.gpu_milli < 1000) continue;
    for (const PriceRow& row : catalog.price_range(type.provider, type.name)) {
      if (row.market != Market::kOnDemand || row.rate.per_hour().currency() != Currency()) continue;
      const Rate rate = Rate::per_hour(Money::nanos(row.rate.per_hour().count_nanos() / type.gpu_milli * 1000));
      if (!best || rate < best->rate) best = GpuPrice{rate, &type, row.region};
    }
  }
  return best;
}

}  // namespace stint
