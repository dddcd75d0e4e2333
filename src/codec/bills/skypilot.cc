// SkyPilot's catalogue, vms.csv: InstanceType, AcceleratorName, AcceleratorCount, vCPUs, MemoryGiB, GpuInfo, Price,
// SpotPrice, Region, AvailabilityZone, Arch, in an order that differs per cloud, some absent.
//
// The cloud is not in the file but in its path: aws/vms.csv. Nor is a date: ImportOptions::at, else 1970, which every
// reader shows as stale. Rows are per zone, prices here per region: the cheapest zone counts. An empty spot price is
// not known, not free; a spot price without a discount is refused. On GCP a GPU machine's row prices the host alone and
// the GPUs stand in rows without a machine: the two are added, and a machine whose GPU row is missing is refused.
// Source: skypilot-org/skypilot-catalog, catalogs/v8.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/text.h"
#include "codec/csv_importer.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 3> kSkypilotRequired = {"InstanceType", "Price", "Region"};

/// aws/vms.csv → aws; aws.csv, aws_vms.csv and aws-vms.csv → aws; "" when the path says nothing.
std::string provider_in(std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  std::string_view file = parts.back();
  file = file.substr(0, file.find('.'));
  if (equals_ignoring_case(file, "vms")) return parts.size() > 1 ? to_lower(parts[parts.size() - 2]) : "";
  return to_lower(file.substr(0, file.find_first_of("_-")));
}

struct GpuNeed {
  std::string accelerator;
  int64_t count = 0;
};

/// GPUs of a GCP machine type that cannot be had without them; none for others.
/// Source: Google Compute Engine, "GPU machine types".
std::optional<GpuNeed> gcp_gpus_of(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kFamilies = {{
      {"a2-highgpu-", "A100"},
      {"a2-megagpu-", "A100"},
      {"a2-ultragpu-", "A100-80GB"},
      {"a3-highgpu-", "H100"},
      {"a3-megagpu-", "H100-MEGA"},
      {"a3-ultragpu-", "H200"},
      {"a4-highgpu-", "B200"},
      {"g2-standard-", "L4"},
  }};
  for (const auto& [prefix, accelerator] : kFamilies) {
    if (!type.starts_with(prefix)) continue;
    std::string_view size = type.substr(prefix.size());
    if (accelerator == "L4") {  // g2 counts vCPUs: 24 have two GPUs, 48 four, 96 eight, the others one
      const int64_t vcpus = parse_int(size).value_or(0);
      return GpuNeed{"L4", vcpus == 24 ? 2 : vcpus == 48 ? 4 : vcpus == 96 ? 8 : 1};
    }
    if (size.ends_with('g')) size.remove_suffix(1);
    return GpuNeed{std::string(accelerator), parse_int(size).value_or(0)};
  }
  return std::nullopt;
}

std::string folded_accelerator(std::string_view name) {
  if (equals_ignoring_case(name, "H100-80GB")) return "H100";
  if (equals_ignoring_case(name, "H100-MEGA-80GB")) return "H100-MEGA";
  return std::string(name);
}

/// Cheapest zone so far.
struct Offer {
  uint64_t line = 0;
  std::optional<Rate> on_demand;
  std::optional<Rate> spot;
  bool used = false;
  void lower(std::optional<Rate> list, std::optional<Rate> spot_rate) {
    if (list && (!on_demand || *list < *on_demand)) on_demand = list;
    if (spot_rate && (!spot || *spot_rate < *spot)) spot = spot_rate;
  }
};

std::optional<Rate> with_gpu(std::optional<Rate> a, std::optional<Rate> b) {
  if (!a || !b) return std::nullopt;
  return Rate::per_hour(a->per_hour() + b->per_hour());
}

class SkypilotImporter final : public CsvImporter {
 public:
  SkypilotImporter(const ImportOptions& options, Sink& sink) : CsvImporter({}, options, sink) {}

 private:
  Status read_header(const CsvRecord& record) override {
    TRY_ASSIGN(const CsvHeader header, CsvHeader::create(record, kSkypilotRequired));
    type_ = header.find("InstanceType");
    accelerator_ = header.find("AcceleratorName");
    count_ = header.find("AcceleratorCount");
    price_ = header.find("Price");
    spot_ = header.find("SpotPrice");
    region_ = header.find("Region");
    provider_ = provider_in(options().source);
    if (provider_.empty())
      return invalid("the catalogue does not name its cloud: keep it under the cloud's name, as in aws/vms.csv");
    return {};
  }

  void read_row(const CsvRecord& r) override {
    const std::string_view type = trim(r.at(type_));
    const std::string_view region = trim(r.at(region_));
    const std::string_view accelerator = trim(r.at(accelerator_));
    if (region.empty()) return reject(r, "Region is empty: a price holds in one region");
    const std::optional<Rate> list = read_rate(r, "Price", price_);
    std::optional<Rate> spot = read_rate(r, "SpotPrice", spot_);
    if (list && spot && *spot >= *list) {
      reject(r, fmt::format("SpotPrice {} is no discount on {}: not taken as spot", spot->per_hour().to_decimal(),
                            list->per_hour().to_decimal()));
      spot.reset();
    }
    if (!list && !spot) return reject(r, "neither Price nor SpotPrice is known");
    if (contains_ignoring_case(accelerator, "tpu")) return reject(r, "TPU prices are not kept: Stint manages GPUs");
    if (!type.empty()) {
      at(offers_, {std::string(type), std::string(region)}, r.line).lower(list, spot);
    } else {
      const auto count = parse_number(trim(r.at(count_)));
      if (accelerator.empty() || !count || *count < 1 || *count > 64)
        return reject(r, "neither InstanceType nor an accelerator with its count");
      at(gpus_, {folded_accelerator(accelerator), static_cast<int64_t>(*count), std::string(region)}, r.line).lower(list, spot);
    }
  }

  void end_rows() override {
    for (auto& [key, offer] : offers_) {
      const auto& [type, region] = key;
      const auto need = provider_ == "gcp" ? gcp_gpus_of(type) : std::nullopt;
      if (need) {
        const auto gpu = gpus_.find({need->accelerator, need->count, region});
        if (gpu == gpus_.end()) {
          sink().reject(offer.line, fmt::format("{} in {} prices the host alone and no row prices {} × {} there", type, region,
                                                need->count, need->accelerator));
          continue;
        }
        gpu->second.used = true;
        offer.on_demand = with_gpu(offer.on_demand, gpu->second.on_demand);
        offer.spot = with_gpu(offer.spot, gpu->second.spot);
      }
      emit(type, region, Market::kOnDemand, offer.on_demand);
      emit(type, region, Market::kSpot, offer.spot);
    }
    for (const auto& [key, gpu] : gpus_)
      if (!gpu.used)
        sink().reject(gpu.line, fmt::format("{} × {} in {} is a GPU without a machine type: no instance to price",
                                            std::get<1>(key), std::get<0>(key), std::get<2>(key)));
  }

  void emit(const std::string& type, const std::string& region, Market market, std::optional<Rate> rate) {
    if (!rate) return;
    PriceRow row;
    row.provider = provider_;
    row.region = region;
    row.instance_type = type;
    row.market = market;
    row.rate = *rate;
    row.source = "SkyPilot catalogue, " + options().source;
    row.as_of = options().at.value_or(Instant());
    sink().price(row);
  }

  /// None when empty, and when it is no price: then the row is noted as refused in that column.
  std::optional<Rate> read_rate(const CsvRecord& r, std::string_view name, int column) {
    const std::string_view text = trim(r.at(column));
    if (text.empty()) return std::nullopt;
    const auto rate = parse_price_per_hour(text);
    if (rate.ok()) return *rate;
    reject(r, fmt::format("{}: {}", name, rate.error().message));
    return std::nullopt;
  }

  template <typename Map>
  static Offer& at(Map& map, typename Map::key_type key, uint64_t line) {
    const auto [it, fresh] = map.try_emplace(std::move(key));
    if (fresh) it->second.line = line;
    return it->second;
  }

  int type_ = -1, accelerator_ = -1, count_ = -1, price_ = -1, spot_ = -1, region_ = -1;
  std::string provider_;
  std::map<std::pair<std::string, std::string>, Offer> offers_;          // type, region
  std::map<std::tuple<std::string, int64_t, std::string>, Offer> gpus_;  // accelerator, count, region
};

}  // namespace

std::unique_ptr<Importer> make_skypilot_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<SkypilotImporter>(options, sink);
}

}  // namespace stint
