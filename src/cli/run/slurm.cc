// stint slurm: orders and places the held jobs of a Slurm (drive), or says what it would tell it (advise).
#include <fmt/format.h>
#include <signal.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "backends/slurm/slurm_driver.h"
#include "base/counted.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/decide/proposals.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/slurm_power.h"
#include "codec/slurm/hostlist.h"
#include "daemon/fleet_config.h"
#include "host/file.h"
#include "report/change_text.h"
#include "report/short_text.h"
#include "report/utf8.h"
#include "sched/policy_text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

struct SlurmArguments {
  std::string policy_file, policy = "stint";
  std::vector<std::string> partitions;
  std::vector<std::string> qos;  ///< NAME=PRIORITY
  std::string interval = "5s", patience = "60s", rest = "5m", history = "28d", programs;
  std::string as = "nice", changes;
  bool once = false;
  bool json = false;
};

/// Prices and queues of the file, machines by hostlist.
Status read_policy_file(const std::string& path, DriveRules& rules, std::string& policy) {
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  TRY_ASSIGN(const std::string_view text, file.read());
  TRY_ASSIGN(FleetConfig fleet, parse_fleet_config(text, path));
  policy = fleet.policy;
  rules.queues = std::move(fleet.queues);
  for (const Machine& node : fleet.nodes) {
    const auto names = expand_hostlist(node.node.name);
    if (!names.ok()) return invalid("{}: node '{}': {}", path, excerpt(node.node.name), names.error().message);
    for (const std::string& name : *names)
      rules.rates[name] = node.rate;
  }
  return {};
}

Result<SlurmDrive> drive_of(const SlurmArguments& arguments) {
  SlurmDrive drive;
  std::string policy = arguments.policy;
  if (!arguments.policy_file.empty()) TRY(read_policy_file(arguments.policy_file, drive.rules, policy));
  TRY_ASSIGN(drive.rules.policy, sched::parse_policy(policy));
  drive.rules.partitions = arguments.partitions;
  for (const std::string& pair : arguments.qos) {
    const size_t equals = pair.find('=');
    const auto priority = equals == std::string::npos ? std::nullopt : parse_int(std::string_view(pair).substr(equals + 1));
    if (!priority || *priority < 0 || *priority > 1000)
      return invalid("--qos '{}': give a QOS and its priority from 0 to 1000 such as high=100", excerpt(pair));
    drive.rules.qos[pair.substr(0, equals)] = static_cast<int32_t>(*priority);
  }
  TRY_ASSIGN(drive.rules.patience, parse_duration(arguments.patience));
  TRY_ASSIGN(drive.rules.rest, parse_duration(arguments.rest));
  TRY_ASSIGN(drive.history, parse_duration(arguments.history));
  drive.programs.folder = arguments.programs;
  return drive;
}

bool has_number(const SlurmOrder& order) {
  return order.kind == SlurmOrderKind::kPriority || order.kind == SlurmOrderKind::kNice;
}

Json to_json(const SlurmOrder& order) {
  Json json = {{"order", name_of(order.kind)}, {"job", order.job}, {"nodes", order.nodes}, {"why", order.why}};
  if (has_number(order)) json["number"] = order.number;
  if (!order.features.empty()) json["features"] = order.features;
  return json;
}

Json to_json(Instant at, const SlurmPass& pass) {
  Json orders = Json::array();
  for (const SlurmOrder& order : pass.orders)
    orders.push_back(to_json(order));
  Json commands = Json::array();
  for (const SlurmCommand& command : pass.commands)
    commands.push_back(shell_line(command));
  Json budgets = Json::array();
  for (const auto& [account, budget] : pass.budgets)
    budgets.push_back({{"account", account},
                       {"budget", budget.budget.to_decimal()},
                       {"spent", budget.spent.to_decimal()},
                       {"burn_per_hour", budget.burn.per_hour().to_decimal()},
                       {"currency", budget.budget.currency().code()},
                       {"runs_out_at", budget.runs_out_at ? Json(short_utc(*budget.runs_out_at) + " UTC") : Json()}});
  const auto ms = [](Duration d) { return d.to_seconds() * 1e3; };
  return {{"at", format_utc(at)},           {"waiting", pass.waiting},
          {"running", pass.running},        {"began", pass.began},
          {"orders", std::move(orders)},    {"commands", std::move(commands)},
          {"budgets", std::move(budgets)},  {"notes", pass.notes},
          {"reading_ms", ms(pass.reading)}, {"deciding_ms", ms(pass.deciding)},
          {"telling_ms", ms(pass.telling)}};
}

std::string words_of(const SlurmOrder& order) {
  std::string words = fmt::format("{} {}", name_of(order.kind), order.job);
  if (!order.nodes.empty()) words += fmt::format(" on {}", fmt::join(order.nodes, ","));
  if (has_number(order)) words += fmt::format(" {}", order.number);
  if (!order.features.empty()) words += " " + order.features;
  return fmt::format("{}: {}", words, order.why);
}

/// What is new among the notes: one that stays is said once.
class Notes {
 public:
  void print(const std::vector<std::string>& notes) {
    for (const std::string& note : notes)
      if (std::ranges::find(told_, note) == told_.end()) fmt::print(stderr, "slurm: {}\n", note);
    told_ = notes;
  }

 private:
  std::vector<std::string> told_;
};

void print_pass(const SlurmArguments& arguments, Instant at, const SlurmPass& pass) {
  if (arguments.json) {
    if (!pass.orders.empty() || arguments.once) fmt::print("{}\n", to_json(at, pass).dump());
  } else {
    for (const SlurmOrder& order : pass.orders)
      say("{} {}\n", format_utc(at), words_of(order));
  }
  std::fflush(stdout);
}

Status drive(const SlurmArguments& arguments) {
  TRY_ASSIGN(const SlurmDrive rules, drive_of(arguments));
  TRY_ASSIGN(const Duration interval, parse_duration(arguments.interval));
  if (interval < Duration::milliseconds(100)) return invalid("--interval {}: give 100ms or more", arguments.interval);
  SlurmDriver driver(rules);
  // They end the program between two passes only.
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  Notes notes;
  for (;;) {
    const Result<SlurmPass> pass = driver.pass();
    if (arguments.once && !pass.ok()) return pass.error();
    if (pass.ok()) print_pass(arguments, driver.told_at(), *pass);
    notes.print(pass.ok() ? pass->notes : std::vector<std::string>{pass.error().message});
    if (arguments.once) return {};
    const timespec pause = {interval.whole_seconds(), interval.count_ns() % 1'000'000'000};
    if (sigtimedwait(&ends, nullptr, &pause) > 0) return {};
  }
}

Result<std::optional<SlurmMeans>> means_of(const std::string& as) {
  if (as == "none") return std::optional<SlurmMeans>();
  if (as == "nice") return std::optional(SlurmMeans::kNice);
  if (as == "priorities") return std::optional(SlurmMeans::kPriorities);
  return invalid("--as '{}': give priorities, nice or none", excerpt(as));
}

/// What a file of changes means to Slurm, on the machines it has.
struct SlurmChange {
  Proposal proposal;
  std::vector<Instruction> todo;
};

Result<std::vector<SlurmChange>> changes_of(const std::string& from, std::span<const SlurmMachine> machines, Instant now) {
  std::vector<SlurmChange> changes;
  if (from.empty()) return changes;
  std::vector<Node> nodes;
  for (const SlurmMachine& machine : machines) {
    Node& node = nodes.emplace_back();
    node.name = machine.name;
    node.gpu_count = node_of(machine).gpus;
    node.gpu_model = node_of(machine).gpu_model;
  }
  const FleetPlan fleet = fleet_plan(nodes, now);
  TRY_ASSIGN(std::vector<Proposal> proposals, load_proposals(from));
  for (Proposal& proposal : proposals) {
    std::vector<Instruction> todo = all_instructions(proposal, fleet);
    std::erase_if(todo, [](const Instruction& i) { return !i.tool.starts_with("Slurm"); });
    changes.push_back({std::move(proposal), std::move(todo)});
  }
  return changes;
}

Json to_json(std::span<const SlurmChange> changes) {
  Json json = Json::array();
  for (const SlurmChange& change : changes)
    json.push_back(
        {{"id", change.proposal.id}, {"title", change.proposal.title}, {"instructions", instructions_json(change.todo)}});
  return json;
}

/// Pasted as a whole, only commands are run: lines of configuration are comments.
void print_change(const SlurmChange& change) {
  say("# change {}\n", printable(change.proposal.title));
  if (change.todo.empty()) say("# nothing to change in Slurm, or not of machines it has\n");
  for (Instruction instruction : change.todo) {
    if (instruction.syntax != Syntax::kShell)
      for (std::string& line : instruction.lines)
        line.insert(0, "#   ");
    fmt::print("{}", fitted_commands(instructions_text({&instruction, 1}), screen_of_stdout()));
  }
}

void print_advice(const SlurmPass& pass) {
  say("# {} waiting, {} running; {} to do\n", counted(pass.waiting, "job"), pass.running, counted(pass.orders.size(), "thing"));
  for (const auto& [account, budget] : pass.budgets)
    say("# account {}: {} of {} {} spent, {} an hour{}\n", account, short_amount(budget.spent), short_amount(budget.budget),
        budget.budget.currency().code(), short_amount(budget.burn.per_hour()),
        budget.runs_out_at ? fmt::format(", used up at {}", short_utc(*budget.runs_out_at) + " UTC") : "");
  for (const SlurmOrder& order : pass.orders) {
    say("# {}\n", words_of(order));
    const auto commands = commands_of(order);
    if (!commands.ok()) continue;  // named with the notes
    for (const SlurmCommand& command : *commands)
      fmt::print("{}\n", shell_line(command));
  }
}

Status advise(const SlurmArguments& arguments) {
  TRY_ASSIGN(SlurmDrive rules, drive_of(arguments));
  rules.carry_out = rules.rules.drives = false;
  TRY_ASSIGN(rules.line, means_of(arguments.as));
  SlurmDriver driver(rules);
  TRY_ASSIGN(const SlurmPass pass, driver.pass());
  TRY_ASSIGN(const auto changes, changes_of(arguments.changes, pass.machines, driver.told_at()));
  if (arguments.json) {
    Json json = to_json(driver.told_at(), pass);
    if (!arguments.changes.empty()) json["changes"] = to_json(changes);
    fmt::print("{}\n", json.dump());
  } else {
    print_advice(pass);
    for (const SlurmChange& change : changes)
      print_change(change);
  }
  Notes().print(pass.notes);
  return {};
}

void add_rules(Command& command, SlurmArguments& arguments) {
  command
      .add_option("--policy-file", arguments.policy_file,
                  "JSON with policy, queues (named as accounts) and nodes with per_hour (names may be hostlists)")
      ->check(existing_file());
  command.add_option("--policy", arguments.policy, "order and rules of the scheduler where no file says them")
      ->capture_default_str();
  command.add_option("--partition", arguments.partitions, "partitions whose held jobs are taken care of; without, all")
      ->delimiter(',');
  command.add_option("--qos", arguments.qos, "priority of a QOS, NAME=PRIORITY; others have 50");
  command.add_option("--patience", arguments.patience, "a job that was released begins within this time or is held again")
      ->capture_default_str();
  command.add_option("--rest", arguments.rest, "so long it is then left alone")->capture_default_str();
  command.add_option("--history", arguments.history, "how much of accounting counts in fair shares and budgets")
      ->type_name("DURATION")
      ->capture_default_str();
  command.add_option("--slurm-programs", arguments.programs, "folder of Slurm's programs where they are not in PATH");
  command.add_flag("--json", arguments.json, "one JSON object a pass");
}

}  // namespace

void add_slurm_command(Command& app, Action& action) {
  auto arguments = std::make_shared<SlurmArguments>();
  Command* command = app.add_subcommand("slurm", "A Slurm carries the work: order and place its held jobs, or say how");
  command->require_subcommand(1);
  command->footer("Example: stint slurm advise --partition gpu");
  const auto finish = [](const Status& done) { return done.ok() ? ExitCode::kOk : fail(done.error().message); };

  Command* run = command->add_subcommand("drive", "Start held jobs where and when the policy says, stop others for them");
  add_rules(*run, *arguments);
  run->add_option("--interval", arguments->interval, "from one pass to the next")->capture_default_str();
  run->add_flag("--once", arguments->once, "one pass, then end");
  run->footer("Example: sbatch --hold --gres=gpu:2 train.sh && stint slurm drive --policy-file policy.json");
  run->callback([arguments, finish, &action] { action = [arguments, finish] { return finish(drive(*arguments)); }; });

  Command* say = command->add_subcommand(
      "advise", "The same decisions, and the order of jobs that Slurm places, as commands; nothing is changed");
  add_rules(*say, *arguments);
  say->add_option("--as", arguments->as, "how jobs that Slurm places itself get their places: priorities, nice or none")
      ->type_name("WAY")
      ->capture_default_str();
  say->add_option("--changes", arguments->changes,
                  "file of changes (of a plan or an audit): prints what carries them out in Slurm");
  say->footer("Example: stint slurm advise --policy-file policy.json --as priorities");
  say->callback([arguments, finish, &action] { action = [arguments, finish] { return finish(advise(*arguments)); }; });
  add_slurm_power_commands(*command, action);
}

}  // namespace stint
