#include "cli/run/launch_offers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace stint {
namespace {

/// More are no help: each is a price to ask for and a zone to try.
constexpr size_t kMostTypes = 8;

/// Those of the catalogue that have the GPUs.
Result<LaunchTypes> types_with_gpus(const LaunchNeeds& needs, const std::vector<std::string>& models, const Catalog& catalog) {
  std::vector<std::pair<Money, const InstanceType*>> found;
  for (const InstanceType& type : catalog.instances()) {
    const bool has_model = models.empty() || std::ranges::find(models, type.gpu_model) != models.end();
    if (type.provider != "aws" || type.arch != "x86_64" || !has_model || type.gpu_milli < std::max(1, needs.gpus) * 1000)
      continue;
    const auto price = catalog.price({.provider = "aws", .instance_type = type.name, .region = needs.region});
    if (price.ok()) found.emplace_back(price->rate.per_hour(), &type);
  }
  if (found.empty())
    return invalid(
        "no instance type of AWS in {} with {} × {} is in the catalogue: see stint catalog instances, or name it with "
        "--instance-type",
        needs.region, std::max(1, needs.gpus), models.empty() ? "GPU" : fmt::format("{}", fmt::join(models, " or ")));
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  LaunchTypes types{.types = {}, .gpu_model = found.front().second->gpu_model, .gpus = std::max(1, needs.gpus)};
  for (size_t i = 0; i < std::min(kMostTypes, found.size()); ++i) {
    types.types.push_back({.name = found[i].second->name, .takes = {}});
    if (found[i].second->gpu_model != types.gpu_model) types.gpu_model.clear();
  }
  return types;
}

/// What `stint pick` chooses of what one machine can do.
Result<LaunchTypes> types_for_work(const LaunchNeeds& needs, const std::vector<std::string>& models, const Catalog& catalog) {
  TRY_ASSIGN(const Work work, work_of(needs.work));
  Limits limits;
  limits.region = needs.region;
  limits.provider = "aws";
  limits.gpu_models = models;
  TRY_ASSIGN(const Selection selection, select_instances(catalog, work, limits));
  LaunchTypes types;
  for (const Choice& choice : selection.choices) {
    if (choice.instances != 1 || choice.gpus < needs.gpus || types.types.size() == kMostTypes) continue;
    if (types.types.empty()) types.gpu_model = choice.type->gpu_model;
    if (choice.type->gpu_model != types.gpu_model) types.gpu_model.clear();
    types.gpus =
        types.types.empty() ? static_cast<int32_t>(choice.gpus) : std::min(types.gpus, static_cast<int32_t>(choice.gpus));
    types.types.push_back({.name = choice.type->name, .takes = choice.duration});
  }
  if (types.types.empty()) return invalid("no single machine of AWS in {} does this work in time: see stint pick", needs.region);
  return types;
}

Result<LaunchTypes> types_by_name(const LaunchNeeds& needs, const Catalog& catalog) {
  LaunchTypes types;
  std::optional<int64_t> least;
  for (const std::string& name : needs.instance_types) {
    types.types.push_back({.name = name, .takes = {}});
    const InstanceType* known = catalog.find_instance("aws", name);
    if (known == nullptr) continue;  // newer than the catalogue: EC2 knows its price
    least = std::min(least.value_or(known->gpu_milli / 1000), known->gpu_milli / 1000);
    types.gpu_model = types.types.size() == 1 || types.gpu_model == known->gpu_model ? known->gpu_model : "";
  }
  types.gpus = needs.gpus > 0 ? needs.gpus : static_cast<int32_t>(least.value_or(0));
  return types;
}

}  // namespace

Result<LaunchTypes> launch_types(const LaunchNeeds& needs, const Catalog& catalog) {
  if (!needs.instance_types.empty()) return types_by_name(needs, catalog);
  TRY_ASSIGN(const std::vector<std::string> models, gpu_models_of(needs.gpu_models, catalog));
  if (needs.work.given()) return types_for_work(needs, models, catalog);
  if (models.empty() && needs.gpus == 0)
    return invalid(
        "what is it to run on? Name --instance-type, --gpu and --gpus, or the work as stint pick takes it (--fine-tune MODEL)");
  return types_with_gpus(needs, models, catalog);
}

Result<std::vector<LaunchOffer>> launch_offers(const LaunchTypes& types, const std::vector<Ec2SpotPrice>& spot,
                                               const OfferLimits& limits, const std::string& region, const Catalog& catalog) {
  struct Weighed {
    double cost;
    LaunchOffer offer;
  };
  std::vector<Weighed> found;
  std::set<std::string> zones(limits.zones.begin(), limits.zones.end());
  std::vector<std::string> lacking;
  const auto weigh = [&](const LaunchTypes::Type& type, const std::string& zone, Market market, Rate rate) {
    if (limits.limit && rate > *limits.limit) return;
    found.push_back({.cost = rate.per_hour().to_double() * (type.takes ? type.takes->to_hours() : 1),
                     .offer = {.instance_type = type.name, .zone = zone, .market = market, .rate = rate}});
  };
  for (const LaunchTypes::Type& type : types.types) {
    std::set<std::string> sold_in;
    for (const Ec2SpotPrice& price : spot)
      if (price.instance_type == type.name && (zones.empty() || zones.contains(price.zone))) {
        sold_in.insert(price.zone);
        if (limits.spot) weigh(type, price.zone, Market::kSpot, price.rate);
      }
    if (limits.spot && sold_in.empty()) lacking.push_back(fmt::format("{} has no spot price there", type.name));
    if (!limits.on_demand) continue;
    const auto price = catalog.price({.provider = "aws", .instance_type = type.name, .region = region});
    if (!price.ok()) {
      lacking.push_back(price.error().message);
      continue;
    }
    // Where it is sold on spot it is sold on demand; else EC2 picks the zone.
    if (sold_in.empty()) sold_in = zones;
    if (sold_in.empty()) sold_in.insert("");
    for (const std::string& zone : sold_in)
      weigh(type, zone, Market::kOnDemand, price->rate);
  }
  if (found.empty())
    return invalid("no machine can be bought in {}{}{}{}", zones.empty() ? region : fmt::format("{}", fmt::join(zones, ", ")),
                   limits.limit ? fmt::format(" for {} an hour", limits.limit->per_hour().to_text()) : "",
                   lacking.empty() ? "" : ": ", fmt::join(lacking, "; "));
  std::ranges::stable_sort(found, {}, &Weighed::cost);
  std::vector<LaunchOffer> offers;
  for (Weighed& each : found)
    offers.push_back(std::move(each.offer));
  return offers;
}

}  // namespace stint
