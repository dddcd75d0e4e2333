// The command line: one file per command, each adds itself to the application here.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace stint {

/// 0 done; 1 the command failed, with the reason on stderr; 2 wrong usage; 3 done, but something was refused or is unsound.
enum class ExitCode { kOk = 0, kFailed = 1, kUsage = 2, kPartly = 3 };

/// What a command will do once the arguments are parsed.
using Action = std::function<ExitCode()>;

int run_cli(int argc, char** argv);

// Each adds its subcommand and sets `action` when it is chosen.
void add_import_command(CLI::App& app, Action& action);
void add_history_command(CLI::App& app, Action& action);
void add_audit_command(CLI::App& app, Action& action);
void add_bill_command(CLI::App& app, Action& action);
void add_change_command(CLI::App& app, Action& action);
void add_catalog_command(CLI::App& app, Action& action);
void add_pick_command(CLI::App& app, Action& action);
void add_profile_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);
void add_demo_command(CLI::App& app, Action& action);
void add_explore_command(CLI::App& app, Action& action);
void add_forecast_command(CLI::App& app, Action& action);
void add_replay_command(CLI::App& app, Action& action);
void add_plan_command(CLI::App& app, Action& action);
void add_serve_command(CLI::App& app, Action& action);
void add_alerts_command(CLI::App& app, Action& action);
void add_silence_command(CLI::App& app, Action& action);
void add_dashboards_command(CLI::App& app, Action& action);
void add_run_command(CLI::App& app, Action& action);
void add_daemon_command(CLI::App& app, Action& action);
void add_keeper_command(CLI::App& app, Action& action);
void add_submit_command(CLI::App& app, Action& action);
void add_job_commands(CLI::App& app, Action& action);
void add_nodes_command(CLI::App& app, Action& action);
void add_services_command(CLI::App& app, Action& action);
void add_budget_commands(CLI::App& app, Action& action);
void add_pipeline_command(CLI::App& app, Action& action);
void add_govern_commands(CLI::App& app, Action& action);
void add_slurm_command(CLI::App& app, Action& action);

/// Prints `stint: MESSAGE` on stderr. @return kFailed
ExitCode fail(const std::string& message);

}  // namespace stint
