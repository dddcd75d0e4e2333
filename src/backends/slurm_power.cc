// Source: Slurm, "Power Saving Guide" (ResumeProgram, SuspendProgram, node states POWERED_DOWN, POWERING_UP, …); scontrol(1), "State=".
#include "backends/slurm_power.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "sched/scaling.h"

namespace stint {
namespace {

constexpr std::string_view kOurReason = "stint:";

bool has_word(std::string_view state, std::string_view wanted) {
  for (const std::string_view word : split(state, '+'))
    if (word == wanted) return true;
  return false;
}

/// There, or on its way, or lost, and paid for as far as is known.
bool is_paid_for(const SlurmMachine& machine) {
  return !has_word(machine.state, "POWERED_DOWN") && !has_word(machine.state, "POWERING_DOWN") &&
         !has_word(machine.state, "POWER_DOWN");
}

/// Taken away, or broken: its slurmd does not answer, and Slurm runs its jobs elsewhere.
bool is_lost(const SlurmMachine& machine) {
  const bool silent = has_word(machine.state, "DOWN") && has_word(machine.state, "NOT_RESPONDING");
  return silent || has_word(machine.state, "DOWN*");
}

bool was_refused(const SlurmMachine& machine) { return machine.reason.starts_with(kOurReason); }

/// Slurm gave it up after ResumeTimeout, those that were refused, too, and leaves it down.
bool never_came(const SlurmMachine& machine) {
  return has_word(machine.state, "DOWN") && (was_refused(machine) || machine.reason.starts_with("ResumeTimeout"));
}

struct PoolState {
  const SlurmPowerPool* pool = nullptr;
  std::vector<std::string> asked;
  std::vector<std::string> lost;  ///< of the others …
  int32_t on = 0;                 ///< … those that are not
};

/// Of each pool, cheapest first; equals in the order of the file.
std::vector<PoolState> states_of(const PowerRules& rules, std::span<const SlurmMachine> machines,
                                 std::span<const std::string> asked) {
  std::vector<PoolState> states;
  for (const SlurmPowerPool& pool : rules.pools) {
    PoolState state{.pool = &pool, .asked = {}, .lost = {}};
    const std::set<std::string_view> members(pool.nodes.begin(), pool.nodes.end());
    for (const std::string& name : asked)
      if (members.contains(name)) state.asked.push_back(name);
    const std::set<std::string_view> wanted(asked.begin(), asked.end());
    for (const SlurmMachine& machine : machines) {
      if (!members.contains(machine.name) || wanted.contains(machine.name) || !is_paid_for(machine) || was_refused(machine))
        continue;
      if (is_lost(machine))
        state.lost.push_back(machine.name);
      else
        ++state.on;
    }
    states.push_back(std::move(state));
  }
  std::ranges::stable_sort(states, {}, [](const PoolState& s) { return s.pool->rate; });
  return states;
}

/// How many machines the pool is to have, as the rules of the replay and the daemon have it.
int32_t wanted_of(const PoolState& state, int32_t more) {
  sched::ScalingRules rules;
  rules.max_nodes = std::max<int32_t>(state.pool->most, state.on);
  rules.waiting_gpus_per_node = 1;  // every machine asked for is waited for
  sched::Scaler scaler(rules, state.on);
  return scaler.step(Instant(), state.on, {.utilization = {}, .waiting_gpus = more, .busy_nodes = state.on}).nodes;
}

}  // namespace

PowerPlan plan_resume(const PowerRules& rules, std::span<const SlurmMachine> machines, std::span<const std::string> asked) {
  PowerPlan plan;
  std::set<std::string_view> known;
  const std::vector<PoolState> states = states_of(rules, machines, asked);
  Money burn = Money::nanos(0, rules.pools.front().rate.per_hour().currency());
  for (const PoolState& state : states)
    burn += scale(state.pool->rate.per_hour(), state.on, 1);
  for (const PoolState& state : states) {
    plan.give_back.insert(plan.give_back.end(), state.lost.begin(), state.lost.end());
    int32_t room = wanted_of(state, static_cast<int32_t>(state.asked.size())) - state.on;
    for (const std::string& name : state.asked) {
      known.insert(name);
      const Money per_hour = state.pool->rate.per_hour();
      if (room <= 0) {
        plan.refuse.push_back({name, fmt::format("{} its pool has the {} it may have", kOurReason, state.pool->most)});
      } else if (const Money after = burn + per_hour; rules.most_burn && after > rules.most_burn->per_hour()) {
        plan.refuse.push_back({name, fmt::format("{} {} an hour would be more than {}", kOurReason, after.to_text(),
                                                 rules.most_burn->per_hour().to_text())});
      } else {
        plan.start.push_back(name);
        burn = after;
        --room;
      }
    }
  }
  for (const std::string& name : asked)
    if (!known.contains(name)) plan.refuse.push_back({name, fmt::format("{} it is in no pool of the power file", kOurReason)});
  return plan;
}

PowerPlan plan_suspend(const PowerRules& rules, std::span<const SlurmMachine> machines, std::span<const std::string> asked) {
  PowerPlan plan;
  const std::vector<PoolState> states = states_of(rules, machines, asked);
  std::set<std::string_view> ours;
  size_t gone = 0;
  for (const PoolState& state : states) {
    for (const std::string& name : state.asked)
      plan.start.push_back(name);
    ours.insert(state.pool->nodes.begin(), state.pool->nodes.end());
  }
  for (const std::string& name : asked) {
    const auto machine = std::ranges::find(machines, name, &SlurmMachine::name);
    if (machine == machines.end() || !never_came(*machine)) ++gone;
  }
  // The cheapest pools' first, by name within.
  for (const PoolState& state : states)
    for (const std::string& name : state.pool->nodes) {
      const auto machine = std::ranges::find(machines, name, &SlurmMachine::name);
      if (machine == machines.end() || !was_refused(*machine) || plan.free.size() >= gone) continue;
      if (std::ranges::find(asked, name) == asked.end()) plan.free.push_back(name);
    }
  for (const PoolState& state : states)
    for (const std::string& name : state.asked)
      if (const auto machine = std::ranges::find(machines, name, &SlurmMachine::name);
          machine != machines.end() && never_came(*machine))
        plan.free.push_back(name);
  return plan;
}

}  // namespace stint
