#include "backends/capacity/gce_capacity.h"

#include <algorithm>
#include <set>

#include "backends/capacity/order_outcome.h"
#include "clouds/user_data.h"

namespace stint {
namespace {

ListedState listed_state(GceState state) {
  switch (state) {
    case GceState::kComing: return ListedState::kComing;
    case GceState::kRunning: return ListedState::kReady;
    default: return ListedState::kGoing;
  }
}

std::string name_in_label(const GceInstance& instance) {
  const auto label = instance.labels.find(std::string(kGceMachineLabel));
  return label == instance.labels.end() ? "" : text_of_gce_label(label->second);
}

}  // namespace

GceCapacity::GceCapacity(GceSettings settings, std::vector<CapacityPool> pools, std::string owner, std::function<void()> heard,
                         const CloudCapacityOptions& options)
    : settings_(std::move(settings)),
      pools_(std::move(pools)),
      owner_(std::move(owner)),
      user_data_(options.user_data),
      workers_(std::move(heard)) {
  GceClientOptions client{.project = settings_.project, .environment = options.environment};
  if (options.page > 0) client.page = options.page;
  if (options.look_every) client.look_every = *options.look_every;
  client.stopping = [this] { return workers_.stopping(); };
  client.sleep = [this](Duration time) { workers_.pause(time); };
  client_ = std::make_unique<GceClient>(std::move(client));
}

void GceCapacity::create(const CreateOrder& order, Instant) {
  workers_.begin_each(order, [this](const CreateOrder& all, const std::string& machine_name) { return make(all, machine_name); });
}

CapacityAnswer GceCapacity::make(const CreateOrder& order, const std::string& machine_name) {
  CapacityAnswer answer{.call = order.call, .name = machine_name, .outcome = CapacityOutcome::kRefused, .detail = {}};
  auto data = user_data_ ? user_data_(machine_name, order.machine.provider) : settings_.user_data;
  if (data.ok())
    data = user_data_of({.machine = machine_name, .lifetime = order.ends_after, .give_back = {}, .user_part = *data},
                        kMostGceUserData);
  if (!data.ok()) {
    answer.detail = data.error().message;
    return answer;
  }
  GceMachine made{.name = cloud_machine_name(owner_, machine_name),
                  .zone = order.machine.zone,
                  .machine_type = order.machine.instance_type,
                  .image = settings_.image,
                  .disk_gib = settings_.disk_gib,
                  .network = settings_.network,
                  .subnetwork = {},
                  .public_address = settings_.public_address,
                  .service_account = settings_.service_account,
                  .spot = order.machine.market == Market::kSpot,
                  .ends_after = order.ends_after,
                  .labels = {{std::string(kGceFleetLabel), gce_label_of(owner_)},
                             {std::string(kGceMachineLabel), gce_label_of(machine_name)}},
                  .user_data = *data};
  const std::string region = gce_region_of_zone(order.machine.zone);
  for (const auto& [of, subnetwork] : settings_.subnetworks)
    if (of == region) made.subnetwork = subnetwork;
  made.labels.insert(made.labels.end(), settings_.labels.begin(), settings_.labels.end());
  {
    const std::lock_guard guard(lock_);
    zones_.insert_or_assign(machine_name, order.machine.zone);
  }
  const auto failure = client_->insert(made, gce_request_id(owner_, machine_name, "create"));
  answer.outcome = failure ? outcome_of(*failure) : CapacityOutcome::kMade;
  if (failure) answer.detail = failure->text;
  return answer;
}

Result<GceClient::Found> GceCapacity::ours() {
  return client_->find(fmt::format("labels.{}={}", kGceFleetLabel, gce_label_of(owner_)));
}

void GceCapacity::destroy(const DestroyOrder& order, Instant) {
  workers_.begin([this, order] { return end(order); });
}

CapacityHeard GceCapacity::end(const DestroyOrder& order) {
  CapacityHeard heard;
  const auto found = ours();
  for (const DestroyOrder::Target& target : order.targets) {
    CapacityAnswer answer{.call = order.call, .name = target.name, .outcome = CapacityOutcome::kGone, .detail = {}};
    const std::string name = cloud_machine_name(owner_, target.name);
    std::set<std::string> zones;
    {
      // What was made a moment ago may not be in lists yet; by its name it is found at once.
      const std::lock_guard guard(lock_);
      if (const auto zone = zones_.find(target.name); zone != zones_.end()) zones.insert(zone->second);
    }
    if (found.ok())
      for (const GceInstance& each : found->instances)
        if (each.name == name && (target.id.empty() || each.id == target.id)) zones.insert(each.zone);
    for (const std::string& zone : zones)
      if (const auto failure = client_->remove(zone, name)) {
        answer.outcome = outcome_of(*failure);
        answer.detail = failure->text;
      }
    const bool is_seen = found.ok() && found->complete;
    if (answer.outcome == CapacityOutcome::kGone && zones.empty() && !is_seen) {
      answer.outcome = CapacityOutcome::kUnknown;
      answer.detail = found.ok() ? "a zone of Google's does not answer" : found.error().message;
    }
    heard.answers.push_back(std::move(answer));
  }
  return heard;
}

void GceCapacity::list(int64_t call, Instant) {
  workers_.begin([this, call] { return list_all(call); });
}

CapacityHeard GceCapacity::list_all(int64_t call) {
  CapacityHeard heard;
  CapacityList list{.call = call, .unread = {}, .machines = {}};
  const auto found = ours();
  if (!found.ok() || !found->complete)
    list.unread.push_back({.provider = "gcp",
                           .name = std::string(name()),
                           .why = found.ok() ? "a zone of Google's does not answer" : found.error().message});
  if (found.ok()) {
    for (const GceInstance& each : found->instances) {
      // Its disk costs money, and it never comes back by itself.
      if (each.state == GceState::kStopped)
        (void)client_->remove(each.zone, each.name);  // the next list shows it, should that fail
      list.machines.push_back({.id = each.id, .name = name_in_label(each), .owner = owner_, .state = listed_state(each.state)});
    }
  }
  heard.lists.push_back(std::move(list));
  return heard;
}

void GceCapacity::offer(Instant) {
  const bool asks = std::ranges::any_of(pools_, [](const CapacityPool& pool) {
    return pool.machine.node.gpus > 0 &&
           !gce_gpu_quota(pool.machine.node.gpu_model, pool.machine.market == Market::kSpot).empty();
  });
  if (asks) workers_.begin([this] { return quotas(); });
}

CapacityHeard GceCapacity::quotas() {
  CapacityHeard heard;
  std::map<std::string, std::vector<GceQuota>> by_region;
  for (const CapacityPool& pool : pools_) {
    const Machine& machine = pool.machine;
    const std::string metric = gce_gpu_quota(machine.node.gpu_model, machine.market == Market::kSpot);
    const std::string region = gce_region_of_zone(machine.zone);
    if (metric.empty() || machine.node.gpus <= 0) continue;
    auto known = by_region.find(region);
    if (known == by_region.end()) {
      auto read = client_->quotas(region);
      if (!read.ok()) continue;  // an order says so, too
      known = by_region.emplace(region, std::move(*read)).first;
    }
    const auto quota = std::ranges::find(known->second, metric, &GceQuota::metric);
    if (quota == known->second.end()) continue;
    const auto left = static_cast<int32_t>(std::clamp(quota->limit - quota->usage, 0.0, 1e9)) / machine.node.gpus;
    heard.offers.push_back({.pool = pool.name, .rate = {}, .quota_left = left});
  }
  return heard;
}

}  // namespace stint
