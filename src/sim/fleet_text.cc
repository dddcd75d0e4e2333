#include "sim/fleet_text.h"

#include <optional>

#include "base/text.h"

namespace stint::sim {

namespace {

constexpr int64_t kMostNodes = 100'000;
// An owned machine whose CPUs and memory are not the question.
constexpr int64_t kUnstatedRoom = int64_t{1} << 40;

struct Part {
  int64_t count = 0;
  std::optional<int64_t> least;  // a pool
  std::string_view type, region;
  Market market = Market::kOnDemand;
};

Result<Part> parse_part(std::string_view text) {
  const auto wrong = [&] {
    return invalid("fleet '{}': write COUNTxTYPE[@REGION][:MARKET], as in 8xp4d.24xlarge@us-east-1:spot, or MIN..MAX for COUNT",
                   text);
  };
  const size_t x = text.find('x');
  if (x == std::string_view::npos) return wrong();
  std::string_view counts = text.substr(0, x);
  std::optional<int64_t> least;
  if (const size_t dots = counts.find(".."); dots != std::string_view::npos) {
    least = parse_int(counts.substr(0, dots));
    counts = counts.substr(dots + 2);
    if (!least || *least < 0) return wrong();
  }
  const auto count = parse_int(counts);
  if (!count || (least && *least > *count) || *count < 1 || *count > kMostNodes) return wrong();
  Part part{.count = *count, .least = least, .type = text.substr(x + 1), .region = {}, .market = Market::kOnDemand};
  if (const size_t colon = part.type.rfind(':'); colon != std::string_view::npos) {
    TRY_ASSIGN(part.market, parse_market(part.type.substr(colon + 1)));
    part.type = part.type.substr(0, colon);
  }
  if (const size_t at = part.type.find('@'); at != std::string_view::npos) {
    part.region = part.type.substr(at + 1);
    part.type = part.type.substr(0, at);
  }
  if (part.type.empty()) return wrong();
  return part;
}

Result<SimNode> owned(std::string_view part, int64_t gpus) {
  if (gpus < 1 || gpus > sched::kMaxGpusPerNode) return invalid("fleet '{}': 1 to {} GPUs a node", part, sched::kMaxGpusPerNode);
  SimNode node;
  node.node.gpus = static_cast<int32_t>(gpus);
  node.node.cpu_milli = kUnstatedRoom;
  node.node.memory = Bytes::of(kUnstatedRoom);
  return node;
}

}  // namespace

Result<SimNode> rented_node(std::string_view name, std::string_view region, Market market, const Catalog& catalog) {
  const InstanceType* type = catalog.find_instance(name);
  if (type == nullptr) return invalid("no instance type '{}' in the catalogue, or more than one", name);
  if (type->whole_gpus() > sched::kMaxGpusPerNode)
    return invalid("{} has {} GPUs; {} can be replayed", name, type->whole_gpus(), sched::kMaxGpusPerNode);
  TRY_ASSIGN(const PriceRow price,
             catalog.price({.provider = type->provider,
                            .instance_type = type->name,
                            .region = region,
                            .market = market,
                            .term = market == Market::kReserved ? CommitmentTerm::kOneYear : CommitmentTerm::kNone}));
  SimNode node;
  node.node.gpu_model = type->gpu_model;
  node.node.gpus = static_cast<int32_t>(type->whole_gpus());
  node.node.gpu_memory = type->gpu_memory;
  node.node.cpu_milli = type->vcpus * 1000;
  node.node.memory = type->memory;
  node.provider = type->provider;
  node.instance_type = type->name;
  node.region = price.region;
  node.market = market;
  node.rate = price.rate;
  return node;
}

Result<Fleet> parse_elastic_fleet(std::string_view text, const Catalog& catalog) {
  Fleet fleet;
  for (const std::string_view piece : split(text, ',')) {
    const std::string_view trimmed = trim(piece);
    TRY_ASSIGN(const Part part, parse_part(trimmed));
    const auto gpus = parse_int(part.type);
    TRY_ASSIGN(const SimNode node, gpus ? owned(trimmed, *gpus) : rented_node(part.type, part.region, part.market, catalog));
    if (node.node.gpus == 0) return invalid("fleet '{}': {} has no GPUs", trimmed, part.type);
    if (static_cast<int64_t>(fleet.nodes.size()) + part.count > kMostNodes)
      return invalid("fleet '{}': more than {} nodes", text, kMostNodes);
    for (int64_t i = 0; i < part.count; ++i) {
      fleet.nodes.push_back(node);
      fleet.nodes.back().node.name =
          fmt::format("{}-{}", node.instance_type.empty() ? "node" : node.instance_type, fleet.nodes.size());
      if (part.least) fleet.nodes.back().pool = static_cast<int32_t>(fleet.pools.size());
    }
    if (!part.least) continue;
    NodePool& pool = fleet.pools.emplace_back();
    pool.name = trimmed;
    pool.rules.min_nodes = static_cast<int32_t>(*part.least);
    pool.rules.max_nodes = static_cast<int32_t>(part.count);
    pool.rules.waiting_gpus_per_node = node.node.gpus;
    pool.rules.target_utilization = 1;  // jobs hold GPUs whole: a spare node is of no use to those that run
  }
  return fleet;
}

Result<std::vector<SimNode>> parse_fleet(std::string_view text, const Catalog& catalog) {
  TRY_ASSIGN(Fleet fleet, parse_elastic_fleet(text, catalog));
  if (!fleet.pools.empty()) return invalid("fleet '{}': a pool of MIN..MAX nodes has no place here", text);
  return std::move(fleet.nodes);
}

}  // namespace stint::sim
