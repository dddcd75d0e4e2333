// Catalogue: GPU facts, instance types and prices, built in and offline, each row with source and date.
//
// The data are CSV files in catalog/ of the source tree, compiled into the binary. Imported prices
// (History::prices) are laid over them with Catalog::with_prices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "catalog/measured.h"
#include "model/price.h"

namespace stint {

/// Data-sheet facts of a GPU model. Absent = the data sheet does not give it (or the hardware cannot do it).
/// Rates are dense (no structured sparsity), in 10¹² operations per second.
struct GpuFacts {
  std::string model;                 ///< canonical: "A100-80GB", "H100-80GB", "L4"
  std::vector<std::string> aliases;  ///< as NVML, DCGM and clouds write it
  std::string vendor;
  std::string architecture;
  Bytes memory;
  double memory_bandwidth_gb_s = 0;  ///< 10⁹ bytes/s
  std::optional<double> fp32_tflops;
  std::optional<double> tf32_tflops;
  std::optional<double> fp16_tflops;
  std::optional<double> bf16_tflops;
  std::optional<double> fp8_tflops;
  std::optional<double> int8_tops;
  double tdp_w = 0;
  std::optional<double>
      link_gb_s;  ///< to GPUs of its machine (NVLink, Infinity Fabric), total of a GPU, both directions; none: PCIe
  bool mig = false;
  std::string source;
  Instant as_of;
  MeasuredRates measured;  ///< laid over with Catalog::with_measurements
};

struct InstanceType {
  std::string provider;
  std::string name;
  std::string gpu_model;  ///< canonical; "" = no GPU
  /// GPUs in thousandths: 8000 = eight, 500 = half of one.
  int64_t gpu_milli = 0;
  Bytes gpu_memory;  ///< per GPU as the instance sees it
  int64_t vcpus = 0;
  Bytes memory;
  std::string arch;  ///< of the host: "x86_64", "arm64"
  std::string best_for;
  std::string source;
  Instant as_of;
  [[nodiscard]] int64_t whole_gpus() const { return (gpu_milli + 999) / 1000; }
};

/// What to look a price up by. An empty region = the cheapest region that has one.
struct PriceQuery {
  std::string_view provider;
  std::string_view instance_type;
  std::string_view region;
  Market market = Market::kOnDemand;
  CommitmentTerm term = CommitmentTerm::kNone;
};

class Catalog {
 public:
  /// The built-in tables. A defect in them is a broken build, so this cannot fail.
  static const Catalog& built_in();
  static Result<Catalog> parse(std::string_view gpus_csv, std::string_view instances_csv, std::string_view prices_csv);
  /// A copy with `rows` laid over it: the same key is replaced, new keys are added.
  [[nodiscard]] Catalog with_prices(std::span<const PriceRow> rows) const;

  /// A copy with measured rates; of several of one model and rate the newest counts.
  /// @return error naming a GPU model that the catalogue does not know.
  [[nodiscard]] Result<Catalog> with_measurements(std::span<const GpuMeasurement> rows) const;

  [[nodiscard]] std::span<const GpuFacts> gpus() const { return gpus_; }
  [[nodiscard]] std::span<const InstanceType> instances() const { return instances_; }
  [[nodiscard]] std::span<const PriceRow> prices() const { return prices_; }

  /// By canonical name or alias, without case: "NVIDIA A100-SXM4-80GB" and "a100-80gb" are one.
  /// `memory` (0 = not known) tells 40 and 80 GB apart where a name does not; without it a name such as "A100" is
  /// the first model that carries it (A100-40GB, V100-16GB, H100-80GB), as SkyPilot and Slurm sites use it.
  [[nodiscard]] const GpuFacts* find_gpu(std::string_view name, Bytes memory = {}) const;
  [[nodiscard]] const InstanceType* find_instance(std::string_view provider, std::string_view name) const;
  /// provider "" = the only provider that has such a type.
  [[nodiscard]] const InstanceType* find_instance(std::string_view name) const;
  /// The cheapest payment option where several are known.
  /// @return error naming the type, region and market when no price is known, and where one is: never 0.
  [[nodiscard]] Result<PriceRow> price(const PriceQuery& query) const;
  /// All rows of a type, ascending by region, market, term, payment.
  [[nodiscard]] std::vector<const PriceRow*> prices_of(std::string_view provider, std::string_view instance_type) const;
  /// The same rows without a copy.
  [[nodiscard]] std::span<const PriceRow> price_range(std::string_view provider, std::string_view instance_type) const;

 private:
  Status index();
  [[nodiscard]] Error no_price(const PriceQuery& query) const;

  std::vector<GpuFacts> gpus_;           // in file order: the first of a name is its default
  std::vector<InstanceType> instances_;  // ascending by provider, name
  std::vector<PriceRow> prices_;         // ascending by provider, type, region, market, term, payment
  std::map<std::string, std::vector<uint32_t>, std::less<>> gpu_names_;  // folded name or alias → gpus_
  std::vector<uint32_t> by_name_;                                        // instances_ ascending by name
};

/// Prices older than this are shown with a warning. Half a year: of two snapshots a year apart spot of p4d.24xlarge had risen by 81 %.
inline constexpr Duration kPriceStaleAfter = Duration::hours(180 * 24);
[[nodiscard]] inline bool is_stale(const PriceRow& price, Instant now) { return now - price.as_of > kPriceStaleAfter; }

}  // namespace stint
