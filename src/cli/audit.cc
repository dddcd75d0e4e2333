// stint audit: what the fleet costs, where the waste is, what to change.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "advise/audit.h"
#include "advise/cluster_audit.h"
#include "advise/joint_plan.h"
#include "cli/accounts.h"
#include "cli/cli.h"
#include "cli/commit_options.h"
#include "cli/goals_option.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/period_options.h"
#include "cli/proof_runs.h"
#include "cli/risk_option.h"
#include "host/clock.h"
#include "host/file.h"
#include "report/audit_html.h"
#include "report/audit_json.h"
#include "report/audit_text.h"
#include "report/cluster_view.h"
#include "store/queue_history.h"

namespace stint {
namespace {

struct AuditOptions {
  std::string history;
  PeriodOptions period;
  bool json = false;
  std::string html;
  std::string explain;
  std::vector<std::string> allowed_regions;
  std::string goals;
  RiskOption risk;
  ProofRunOptions proof;
  CommitOptions commitments;
};

struct Audited {
  AuditReport report;
  std::optional<ClusterAudit> cluster;  ///< none = no batch system reported its queue
};

Result<Audited> run_audit(const AuditOptions& options) {
  TRY_ASSIGN(const Interval period, parse_period(options.period));
  TRY_ASSIGN(const Records records, load_records(options.history, period));
  AuditInput input{records.history, records.usage, records.catalog, now(), options.allowed_regions};
  TRY_ASSIGN(input.goals, load_goals(options.goals));
  TRY(use_commit_options(options.commitments, input));
  ProofRuns runs(options.proof);
  if (!options.proof.leave_out) input.proof = runs.options();
  TRY_ASSIGN(const Auditor auditor, Auditor::create(input));
  // The plan is that of `stint plan all`, so that both name one total; here what saves most comes first.
  TRY_ASSIGN(JointPlan plan, joint_plan(auditor, {.max_risk = options.risk.level()}));
  runs.clear();
  std::ranges::stable_sort(plan.report.findings, std::greater(), &Finding::saving_per_month);
  TRY_ASSIGN(const QueueHistory queue, read_queue_history(options.history));
  return Audited{std::move(plan.report), audit_cluster(records.history, queue, records.usage, auditor.facts(), records.catalog)};
}

/// What goes to standard output: JSON, one finding, or the report.
Result<std::string> rendered(const Audited& audited, const AuditOptions& options) {
  const auto& [report, cluster] = audited;
  if (!options.explain.empty()) return explain_finding(report, options.explain, screen_of_stdout());
  if (options.json) return audit_json(report, cluster ? &*cluster : nullptr);
  return audit_text(report, screen_of_stdout()) + (cluster ? cluster_text(*cluster, report, screen_of_stdout()) : "");
}

Result<ExitCode> print_audit(const AuditOptions& options) {
  TRY_ASSIGN(const Audited audited, run_audit(options));
  TRY_ASSIGN(const std::string text, rendered(audited, options));
  if (!options.html.empty()) {
    TRY(write_file_atomically(options.html, audit_html(audited.report, audited.cluster ? &*audited.cluster : nullptr)));
    tell("wrote {}\n", options.html);
  }
  TRY(write_output("", text));
  return exit_code_of(audited.report.goals);
}

}  // namespace

void add_audit_command(Command& app, Action& action) {
  auto options = std::make_shared<AuditOptions>();
  Command* command = app.add_subcommand("audit", "Says what the fleet costs, where the waste is and what to change");
  command->footer(
      "Example:\n  stint audit --history fleet.db --month 2026-10 --html report.html\n  stint audit --history fleet.db --explain "
      "F-1a2b3c4d");
  command->add_option("--history", options->history, "the History file")->required();
  add_period_options(*command, options->period);
  command->add_flag("--json", options->json, "print JSON (docs/schema/audit.json)");
  command->add_option("--html", options->html, "also write the report as one HTML file");
  command->add_option("--explain", options->explain, "one finding in full: evidence, arithmetic, commands")->type_name("FINDING");
  command->add_option("--allow-region", options->allowed_regions,
                      "regions work may move to, as a glob such as 'eu-*' (default: none)");
  add_goals_option(*command, options->goals);
  add_risk_option(*command, options->risk);
  add_commit_options(*command, options->commitments);
  command->add_flag("--no-replay", options->proof.leave_out, "do not run the fleet's jobs again: findings stay arithmetic");
  add_proof_options(*command, options->proof);
  command->callback([options, &action] {
    action = [options] {
      const Result<ExitCode> done = print_audit(*options);
      return done.ok() ? *done : fail(done.error().message);
    };
  });
}

}  // namespace stint
