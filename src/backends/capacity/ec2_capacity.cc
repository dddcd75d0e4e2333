#include "backends/capacity/ec2_capacity.h"

#include <algorithm>
#include <set>

#include "clouds/user_data.h"

namespace stint {
namespace {

constexpr size_t kMostFilterValues = 200;  // EC2's limit
constexpr size_t kMostEnded = 100;         // of one request: one that is not there spoils it for all
constexpr Duration kSpotNotice = Duration::minutes(2);

bool is_gone(Ec2State state) { return state == Ec2State::kShuttingDown || state == Ec2State::kTerminated; }

ListedState listed_state(Ec2State state) {
  switch (state) {
    case Ec2State::kPending: return ListedState::kComing;
    case Ec2State::kRunning: return ListedState::kReady;
    default: return ListedState::kGoing;
  }
}

/// Spot prices are in dollars.
bool has_spot_price(const CapacityPool& pool) {
  return pool.machine.market == Market::kSpot && pool.machine.rate.per_hour().currency() == Currency();
}

/// Ends them, those that are not there or no longer there apart. @return the failure that is left.
std::optional<OrderFailure> end_all(Ec2Client& client, const std::vector<std::string>& ids) {
  auto failure = client.terminate(ids);
  if (!failure || failure->failure != CloudFailure::kNotFound || ids.size() == 1) return failure;
  std::optional<OrderFailure> left;
  for (const std::string& id : ids)
    if (auto one = client.terminate({id}); one && one->failure != CloudFailure::kNotFound) left = std::move(one);
  return left;
}

}  // namespace

Ec2Capacity::Ec2Capacity(Ec2Settings settings, std::vector<CapacityPool> pools, std::string owner, std::function<void()> heard,
                         const CloudCapacityOptions& options)
    : settings_(std::move(settings)),
      pools_(std::move(pools)),
      owner_(std::move(owner)),
      user_data_(options.user_data),
      credentials_({.environment = options.environment}),
      workers_(std::move(heard)) {
  for (const Ec2Place& place : settings_.places) {
    Ec2ClientOptions client{.region = place.region, .environment = options.environment};
    if (options.page > 0) client.page = options.page;
    client.stopping = [this] { return workers_.stopping(); };
    client.sleep = [this](Duration time) { workers_.pause(time); };
    clients_.emplace(place.region, std::make_unique<Ec2Client>(credentials_, std::move(client)));
  }
}

Ec2Client* Ec2Capacity::client_of(std::string_view region) const {
  const auto found = clients_.find(region);
  return found == clients_.end() ? nullptr : found->second.get();
}

void Ec2Capacity::create(const CreateOrder& order, Instant) {
  workers_.begin_each(order, [this](const CreateOrder& all, const std::string& machine_name) { return make(all, machine_name); });
}

CapacityAnswer Ec2Capacity::make(const CreateOrder& order, const std::string& machine_name) {
  CapacityAnswer answer{.call = order.call, .name = machine_name, .outcome = CapacityOutcome::kRefused};
  const Ec2Place* place = settings_.place(order.machine.region);
  Ec2Client* client = client_of(order.machine.region);
  auto data = user_data_ ? user_data_(machine_name, order.machine.provider) : settings_.user_data;
  if (data.ok())
    data = user_data_of({.machine = machine_name, .lifetime = order.ends_after, .give_back = {}, .user_part = *data},
                        kMostEc2UserData);
  if (place == nullptr || client == nullptr || !data.ok()) {
    answer.detail = data.ok() ? fmt::format("`aws` names no region {}", order.machine.region) : data.error().message;
    return answer;
  }
  Ec2Launch launch{
      .token = ec2_token(owner_, machine_name),
      .image = place->image,
      .launch_template = place->launch_template,
      .instance_type = order.machine.instance_type,
      .zone = order.machine.zone,
      .security_groups = place->security_groups,
      .key_name = place->key_name,
      .instance_profile = place->instance_profile,
      .spot = order.machine.market == Market::kSpot,
      .tags = {{std::string(kEc2FleetTag), owner_}, {std::string(kEc2MachineTag), machine_name}, {"Name", machine_name}},
      .user_data = *data};
  for (const auto& [zone, subnet] : place->subnets)
    if (zone == order.machine.zone) launch.subnet = subnet;
  launch.tags.insert(launch.tags.end(), settings_.tags.begin(), settings_.tags.end());
  const auto of = std::ranges::find(pools_, order.pool, &CapacityPool::name);
  if (launch.spot && of != pools_.end() && of->limit && of->limit->per_hour().currency() == Currency())
    launch.most_per_hour = of->limit->per_hour().to_decimal();
  const Ec2Made made = client->launch(launch);
  if (made.failure) {
    answer.outcome = outcome_of(*made.failure);
    answer.detail = made.failure->text;
    return answer;
  }
  answer.outcome = CapacityOutcome::kMade;
  const std::lock_guard guard(lock_);
  made_.insert_or_assign(machine_name, Made{.client = client, .id = made.instances.front().id, .at = client->now()});
  return answer;
}

/// Of these names; of all where none is given.
Result<std::vector<Ec2Instance>> Ec2Capacity::ours(Ec2Client& client, const std::vector<std::string>& names) {
  std::vector<Ec2Instance> all;
  for (size_t at = 0; at == 0 || at < names.size(); at += kMostFilterValues) {
    std::vector<Ec2Filter> filters = {{.name = fmt::format("tag:{}", kEc2FleetTag), .values = {owner_}}};
    const auto begin = names.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), at + kMostFilterValues));
    if (!names.empty()) filters.push_back({.name = fmt::format("tag:{}", kEc2MachineTag), .values = {begin, end}});
    TRY_ASSIGN(std::vector<Ec2Instance> page, client.find(filters));
    std::ranges::move(page, std::back_inserter(all));
  }
  return all;
}

void Ec2Capacity::destroy(const DestroyOrder& order, Instant) {
  workers_.begin([this, order] { return end(order); });
}

CapacityHeard Ec2Capacity::end(const DestroyOrder& order) {
  std::vector<std::string> names;
  for (const DestroyOrder::Target& target : order.targets)
    names.push_back(target.name);
  std::map<std::string, std::string> failed;        // by name: why, and what of it is known
  std::map<std::string, CapacityOutcome> outcomes;  // of those
  const auto fail = [&](const std::string& machine_name, CapacityOutcome outcome, const std::string& why) {
    failed[machine_name] = why;
    outcomes[machine_name] = outcome;
  };
  const auto is_meant = [&](const std::string& machine_name, const std::string& id) {
    return std::ranges::any_of(order.targets, [&](const DestroyOrder::Target& target) {
      return target.name == machine_name && (target.id.empty() || target.id == id);
    });
  };
  std::map<std::string, Made> remembered;
  {
    const std::lock_guard guard(lock_);
    for (const std::string& each : names)
      if (const auto found = made_.find(each); found != made_.end()) remembered.insert(*found);
  }
  for (const auto& [region, client] : clients_) {
    std::map<std::string, std::string> there;  // id → name
    const auto found = ours(*client, names);
    if (found.ok())
      for (const Ec2Instance& instance : *found)
        if (!is_gone(instance.state) && is_meant(instance.tag(std::string(kEc2MachineTag)), instance.id))
          there.emplace(instance.id, instance.tag(std::string(kEc2MachineTag)));
    if (!found.ok()) {
      for (const std::string& each : names)
        fail(each, CapacityOutcome::kUnknown, found.error().message);
      continue;
    }
    // What was made a moment ago may not be in lists yet.
    for (const auto& [machine_name, made] : remembered) {
      const bool is_listed = std::ranges::any_of(*found, [&](const Ec2Instance& each) { return each.id == made.id; });
      if (made.client != client.get() || is_listed || !is_meant(machine_name, made.id)) continue;
      const auto failure = client->terminate({made.id});
      if (!failure) continue;
      if (failure->failure != CloudFailure::kNotFound)
        fail(machine_name, outcome_of(*failure), failure->text);
      else if (client->now() < made.at + settings_.list_lag)
        fail(machine_name, CapacityOutcome::kUnknown, "EC2 does not find it yet");
    }
    std::vector<std::string> ids;
    for (auto at = there.begin(); at != there.end();) {
      ids.push_back(at->first);
      if (++at != there.end() && ids.size() < kMostEnded) continue;
      if (const auto failure = end_all(*client, ids))
        for (const std::string& id : ids)
          fail(there.at(id), outcome_of(*failure), failure->text);
      ids.clear();
    }
  }
  CapacityHeard heard;
  for (const DestroyOrder::Target& target : order.targets) {
    const auto why = failed.find(target.name);
    const bool is_ended = why == failed.end();
    heard.answers.push_back({.call = order.call,
                             .name = target.name,
                             .outcome = is_ended ? CapacityOutcome::kGone : outcomes.at(target.name),
                             .detail = is_ended ? "" : why->second});
    if (!is_ended) continue;
    const std::lock_guard guard(lock_);
    if (const auto made = made_.find(target.name); made != made_.end() && (target.id.empty() || target.id == made->second.id))
      made_.erase(made);
  }
  return heard;
}

void Ec2Capacity::list(int64_t call, Instant) {
  workers_.begin([this, call] { return list_all(call); });
}

CapacityHeard Ec2Capacity::list_all(int64_t call) {
  CapacityHeard heard;
  CapacityList list{.call = call, .unread = {}, .machines = {}};
  std::set<std::string> seen;
  for (const auto& [region, client] : clients_) {
    const auto found = ours(*client, {});
    if (!found.ok()) {
      if (list.unread.empty())  // one reason is enough
        list.unread.push_back({.provider = "aws", .name = std::string(name()), .why = found.error().message});
      continue;
    }
    std::map<std::string, std::string> spot;  // id → name
    std::vector<std::string> stopped;
    for (const Ec2Instance& instance : *found) {
      const std::string machine_name = instance.tag(std::string(kEc2MachineTag));
      // Its disks cost money, and it never comes back by itself.
      if (instance.state == Ec2State::kStopped) stopped.push_back(instance.id);
      if (instance.spot && !is_gone(instance.state)) spot.emplace(instance.id, machine_name);
      seen.insert(instance.id);
      list.machines.push_back({.id = instance.id, .name = machine_name, .owner = owner_, .state = listed_state(instance.state)});
    }
    for (const std::string& id : stopped)
      (void)client->terminate({id});  // the next list shows it, should that fail
    if (spot.empty()) continue;
    const auto ends = client->spot_ends();
    if (!ends.ok()) continue;  // the machine's loss is learnt from lists
    for (const Ec2SpotEnd& end : *ends)
      if (const auto machine = spot.find(end.instance); machine != spot.end())
        heard.notices.push_back(
            {.name = machine->second, .until = end.told + kSpotNotice, .detail = "EC2 takes the spot machine back"});
  }
  {
    const std::lock_guard guard(lock_);
    std::erase_if(made_, [&](const auto& each) { return seen.contains(each.second.id); });
  }
  heard.lists.push_back(std::move(list));
  return heard;
}

void Ec2Capacity::offer(Instant) {
  workers_.begin([this] { return offers(); });
}

/// What a pool may have: none where its type is not sold; of spot machines, today's price. What cannot be had is as the configuration says.
CapacityHeard Ec2Capacity::offers() {
  CapacityHeard heard;
  for (const auto& [region, client] : clients_) {
    std::set<std::string> types, spot_types;
    for (const CapacityPool& pool : pools_) {
      if (pool.machine.region != region) continue;
      types.insert(pool.machine.instance_type);
      if (has_spot_price(pool)) spot_types.insert(pool.machine.instance_type);
    }
    if (types.empty()) continue;
    const auto sold = client->offerings({types.begin(), types.end()});
    Result<std::vector<Ec2SpotPrice>> prices = std::vector<Ec2SpotPrice>();
    if (!spot_types.empty()) prices = client->spot_prices({spot_types.begin(), spot_types.end()});
    for (const CapacityPool& pool : pools_) {
      if (pool.machine.region != region) continue;
      const auto is_it = [&](const auto& told) {
        return told.instance_type == pool.machine.instance_type && (pool.machine.zone.empty() || told.zone == pool.machine.zone);
      };
      CapacityOffer offer{.pool = pool.name};
      if (sold.ok() && std::ranges::none_of(*sold, is_it)) offer.quota_left = 0;
      if (prices.ok() && has_spot_price(pool))
        for (const Ec2SpotPrice& price : *prices)  // where the zone is EC2's choice, the dearest's
          if (is_it(price)) offer.rate = offer.rate ? std::max(*offer.rate, price.rate) : price.rate;
      if (offer.rate || offer.quota_left) heard.offers.push_back(std::move(offer));
    }
  }
  return heard;
}

}  // namespace stint
