#include "backends/capacity/ec2_capacity.h"

#include <algorithm>
#include <chrono>
#include <set>

namespace stint {
namespace {

constexpr size_t kThreads = 8;             // requests at the same time
constexpr size_t kMostFilterValues = 200;  // EC2's limit
constexpr size_t kMostEnded = 100;         // of one request: one that is not there spoils it for all
constexpr Duration kSpotNotice = Duration::minutes(2);
constexpr Duration kLongestPause = Duration::seconds(10);

bool is_gone(Ec2State state) { return state == Ec2State::kShuttingDown || state == Ec2State::kTerminated; }

ListedState listed_state(Ec2State state) {
  switch (state) {
    case Ec2State::kPending: return ListedState::kComing;
    case Ec2State::kRunning: return ListedState::kReady;
    default: return ListedState::kGoing;
  }
}

/// Ends them, those that are not there or no longer there apart. @return the failure that is left.
std::optional<Ec2Failure> end_all(Ec2Client& client, const std::vector<std::string>& ids) {
  auto failure = client.terminate(ids);
  if (!failure || failure->failure != CloudFailure::kNotFound || ids.size() == 1) return failure;
  std::optional<Ec2Failure> left;
  for (const std::string& id : ids)
    if (auto one = client.terminate({id}); one && one->failure != CloudFailure::kNotFound) left = std::move(one);
  return left;
}

}  // namespace

CapacityOutcome ec2_outcome(const Ec2Failure& failure) {
  // A try without an answer may have done it, whatever the next one was told.
  if (failure.may_be_done) return CapacityOutcome::kUnknown;
  switch (failure.failure) {
    case CloudFailure::kStockout: return CapacityOutcome::kStockout;
    case CloudFailure::kQuota: return CapacityOutcome::kQuota;
    case CloudFailure::kThrottled: return CapacityOutcome::kThrottled;
    case CloudFailure::kCredential:
    case CloudFailure::kClock:
    case CloudFailure::kForbidden: return CapacityOutcome::kCredentials;
    // Its token was used before: the machine may be there.
    case CloudFailure::kConflict:
    case CloudFailure::kServer:
    case CloudFailure::kNetwork: return CapacityOutcome::kUnknown;
    case CloudFailure::kPlace:
    case CloudFailure::kNotFound:
    case CloudFailure::kRequest: return CapacityOutcome::kRefused;
  }
  return CapacityOutcome::kUnknown;
}

Ec2Capacity::Ec2Capacity(Ec2Settings settings, std::vector<CapacityPool> pools, std::string owner, std::function<void()> heard,
                         const Ec2CapacityOptions& options)
    : settings_(std::move(settings)),
      pools_(std::move(pools)),
      owner_(std::move(owner)),
      heard_(std::move(heard)),
      user_data_(options.user_data),
      credentials_({.environment = options.environment}) {
  for (const Ec2Place& place : settings_.places) {
    Ec2ClientOptions client{.region = place.region, .environment = options.environment, .page = options.page};
    client.stopping = [this] {
      const std::lock_guard guard(lock_);
      return stopping_;
    };
    client.sleep = [this](Duration time) {
      std::unique_lock lock(lock_);
      work_there_.wait_for(lock, std::chrono::nanoseconds(std::min(time, kLongestPause).count_ns()),
                           [this] { return stopping_; });
    };
    clients_.emplace(place.region, std::make_unique<Ec2Client>(credentials_, std::move(client)));
  }
  for (size_t i = 0; i < kThreads; ++i)
    threads_.emplace_back([this] { work(); });
}

Ec2Capacity::~Ec2Capacity() {
  {
    const std::lock_guard guard(lock_);
    stopping_ = true;
    todo_.clear();
  }
  work_there_.notify_all();
  for (std::thread& thread : threads_)
    thread.join();
}

void Ec2Capacity::begin(std::function<CapacityHeard()> work) {
  {
    const std::lock_guard guard(lock_);
    todo_.push_back(std::move(work));
    ++under_way_;
  }
  work_there_.notify_all();
}

void Ec2Capacity::work() {
  std::unique_lock lock(lock_);
  for (;;) {
    work_there_.wait(lock, [this] { return stopping_ || !todo_.empty(); });
    if (stopping_) return;
    const std::function<CapacityHeard()> next = std::move(todo_.front());
    todo_.pop_front();
    lock.unlock();
    CapacityHeard heard = next();
    lock.lock();
    std::ranges::move(heard.answers, std::back_inserter(answers_.answers));
    std::ranges::move(heard.lists, std::back_inserter(answers_.lists));
    std::ranges::move(heard.offers, std::back_inserter(answers_.offers));
    std::ranges::move(heard.notices, std::back_inserter(answers_.notices));
    --under_way_;
    news_.notify_all();
    lock.unlock();
    if (heard_) heard_();
    lock.lock();
  }
}

CapacityHeard Ec2Capacity::hear(Instant) {
  const std::lock_guard guard(lock_);
  return std::exchange(answers_, {});
}

void Ec2Capacity::wait() {
  std::unique_lock lock(lock_);
  news_.wait(lock, [this] {
    return under_way_ == 0 || !answers_.answers.empty() || !answers_.lists.empty() || !answers_.offers.empty() ||
           !answers_.notices.empty();
  });
}

Ec2Client* Ec2Capacity::client_of(std::string_view region) const {
  const auto found = clients_.find(region);
  return found == clients_.end() ? nullptr : found->second.get();
}

void Ec2Capacity::create(const CreateOrder& order, Instant) {
  for (const std::string& machine_name : order.names)
    begin([this, call = order.call, machine_name, pool = order.pool, machine = order.machine, ends_after = order.ends_after] {
      CapacityHeard heard;
      heard.answers.push_back(make(call, machine_name, pool, machine, ends_after));
      return heard;
    });
}

CapacityAnswer Ec2Capacity::make(int64_t call, const std::string& machine_name, const std::string& pool, const Machine& machine,
                                 const std::optional<Duration>& ends_after) {
  CapacityAnswer answer{.call = call, .name = machine_name, .outcome = CapacityOutcome::kRefused};
  const Ec2Place* place = settings_.place(machine.region);
  Ec2Client* client = client_of(machine.region);
  auto data = user_data_ ? user_data_(machine_name) : settings_.user_data;
  if (data.ok()) data = ec2_user_data({.machine = machine_name, .lifetime = ends_after, .user_part = *data});
  if (place == nullptr || client == nullptr || !data.ok()) {
    answer.detail = data.ok() ? fmt::format("`aws` names no region {}", machine.region) : data.error().message;
    return answer;
  }
  Ec2Launch launch{
      .token = ec2_token(owner_, machine_name),
      .image = place->image,
      .launch_template = place->launch_template,
      .instance_type = machine.instance_type,
      .zone = machine.zone,
      .security_groups = place->security_groups,
      .key_name = place->key_name,
      .instance_profile = place->instance_profile,
      .spot = machine.market == Market::kSpot,
      .tags = {{std::string(kEc2FleetTag), owner_}, {std::string(kEc2MachineTag), machine_name}, {"Name", machine_name}},
      .user_data = *data};
  for (const auto& [zone, subnet] : place->subnets)
    if (zone == machine.zone) launch.subnet = subnet;
  launch.tags.insert(launch.tags.end(), settings_.tags.begin(), settings_.tags.end());
  const auto of = std::ranges::find(pools_, pool, &CapacityPool::name);
  if (launch.spot && of != pools_.end() && of->limit && of->limit->per_hour().currency() == Currency())
    launch.most_per_hour = of->limit->per_hour().to_decimal();
  const Ec2Made made = client->launch(launch);
  if (made.failure) {
    answer.outcome = ec2_outcome(*made.failure);
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
  begin([this, order] { return end(order); });
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
        fail(machine_name, ec2_outcome(*failure), failure->text);
      else if (client->now() < made.at + settings_.list_lag)
        fail(machine_name, CapacityOutcome::kUnknown, "EC2 does not find it yet");
    }
    std::vector<std::string> ids;
    for (auto at = there.begin(); at != there.end();) {
      ids.push_back(at->first);
      if (++at != there.end() && ids.size() < kMostEnded) continue;
      if (const auto failure = end_all(*client, ids))
        for (const std::string& id : ids)
          fail(there.at(id), ec2_outcome(*failure), failure->text);
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
  begin([this, call] { return list_all(call); });
}

CapacityHeard Ec2Capacity::list_all(int64_t call) {
  CapacityHeard heard;
  CapacityList list{.call = call, .complete = true, .machines = {}};
  std::set<std::string> seen;
  for (const auto& [region, client] : clients_) {
    const auto found = ours(*client, {});
    if (!found.ok()) {
      list.complete = false;
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
  const bool asks = std::ranges::any_of(pools_, [](const CapacityPool& pool) {
    return pool.machine.market == Market::kSpot && pool.machine.rate.per_hour().currency() == Currency();
  });
  if (asks) begin([this] { return prices(); });
}

/// Today's of spot machines; where the zone is EC2's choice, the dearest's.
CapacityHeard Ec2Capacity::prices() {
  CapacityHeard heard;
  for (const auto& [region, client] : clients_) {
    std::set<std::string> types;
    const auto is_asked = [&](const CapacityPool& pool) {
      return pool.machine.market == Market::kSpot && pool.machine.region == region;
    };
    for (const CapacityPool& pool : pools_)
      if (is_asked(pool)) types.insert(pool.machine.instance_type);
    if (types.empty()) continue;
    const auto prices = client->spot_prices({types.begin(), types.end()});
    if (!prices.ok()) continue;  // the configuration's hold until they are known
    for (const CapacityPool& pool : pools_) {
      if (!is_asked(pool)) continue;
      CapacityOffer offer{.pool = pool.name};
      for (const Ec2SpotPrice& price : *prices)
        if (price.instance_type == pool.machine.instance_type && (pool.machine.zone.empty() || price.zone == pool.machine.zone))
          offer.rate = offer.rate ? std::max(*offer.rate, price.rate) : price.rate;
      if (offer.rate) heard.offers.push_back(std::move(offer));
    }
  }
  return heard;
}

}  // namespace stint
