#include "daemon/node_power.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/text.h"
#include "daemon/service_answer.h"
#include "host/clock.h"
#include "host/process.h"
#include "sched/node_table.h"

namespace stint {
namespace {

constexpr Duration kPowerAgainAfter = Duration::minutes(1);
constexpr size_t kMostOutput = 64 << 10;
constexpr size_t kRowsAtLeast = 1'000;
const CommandInfo kByPower{.actor = "power", .idempotency_key = ""};

std::string words_for(const CommandOutput& done) {
  const auto lines = split(trim(done.standard_error), '\n');
  return fmt::format("it ended with {}: {}", done.status.shell_code(), lines.empty() ? "" : excerpt(lines.back(), 200));
}

}  // namespace

NodePower::NodePower(Service& service, OffMachines& off, PowerConfig config, const std::vector<std::string>& rows)
    : service_(service), off_(off), rows_there_(rows.size()) {
  for (const std::string& row : rows) {
    if (row.starts_with("off ")) machines_.try_emplace(row.substr(4));
    if (row.starts_with("on ")) machines_.erase(row.substr(3));
  }
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
  for (const Wish& wish : wishes_)
    wish.heard(false);
  for (auto& [node, machine] : machines_)
    if (machine.program.joinable()) machine.program.join();
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

void NodePower::hear(std::vector<Wish> wishes) {
  for (const Wish& wish : wishes) {
    const auto found = machines_.find(wish.node);
    const bool comes = !config_.program.empty() && found != machines_.end();
    if (comes) {
      found->second.wanted = true;
      found->second.not_before = {};
    }
    wish.heard(comes);
  }
}

void NodePower::take_over(PowerConfig config) {
  config_ = std::move(config);
  pools_.clear();
  const World world = look();
  for (PowerPool pool : config_.pools) {
    int32_t gpus_of_node = 1;
    for (const std::string& name : pool.nodes)
      if (const auto node = world.nodes.find(name); node != world.nodes.end())
        gpus_of_node = std::max(gpus_of_node, node->second.gpus);
    pool.rules.waiting_gpus_per_node = gpus_of_node;
    sched::Scaler scaler(pool.rules, 0);
    pools_.push_back({.config = std::move(pool), .scaler = std::move(scaler), .gpus_of_node = gpus_of_node});
  }
}

void NodePower::run() {
  std::unique_lock lock(lock_);
  while (!stopping_) {
    std::optional<PowerConfig> next;
    next.swap(next_);
    std::vector<Wish> wishes;
    wishes.swap(wishes_);
    ended_ = false;
    lock.unlock();
    if (next) take_over(std::move(*next));
    hear(std::move(wishes));
    if (!config_.program.empty()) {
      const Instant at = now();
      settle(look(), at);
      const World world = look();  // anew: what came up by that counts
      int64_t waiting = world.waiting_gpus;
      for (Pool& pool : pools_)
        scale(pool, world, at, waiting);
      tell_off(at);
    } else {
      off_.put({}, now());  // others switch them now
    }
    lock.lock();
    wake_.wait_for(lock, std::chrono::nanoseconds(config_.every.count_ns()),
                   [this] { return stopping_ || next_ || ended_ || !wishes_.empty(); });
  }
}

/// One on its way up is paid for already.
void NodePower::tell_off(Instant now) {
  std::set<std::string> off;
  for (const auto& [name, machine] : machines_)
    if (machine.is_off && machine.doing != Doing::kUp) off.insert(name);
  off_.put(off, now);
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

/// What programs have done, and what is to be done next to those on their way.
void NodePower::settle(const World& world, Instant now) {
  for (auto at = machines_.begin(); at != machines_.end();) {
    const std::string name = at->first;
    Switched& machine = at->second;
    std::string failure;
    bool has_ended = false;
    {
      const std::lock_guard guard(lock_);
      has_ended = machine.has_ended;
      failure = machine.failure;
    }
    if (machine.doing != Doing::kNothing && !has_ended) {
      ++at;
      continue;
    }
    if (machine.program.joinable()) machine.program.join();
    const Doing done = std::exchange(machine.doing, Doing::kNothing);
    const std::string_view told = done == Doing::kUp ? "up" : "down";
    if (done != Doing::kNothing && !failure.empty()) {
      machine.not_before = now + kPowerAgainAfter;
      (void)note(name, "", "node.switch-failed", fmt::format("{} {} {}: {}", config_.program, told, name, failure));
    } else if (done == Doing::kDown) {
      machine.is_off = true;
      (void)note(name, "", "node.off", "nothing needs it");
    } else if (done == Doing::kUp) {
      if (give_back(name)) {
        at = machines_.erase(at);
        continue;
      }
      machine.wanted = false;
    }
    const auto node = world.nodes.find(name);
    const bool is_known = node != world.nodes.end();
    if (is_known && machine.wanted && machine.not_before <= now) {
      if (machine.is_off) {
        begin(name, machine, Doing::kUp);
      } else if (give_back(name)) {
        at = machines_.erase(at);
        continue;
      }
    } else if (is_known && node->second.state == NodeState::kUp && done == Doing::kNothing) {
      // Somebody wants it: what is off is switched on for them.
      if (machine.is_off && machine.not_before <= now) begin(name, machine, Doing::kUp);
      if (!machine.is_off && note(name, "on ", "node.on", "").ok()) {
        at = machines_.erase(at);
        continue;
      }
    } else if (is_known && node->second.state == NodeState::kDrained && !machine.is_off && machine.not_before <= now) {
      begin(name, machine, Doing::kDown);
    }
    ++at;
  }
}

void NodePower::scale(Pool& pool, const World& world, Instant now, int64_t& waiting) {
  sched::ScalingSignals signals;
  int64_t held = 0, capacity = 0;
  int32_t on = 0;
  for (const std::string& name : pool.config.nodes) {
    const auto found = world.nodes.find(name);
    if (found == world.nodes.end()) continue;
    const NodeView& node = found->second;
    const auto machine = machines_.find(name);
    if (machine != machines_.end() && machine->second.doing == Doing::kUp) {
      ++on;
      ++signals.starting_nodes;
    } else if (machine == machines_.end() && node.state == NodeState::kUp) {
      ++on;
      capacity += int64_t{node.gpus} * sched::kMilli;
      for (const int64_t milli : node.gpu_milli_held)
        held += milli;
      if (!node.jobs.empty()) ++signals.busy_nodes;
    }
  }
  if (capacity > 0) signals.utilization = static_cast<double>(held) / static_cast<double>(capacity);
  signals.waiting_gpus = waiting;
  const sched::ScalingDecision decision = pool.scaler.step(now, on, signals);
  const int32_t coming = decision.nodes > on ? switch_on(pool, world, decision.nodes - on, now) : 0;
  if (decision.nodes < on) switch_off(pool, world, on - decision.nodes);
  waiting = std::max<int64_t>(0, waiting - int64_t{signals.starting_nodes + coming} * pool.gpus_of_node);
}

/// Those not off yet first: they need no start. @return how many come.
int32_t NodePower::switch_on(const Pool& pool, const World& world, int32_t count, Instant now) {
  int32_t coming = 0;
  for (const bool off : {false, true})
    for (const std::string& name : pool.config.nodes) {
      const auto found = machines_.find(name);
      if (coming == count || found == machines_.end() || !world.nodes.contains(name)) continue;
      Switched& machine = found->second;
      if (machine.doing != Doing::kNothing || machine.is_off != off || machine.not_before > now) continue;
      if (off) {
        begin(name, machine, Doing::kUp);
      } else if (give_back(name)) {
        machines_.erase(found);
      } else {
        continue;
      }
      ++coming;
    }
  return coming;
}

/// Idle ones, the last first: what is noted is that they go; the program is told when they are drained.
void NodePower::switch_off(const Pool& pool, const World& world, int32_t count) {
  for (size_t i = pool.config.nodes.size(); i-- > 0 && count > 0;) {
    const std::string& name = pool.config.nodes[i];
    const auto node = world.nodes.find(name);
    if (node == world.nodes.end() || node->second.state != NodeState::kUp || !node->second.jobs.empty()) continue;
    if (machines_.contains(name) || !note(name, "off ", "node.going-off", "nothing needs it").ok()) continue;
    machines_.try_emplace(name);
    --count;
    // Should that fail it is found up and forgotten.
    (void)answer_of<NodeView>([&](auto answer) { service_.drain_node(name, kByPower, std::move(answer)); });
  }
  const std::lock_guard guard(lock_);
  ended_ = true;  // those drained at once need not wait for the next look
}

void NodePower::begin(const std::string& node, Switched& machine, Doing what) {
  machine.doing = what;
  {
    const std::lock_guard guard(lock_);
    machine.has_ended = false;
    machine.failure.clear();
  }
  const std::vector<std::string> command = {config_.program, what == Doing::kUp ? "up" : "down", node};
  machine.program = std::thread([this, &machine, command, timeout = config_.timeout] {
    const Result<CommandOutput> done = run_in_background(command, timeout, kMostOutput, stopping_);
    const std::lock_guard guard(lock_);
    machine.failure = !done.ok() ? done.error().message : done->status.shell_code() == 0 ? "" : words_for(*done);
    machine.has_ended = true;
    ended_ = true;
    wake_.notify_all();
  });
}

/// It is on and may have work again.
bool NodePower::give_back(const std::string& node) {
  // Should the second fail, it is found up at the next look.
  return answer_of<NodeView>([&](auto answer) { service_.node_up(node, kByPower, std::move(answer)); }).ok() &&
         note(node, "on ", "node.on", "").ok();
}

/// @param state  "off " or "on " of the row; empty = none is needed.
Status NodePower::note(const std::string& node, std::string_view state, std::string_view kind, std::string detail) {
  EventView notice;
  notice.kind = kind;
  notice.node = node;
  notice.detail = std::move(detail);
  std::vector<SideRow> rows;
  if (!state.empty()) rows.push_back({std::string(kPowerStream), fmt::format("{}{}", state, node)});
  rows_there_ += rows.size();
  TRY(answer_of<bool>([&](auto answer) { service_.append(std::move(rows), {notice}, std::move(answer)); }));
  if (rows_there_ < std::max(kRowsAtLeast, 2 * machines_.size())) return {};
  std::vector<SideRow> anew = {{std::string(kPowerStream), "since"}};
  for (const auto& [name, machine] : machines_)
    if (name != node) anew.push_back({std::string(kPowerStream), fmt::format("off {}", name)});
  if (state == "off " || (state.empty() && machines_.contains(node))) anew.push_back({std::string(kPowerStream), "off " + node});
  rows_there_ = anew.size();
  TRY(answer_of<bool>([&](auto answer) { service_.renew(std::string(kPowerStream), std::move(anew), std::move(answer)); }));
  return {};
}

}  // namespace stint
