#include "cli/cli.h"

#include "base/check.h"
#include "cli/app.h"
#include "cli/command_tree.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/starter.h"
#include "cli/run/top.h"

namespace stint {
namespace {

/// Under which headings the program's help shows its commands; help_page.h has the headings' order.
void put_in_groups(Command& app) {
  const auto put = [&app](std::string_view group, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      Command* command = app.find_subcommand(name);
      CHECK(command != nullptr, "no command '{}'", name);
      command->group(group);
    }
  };
  put("Understand", {"import", "demo", "audit", "bill", "reconcile", "statements", "close", "margin", "kpi", "trend", "forecast",
                     "profile", "history"});
  put("Decide", {"plan", "pick", "estimate", "catalog", "replay", "change"});
  put("Run",
      {"daemon", "starter", "submit", "queue",    "show",  "why", "logs",   "cancel", "hold",       "release", "checkpoint",
       "top",    "nodes",   "cloud",  "pipeline", "trial", "run", "launch", "slurm",  "kubernetes", "backup",  "restore"});
  put("Govern", {"approval", "alerts", "budget", "share", "client", "user", "token", "secret", "audit-log"});
  put("Serve", {"serve", "services"});
  put("Tools", {"help", "version", "man", "completion", "bench", "dashboards", "explore"});
}

}  // namespace

ExitCode fail(const std::string& message) {
  tell("stint: {}\n", message);
  return ExitCode::kFailed;
}

std::shared_ptr<Command> make_app(Action& action) {
  std::shared_ptr<Command> made = make_program("stint", "Manages GPU fleets and what they cost.", STINT_VERSION);
  Command& app = *made;
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done; 1 failed, reason on stderr; 2 wrong usage; 3 done, but something was refused, is "
      "unsound, or misses its goal.");
  // In the order in which help shows them within their groups.
  add_import_command(app, action);
  add_demo_command(app, action);
  add_audit_command(app, action);
  add_bill_command(app, action);
  add_reconcile_command(app, action);
  add_statements_command(app, action);
  add_close_command(app, action);
  add_margin_command(app, action);
  add_kpi_command(app, action);
  add_trend_command(app, action);
  add_forecast_command(app, action);
  add_profile_command(app, action);
  add_history_command(app, action);
  add_plan_command(app, action);
  add_pick_command(app, action);
  add_estimate_command(app, action);
  add_catalog_command(app, action);
  add_replay_command(app, action);
  add_change_command(app, action);
  add_daemon_command(app, action);
  add_starter_command(app, action);
  add_keeper_command(app, action);
  add_submit_command(app, action);
  add_job_commands(app, action);
  add_top_command(app, action);
  add_nodes_command(app, action);
  add_cloud_command(app, action);
  add_pipeline_command(app, action);
  add_trial_command(app, action);
  add_run_command(app, action);
  add_launch_command(app, action);
  add_launch_machine_command(app, action);
  add_slurm_command(app, action);
  add_kubernetes_command(app, action);
  add_backup_commands(app, action);
  add_alerts_command(app, action);
  add_earlier_silence_command(app, action);
  add_budget_commands(app, action);
  add_govern_commands(app, action);
  add_serve_command(app, action);
  add_services_command(app, action);
  add_help_commands(app, action);
  add_man_command(app, action);
  add_completion_commands(app, action);
  add_bench_command(app, action);
  add_dashboards_command(app, action);
  add_explore_command(app, action);
  app.add_flag_beside("--json", "--wide", show_wide, "show all columns of tables, however wide the terminal is");
  put_in_groups(app);
  name_values(app);
  return made;
}

int run_cli(int argc, char** argv) {
  Action action;
  const std::shared_ptr<Command> app = make_app(action);
  if (const std::optional<int> exit = parse_line(*app, {argv + 1, argv + argc})) return *exit;
  return static_cast<int>(action());
}

}  // namespace stint
