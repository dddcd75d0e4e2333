#include "cli/run/launch_offers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "base/text.h"
#include "clouds/ec2_client.h"
#include "clouds/gce_client.h"
#include "host/clock.h"

namespace stint {
namespace {

/// Of one cloud. More are no help: each is a price to ask for and a zone to try.
constexpr size_t kMostTypes = 8;

std::string where_of(const LaunchNeeds& needs) {
  std::vector<std::string> names;
  for (const std::string& provider : needs.providers)
    names.emplace_back(provider == "aws" ? "AWS" : provider == "gcp" ? "Google Cloud" : "Azure");
  return fmt::format("{}{}{}", fmt::join(names, ", "), needs.region.empty() ? "" : " in ", needs.region);
}

/// All of one model, or of none that is said.
void take_gpu_model(LaunchTypes& types, const std::string& gpu_model) {
  if (types.types.size() == 1) types.gpu_model = gpu_model;
  if (types.gpu_model != gpu_model) types.gpu_model.clear();
}

/// Those of the catalogue that have the GPUs.
Result<LaunchTypes> types_with_gpus(const LaunchNeeds& needs, const std::vector<std::string>& models, const Catalog& catalog) {
  std::vector<std::pair<Money, const InstanceType*>> found;
  for (const InstanceType& type : catalog.instances()) {
    const bool has_model = models.empty() || std::ranges::find(models, type.gpu_model) != models.end();
    const bool is_theirs = std::ranges::find(needs.providers, type.provider) != needs.providers.end();
    if (!is_theirs || type.arch != "x86_64" || !has_model || type.gpu_milli < std::max(1, needs.gpus) * 1000) continue;
    const auto price = catalog.price({.provider = type.provider, .instance_type = type.name, .region = needs.region});
    if (price.ok() && price->rate.per_hour().currency() == Currency()) found.emplace_back(price->rate.per_hour(), &type);
  }
  if (found.empty())
    return invalid(
        "no instance type of {} with {} × {} is in the catalogue: see stint catalog instances, or name it with "
        "--instance-type",
        where_of(needs), std::max(1, needs.gpus), models.empty() ? "GPU" : fmt::format("{}", fmt::join(models, " or ")));
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  LaunchTypes types{.types = {}, .gpu_model = {}, .gpus = std::max(1, needs.gpus)};
  std::map<std::string, size_t> of_provider;
  for (const auto& [price, type] : found) {
    if (++of_provider[type->provider] > kMostTypes) continue;
    types.types.push_back({.provider = type->provider, .name = type->name, .takes = {}});
    take_gpu_model(types, type->gpu_model);
  }
  return types;
}

/// What `stint pick` chooses of what one machine can do.
Result<LaunchTypes> types_for_work(const LaunchNeeds& needs, const std::vector<std::string>& models, const Catalog& catalog) {
  TRY_ASSIGN(const Work work, work_of(needs.work));
  std::vector<Choice> found;
  std::optional<Error> why;
  for (const std::string& provider : needs.providers) {
    Limits limits;
    limits.region = needs.region;
    limits.provider = provider;
    limits.gpu_models = models;
    const auto selection = select_instances(catalog, work, limits);
    if (!selection.ok()) why = selection.error();
    size_t taken = 0;
    for (const Choice& choice : selection.ok() ? selection->choices : std::vector<Choice>())
      if (choice.instances == 1 && choice.gpus >= needs.gpus && choice.per_hour.currency() == Currency() && taken++ < kMostTypes)
        found.push_back(choice);
  }
  if (found.empty() && why && needs.providers.size() == 1) return *why;
  if (found.empty()) return invalid("no single machine of {} does this work in time: see stint pick", where_of(needs));
  std::ranges::stable_sort(found, {}, [](const Choice& each) { return each.total.value_or(each.per_hour); });
  LaunchTypes types;
  types.gpus = static_cast<int32_t>(std::ranges::min(found, {}, &Choice::gpus).gpus);
  for (const Choice& choice : found) {
    types.types.push_back({.provider = choice.type->provider, .name = choice.type->name, .takes = choice.duration});
    take_gpu_model(types, choice.type->gpu_model);
  }
  return types;
}

/// Of a type that the catalogue does not know: as the clouds write theirs.
std::string provider_by_name(const LaunchNeeds& needs, const std::string& type) {
  if (needs.providers.size() == 1) return needs.providers.front();
  return type.starts_with("Standard_") ? "azure" : type.find('.') != std::string::npos ? "aws" : "gcp";
}

Result<LaunchTypes> types_by_name(const LaunchNeeds& needs, const Catalog& catalog) {
  LaunchTypes types;
  std::optional<int64_t> least;
  for (const std::string& name : needs.instance_types) {
    const InstanceType* known = nullptr;
    for (const std::string& provider : needs.providers)
      if (known == nullptr) known = catalog.find_instance(provider, name);
    const std::string provider = known == nullptr ? provider_by_name(needs, name) : known->provider;
    if (std::ranges::find(needs.providers, provider) == needs.providers.end())
      return invalid("--instance-type {}: neither of {}", excerpt(name), where_of(needs));
    types.types.push_back({.provider = provider, .name = name, .takes = {}});
    if (known == nullptr) continue;  // newer than the catalogue: the cloud knows its price
    least = std::min(least.value_or(known->gpu_milli / 1000), known->gpu_milli / 1000);
    take_gpu_model(types, known->gpu_model);
  }
  types.gpus = needs.gpus > 0 ? needs.gpus : static_cast<int32_t>(least.value_or(0));
  return types;
}

// ---- what the clouds sell -------------------------------------------------------------------------------------------

/// Of one cloud's types.
class Seller {
 public:
  Seller(std::string provider, const CloudSettings& clouds, const LaunchTypes& types, const OfferLimits& limits,
         const Catalog& catalog, LaunchMarket& out)
      : provider_(std::move(provider)), clouds_(clouds), limits_(limits), catalog_(catalog), out_(out) {
    for (const LaunchTypes::Type& type : types.types)
      if (type.provider == provider_) types_.push_back(type.name);
  }
  [[nodiscard]] const std::vector<std::string>& types() const { return types_; }
  void lack(std::string why) { out_.lacking.push_back(std::move(why)); }
  void cannot_be_asked(std::string why) { out_.unasked.push_back(std::move(why)); }

  void sell(const std::string& type, const std::string& region, const std::string& zone, Market market, Rate rate) {
    LaunchOffer offer{
        .instance_type = type, .zone = zone, .market = market, .rate = rate, .provider = provider_, .region = region};
    Machine machine;
    machine.provider = provider_;
    machine.region = region;
    machine.zone = zone;
    machine.market = market;
    machine.instance_type = type;
    if (const Status can = check_cloud_machine(clouds_, machine); !can.ok())
      lack(fmt::format("{}: {}", offer.name(), can.error().message));
    else
      out_.offers.push_back(std::move(offer));
  }
  /// @return whether the catalogue has a price.
  bool sell_by_catalogue(const std::string& type, const std::string& region, const std::string& zone, Market market) {
    const auto price = catalog_.price({.provider = provider_, .instance_type = type, .region = region, .market = market});
    const bool is_known = price.ok() && price->rate.per_hour().currency() == Currency();
    if (!is_known) {
      lack(price.ok() ? fmt::format("{} in {} has no price in US dollars", type, region) : price.error().message);
      return false;
    }
    sell(type, region, zone, market, price->rate);
    if (is_stale(*price, now()))
      out_.old.push_back(fmt::format("{} in {}, {} ({})", type, region, name_of(market), format_utc(price->as_of).substr(0, 10)));
    return true;
  }
  void sell_both(const std::string& type, const std::string& region, const std::string& zone) {
    if (limits_.spot) sell_by_catalogue(type, region, zone, Market::kSpot);
    if (limits_.on_demand) sell_by_catalogue(type, region, zone, Market::kOnDemand);
  }

 private:
  std::string provider_;
  const CloudSettings& clouds_;
  const OfferLimits& limits_;
  const Catalog& catalog_;
  LaunchMarket& out_;
  std::vector<std::string> types_;
};

/// Zones that are named, where they are of the region; else the one that the cloud picks.
std::set<std::string> zones_to_name(const OfferLimits& limits, const std::string& region,
                                    std::string (*region_of)(std::string_view zone)) {
  std::set<std::string> zones;
  for (const std::string& zone : limits.zones)
    if (region_of(zone) == region) zones.insert(zone);
  if (limits.zones.empty()) zones.insert("");
  return zones;
}

void look_at_aws(const Ec2Settings& aws, const OfferLimits& limits, Seller& seller) {
  AwsCredentialChain credentials;
  for (const Ec2Place& place : aws.places) {
    if (seller.types().empty() || (!limits.region.empty() && limits.region != place.region)) continue;
    Ec2Client client(credentials, {.region = place.region});
    const auto prices = client.spot_prices(seller.types());
    if (!prices.ok()) {
      seller.cannot_be_asked(prices.error().message);
      continue;
    }
    for (const std::string& type : seller.types()) {
      std::set<std::string> sold_in;
      for (const Ec2SpotPrice& price : *prices)
        if (price.instance_type == type && limits.takes(place.region, price.zone)) {
          sold_in.insert(price.zone);
          if (limits.spot) seller.sell(type, place.region, price.zone, Market::kSpot, price.rate);
        }
      if (limits.spot && sold_in.empty()) seller.lack(fmt::format("{} has no spot price in {}", type, place.region));
      if (!limits.on_demand) continue;
      // Where it is sold on spot it is sold on demand; else EC2 picks the zone.
      if (sold_in.empty()) sold_in = zones_to_name(limits, place.region, ec2_region_of_zone);
      for (const std::string& zone : sold_in)
        if (!seller.sell_by_catalogue(type, place.region, zone, Market::kOnDemand)) break;
    }
  }
}

/// Zones that sell a type are Google's; its prices are the catalogue's.
void look_at_gcp(const GceSettings& gcp, const OfferLimits& limits, Seller& seller) {
  if (seller.types().empty()) return;
  GceClient client({.project = gcp.project, .sleep = {}, .stopping = {}});
  const auto sold = client.sold(seller.types());
  if (!sold.ok()) return seller.cannot_be_asked(sold.error().message);
  std::set<std::string> seen;
  for (const GceSold& each : *sold) {
    const std::string region = gce_region_of_zone(each.zone);
    if (!limits.takes(region, each.zone)) continue;
    seen.insert(each.machine_type);
    seller.sell_both(each.machine_type, region, each.zone);
  }
  for (const std::string& type : seller.types())
    if (!seen.contains(type)) seller.lack(fmt::format("no zone of Google's that comes into question sells {}", type));
}

void look_at_azure(const AzureSettings& azure, const OfferLimits& limits, Seller& seller) {
  for (const AzurePlace& place : azure.places)
    for (const std::string& type : seller.types())
      for (const std::string& zone : zones_to_name(limits, place.location, azure_location_of_zone))
        if (limits.region.empty() || limits.region == place.location) seller.sell_both(type, place.location, zone);
}

}  // namespace

bool OfferLimits::takes(const std::string& of_region, const std::string& zone) const {
  return (region.empty() || region == of_region) && (zones.empty() || std::ranges::find(zones, zone) != zones.end());
}

Result<LaunchTypes> launch_types(const LaunchNeeds& needs, const Catalog& catalog) {
  if (!needs.instance_types.empty()) return types_by_name(needs, catalog);
  TRY_ASSIGN(const std::vector<std::string> models, gpu_models_of(needs.gpu_models, catalog));
  if (needs.work.given()) return types_for_work(needs, models, catalog);
  if (models.empty() && needs.gpus == 0)
    return invalid(
        "what is it to run on? Name --instance-type, --gpu and --gpus, or the work as stint pick takes it (--fine-tune MODEL)");
  return types_with_gpus(needs, models, catalog);
}

LaunchMarket look_at_clouds(const CloudSettings& clouds, const LaunchTypes& types, const OfferLimits& limits,
                            const Catalog& catalog) {
  LaunchMarket market;
  const auto seller = [&](const char* provider) { return Seller(provider, clouds, types, limits, catalog, market); };
  if (clouds.aws) {
    Seller aws = seller("aws");
    look_at_aws(*clouds.aws, limits, aws);
  }
  if (clouds.gcp) {
    Seller gcp = seller("gcp");
    look_at_gcp(*clouds.gcp, limits, gcp);
  }
  if (clouds.azure) {
    Seller azure = seller("azure");
    look_at_azure(*clouds.azure, limits, azure);
  }
  return market;
}

Result<std::vector<LaunchOffer>> launch_offers(const LaunchTypes& types, LaunchMarket market, const OfferLimits& limits) {
  if (limits.limit) std::erase_if(market.offers, [&](const LaunchOffer& each) { return each.rate > *limits.limit; });
  std::ranges::move(market.unasked, std::back_inserter(market.lacking));
  if (market.offers.empty())
    return invalid("no machine can be bought{}{}{}{}{}", limits.zones.empty() && limits.region.empty() ? "" : " in ",
                   limits.zones.empty() ? limits.region : fmt::format("{}", fmt::join(limits.zones, ", ")),
                   limits.limit ? fmt::format(" for {} an hour", limits.limit->per_hour().to_text()) : "",
                   market.lacking.empty() ? "" : ": ", fmt::join(market.lacking, "; "));
  const auto cost_of = [&](const LaunchOffer& offer) {
    const auto type = std::ranges::find_if(types.types, [&](const LaunchTypes::Type& each) {
      return each.provider == offer.provider && each.name == offer.instance_type;
    });
    const bool is_known = type != types.types.end() && type->takes;
    return offer.rate.per_hour().to_double() * (is_known ? type->takes->to_hours() : 1);
  };
  std::ranges::stable_sort(market.offers, {}, cost_of);
  return std::move(market.offers);
}

}  // namespace stint
