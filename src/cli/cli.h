// The command line: one file per command, each adds itself to the application here.
#pragma once

#include <functional>
#include <string>

namespace stint {

class Command;

/// 0 done; 1 the command failed, with the reason on stderr; 2 wrong usage; 3 done, but something was refused or is unsound.
enum class ExitCode { kOk = 0, kFailed = 1, kUsage = 2, kPartly = 3 };

/// A command that runs another program ends with it, as a shell does, where there is no such program.
constexpr int kShellNotFound = 127;

/// What a command will do once the arguments are parsed.
using Action = std::function<ExitCode()>;

int run_cli(int argc, char** argv);

// Each adds its subcommand and sets `action` when it is chosen.
void add_import_command(Command& app, Action& action);
void add_history_command(Command& app, Action& action);
void add_audit_command(Command& app, Action& action);
void add_bill_command(Command& app, Action& action);
void add_statements_command(Command& app, Action& action);
void add_close_command(Command& app, Action& action);
void add_margin_command(Command& app, Action& action);
void add_reconcile_command(Command& app, Action& action);
void add_kpi_command(Command& app, Action& action);
void add_trend_command(Command& app, Action& action);
void add_change_command(Command& app, Action& action);
void add_catalog_command(Command& app, Action& action);
void add_pick_command(Command& app, Action& action);
void add_estimate_command(Command& app, Action& action);
void add_profile_command(Command& app, Action& action);
void add_bench_command(Command& app, Action& action);
void add_demo_command(Command& app, Action& action);
void add_explore_command(Command& app, Action& action);
void add_forecast_command(Command& app, Action& action);
void add_replay_command(Command& app, Action& action);
void add_plan_command(Command& app, Action& action);
void add_serve_command(Command& app, Action& action);
void add_alerts_command(Command& app, Action& action);
void add_earlier_silence_command(Command& app, Action& action);
void add_dashboards_command(Command& app, Action& action);
void add_run_command(Command& app, Action& action);
void add_launch_command(Command& app, Action& action);
void add_launch_machine_command(Command& app, Action& action);
void add_daemon_command(Command& app, Action& action);
void add_keeper_command(Command& app, Action& action);
void add_submit_command(Command& app, Action& action);
void add_job_commands(Command& app, Action& action);
void add_nodes_command(Command& app, Action& action);
void add_cloud_command(Command& app, Action& action);
void add_kubernetes_command(Command& app, Action& action);
void add_services_command(Command& app, Action& action);
void add_budget_commands(Command& app, Action& action);
void add_budget_check_command(Command& budget, Action& action);
void add_pipeline_command(Command& app, Action& action);
void add_govern_commands(Command& app, Action& action);
void add_slurm_command(Command& app, Action& action);

/// Prints `stint: MESSAGE` on stderr. @return kFailed
ExitCode fail(const std::string& message);

}  // namespace stint
