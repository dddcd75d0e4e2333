// stint audit: what the fleet costs, where the waste is, what to change.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "advise/find/cluster_audit.h"
#include "cli/cli.h"
#include "cli/decide/advice.h"
#include "cli/output.h"
#include "cli/understand/anomalies.h"
#include "cli/understand/goals_option.h"
#include "host/file.h"
#include "report/audit_html.h"
#include "report/audit_json.h"
#include "report/audit_text.h"
#include "report/cluster_view.h"
#include "store/queue_history.h"

namespace stint {
namespace {

struct AuditOptions {
  AdviceOptions advice;
  bool json = false;
  std::string html;
  std::string explain;
};

struct Audited {
  AuditReport report;
  std::optional<ClusterAudit> cluster;  ///< none = no batch system reported its queue
};

/// The plan of `stint plan all`; here what saves most comes first.
Result<Audited> run_audit(const AuditOptions& options) {
  Audited audited;
  bool billed = false;
  const auto look_at_records = [&](const Records& records, const Auditor& auditor) -> Status {
    TRY_ASSIGN(const QueueHistory queue, read_queue_history(options.advice.history));
    audited.cluster = audit_cluster(records.history, queue, records.usage, auditor.facts(), records.catalog);
    billed = !records.history.bill.empty();
    return {};
  };
  TRY_ASSIGN(JointPlan plan, advised_plan(options.advice, "", look_at_records));
  audited.report = std::move(plan.report);
  if (billed) {
    // The weeks before may be without a rate of exchange: no reason to audit nothing.
    auto found = anomalies_in(options.advice.history, audited.report.period, CostBasis::kEffective, AnomalyOptions());
    if (found.ok())
      audited.report.anomalies = std::move(*found);
    else
      audited.report.notes.push_back("unusual days were not looked for: " + found.error().message);
  }
  std::ranges::stable_sort(audited.report.findings, std::greater(), &Finding::saving_per_month);
  return audited;
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
  add_advice_source(*command, options->advice);
  command->add_flag("--json", options->json, "print JSON (docs/schema/audit.json)");
  command->add_option("--html", options->html, "also write the report as one HTML file");
  command->add_option("--explain", options->explain, "one finding in full: evidence, arithmetic, commands")->type_name("FINDING");
  add_advice_options(*command, options->advice);
  command->callback([options, &action] {
    action = [options] {
      const Result<ExitCode> done = print_audit(*options);
      return done.ok() ? *done : fail(done.error().message);
    };
  });
}

}  // namespace stint
