// Source: Slurm, "Power Saving Guide" (ResumeProgram, SuspendProgram, node states POWERED_DOWN, POWERING_UP, …); scontrol(1), "State=".
#include "backends/slurm/slurm_power.h"

#include <algorithm>
#include <set>

#include "base/text.h"

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

constexpr std::string_view kSlurmWish = "slurm";

std::string slurm_pool_name(size_t index) { return fmt::format("pool {}", index + 1); }

CapacityRules capacity_rules_of(const PowerRules& rules) {
  CapacityRules capacity;
  capacity.owner = "slurm";
  capacity.lists = rules.provider_lists;
  capacity.offer_every = Duration();
  capacity.answer_within = rules.patience + Duration::minutes(1);  // the program's own comes first
  capacity.most_burn = rules.most_burn;
  for (size_t i = 0; i < rules.pools.size(); ++i) {
    CapacityPool pool{.name = slurm_pool_name(i), .machine = {}, .most = rules.pools[i].most, .names = rules.pools[i].nodes};
    pool.machine.rate = rules.pools[i].rate;
    capacity.pools.push_back(std::move(pool));
  }
  return capacity;
}

/// What Slurm says is there. @param lost  of that, what does not answer. @param also  is there whatever its state.
CapacityBook book_of(const PowerRules& rules, std::span<const SlurmMachine> machines, std::span<const std::string> asked,
                     std::vector<std::string>* lost, bool also_asked) {
  CapacityBook book(capacity_rules_of(rules));
  const std::set<std::string_view> wanted(asked.begin(), asked.end());
  for (size_t i = 0; i < rules.pools.size(); ++i) {
    const std::set<std::string_view> members(rules.pools[i].nodes.begin(), rules.pools[i].nodes.end());
    const auto adopt = [&](const std::string& name) {
      book.adopt(name, {.pool = slurm_pool_name(i), .wish = "on", .state = MadeState::kReady, .rate = rules.pools[i].rate});
    };
    for (const SlurmMachine& machine : machines) {
      if (!members.contains(machine.name) || wanted.contains(machine.name)) continue;
      if (!is_paid_for(machine) || was_refused(machine)) continue;
      adopt(machine.name);
      if (lost != nullptr && is_lost(machine)) lost->push_back(machine.name);
    }
    for (const std::string& name : asked)
      if (also_asked && members.contains(name)) adopt(name);
  }
  return book;
}

/// Steps until nothing is under way. @return the last.
CapacityStep run_to_end(CapacityBook& book, CapacityAsk ask, Capacity& capacity, const PowerWaiting& waiting,
                        std::vector<std::string>& problems) {
  CapacityHeard heard;
  size_t under_way = 0;
  for (;;) {
    const Instant now = waiting.clock();
    CapacityStep step = book.step(now, ask, heard);
    ask.released.clear();
    for (const CreateOrder& order : step.creates) {
      under_way += order.names.size();
      capacity.create(order, now);
    }
    for (const DestroyOrder& order : step.destroys) {
      under_way += order.targets.size();
      capacity.destroy(order, now);
    }
    if (step.list) {
      ++under_way;
      capacity.list(*step.list, now);
    }
    for (const CapacityNews& news : step.news)
      if (news.event == CapacityEvent::kFailed || news.event == CapacityEvent::kSwept)
        problems.push_back(fmt::format("{}: {}", news.machine, news.detail));
    if (under_way == 0) return step;
    waiting.wait();
    heard = capacity.hear(waiting.clock());
    under_way -= std::min(under_way, heard.answers.size() + heard.lists.size());
  }
}

}  // namespace

PowerOutcome resume_machines(const PowerRules& rules, std::span<const SlurmMachine> machines, std::span<const std::string> asked,
                             Capacity& capacity, const PowerWaiting& waiting) {
  PowerOutcome outcome;
  CapacityAsk ask;
  CapacityBook book = book_of(rules, machines, asked, &ask.released, false);
  if (!asked.empty())
    ask.wishes = {
        {.id = std::string(kSlurmWish), .machines = static_cast<int32_t>(asked.size()), .names = {asked.begin(), asked.end()}}};
  const CapacityStep last = run_to_end(book, ask, capacity, waiting, outcome.problems);
  std::map<std::string, std::string> why;
  if (!last.shortages.empty()) why = last.shortages.front().names;
  // One of which nothing is known is given back: its jobs need not wait for ResumeTimeout.
  CapacityAsk back;
  for (const auto& [name, made] : book.machines())
    if (made.state == MadeState::kUnsure) {
      why[name] = "the provider failed";
      back.released.push_back(name);
    }
  if (!back.released.empty()) (void)run_to_end(book, back, capacity, waiting, outcome.problems);
  for (const std::string& name : asked)
    if (const auto refused = why.find(name); refused != why.end())
      outcome.refuse.push_back({name, fmt::format("{} {}", kOurReason, refused->second)});
  return outcome;
}

PowerOutcome suspend_machines(const PowerRules& rules, std::span<const SlurmMachine> machines, std::span<const std::string> asked,
                              Capacity& capacity, const PowerWaiting& waiting) {
  PowerOutcome outcome;
  CapacityBook book = book_of(rules, machines, asked, nullptr, true);
  (void)run_to_end(book, {.released = {asked.begin(), asked.end()}}, capacity, waiting, outcome.problems);
  return outcome;
}

std::vector<std::string> freed_by_suspend(const PowerRules& rules, std::span<const SlurmMachine> machines,
                                          std::span<const std::string> asked) {
  std::vector<std::string> freed;
  std::vector<const SlurmPowerPool*> pools;
  for (const SlurmPowerPool& pool : rules.pools)
    pools.push_back(&pool);
  std::ranges::stable_sort(pools, {}, [](const SlurmPowerPool* pool) { return pool->rate; });
  const auto machine_of = [&](const std::string& name) {
    const auto found = std::ranges::find(machines, name, &SlurmMachine::name);
    return found == machines.end() ? nullptr : &*found;
  };
  const auto is_asked = [&](const std::string& name) { return std::ranges::find(asked, name) != asked.end(); };
  const auto room = std::ranges::count_if(asked, [&](const std::string& name) {
    const SlurmMachine* machine = machine_of(name);
    return machine == nullptr || !never_came(*machine);
  });
  // The cheapest pools' first, in the order of the file within.
  for (const SlurmPowerPool* pool : pools)
    for (const std::string& name : pool->nodes) {
      const SlurmMachine* machine = machine_of(name);
      if (machine != nullptr && was_refused(*machine) && !is_asked(name) && std::ssize(freed) < room) freed.push_back(name);
    }
  for (const SlurmPowerPool* pool : pools)
    for (const std::string& name : asked)
      if (const SlurmMachine* machine = machine_of(name); machine != nullptr && never_came(*machine))
        if (std::ranges::find(pool->nodes, name) != pool->nodes.end()) freed.push_back(name);
  return freed;
}

}  // namespace stint
