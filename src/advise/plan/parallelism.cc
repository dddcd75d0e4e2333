#include "advise/plan/parallelism.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

namespace stint {
namespace {

constexpr double kPcie4GbPerS = 31.5;
/// Of a link's data-sheet rate that collectives on large messages reach: an assumption; NCCL reports 0.75–0.9.
constexpr double kLinkEfficiency = 0.8;
constexpr double kBackwardShare = 2.0 / 3;
constexpr int64_t kMostGpus = 65'536;
constexpr int64_t kMostBatch = 10'000'000;

bool is_transformer(const ModelFacts& m) { return m.family != ModelFamily::kVision; }
double width_of(Precision p) { return p == Precision::kFp32 ? 4.0 : 2.0; }

/// Values that one item hands from layer to layer.
double boundary_values(const ModelFacts& m) { return static_cast<double>(m.sequence) * m.hidden; }

/// Bytes kept of one item in one layer, all of the tensor group together, and what one layer needs while it is recomputed.
double layer_bytes(const ParallelJob& job, Recompute recompute) {
  const ModelFacts& m = job.model;
  const double scale = width_of(job.precision) / 2;
  const double attention = 5.0 * m.heads * static_cast<double>(m.sequence) * m.sequence;
  switch (recompute) {
    case Recompute::kNone: return scale * (34 * boundary_values(m) + attention);
    case Recompute::kAttention: return scale * 34 * boundary_values(m);
    case Recompute::kLayers: return scale * 2 * boundary_values(m);
  }
  CHECK(false, "a way to recompute that is none");
}

double activations_of(const ParallelJob& job, const ParallelSetting& s) {
  const auto items = static_cast<double>(s.micro_batch);
  if (!is_transformer(job.model)) return items * width_of(job.precision) / 2 * activation_bytes(job.model);
  const auto in_flight = static_cast<double>(std::min(s.shape.pipeline, s.micro_batches));
  const double layers = static_cast<double>(job.model.layers) / static_cast<double>(s.shape.pipeline);
  const auto tensor = static_cast<double>(s.shape.tensor);
  // The inputs of recomputed layers are kept whole on every GPU; all else is cut by sequence parallelism.
  const double kept = layer_bytes(job, s.recompute) / (s.recompute == Recompute::kLayers ? 1 : tensor);
  const double live = s.recompute == Recompute::kLayers ? items * layer_bytes(job, Recompute::kNone) / tensor : 0;
  return items * in_flight * layers * kept + live;
}

/// Rate of a group of `size` GPUs that lie `stride` apart, bytes/s of one GPU.
double rate_between(const ParallelCluster& c, int64_t size, int64_t stride) {
  const bool inside = size * stride <= c.gpus_per_node;
  return 1e9 * kLinkEfficiency * (inside ? c.link_gb_s : c.network_gb_s);
}

double ring_share(int64_t n) { return static_cast<double>(n - 1) / static_cast<double>(n); }

/// Arithmetic beside forward and backward, as a share of them.
double recomputed_share(const ModelFacts& m, Recompute r) {
  if (r == Recompute::kNone) return 0;
  if (r == Recompute::kLayers) return 1.0 / 3;
  const double attention = 4.0 * m.layers * static_cast<double>(m.sequence) * m.sequence * m.hidden;
  return attention / (3 * forward_flops(m));
}

/// Times a micro-batch moves the shard's 16-bit values among its data-parallel twins, and what hides it.
struct DataTraffic {
  double passes = 0;         // of (d − 1)/d of the shard
  double hidden_passes = 0;  // micro-batches whose arithmetic hides it
};
DataTraffic data_traffic(int sharding, int64_t micro_batches) {
  const auto m = static_cast<double>(micro_batches);
  if (sharding < 2) return {2, kBackwardShare};
  if (sharding == 2) return {m + 1, m * kBackwardShare};
  return {3 * m, m};
}

std::optional<std::string> refused(const ParallelJob& job, const ParallelCluster& c, const ParallelShape& s) {
  const ModelFacts& m = job.model;
  if (!is_transformer(m) && (s.tensor > 1 || s.pipeline > 1)) return "a vision model is trained data parallel here";
  if (s.tensor > c.gpus_per_node)
    return fmt::format("tensor parallel over {} GPUs leaves the {} that are linked in a machine", s.tensor, c.gpus_per_node);
  if (s.tensor > 1 && m.heads % s.tensor != 0) return fmt::format("{} attention heads do not divide by {}", m.heads, s.tensor);
  if (m.layers % s.pipeline != 0 && s.pipeline > 1)
    return fmt::format("{} layers do not divide by {} stages", m.layers, s.pipeline);
  if (job.batch % s.data != 0) return fmt::format("a batch of {} does not divide by {}", job.batch, s.data);
  return std::nullopt;
}

std::vector<int64_t> divisors_of(int64_t n) {
  std::vector<int64_t> low, high;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    low.push_back(d);
    if (d != n / d) high.push_back(n / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

/// Less time first, then less recomputation, less sharding, a larger micro-batch.
bool is_better(const ParallelOption& a, const ParallelOption& b) {
  const auto key = [](const ParallelOption& o) {
    return std::tuple(o.time.total(), o.setting.recompute, o.setting.sharding, -o.setting.micro_batch);
  };
  return key(a) < key(b);
}

struct ShapeResult {
  std::optional<ParallelOption> best;
  double least_bytes = 0;
  int64_t tried = 0;
};

ShapeResult try_shape(const ParallelJob& job, const ParallelCluster& c, const ParallelShape& shape, double usable) {
  ShapeResult out;
  const int64_t share = job.batch / shape.data;
  // Stages of a pipeline are sharded by stage 1 at most: the others would gather in every one of its micro-batches.
  const int most = shape.data == 1 ? 0 : shape.pipeline > 1 ? 1 : 3;
  const std::vector<int64_t> micro = divisors_of(share);
  for (int z = 0; z <= most; ++z)
    for (const Recompute r : {Recompute::kNone, Recompute::kAttention, Recompute::kLayers}) {
      if (!is_transformer(job.model) && r != Recompute::kNone) continue;
      for (const int64_t b : micro) {
        ParallelOption o{{shape, z, r, b, share / b}, {}, {}, 0, 0};
        o.memory = parallel_memory(job, o.setting);
        ++out.tried;
        if (out.least_bytes == 0 || o.memory.total() < out.least_bytes) out.least_bytes = o.memory.total();
        if (o.memory.total() > usable) continue;
        o.time = parallel_time(job, c, o.setting);
        if (!out.best || is_better(o, *out.best)) out.best = o;
      }
    }
  return out;
}

Status check(const ParallelJob& job, const ParallelCluster& c) {
  if (c.gpus < 1 || c.gpus > kMostGpus) return invalid("{} GPUs: expected 1 to {}", c.gpus, kMostGpus);
  if (c.gpus_per_node < 1) return invalid("{} GPUs in a machine: expected at least 1", c.gpus_per_node);
  if (job.batch < 1 || job.batch > kMostBatch) return invalid("a batch of {}: expected 1 to {}", job.batch, kMostBatch);
  if (!(c.link_gb_s > 0)) return invalid("a link of {} GB/s: expected more than 0", c.link_gb_s);
  if (c.gpus > c.gpus_per_node && !(c.network_gb_s > 0))
    return invalid("a network of {} GB/s: expected more than 0, as {} GPUs are more than one machine", c.network_gb_s, c.gpus);
  if (peak_flops(c.gpu, job.precision) <= 0)
    return invalid("the data sheet of {} gives no rate at {}", c.gpu.model, name_of(job.precision));
  return {};
}

}  // namespace

std::string_view name_of(Recompute r) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "attention", "layers"};
  return kNames[static_cast<size_t>(r)];
}

double link_of(const GpuFacts& gpu) { return gpu.link_gb_s ? *gpu.link_gb_s / 2 : kPcie4GbPerS; }

ParallelMemory parallel_memory(const ParallelJob& job, const ParallelSetting& s) {
  const MemoryNeed whole = training_memory(job.model, job.precision, Tuning::kFull, 1);
  const auto parts = static_cast<double>(s.shape.tensor * s.shape.pipeline);
  const auto copies = static_cast<double>(s.shape.data);
  ParallelMemory out;
  out.weights = whole.weights / parts / (s.sharding >= 3 ? copies : 1);
  out.gradients = whole.gradients / parts / (s.sharding >= 2 ? copies : 1);
  out.optimizer = whole.optimizer / parts / (s.sharding >= 1 ? copies : 1);
  out.activations = activations_of(job, s);
  out.overhead = whole.overhead;
  return out;
}

ParallelTime parallel_time(const ParallelJob& job, const ParallelCluster& c, const ParallelSetting& s) {
  const ModelFacts& m = job.model;
  const ParallelShape& shape = s.shape;
  const double width = width_of(job.precision);
  const auto items = static_cast<double>(s.micro_batch);
  const auto parts = static_cast<double>(shape.tensor * shape.pipeline);
  const double compute = items / training_rate(m, c.gpu, job.precision) * (1 + recomputed_share(m, s.recompute)) / parts;
  const double boundary = width * items * boundary_values(m);
  double tensor = 0;
  if (shape.tensor > 1) {
    const double layers = static_cast<double>(m.layers) / static_cast<double>(shape.pipeline);
    const double reduces = s.recompute == Recompute::kLayers ? 6 : 4;
    tensor = layers * reduces * 2 * ring_share(shape.tensor) * boundary / rate_between(c, shape.tensor, 1);
  }
  // Stages lie furthest apart: tensor groups are neighbours, then come the copies.
  const double hand_over = shape.pipeline == 1 ? 0
                                               : 2 * boundary / static_cast<double>(shape.tensor) /
                                                     rate_between(c, shape.pipeline, shape.tensor * shape.data);
  ParallelTime out;
  const auto n = static_cast<double>(s.micro_batches);
  out.compute = n * compute;
  out.tensor = n * tensor;
  out.pipeline = n * hand_over;
  out.bubble = static_cast<double>(shape.pipeline - 1) * (compute + tensor + hand_over);
  if (shape.data > 1) {
    const DataTraffic traffic = data_traffic(s.sharding, s.micro_batches);
    const double shard = width * m.parameters / parts;
    const double seconds = traffic.passes * ring_share(shape.data) * shard / rate_between(c, shape.data, shape.tensor);
    out.data = std::max(0.0, seconds - traffic.hidden_passes * compute);
  }
  return out;
}

Result<ParallelPlan> plan_parallelism(const ParallelJob& job, const ParallelCluster& cluster) {
  TRY(check(job, cluster));
  ParallelPlan plan;
  plan.usable_bytes = usable_bytes(cluster.gpu.memory);
  const std::vector<int64_t> divisors = divisors_of(cluster.gpus);
  for (const int64_t pipeline : divisors)
    for (const int64_t tensor : divisors) {
      if (cluster.gpus % (pipeline * tensor) != 0) continue;
      const ParallelShape shape{cluster.gpus / pipeline / tensor, tensor, pipeline};
      if (auto reason = refused(job, cluster, shape)) {
        plan.refusals.push_back({shape, std::move(*reason), 0});
        continue;
      }
      const ShapeResult made = try_shape(job, cluster, shape, plan.usable_bytes);
      plan.settings_tried += made.tried;
      if (made.best)
        plan.options.push_back(*made.best);
      else
        plan.refusals.push_back({shape,
                                 fmt::format("needs {:.1f} GiB of a GPU at least; {:.1f} can be used",
                                             made.least_bytes / (1 << 30), plan.usable_bytes / (1 << 30)),
                                 made.least_bytes});
    }
  const double flops = 3 * forward_flops(job.model) * static_cast<double>(job.batch);
  for (ParallelOption& o : plan.options) {
    o.items_per_s = static_cast<double>(job.batch) / o.time.total();
    o.flops_used_pct =
        100 * flops / o.time.total() / (static_cast<double>(cluster.gpus) * peak_flops(cluster.gpu, job.precision));
  }
  std::stable_sort(plan.options.begin(), plan.options.end(),
                   [](const ParallelOption& a, const ParallelOption& b) { return a.time.total() < b.time.total(); });
  return plan;
}

}  // namespace stint
