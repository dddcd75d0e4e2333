// Selection: the cheapest instances that do the work within memory, deadline or latency, budget and region, with the
// runner-up and the reason every cheaper one was dropped.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/result.h"
#include "catalog/catalog.h"
#include "catalog/sizing.h"
#include "model/workload.h"

namespace stint {

/// What is to be done. Absent values take the defaults of default_work().
struct Work {
  WorkloadKind kind = WorkloadKind::kTraining;
  ModelFacts model;
  Precision precision = Precision::k16Bit;
  Tuning tuning = Tuning::kFull;
  /// Jobs: items to go through, epochs included: sequences or images; training a decoder: tokens / sequence.
  double items = 0;
  std::optional<Duration> deadline;
  /// Serving: requests a second; a request is one item, or for a decoder one prompt and one answer.
  double qps = 0;
  /// Serving: p99 of a request; for a decoder of one answer token.
  Duration latency_p99;
  double prompt_tokens = 1024;
  double answer_tokens = 256;
};

/// Items, rates and latencies that stand in where the caller gives none; each is named in the notes of the selection.
/// Training 20 tokens a parameter (Hoffmann et al. 2022); fine-tuning three epochs of SST-2's 67,349 examples;
/// batch and evaluation 100,000 items; serving 1 request/s (images and encoders 100) within 50 ms.
Work default_work(WorkloadKind kind, const ModelFacts& model);

struct Limits {
  std::string region;                   ///< "us-east-1", a prefix, or "eu" for the European Union; empty = anywhere
  std::string provider;                 ///< empty = any
  std::vector<std::string> gpu_models;  ///< canonical; empty = any
  std::optional<Money> budget_per_hour;
  Market market = Market::kOnDemand;
  std::string arch = "x86_64";
  double headroom = 0.2;  ///< serving
};

/// An offer that does the work.
struct Choice {
  const InstanceType* type = nullptr;  ///< points into the catalogue
  PriceRow price;                      ///< of one instance
  int64_t instances = 1;
  int64_t gpus = 1;                  ///< that one sees; parts of GPUs count as one each
  Money per_hour;                    ///< of all instances
  std::optional<Duration> duration;  ///< jobs: start-up included
  std::optional<Money> total;        ///< jobs: per_hour × duration
  double memory_gib_needed = 0;      ///< per GPU
  double memory_gib_usable = 0;
  double rate = 0;                   ///< items, requests or images per second of all instances
  std::string_view basis;            ///< of the rate: "measured", "partly measured" or "estimated"
  std::optional<double> latency_ms;  ///< serving: expected worst case; decoders: of one token

  /// GPUs in all, such as 0.125.
  [[nodiscard]] double gpus_held() const;
};

/// An offer that was cheaper per hour than the choice and does not do.
struct Dropped {
  const InstanceType* type = nullptr;
  Money per_hour;
  std::string reason;
};

struct Selection {
  std::vector<Choice> choices;     ///< best first; one per instance type
  std::vector<Dropped> dropped;    ///< ascending by price, those below the best only
  std::vector<std::string> notes;  ///< assumptions a reader must know
};

/// Jobs rank by total cost, services and notebooks by cost per hour; ties by provider and type.
/// @return error when nothing fits, with the three nearest misses.
Result<Selection> select_instances(const Catalog& catalog, const Work& work, const Limits& limits);

/// What one GPU of a model costs by the hour.
struct GpuPrice {
  Rate rate;                           ///< of the instance, divided by its GPUs
  const InstanceType* type = nullptr;  ///< points into the catalogue, as `region` does
  std::string_view region;
};

/// The least on-demand price in US dollars, of all instances with whole GPUs; none: none is known.
std::optional<GpuPrice> cheapest_gpu(const Catalog& catalog, const GpuFacts& gpu);

/// Whether `region` lies in `wanted`: the same, a prefix of it, or "eu" for the regions of AWS, Google and Azure in the
/// European Union (London and Zurich are not).
bool region_in(std::string_view region, std::string_view wanted);

}  // namespace stint
