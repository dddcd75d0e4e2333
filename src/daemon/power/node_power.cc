#include "daemon/power/node_power.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "backends/capacity/program_capacity.h"
#include "base/counted.h"
#include "daemon/power/power_rows.h"
#include "daemon/service_answer.h"
#include "daemon/waking.h"
#include "host/clock.h"
#include "host/secret.h"
#include "sched/place/node_table.h"

namespace stint {
namespace {

constexpr size_t kRowsAtLeast = 1'000;
constexpr size_t kMarkBytes = 8;
const CommandInfo kByPower{.actor = "power", .idempotency_key = ""};

bool comes(const MadeMachine& made) {
  return made.state == MadeState::kAsked || made.state == MadeState::kUnsure || made.state == MadeState::kComing;
}

CapacityRules rules_of(const PowerConfig& config, const std::string& owner) {
  CapacityRules rules;
  rules.owner = owner;
  const bool is_cloud = config.cloud || config.clouds.is_on();
  rules.lists = is_cloud || config.provider_lists;
  if (!is_cloud) rules.offer_every = Duration();
  rules.answer_within = is_cloud ? rules.answer_within : config.timeout + Duration::minutes(1);  // the program's own comes first
  if (config.cloud) rules.settle = std::max(config.cloud->list_lag + Duration::seconds(1), Duration::seconds(2));
  if (config.clouds.is_on()) {
    rules.settle = config.clouds.list_lag();
    rules.lifetime = config.clouds.lifetime();
  }
  rules.ready_within = config.ready_within;
  rules.most_burn = config.most_burn;
  rules.spread = config.spread;
  for (const PowerPool& pool : config.pools) {
    rules.pools.insert(rules.pools.end(), pool.kinds.begin(), pool.kinds.end());
    if (pool.nodes.empty()) continue;
    CapacityPool& switched = rules.pools.emplace_back();
    switched.name = pool.name;
    switched.machine.rate = Rate::per_hour(Money::nanos(0, config.currency));
    switched.names = pool.nodes;
  }
  return rules;
}

bool has_same_kinds(const PowerConfig& a, const PowerConfig& b) {
  const auto same = [](const PowerPool& one, const PowerPool& other) { return one.kinds == other.kinds; };
  return std::ranges::equal(a.pools, b.pools, same);
}

}  // namespace

Result<std::set<std::string>> machines_in_power_rows(const std::vector<std::string>& rows) {
  std::set<std::string> names;
  TRY_ASSIGN(const CapacityBook book, CapacityBook::recover({}, read_power_rows(rows).book, Instant()));
  for (const auto& [name, made] : book.machines())
    if (made.was_ready && made.state != MadeState::kOff) names.insert(name);
  return names;
}

NodePower::NodePower(Service& service, OffMachines& off, PowerConfig config, const std::vector<std::string>& rows,
                     std::set<std::string> resting)
    : service_(service), off_(off), book_(CapacityRules()), resting_(std::move(resting)), rows_there_(rows.size()) {
  PowerRows read = read_power_rows(rows);
  is_marked_ = !read.owner.empty();
  owner_ = is_marked_ ? std::move(read.owner) : "stint-" + random_hex(kMarkBytes);
  old_off_ = std::move(read.off);
  book_ = CapacityBook::recover(rules_of(config, owner_), read.book, now()).value();
  next_ = std::move(config);
  thread_ = std::thread([this] { run(); });
}

NodePower::~NodePower() {
  {
    const std::lock_guard guard(lock_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
  capacity_.reset();  // its threads call back
  for (const Wish& wish : wishes_)
    wish.heard(false);
  for (const std::vector<Sweep>& all : {sweeps_, sweeping_})
    for (const Sweep& sweep : all)
      sweep.heard(make_error(ErrorCode::kUnavailable, "the daemon stops"));
}

void NodePower::reconfigure(PowerConfig config) {
  {
    const std::lock_guard guard(lock_);
    next_ = std::move(config);
  }
  wake_.notify_all();
}

void NodePower::want(std::string node, std::function<void(bool comes)> heard) {
  {
    const std::lock_guard guard(lock_);
    wishes_.push_back({std::move(node), std::move(heard)});
  }
  wake_.notify_all();
}

void NodePower::rest(std::set<std::string> machines) {
  {
    const std::lock_guard guard(lock_);
    rest_ = std::move(machines);
  }
  wake_.notify_all();
}

void NodePower::sweep(std::function<void(const Result<PowerView>&)> heard) {
  {
    const std::lock_guard guard(lock_);
    sweeps_.push_back({.heard = std::move(heard)});
  }
  wake_.notify_all();
}

PowerView NodePower::view() const {
  const std::lock_guard guard(lock_);
  return view_;
}

void NodePower::wake_up() {
  {
    const std::lock_guard guard(lock_);
    news_ = true;
  }
  wake_.notify_all();
}

const NodeView* NodePower::World::node(const std::string& name) const {
  const auto found = nodes.find(name);
  return found == nodes.end() ? nullptr : &found->second;
}

bool NodePower::is_switched(const std::string& machine) const { return switched_.contains(machine); }

bool NodePower::rests(const std::string& machine) const {
  return is_switched(machine) && resting_.contains(machine) && !wanted_.contains(machine);
}

void NodePower::hear(std::vector<Wish> wishes) {
  for (const Wish& wish : wishes) {
    const auto found = book_.machines().find(wish.node);
    const bool is_ours =
        config_.is_on() && is_switched(wish.node) && found != book_.machines().end() && found->second.state != MadeState::kReady;
    if (is_ours) {
      wanted_.insert(wish.node);
      book_.open(fmt::format("{}/{}", found->second.pool, wish.node));
    }
    wish.heard(is_ours);
  }
}

void NodePower::take_over(PowerConfig config) {
  const bool is_another = !capacity_ || config.program != config_.program || config.provider != config_.provider ||
                          config.provider_lists != config_.provider_lists || config.timeout != config_.timeout ||
                          config.cloud.has_value() != config_.cloud.has_value() || config.clouds != config_.clouds ||
                          (config.clouds.is_on() && !has_same_kinds(config, config_));
  const bool is_first = !capacity_;
  config_ = std::move(config);
  CapacityRules rules = rules_of(config_, owner_);
  const World world = look();
  for (CapacityPool& pool : rules.pools)
    if (!pool.names.empty())
      if (const NodeView* node = world.node(pool.names.front()); node != nullptr) pool.machine.rate = node->rate;
  book_.change_rules(std::move(rules));
  switched_.clear();
  pools_.clear();
  for (const PowerPool& pool : config_.pools) {
    switched_.insert(pool.nodes.begin(), pool.nodes.end());
    int32_t gpus = 1;
    for (const std::string& name : pool.nodes)
      if (const NodeView* node = world.node(name); node != nullptr) gpus = std::max(gpus, node->gpus);
    for (const CapacityPool& kind : pool.kinds)
      gpus = std::max(gpus, kind.machine.node.gpus);
    Pool added{.config = pool, .scaler = sched::Scaler(pool.rules, 0), .gpus_of_machine = gpus};
    added.config.rules.waiting_gpus_per_node = gpus;
    added.scaler = sched::Scaler(added.config.rules, 0);
    pools_.push_back(std::move(added));
  }
  if (is_another)
    make_capacity(config_);
  else if (config_.cloud)
    static_cast<SimulatedCloud&>(*capacity_).change(*config_.cloud, book_.rules().pools);
  adopt_switched(world);
  if (is_first) report(handed_.begin(book_, switched_));
}

void NodePower::make_capacity(const PowerConfig& config) {
  capacity_.reset();
  unread_.clear();
  if (config.cloud) {
    auto cloud = std::make_unique<SimulatedCloud>(*config.cloud, book_.rules().pools);
    for (const auto& [name, made] : book_.machines())
      if (made.was_ready || made.state == MadeState::kComing)
        cloud->restore(name, made.pool, book_.rules().owner, made.id, made.begun);
    capacity_ = std::move(cloud);
  } else if (config.clouds.is_on()) {
    capacity_ = open_clouds(config.clouds, book_.rules().pools, book_.rules().owner, [this] { wake_up(); });
  } else if (config.is_on()) {
    CapacityProgram program{.command = config.provider, .lists = config.provider_lists, .patience = config.timeout};
    if (config.provider.empty())
      program = {.command = {config.program}, .start = "up", .stop = "down", .one_by_one = true, .patience = config.timeout};
    capacity_ = std::make_unique<ProgramCapacity>(std::move(program), book_.rules().owner, [this] { wake_up(); });
  }
}

/// Machines of the configuration are on until we have switched them off; those that are in no pool any more are the operator's.
void NodePower::adopt_switched(const World& world) {
  std::vector<std::string> left;
  for (const auto& [name, made] : book_.machines())
    if (made.pool == made.wish && !is_switched(name)) left.push_back(name);
  for (const std::string& name : left)
    book_.forget(name);
  for (const Pool& pool : pools_)
    for (const std::string& name : pool.config.nodes) {
      const auto known = book_.machines().find(name);
      if (known != book_.machines().end() && known->second.pool == pool.config.name) continue;
      MadeMachine made{.pool = pool.config.name, .wish = pool.config.name, .state = MadeState::kReady};
      if (known != book_.machines().end()) made.state = known->second.state;  // it was in another pool
      if (std::ranges::find(old_off_, name) != old_off_.end()) made.state = MadeState::kOff;
      made.was_ready = made.state == MadeState::kReady;
      if (const NodeView* node = world.node(name); node != nullptr) made.rate = node->rate;
      book_.adopt(name, made);
    }
  old_off_.clear();
}

void NodePower::run() {
  std::unique_lock lock(lock_);
  while (!stopping_) {
    std::optional<PowerConfig> next;
    next.swap(next_);
    std::vector<Wish> wishes;
    wishes.swap(wishes_);
    if (rest_) resting_ = *std::exchange(rest_, std::nullopt);
    for (Sweep& sweep : std::exchange(sweeps_, {}))
      sweeping_.push_back(std::move(sweep));
    news_ = at_once_ = false;
    lock.unlock();
    if (next) take_over(std::move(*next));
    hear(std::move(wishes));
    std::optional<Instant> wake;
    if (capacity_ && config_.is_on()) {
      wake = pass(now());
    } else {
      off_.put({}, now());  // others switch them now
      for (Sweep& sweep : std::exchange(sweeping_, {}))
        sweep.heard(make_error(ErrorCode::kConflict, "no machines are switched or made: see `power` of the configuration"));
    }
    Duration wait = config_.every;
    if (wake) wait = std::min(wait, std::max(*wake - now(), Duration::milliseconds(10)));
    lock.lock();
    wake_.wait_for(lock, chrono_of(wait),
                   [this] { return stopping_ || next_ || news_ || at_once_ || rest_ || !wishes_.empty() || !sweeps_.empty(); });
  }
}

NodePower::World NodePower::look() {
  return service_
      .get([](const Engine& engine) {
        World world;
        for (NodeView& node : engine.nodes())
          world.nodes.emplace(node.name, std::move(node));
        world.waiting_gpus = (engine.waiting_gpu_milli() + sched::kMilli - 1) / sched::kMilli;
        return world;
      })
      .get();
}

std::optional<Instant> NodePower::pass(Instant now) {
  const CapacityHeard heard = capacity_->hear(now);
  if (!heard.lists.empty()) unread_ = heard.lists.back().unread;
  const World world = look();
  report(handed_.missing(now, book_, world.nodes, switched_));
  CapacityAsk ask;
  look_after_leaving(world, ask);
  int64_t waiting = world.waiting_gpus;
  for (Pool& pool : pools_)
    scale(pool, world, now, waiting, ask);
  if (!sweeping_.empty()) book_.look_now();
  CapacityStep step = book_.step(now, ask, heard);
  if (!give(step, now)) return now + Duration::seconds(1);
  for (Pool& pool : pools_) {
    const auto lack = std::ranges::find(step.shortages, pool.config.name, &CapacityShortage::wish);
    pool.missing = lack == step.shortages.end() ? 0 : lack->missing;
  }
  show(step, now);  // first: whoever sees a machine finds it here too
  tell(step);
  answer_sweeps(heard, step);
  at_once_ = !ask.drain.empty();  // those drained at once need not wait for the next look
  std::optional<Instant> wake = step.wake;
  if (const auto next = capacity_->next_at(); next && (!wake || *next < *wake)) wake = next;
  return wake;
}

/// What is drained and empty goes; what somebody has put to work again stays.
void NodePower::look_after_leaving(const World& world, CapacityAsk& ask) {
  for (const auto& [name, made] : book_.machines()) {
    const NodeView* node = world.node(name);
    const bool is_up = node != nullptr && node->state == NodeState::kUp;
    if (made.state == MadeState::kReady) wanted_.erase(name);
    if (made.state == MadeState::kOff && is_up) wanted_.insert(name);
    if (made.state == MadeState::kReady && rests(name) && node != nullptr && !is_up) ask.drain.push_back(name);
    // One that was made, and whose pool is no longer configured.
    const bool is_left =
        made.pool != made.wish && std::ranges::none_of(pools_, [&](const Pool& pool) { return pool.config.name == made.wish; });
    if (made.state == MadeState::kReady && is_left) ask.drain.push_back(name);
    if (made.state != MadeState::kLeaving) continue;
    const bool is_wanted = wanted_.contains(name) || (is_up && is_switched(name));
    if (is_wanted && !made.until)
      ask.keep.push_back(name);
    else if (node == nullptr || (!is_up && node->jobs.empty()))
      ask.released.push_back(name);
  }
}

void NodePower::scale(Pool& pool, const World& world, Instant now, int64_t& waiting, CapacityAsk& ask) {
  sched::ScalingSignals signals;
  int64_t held = 0, capacity = 0;
  int32_t on = 0, blocked = 0, extra = 0;
  CapacityWish wish{.id = pool.config.name};
  for (const auto& [name, made] : book_.machines()) {
    if (made.wish != pool.config.name) continue;
    const NodeView* node = world.node(name);
    if (rests(name)) wish.without.push_back(name);
    if (rests(name) && (made.state == MadeState::kReady && node != nullptr && node->state != NodeState::kUp)) continue;
    if (wanted_.contains(name) && (comes(made) || made.state == MadeState::kOff)) {
      wish.first.push_back(name);
      ++extra;
    } else if (comes(made) || (made.state == MadeState::kReady && node == nullptr)) {
      ++on;
      ++signals.starting_nodes;
    } else if (made.state == MadeState::kReady && !made.at_risk && node->state != NodeState::kUp) {
      ++blocked;  // by an operator, or broken
    } else if (made.state == MadeState::kReady && !made.at_risk) {
      ++on;
      capacity += int64_t{node->gpus} * sched::kMilli;
      for (const int64_t milli : node->gpu_milli_held)
        held += milli;
      if (!node->jobs.empty()) ++signals.busy_nodes;
    }
  }
  if (capacity > 0) signals.utilization = static_cast<double>(held) / static_cast<double>(capacity);
  signals.waiting_gpus = waiting;
  sched::ScalingDecision decision = pool.scaler.step(now, on, signals);
  if (!pool.config.nodes.empty())  // those that rest are not missed
    decision.nodes = std::min(decision.nodes, static_cast<int32_t>(pool.config.nodes.size() - wish.without.size()));
  // Those that drain and have not gone need no start.
  int32_t kept = 0;
  for (const auto& [name, made] : book_.machines()) {
    if (on + kept >= decision.nodes) break;
    if (made.wish != pool.config.name || made.state != MadeState::kLeaving || made.until || made.at_risk || rests(name)) continue;
    if (std::ranges::find(ask.keep, name) != ask.keep.end()) continue;
    std::erase(ask.released, name);
    ask.keep.push_back(name);
    ++kept;
  }
  if (decision.nodes < on) drain_idle(pool, world, on - decision.nodes, ask);
  wish.machines = decision.nodes + blocked + extra;
  wish.most = pool.config.rules.max_nodes + blocked + extra;
  for (const CapacityPool& kind : pool.config.kinds)
    wish.pools.push_back(kind.name);
  if (pool.config.kinds.empty()) wish.pools.push_back(pool.config.name);
  ask.wishes.push_back(std::move(wish));
  const int32_t coming = std::max(0, decision.nodes - on - pool.missing);
  waiting = std::max<int64_t>(0, waiting - int64_t{signals.starting_nodes + coming} * pool.gpus_of_machine);
}

/// Of those that are switched the last of the list first; of others the dearest.
void NodePower::drain_idle(const Pool& pool, const World& world, int32_t count, CapacityAsk& ask) {
  std::vector<std::string> names(pool.config.nodes.rbegin(), pool.config.nodes.rend());
  if (names.empty()) {
    for (const auto& [name, made] : book_.machines())
      if (made.wish == pool.config.name) names.push_back(name);
    std::ranges::reverse(names);
    std::ranges::stable_sort(names, std::greater(), [&](const std::string& name) { return book_.machines().at(name).rate; });
  }
  for (const std::string& name : names) {
    if (count == 0) break;
    const auto made = book_.machines().find(name);
    const NodeView* node = world.node(name);
    if (made == book_.machines().end() || made->second.state != MadeState::kReady || made->second.at_risk) continue;
    if (node == nullptr || node->state != NodeState::kUp || !node->jobs.empty()) continue;
    ask.drain.push_back(name);
    --count;
  }
}

/// Rows first, then orders. @return false: the rows could not be written, and nothing was done.
bool NodePower::give(CapacityStep& step, Instant now) {
  // A switched machine takes work before its row says so: if that is lost, it is found up.
  for (const CapacityNews& news : step.news)
    if (news.event == CapacityEvent::kReady && is_switched(news.machine) && !rests(news.machine))
      (void)answer_of<NodeView>([&](auto answer) { service_.node_up(news.machine, kByPower, std::move(answer)); });
  if (!write(step).ok()) {
    book_.not_given(step);
    return false;
  }
  for (const CreateOrder& order : step.creates)
    capacity_->create(order, now);
  for (const DestroyOrder& order : step.destroys)
    capacity_->destroy(order, now);
  if (step.list) capacity_->list(*step.list, now);
  if (step.offer) capacity_->offer(now);
  return true;
}

void NodePower::tell(const CapacityStep& step) {
  // Should that fail it is found up and kept.
  for (const CapacityNews& news : step.news)
    if (is_switched(news.machine) && news.event == CapacityEvent::kDraining)
      (void)answer_of<NodeView>([&](auto answer) { service_.drain_node(news.machine, kByPower, std::move(answer)); });
  report(handed_.of(step, book_, switched_));
}

void NodePower::report(std::vector<MachineReport> reports) {
  if (!reports.empty()) service_.report_machines(std::move(reports));
}

/// What of a step is an event: of machines that are made the engine tells the rest.
std::optional<EventView> event_of_news(const CapacityNews& news, bool is_switched) {
  EventView event;
  event.node = news.machine;
  event.detail = news.detail;
  switch (news.event) {
    case CapacityEvent::kReady: event.kind = "node.on"; break;
    case CapacityEvent::kDraining: event.kind = "node.going-off"; break;
    case CapacityEvent::kGone: event.kind = "node.off"; break;
    case CapacityEvent::kLost: event.kind = "node.off"; break;
    case CapacityEvent::kFailed: event.kind = "node.switch-failed"; return event;
    case CapacityEvent::kAsked:
      event.kind = "node.asked";
      event.detail = fmt::format("{}, {} an hour", news.pool, news.rate.per_hour().to_text());
      break;
    case CapacityEvent::kSwept: event.kind = "capacity.swept"; return event;
    case CapacityEvent::kPoolShut:
      event.kind = "capacity.shut";
      event.detail = fmt::format("{}: {}; left alone until {}", news.pool, news.detail, format_utc(*news.until));
      return event;
  }
  if (is_switched == (news.event == CapacityEvent::kAsked)) return std::nullopt;
  return event;
}

Status NodePower::write(const CapacityStep& step) {
  std::vector<EventView> notices;
  for (const CapacityNews& news : step.news)
    if (auto event = event_of_news(news, is_switched(news.machine)); event) notices.push_back(std::move(*event));
  if (step.rows.empty() && notices.empty()) return {};
  std::vector<SideRow> rows;
  if (!is_marked_) rows.push_back({std::string(kPowerStream), owner_row(owner_)});
  for (const std::string& row : step.rows)
    rows.push_back({std::string(kPowerStream), row});
  rows_there_ += rows.size();
  TRY(answer_of<bool>([&](auto answer) { service_.append(std::move(rows), notices, std::move(answer)); }));
  is_marked_ = true;
  if (rows_there_ < std::max(kRowsAtLeast, 2 * book_.machines().size())) return {};
  std::vector<SideRow> anew = {{std::string(kPowerStream), owner_row(owner_)}};
  for (const std::string& row : book_.compacted())
    anew.push_back({std::string(kPowerStream), row});
  rows_there_ = anew.size();
  // Should that fail, the rows that are there say the same.
  (void)answer_of<bool>([&](auto answer) { service_.renew(std::string(kPowerStream), std::move(anew), std::move(answer)); });
  return {};
}

void NodePower::show(const CapacityStep& step, Instant now) {
  PowerView view;
  view.now = now;
  view.by = capacity_->name();
  view.most_burn = config_.most_burn;
  std::set<std::string> off;
  for (const auto& [name, made] : book_.machines()) {
    if (made.state == MadeState::kOff) off.insert(name);
    view.machines.push_back({.name = name,
                             .pool = made.pool,
                             .state = std::string(name_of(made.state)),
                             .id = made.id,
                             .detail = made.detail,
                             .rate = made.rate,
                             .since = made.begun,
                             .until = made.until});
  }
  for (const auto& [key, shut] : book_.shut())
    if (shut.until > now) view.shut.push_back({.pool = key, .why = shut.why, .until = shut.until});
  for (const CapacityShortage& lack : step.shortages)
    view.shortages.push_back({.pool = lack.wish, .why = lack.why, .missing = lack.missing});
  for (const UnreadProvider& each : unread_)
    view.unread.push_back({.name = each.name, .why = each.why});
  const CapacityBook::Counts& counts = book_.counts();
  view.made = counts.made;
  view.swept = counts.swept;
  view.late = counts.late;
  view.stockouts = counts.stockouts;
  off_.put(off, now);
  const std::lock_guard guard(lock_);
  view_ = std::move(view);
}

void NodePower::answer_sweeps(const CapacityHeard& heard, const CapacityStep& step) {
  for (Sweep& sweep : std::exchange(sweeping_, {})) {
    if (!book_.rules().lists) {
      sweep.heard(make_error(ErrorCode::kConflict, "what switches machines here cannot list them (`provider_lists` of `power`)"));
    } else if (sweep.asked && !heard.lists.empty()) {
      sweep.heard(view());
    } else {
      sweep.asked |= step.list.has_value();
      sweeping_.push_back(std::move(sweep));
    }
  }
}

}  // namespace stint
