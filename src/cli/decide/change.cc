// stint change: records which advice took effect and when, and prints the commands that carry it out or take it back.
// Stint runs none of them; with --execute its daemon does what it can of the change.
#include "cli/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/text.h"
#include "cli/decide/applied.h"
#include "cli/decide/change_execute.h"
#include "cli/decide/change_kubernetes.h"
#include "cli/decide/proposals.h"
#include "cli/govern/accounts.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "host/clock.h"
#include "host/file.h"
#include "ledger/line_match.h"
#include "model/change_algebra.h"
#include "report/change_text.h"
#include "report/savings_text.h"
#include "store/history_file.h"

namespace stint {
namespace {

struct ChangeOptions {
  std::string history;
  std::string which;  ///< number or id
  std::string from;   ///< file of proposals, or a change in words
  std::string at;
  std::string cost;
  std::string saving;
  std::vector<std::string> allowed_regions;
  bool force = false;
  bool json = false;
  bool execute = false;
  bool dry_run = false;
  ClientOptions daemon;
  ClusterOptions cluster;
};

/// By number, or by the id its source gave it.
Result<Proposal> pick_proposal(const ChangeOptions& options) {
  TRY_ASSIGN(std::vector<Proposal> proposals, load_proposals(options.from));
  if (const auto number = parse_int(options.which); number && *number >= 1 && *number <= static_cast<int64_t>(proposals.size()))
    return std::move(proposals[static_cast<size_t>(*number - 1)]);
  for (Proposal& p : proposals)
    if (!p.id.empty() && p.id == options.which) return std::move(p);
  return make_error(ErrorCode::kNotFound, "{} holds no change '{}': it has numbers 1 to {}; `stint change list {}` shows them",
                    options.from, excerpt(options.which), proposals.size(), options.from);
}

Result<AppliedChange> pick_applied(HistoryFile& file, const ChangeOptions& options) {
  TRY_ASSIGN(const std::vector<AppliedChange> changes, file.applied_changes());
  const auto number = parse_int(options.which);
  const AppliedChange* found = nullptr;
  for (const AppliedChange& c : changes)
    if ((number && c.number == *number) || (!c.proposal.id.empty() && c.proposal.id == options.which)) found = &c;
  if (found != nullptr) return *found;
  return make_error(ErrorCode::kNotFound,
                    "{}: no change '{}' was applied: `stint change list --history {}` shows those that were", options.history,
                    excerpt(options.which), options.history);
}

Result<Instant> time_asked(const ChangeOptions& options) {
  if (options.at.empty()) return now();
  return parse_instant(options.at);
}

/// The fleet as recorded, and what was done to it since.
struct Fleet {
  FleetPlan inventory;
  std::vector<AppliedChange> applied;
};

/// Bill lines know what the inventory may not say.
void complete_from_bill(History& history) {
  const LineMatcher matcher(history);
  const auto fill = [](std::string& to, const std::string& from) {
    if (to.empty()) to = from;
  };
  for (const BillLine& line : history.bill) {
    if (line.spend != SpendKind::kCompute) continue;
    const NodeId id = matcher.by_resource(line);
    if (!id.valid()) continue;
    Node& node = history.nodes[id.index()];
    fill(node.provider, line.provider);
    fill(node.region, line.region);
    fill(node.zone, line.zone);
    fill(node.instance_type, line.instance_type);
    if (node.market == Market::kUnknown) node.market = line.market;
  }
}

Result<Fleet> load_fleet(HistoryFile& file, Instant at) {
  TRY_ASSIGN(History history, file.load());
  complete_from_bill(history);
  TRY_ASSIGN(std::vector<AppliedChange> applied, file.applied_changes());
  return Fleet{fleet_plan(history.nodes, at), std::move(applied)};
}

nlohmann::ordered_json json_of(const AppliedChange& change, std::span<const Objection> objections,
                               std::span<const Instruction> todo) {
  nlohmann::ordered_json out = to_json(change);
  out["objections"] = objections_json(objections);
  out["instructions"] = instructions_json(todo);
  return out;
}

Status run_list(const ChangeOptions& options) {
  if (options.from.empty() && options.history.empty()) return invalid("name a History with --history, or a file of changes");
  if (!options.from.empty()) {
    TRY_ASSIGN(const std::vector<Proposal> proposals, load_proposals(options.from));
    return write_output("", options.json ? proposals_json(proposals) : proposals_text(proposals, screen_of_stdout()));
  }
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(options.history, OpenMode::kReadOnly));
  TRY_ASSIGN(const std::vector<AppliedChange> applied, file.applied_changes());
  return write_output("", options.json ? applied_json(applied) : applied_text(applied, screen_of_stdout()));
}

/// One proposal with what stands against it, or one applied change with the way back.
Status run_show(const ChangeOptions& options) {
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(options.history, OpenMode::kReadOnly));
  AppliedChange shown;
  std::vector<Objection> objections;
  std::vector<Instruction> todo;
  if (options.from.empty()) {
    TRY_ASSIGN(shown, pick_applied(file, options));
    todo = undo_instructions(shown.undo);
  } else {
    TRY_ASSIGN(shown.proposal, pick_proposal(options));
    TRY_ASSIGN(shown.applied_at, time_asked(options));
    TRY_ASSIGN(const Fleet fleet, load_fleet(file, shown.applied_at));
    objections = check_proposal(shown.proposal, fleet.applied, fleet.inventory, {options.allowed_regions});
    todo = all_instructions(shown.proposal, with_applied(fleet.inventory, fleet.applied));
  }
  if (options.json) return write_output("", indented(json_of(shown, objections, todo)) + "\n");
  std::string text = "# " + shown.proposal.title + "\n";
  for (const Change& change : shown.proposal.changes)
    text += fmt::format("#   {}\n", describe(change));
  for (const Objection& o : objections)
    text += fmt::format("# stands against it: {}: {}\n", o.what, o.remedy);
  if (options.from.empty()) text += "# to take it back:\n";
  return write_output("", fitted_commands(text + "\n" + instructions_text(todo), screen_of_stdout()));
}

Result<std::optional<Money>> amount_of(const std::string& text, const Proposal& proposal) {
  if (text.empty()) return std::optional<Money>();
  TRY_ASSIGN(const Money amount,
             Money::parse(text, proposal.saving_per_month ? proposal.saving_per_month->currency() : Currency()));
  return std::optional(amount);
}

/// Prints what --execute would do, and what is left. Nothing is changed or recorded.
Status run_dry(const Proposal& proposal, const Fleet& fleet, const ChangeOptions& options) {
  const FleetPlan now = with_applied(fleet.inventory, fleet.applied);
  const auto objections = check_proposal(proposal, fleet.applied, fleet.inventory, {options.allowed_regions});
  const std::vector<Instruction> todo = all_instructions(proposal, now);
  nlohmann::ordered_json out;
  std::string planned;
  if (options.cluster.asked) {
    TRY_ASSIGN(const ClusterOutcome tried, try_on_cluster(proposal, now, options.cluster, &out));
    planned = tried.text;
  } else {
    TRY_ASSIGN(DaemonClient daemon, DaemonClient::create(options.daemon));
    TRY_ASSIGN(const ExecutionPlan plan, plan_execution(daemon, proposal, now));
    out = execution_json(change_key(proposal), plan);
    planned = execution_text(plan);
  }
  if (options.json) {
    out["objections"] = objections_json(objections);
    out["instructions"] = instructions_json(todo);
    return write_output("", indented(out) + "\n");
  }
  std::string text;
  for (const Objection& o : objections)
    text += fmt::format("# stands against it: {}: {}\n", o.what, o.remedy);
  return write_output("", fitted_commands(text + planned + "\n" + instructions_text(todo), screen_of_stdout()));
}

/// The same change, applied before and not taken back.
const AppliedChange* applied_before(const Fleet& fleet, const Proposal& proposal) {
  for (const AppliedChange& known : fleet.applied)
    if (!known.undone_at && change_key(known.proposal) == change_key(proposal)) return &known;
  return nullptr;
}

/// What was refused is left for the same again, and nothing is recorded.
Result<Instant> run_on_cluster(const Proposal& proposal, const FleetPlan& fleet, const ChangeOptions& options) {
  const Instant begun = now();
  TRY_ASSIGN(const ClusterOutcome outcome, execute_on_cluster(proposal, fleet, options.cluster));
  tell("{}", outcome.text);
  if (outcome.refused > 0)
    return make_error(ErrorCode::kConflict,
                      "{} refused: nothing is recorded. The same again does what is left; `stint change apply` with --dry-run "
                      "shows it",
                      counted(outcome.refused, "object was", "objects were"));
  return begun;
}

/// Has the daemon or the cluster do what it can. @return when it was begun.
Result<Instant> run_execute(const Proposal& proposal, const FleetPlan& fleet, const ChangeOptions& options) {
  if (options.cluster.asked) return run_on_cluster(proposal, fleet, options);
  TRY_ASSIGN(DaemonClient daemon, DaemonClient::create(options.daemon));
  TRY_ASSIGN(const ExecutionPlan plan, plan_execution(daemon, proposal, fleet));
  TRY_ASSIGN(const Instant begun, execute(daemon, proposal, plan));
  tell("{}", execution_text(plan));
  return begun;
}

Status check_cluster_options(const ChangeOptions& options) {
  const ClusterOptions& cluster = options.cluster;
  const bool of_cluster =
      !(cluster.kubeconfig.empty() && cluster.context.empty() && cluster.kustomize.empty() && cluster.kubectl_image.empty());
  if (of_cluster && !cluster.asked)
    return invalid("--kubeconfig, --context, --kustomize and --kubectl-image go with --kubernetes");
  if (cluster.asked && !options.execute && !options.dry_run && cluster.kustomize.empty())
    return invalid("--kubernetes goes with --dry-run, --execute, or --kustomize of `stint change apply`");
  if (!cluster.kustomize.empty() && (options.execute || options.dry_run))
    return invalid("--kustomize writes files and changes nothing: give it without --execute and --dry-run");
  return {};
}

Status run_apply(const ChangeOptions& options) {
  TRY(check_cluster_options(options));
  AppliedChange change;
  TRY_ASSIGN(change.proposal, pick_proposal(options));
  TRY_ASSIGN(change.applied_at, time_asked(options));
  TRY_ASSIGN(change.cost, amount_of(options.cost, change.proposal));
  TRY_ASSIGN(const std::optional<Money> saving, amount_of(options.saving, change.proposal));
  if (saving) {
    change.proposal.saving_per_month = saving;
    change.proposal.saving_low = change.proposal.saving_high = std::nullopt;
  }
  change.source = options.from;
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(options.history, options.dry_run ? OpenMode::kReadOnly : OpenMode::kReadWrite));
  TRY_ASSIGN(const Fleet fleet, load_fleet(file, change.applied_at));
  if (options.dry_run) return run_dry(change.proposal, fleet, options);
  if (const AppliedChange* known = applied_before(fleet, change.proposal); known != nullptr && options.execute) {
    // What was cut short goes on; what is recorded is not recorded again.
    TRY(run_execute(change.proposal, fleet.inventory, options));
    tell("recorded before, as change {} from {}\n", known->number, format_utc(known->applied_at));
    return options.json ? write_output("", indented(json_of(*known, {}, {})) + "\n") : Status();
  }
  const auto objections = check_proposal(change.proposal, fleet.applied, fleet.inventory, {options.allowed_regions});
  if (!objections.empty() && !options.force)
    return make_error(ErrorCode::kConflict, "{}\nNothing was recorded. --force records it all the same.", to_text(objections));
  FleetPlan plan = with_applied(fleet.inventory, fleet.applied);
  const std::vector<Instruction> todo = all_instructions(change.proposal, plan);
  if (!options.cluster.kustomize.empty()) {
    TRY_ASSIGN(const std::string written, write_kustomize(change.proposal, plan, options.cluster));
    return write_output("", written);
  }
  if (options.execute) {
    // First done, then recorded, from when it was done: should this end in between, the same again records it.
    TRY_ASSIGN(const Instant begun, run_execute(change.proposal, plan, options));
    if (options.at.empty()) change.applied_at = begun;
  }
  TRY_ASSIGN(change.undo, carry_out(plan, change.proposal.changes));
  TRY_ASSIGN(change.number, file.record_change(change));
  tell("recorded as change {} from {}; {}: what is to be done is printed\n", change.number, format_utc(change.applied_at),
       options.execute ? "the rest is by hand" : "Stint runs nothing");
  if (options.json) return write_output("", indented(json_of(change, objections, todo)) + "\n");
  return write_output("", fitted_commands(instructions_text(todo), screen_of_stdout()));
}

/// @return when it was taken back.
Result<Instant> run_take_back(const Proposal& proposal, const ChangeOptions& options) {
  if (options.cluster.asked) {
    const Instant begun = now();
    TRY_ASSIGN(const ClusterOutcome outcome, undo_on_cluster(proposal, options.cluster));
    tell("{}", outcome.text);
    if (outcome.refused == 0) return begun;
    return make_error(ErrorCode::kConflict, "{} refused: the change counts as it did; the same again takes back what is left",
                      counted(outcome.refused, "object was", "objects were"));
  }
  TRY_ASSIGN(DaemonClient daemon, DaemonClient::create(options.daemon));
  return take_back(daemon, proposal);
}

Status run_undo(const ChangeOptions& options) {
  TRY(check_cluster_options(options));
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(options.history, OpenMode::kReadWrite));
  TRY_ASSIGN(AppliedChange change, pick_applied(file, options));
  TRY_ASSIGN(const Instant at, time_asked(options));
  if (change.undone_at && options.execute) {
    TRY(run_take_back(change.proposal, options));
    tell("change {} had ended at {} before\n", change.number, format_utc(*change.undone_at));
    return options.json ? write_output("", indented(json_of(change, {}, {})) + "\n") : Status();
  }
  TRY_ASSIGN(const std::vector<AppliedChange> applied, file.applied_changes());
  // What others did to the same nodes since would be lost.
  for (const AppliedChange& later : applied) {
    if (later.number <= change.number || later.undone_at || options.force) continue;
    for (const Change& one : change.proposal.changes)
      for (const Change& other : later.proposal.changes)
        if (!commute(one, other))
          return make_error(ErrorCode::kConflict, "change {} builds on it ({}): undo that one first, or give --force",
                            later.number, later.proposal.title);
  }
  change.undone_at = at;
  if (options.execute) {
    TRY_ASSIGN(const Instant undone, run_take_back(change.proposal, options));
    if (options.at.empty()) change.undone_at = undone;
  }
  TRY(file.record_undo(change.number, *change.undone_at));
  const std::vector<Instruction> todo = undo_instructions(change.undo);
  tell("change {} ended at {}; {}: what is to be done is printed\n", change.number, format_utc(*change.undone_at),
       !options.execute        ? "Stint runs nothing"
       : options.cluster.asked ? "the cluster is as it was, but for what others changed since; the rest is by hand"
                               : "its machines of the daemon take work again, the rest is by hand");
  if (options.json) return write_output("", indented(json_of(change, {}, todo)) + "\n");
  return write_output("", fitted_commands(instructions_text(todo), screen_of_stdout()));
}

/// Every applied change is looked at, whichever is asked for: changes to the same nodes bound each other's time.
Status run_status(const ChangeOptions& options) {
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(options.history, OpenMode::kReadOnly));
  TRY_ASSIGN(AppliedSavings savings, applied_savings(options.history));
  if (!options.which.empty()) {
    TRY_ASSIGN(const AppliedChange wanted, pick_applied(file, options));
    std::erase_if(savings.tracked,
                  [&](const TrackedSaving& t) { return std::ranges::find(t.numbers, wanted.number) == t.numbers.end(); });
  }
  return write_output("", options.json ? savings_json(savings.tracked, savings.applied)
                                       : savings_text(savings.tracked, savings.applied, screen_of_stdout()));
}

}  // namespace

void add_change_command(Command& app, Action& action) {
  Command* change = app.add_subcommand("change", "Records which advice took effect, and holds it to its promise");
  change->require_subcommand(1);
  change->footer(
      "Example:\n  stint audit --history fleet.db --json > audit.json\n  stint change list audit.json\n"
      "  stint change apply 1 audit.json --history fleet.db\n  stint change status --history fleet.db");
  auto options = std::make_shared<ChangeOptions>();
  const auto add = [&](const char* name, const char* what, Status (*run)(const ChangeOptions&)) {
    Command* command = change->add_subcommand(name, what);
    command->add_flag("--json", options->json, "print JSON");
    command->callback([options, run, &action] {
      action = [options, run] {
        const Status done = run(*options);
        return done.ok() ? ExitCode::kOk : fail(done.error().message);
      };
    });
    return command;
  };
  const auto add_which = [&](Command* command, const char* what) {
    command->add_option("which", options->which, what)->required();
  };
  const char* from = "an audit's JSON or a file of changes (docs/formats.md), or one change in words, such as stop:node-1";
  const auto add_history = [&](Command* command) {
    return command->add_option("--history", options->history, "the History file");
  };
  const auto add_regions = [&](Command* command) {
    command->add_option("--allow-region", options->allowed_regions, "regions work may move to, as a glob such as 'eu-*'");
  };

  Command* list = add("list", "Changes that were applied; with a file: those it proposes, with their numbers", run_list);
  list->add_option("file", options->from, from);
  add_history(list);

  Command* show =
      add("show", "What one change comes to, what stands against it and how to carry it out or take it back", run_show);
  add_which(show, "number or id in the file; without a file: of an applied change");
  show->add_option("file", options->from, from);
  add_history(show)->required();
  show->add_option("--at", options->at, "when it would take effect (default: now)");
  add_regions(show);

  Command* apply = add("apply", "Records that a change takes effect and prints what to run", run_apply);
  add_which(apply, "number or id in the file");
  apply->add_option("file", options->from, from)->required();
  add_history(apply)->required();
  apply->add_option("--at", options->at, "when it took effect (default: now)");
  apply->add_option("--cost", options->cost, "what carrying it out costs once, for the return on it");
  apply->add_option("--saving", options->saving, "what it promises per month, where the file does not say");
  apply->add_flag("--force", options->force, "record it although something stands against it");
  apply->add_flag(
      "--execute", options->execute,
      "have the daemon do what it can of it: machines that are given up take no new work, or none in a schedule's hours, and are "
      "switched off where it can; fewer replicas of its services; limits of jobs");
  apply->add_flag("--dry-run", options->dry_run, "print what --execute would do, and record nothing");
  add_connection_options(*apply, options->daemon);
  add_cluster_options(*apply, options->cluster);
  apply
      ->add_option("--kustomize", options->cluster.kustomize,
                   "with --kubernetes: write the change as a Kustomize component into this folder, change and record nothing")
      ->type_name("DIR");
  apply->add_option("--kubectl-image", options->cluster.kubectl_image,
                    "with --kubernetes: an image with kubectl, for CronJobs that scale by a schedule's hours");
  apply->add_option("--cut-within", options->cluster.cut_within, "with --kubernetes: how long to wait for the MIG manager");
  add_regions(apply);

  Command* undo = add("undo", "Records the end of a change and prints the way back", run_undo);
  add_which(undo, "number or id of an applied change");
  add_history(undo)->required();
  undo->add_option("--at", options->at, "when it ended (default: now)");
  undo->add_flag("--force", options->force, "although a later change builds on it");
  undo->add_flag("--execute", options->execute,
                 "have the daemon let the machines take work again that it drained for the change, and end its limits");
  add_connection_options(*undo, options->daemon);
  add_cluster_options(*undo, options->cluster);

  Command* status = add("status", "Holds what was promised against what later bills show, at equal work and prices", run_status);
  status->add_option("which", options->which, "number or id of one applied change (default: all)");
  add_history(status)->required();
}

}  // namespace stint
