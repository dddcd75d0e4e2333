#include "backends/capacity/clouds_capacity.h"

#include <algorithm>
#include <iterator>

#include "backends/capacity/azure_capacity.h"
#include "backends/capacity/capacity_workers.h"
#include "backends/capacity/ec2_capacity.h"
#include "backends/capacity/gce_capacity.h"
#include "base/text.h"

namespace stint {
namespace {

std::vector<CapacityPool> pools_of_cloud(const CloudSettings& settings, const std::vector<CapacityPool>& pools,
                                         std::string_view provider) {
  std::vector<CapacityPool> found;
  for (const CapacityPool& pool : pools)
    if (cloud_of(settings, pool.machine) == provider) found.push_back(pool);
  return found;
}

/// "a, b and c"
std::string joined_names(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

}  // namespace

std::string CloudSettings::names() const {
  std::vector<std::string> all;
  if (aws) all.emplace_back("AWS");
  if (gcp) all.emplace_back("Google Cloud");
  if (azure) all.emplace_back("Azure");
  return joined_names(all);
}

Duration CloudSettings::list_lag() const {
  Duration lag;
  if (aws) lag = std::max(lag, aws->list_lag);
  if (gcp) lag = std::max(lag, gcp->list_lag);
  if (azure) lag = std::max(lag, azure->list_lag);
  return lag;
}

std::optional<Duration> CloudSettings::lifetime() const {
  std::optional<Duration> shortest;
  const auto take = [&shortest](const std::optional<Duration>& lifetime) {
    if (lifetime && (!shortest || *lifetime < *shortest)) shortest = lifetime;
  };
  if (aws) take(aws->lifetime);
  if (gcp) take(gcp->lifetime);
  if (azure) take(azure->lifetime);
  return shortest;
}

std::string cloud_of(const CloudSettings& settings, const Machine& machine) {
  if (!machine.provider.empty() || settings.count() != 1) return machine.provider;
  return settings.aws ? "aws" : settings.gcp ? "gcp" : "azure";
}

void complete_machine(const CloudSettings& settings, Machine& machine) {
  machine.provider = cloud_of(settings, machine);
  const bool is_aws = machine.provider == "aws" && settings.aws;
  if (machine.region.empty() && is_aws) machine.region = ec2_region_of_zone(machine.zone);
  if (machine.region.empty() && machine.zone.empty() && is_aws && settings.aws->places.size() == 1)
    machine.region = settings.aws->places.front().region;
  if (machine.region.empty() && machine.provider == "gcp") machine.region = gce_region_of_zone(machine.zone);
  if (machine.region.empty() && machine.provider == "azure") machine.region = azure_location_of_zone(machine.zone);
}

Status check_cloud_machine(const CloudSettings& settings, const Machine& machine) {
  const std::string cloud = cloud_of(settings, machine);
  const auto named = [](const char* name, const Status& can) -> Status {
    return can.ok() ? Status() : Status(invalid("{} cannot make it: {}", name, can.error().message));
  };
  if (cloud == "aws" && settings.aws) return named("AWS", check_ec2_machine(*settings.aws, machine));
  if (cloud == "gcp" && settings.gcp) return named("Google Cloud", check_gce_machine(*settings.gcp, machine));
  if (cloud == "azure" && settings.azure) return named("Azure", check_azure_machine(*settings.azure, machine));
  return invalid("`provider` '{}': one of aws, gcp and azure, and configured; there is {}", excerpt(cloud), settings.names());
}

std::string_view CloudsCapacity::name() const {
  if (!name_.empty()) return name_;
  std::vector<std::string> all;
  for (const Part& part : parts_)
    all.emplace_back(part.capacity->name());
  name_ = joined_names(all);
  return name_;
}

void CloudsCapacity::offer(Instant now) {
  for (const Part& part : parts_)
    part.capacity->offer(now);
}

void CloudsCapacity::create(const CreateOrder& order, Instant now) {
  const auto part = std::ranges::find(parts_, order.machine.provider, &Part::provider);
  if (part != parts_.end()) {
    part->capacity->create(order, now);
    return;
  }
  for (const std::string& machine : order.names)
    refused_.push_back({.call = order.call,
                        .name = machine,
                        .outcome = CapacityOutcome::kRefused,
                        .detail = fmt::format("no cloud '{}' is configured", order.machine.provider)});
}

void CloudsCapacity::destroy(const DestroyOrder& order, Instant now) {
  for (const DestroyOrder::Target& target : order.targets)
    endings_[{order.call, target.name}] = {
        .missing = parts_.size(),
        .worst = {.call = order.call, .name = target.name, .outcome = CapacityOutcome::kGone, .detail = {}}};
  for (const Part& part : parts_)
    part.capacity->destroy(order, now);
}

void CloudsCapacity::list(int64_t call, Instant now) {
  listings_[call] = {.missing = parts_.size(), .all = {.call = call, .unread = {}, .machines = {}}};
  for (const Part& part : parts_)
    part.capacity->list(call, now);
}

void CloudsCapacity::take(CapacityAnswer answer, CapacityHeard& out) {
  const auto ending = endings_.find({answer.call, answer.name});
  if (ending == endings_.end()) {
    out.answers.push_back(std::move(answer));
    return;
  }
  if (answer.outcome != CapacityOutcome::kGone) ending->second.worst = std::move(answer);
  if (--ending->second.missing > 0) return;
  out.answers.push_back(std::move(ending->second.worst));
  endings_.erase(ending);
}

void CloudsCapacity::take(CapacityList list, CapacityHeard& out) {
  const auto listing = listings_.find(list.call);
  if (listing == listings_.end()) return;
  CapacityList& all = listing->second.all;
  std::ranges::move(list.unread, std::back_inserter(all.unread));
  std::ranges::move(list.machines, std::back_inserter(all.machines));
  if (--listing->second.missing > 0) return;
  out.lists.push_back(std::move(all));
  listings_.erase(listing);
}

CapacityHeard CloudsCapacity::hear(Instant now) {
  CapacityHeard out;
  out.answers = std::exchange(refused_, {});
  for (const Part& part : parts_) {
    CapacityHeard heard = part.capacity->hear(now);
    for (CapacityAnswer& answer : std::exchange(heard.answers, {}))
      take(std::move(answer), out);
    for (CapacityList& list : std::exchange(heard.lists, {}))
      take(std::move(list), out);
    add_heard(out, std::move(heard));
  }
  return out;
}

std::optional<Instant> CloudsCapacity::next_at() const {
  std::optional<Instant> first;
  for (const Part& part : parts_)
    if (const auto next = part.capacity->next_at(); next && (!first || *next < *first)) first = next;
  return first;
}

std::unique_ptr<Capacity> open_clouds(const CloudSettings& settings, const std::vector<CapacityPool>& pools,
                                      const std::string& owner, const std::function<void()>& heard,
                                      const CloudCapacityOptions& options) {
  std::vector<CloudsCapacity::Part> parts;
  if (settings.aws)
    parts.push_back(
        {"aws", std::make_unique<Ec2Capacity>(*settings.aws, pools_of_cloud(settings, pools, "aws"), owner, heard, options)});
  if (settings.gcp)
    parts.push_back(
        {"gcp", std::make_unique<GceCapacity>(*settings.gcp, pools_of_cloud(settings, pools, "gcp"), owner, heard, options)});
  if (settings.azure)
    parts.push_back({"azure", std::make_unique<AzureCapacity>(*settings.azure, pools_of_cloud(settings, pools, "azure"), owner,
                                                              heard, options)});
  if (parts.size() == 1) return std::move(parts.front().capacity);
  return std::make_unique<CloudsCapacity>(std::move(parts));
}

}  // namespace stint
