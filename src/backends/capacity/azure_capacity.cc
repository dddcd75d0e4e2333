#include "backends/capacity/azure_capacity.h"

#include <algorithm>
#include <map>

#include "backends/capacity/order_outcome.h"
#include "clouds/user_data.h"

namespace stint {
namespace {

ListedState listed_state(AzureState state) {
  switch (state) {
    case AzureState::kComing: return ListedState::kComing;
    case AzureState::kRunning: return ListedState::kReady;
    default: return ListedState::kGoing;
  }
}

std::string tag_of(const AzureVm& vm, std::string_view tag) {
  const auto found = vm.tags.find(std::string(tag));
  return found == vm.tags.end() ? "" : found->second;
}

}  // namespace

AzureCapacity::AzureCapacity(AzureSettings settings, std::vector<CapacityPool> pools, std::string owner,
                             std::function<void()> heard, const CloudCapacityOptions& options)
    : settings_(std::move(settings)),
      pools_(std::move(pools)),
      owner_(std::move(owner)),
      user_data_(options.user_data),
      workers_(std::move(heard)) {
  AzureClientOptions client{
      .subscription = settings_.subscription, .resource_group = settings_.resource_group, .environment = options.environment};
  if (options.look_every) client.look_every = *options.look_every;
  client.stopping = [this] { return workers_.stopping(); };
  client.sleep = [this](Duration time) { workers_.pause(time); };
  client_ = std::make_unique<AzureClient>(std::move(client));
}

void AzureCapacity::create(const CreateOrder& order, Instant) {
  workers_.begin_each(order, [this](const CreateOrder& all, const std::string& machine_name) { return make(all, machine_name); });
}

CapacityAnswer AzureCapacity::make(const CreateOrder& order, const std::string& machine_name) {
  CapacityAnswer answer{.call = order.call, .name = machine_name, .outcome = CapacityOutcome::kRefused, .detail = {}};
  const AzurePlace* place = settings_.place(order.machine.region);
  auto data = user_data_ ? user_data_(machine_name, order.machine.provider) : settings_.user_data;
  if (data.ok())
    data = user_data_of({.machine = machine_name,
                         .lifetime = order.ends_after,
                         .give_back = settings_.identity.empty() ? "" : azure_give_back_script(),
                         .user_part = *data},
                        kMostAzureUserData);
  if (place == nullptr || !data.ok()) {
    answer.detail = data.ok() ? fmt::format("`azure` names no region {}", order.machine.region) : data.error().message;
    return answer;
  }
  AzureMachine made{.name = cloud_machine_name(owner_, machine_name),
                    .location = order.machine.region,
                    .zone = azure_zone_number(order.machine.zone),
                    .size = order.machine.instance_type,
                    .image = place->image.empty() ? settings_.image : place->image,
                    .disk_gib = settings_.disk_gib,
                    .subnet = place->subnet,
                    .security_group = place->security_group,
                    .user = settings_.user,
                    .ssh_key = settings_.ssh_key,
                    .identity = settings_.identity,
                    .spot = order.machine.market == Market::kSpot,
                    .most_per_hour = {},
                    .tags = {{std::string(kAzureFleetTag), owner_}, {std::string(kAzureMachineTag), machine_name}},
                    .user_data = *data};
  made.tags.insert(made.tags.end(), settings_.tags.begin(), settings_.tags.end());
  const auto of = std::ranges::find(pools_, order.pool, &CapacityPool::name);
  if (made.spot && of != pools_.end() && of->limit && of->limit->per_hour().currency() == Currency())
    made.most_per_hour = of->limit->per_hour().to_decimal();
  const auto failure = client_->put(made);
  answer.outcome = failure ? outcome_of(*failure) : CapacityOutcome::kMade;
  if (failure) answer.detail = failure->text;
  return answer;
}

void AzureCapacity::destroy(const DestroyOrder& order, Instant) {
  workers_.begin([this, order] { return end(order); });
}

/// By name, which lists need not show for it.
CapacityHeard AzureCapacity::end(const DestroyOrder& order) {
  CapacityHeard heard;
  for (const DestroyOrder::Target& target : order.targets) {
    CapacityAnswer answer{.call = order.call, .name = target.name, .outcome = CapacityOutcome::kGone, .detail = {}};
    if (const auto failure = client_->remove(cloud_machine_name(owner_, target.name))) {
      answer.outcome = outcome_of(*failure);
      answer.detail = failure->text;
    }
    heard.answers.push_back(std::move(answer));
  }
  return heard;
}

void AzureCapacity::list(int64_t call, Instant) {
  workers_.begin([this, call] { return list_all(call); });
}

CapacityHeard AzureCapacity::list_all(int64_t call) {
  CapacityHeard heard;
  CapacityList list{.call = call, .unread = {}, .machines = {}};
  const auto found = client_->list();
  if (!found.ok()) {
    list.unread.push_back({.provider = "azure", .name = std::string(name()), .why = found.error().message});
  } else {
    for (const AzureVm& each : *found) {
      if (tag_of(each, kAzureFleetTag) != owner_) continue;
      // Its disk costs money, and so does a machine that stands still but is not given back; the next list shows it, should that fail.
      if (each.state == AzureState::kStopped || each.state == AzureState::kFailed) (void)client_->remove(each.name);
      list.machines.push_back(
          {.id = each.id, .name = tag_of(each, kAzureMachineTag), .owner = owner_, .state = listed_state(each.state)});
    }
  }
  heard.lists.push_back(std::move(list));
  return heard;
}

void AzureCapacity::offer(Instant) {
  if (std::ranges::any_of(pools_, [](const CapacityPool& pool) { return pool.machine.node.cpu_milli > 0; }))
    workers_.begin([this] { return quotas(); });
}

/// Cores of a location in all, of spot machines apart. Families have quotas of their own, which an order names when they are used up.
CapacityHeard AzureCapacity::quotas() {
  CapacityHeard heard;
  std::map<std::string, std::vector<AzureUsage>> by_location;
  for (const CapacityPool& pool : pools_) {
    const Machine& machine = pool.machine;
    const int64_t cores = machine.node.cpu_milli / 1000;
    if (cores <= 0) continue;
    auto known = by_location.find(machine.region);
    if (known == by_location.end()) {
      auto read = client_->usages(machine.region);
      if (!read.ok()) continue;  // an order says so, too
      known = by_location.emplace(machine.region, std::move(*read)).first;
    }
    const std::string name = machine.market == Market::kSpot ? "lowPriorityCores" : "cores";
    const auto usage = std::ranges::find(known->second, name, &AzureUsage::name);
    if (usage == known->second.end()) continue;
    const double left = std::clamp(usage->limit - usage->usage, 0.0, 1e9) / static_cast<double>(cores);
    heard.offers.push_back({.pool = pool.name, .rate = {}, .quota_left = static_cast<int32_t>(left)});
  }
  return heard;
}

}  // namespace stint
