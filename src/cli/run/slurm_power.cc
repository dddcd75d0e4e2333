// stint slurm resume, stint slurm suspend: Slurm's ResumeProgram and SuspendProgram. What may be started is decided by
// backends/slurm/slurm_power.h; machines are started and stopped by a program of the operator's (backends/capacity/program_capacity.h).
#include "cli/run/slurm_power.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <chrono>
#include <memory>
#include <set>
#include <thread>

#include "backends/capacity/program_capacity.h"
#include "backends/slurm/slurm_orders.h"
#include "backends/slurm/slurm_power.h"
#include "base/text.h"
#include "cli/parser.h"
#include "codec/slurm/hostlist.h"
#include "daemon/json_fields.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/lock_file.h"
#include "host/slurm_programs.h"

namespace stint {
namespace {

struct PowerArguments {
  std::string nodes;  ///< hostlist, as Slurm gives it
  std::string power_file, programs;
};

Result<PowerRules> parse_power_rules(std::string_view json, std::string_view source) {
  JsonParser parser;
  TRY_ASSIGN(const simdjson::dom::element root, parser.parse(json, source));
  JsonFields fields(root, std::string(source));
  PowerRules rules;
  rules.provider = fields.texts("provider");
  if (rules.provider.empty()) fields.wrong("provider", "a list: the program that starts and stops machines, and its arguments");
  TRY_ASSIGN(const Currency currency, Currency::parse(fields.text("currency", "USD")));
  rules.provider_lists = fields.flag("provider_lists", false);
  rules.patience = fields.duration("patience", rules.patience);
  if (fields.has("most_per_hour")) rules.most_burn = Rate::per_hour(fields.money("most_per_hour", currency));
  std::set<std::string> seen;
  const auto read_pool = [&](simdjson::dom::element object, const std::string& where) -> Status {
    JsonFields pool_fields(object, where);
    SlurmPowerPool pool;
    TRY_ASSIGN(pool.nodes, expand_hostlist(pool_fields.text("nodes")));
    if (pool.nodes.empty()) pool_fields.wrong("nodes", "a hostlist such as c[1-8]");
    for (const std::string& name : pool.nodes)
      if (!seen.insert(name).second) return invalid("{}: machine '{}' stands in two pools", where, excerpt(name));
    pool.most = static_cast<int32_t>(pool_fields.integer("most", 0, INT32_MAX, static_cast<int64_t>(pool.nodes.size())));
    pool.rate = Rate::per_hour(pool_fields.money("per_hour", currency));
    TRY(pool_fields.finish());
    rules.pools.push_back(std::move(pool));
    return {};
  };
  TRY(fields.each_object("pools", read_pool));
  TRY(fields.finish());
  if (rules.pools.empty()) return invalid("{}: no pools: name the machines that may be started", source);
  return rules;
}

Result<PowerRules> load_rules(const std::string& path) {
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  TRY_ASSIGN(const std::string_view text, file.read());
  return parse_power_rules(text, path);
}

/// Slurm may call for several groups of machines at once: each sees what the one before it decided.
Result<LockFile> wait_for_turn(const std::string& path, Duration patience) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience.count_ns());
  for (;;) {
    Result<LockFile> lock = LockFile::take(path);
    if (lock.ok() || std::chrono::steady_clock::now() > end) return lock;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

/// A word of scontrol's: what could end it or begin another is left out.
std::string without_quotes(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '\'' || c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return out;
}

Status tell_slurm(const SlurmPrograms& programs, const std::string& node, const std::string& state, const std::string& reason) {
  std::vector<std::string> command = {"update", "NodeName=" + node, "State=" + state};
  if (!reason.empty()) command.push_back("Reason=" + without_quotes(reason));
  TRY_ASSIGN(const std::string said, programs.ask("scontrol", command));
  fmt::print("{} {}{}{}\n", state, node, reason.empty() ? "" : ": ", reason);
  return {};
}

struct Turn {
  PowerRules rules;
  SlurmPrograms programs;
  LockFile lock;
  std::vector<SlurmMachine> machines;
  std::vector<std::string> asked;
};

Result<Turn> begin(const PowerArguments& arguments) {
  TRY_ASSIGN(PowerRules rules, load_rules(arguments.power_file));
  TRY_ASSIGN(std::vector<std::string> asked, expand_hostlist(arguments.nodes));
  TRY_ASSIGN(LockFile lock, wait_for_turn(arguments.power_file + ".lock", rules.patience));
  SlurmPrograms programs{.folder = arguments.programs};
  TRY_ASSIGN(const std::string nodes, programs.ask("scontrol", {"show", "node", "-o"}));
  TRY_ASSIGN(std::vector<SlurmMachine> machines, read_slurm_machines(nodes));
  return Turn{std::move(rules), std::move(programs), std::move(lock), std::move(machines), std::move(asked)};
}

PowerOutcome carry_out(const Turn& turn, decltype(resume_machines)& what) {
  ProgramCapacity provider({.command = turn.rules.provider,
                            .lists = turn.rules.provider_lists,
                            .patience = turn.rules.patience,
                            .in_background = false},
                           "slurm");
  PowerOutcome outcome =
      what(turn.rules, turn.machines, turn.asked, provider, {.clock = [] { return now(); }, .wait = [&] { provider.wait(); }});
  for (const std::string& problem : outcome.problems)
    fmt::print(stderr, "slurm: {}\n", problem);
  return outcome;
}

Status resume(const PowerArguments& arguments) {
  TRY_ASSIGN(const Turn turn, begin(arguments));
  for (const PowerRefusal& refusal : carry_out(turn, resume_machines).refuse)
    TRY(tell_slurm(turn.programs, refusal.node, "DOWN", refusal.why));
  return {};
}

Status suspend(const PowerArguments& arguments) {
  TRY_ASSIGN(const Turn turn, begin(arguments));
  (void)carry_out(turn, suspend_machines);
  for (const std::string& node : freed_by_suspend(turn.rules, turn.machines, turn.asked))
    TRY(tell_slurm(turn.programs, node, "RESUME", ""));
  return {};
}

void add_options(Command& command, PowerArguments& arguments) {
  command.add_option("nodes", arguments.nodes, "hostlist, as Slurm gives it")->required();
  command.add_option("--power-file", arguments.power_file, "JSON with provider and pools")->required()->check(existing_file());
  command.add_option("--slurm-programs", arguments.programs, "folder of Slurm's programs where they are not in PATH");
}

}  // namespace

void add_slurm_power_commands(Command& slurm, Action& action) {
  auto arguments = std::make_shared<PowerArguments>();
  const auto finish = [](const Status& done) { return done.ok() ? ExitCode::kOk : fail(done.error().message); };
  Command* up = slurm.add_subcommand("resume", "Slurm's ResumeProgram: start machines, as many as the rules allow");
  add_options(*up, *arguments);
  up->footer("Example: stint slurm resume 'c[1-4]' --power-file /etc/stint/power.json");
  up->callback([arguments, finish, &action] { action = [arguments, finish] { return finish(resume(*arguments)); }; });
  Command* down = slurm.add_subcommand("suspend", "Slurm's SuspendProgram and ResumeFailProgram: stop machines");
  add_options(*down, *arguments);
  down->footer("Example: stint slurm suspend 'c[1-4]' --power-file /etc/stint/power.json");
  down->callback([arguments, finish, &action] { action = [arguments, finish] { return finish(suspend(*arguments)); }; });
}

}  // namespace stint
