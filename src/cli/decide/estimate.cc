// stint estimate: what the GPU machines of a Terraform plan would cost, before they are bought; a gate for pull requests.
#include <fmt/format.h>
#include <algorithm>

#include <memory>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/decide/catalog_source.h"
#include "cli/decide/plan_fleet.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "codec/bills/terraform_plan.h"
#include "host/clock.h"
#include "host/file.h"
#include "report/estimate_view.h"

namespace stint {
namespace {

struct EstimateArguments {
  std::string plan;
  PlanFleetOptions fleet;  // history may be empty
  std::string region;
  std::string budget;
  std::string most_more;
  std::vector<std::string> quotas;
  std::string format = "table";
  std::string output;
  bool json = false;
};

Result<std::optional<Money>> monthly_limit(const char* option, const std::string& text, Currency currency) {
  if (text.empty()) return std::optional<Money>();
  const auto amount = Money::parse(text, currency);
  if (!amount.ok() || amount->count_nanos() < 0)
    return invalid("{} '{}': write an amount a month in {}, such as 20000", option, excerpt(text), currency.code());
  return std::optional(*amount);
}

/// "H100=16" by the catalogue's names of GPUs.
Result<std::map<std::string, int64_t>> quotas_of(const std::vector<std::string>& texts, const Catalog& catalog) {
  std::map<std::string, int64_t> quotas;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto most = equals == std::string::npos ? std::nullopt : parse_int(std::string_view(text).substr(equals + 1));
    if (!most || *most < 0) return invalid("--quota '{}': write a GPU model and how many, such as H100-80GB=16", excerpt(text));
    const GpuFacts* const gpu = catalog.find_gpu(name);
    if (gpu == nullptr) return invalid("--quota '{}' is not in the catalogue; see stint catalog gpus", excerpt(name));
    quotas[gpu->model] = *most;
  }
  return quotas;
}

Result<FleetToday> fleet_today(const PlanFleetOptions& options) {
  TRY_ASSIGN(const auto fleet, PlanFleet::open(options));
  const FleetView view = fleet->view();
  FleetToday today;
  today.gpu_machines = Money::nanos(0, fleet->facts().currency);
  for (const NodeFacts& node : fleet->facts().nodes) {
    if (node.gpu_count == 0) continue;
    today.gpu_machines += view.books.of(node.id).monthly;
    if (!node.timeline.empty() && node.timeline.back().on_s > 0) today.gpus[node.gpu_model] += node.gpu_count;
  }
  return today;
}

Result<EstimateView> estimate_of(const EstimateArguments& a) {
  EstimateView view;
  view.source = a.plan;
  TRY_ASSIGN(const std::string bytes, read_all(a.plan));
  TRY_ASSIGN(const InfrastructurePlan plan, read_terraform_plan(bytes, a.plan));
  TRY_ASSIGN(const Catalog catalog, open_catalog(a.fleet.history));
  TRY_ASSIGN(view.estimate, estimate_plan(catalog, plan, a.region));
  if (!a.fleet.history.empty()) {
    TRY_ASSIGN(view.today, fleet_today(a.fleet));
  }
  const Currency currency = view.estimate.after.currency();
  EstimateLimits limits;
  TRY_ASSIGN(limits.budget, monthly_limit("--budget", a.budget, currency));
  TRY_ASSIGN(limits.most_more, monthly_limit("--max-increase", a.most_more, currency));
  TRY_ASSIGN(limits.quota, quotas_of(a.quotas, catalog));
  TRY_ASSIGN(view.verdicts, judge_estimate(view.estimate, view.today, limits));
  return view;
}

void warn_of_old_prices(const Estimate& estimate) {
  size_t stale = 0, shown = 0;
  for (const EstimateLine& line : estimate.lines)
    if (line.after) {
      ++shown;
      stale += is_stale(line.after->price, now()) ? 1U : 0U;
    }
  warn_of_stale_prices(stale, shown);
}

ExitCode run_estimate(const EstimateArguments& a) {
  const auto view = estimate_of(a);
  if (!view.ok()) return fail(view.error().message);
  const std::string format = a.json ? "json" : a.format;
  const std::string text = format == "json"       ? estimate_json(*view)
                           : format == "markdown" ? estimate_comment(*view)
                                                  : estimate_text(*view, a.output.empty() ? screen_of_stdout() : Screen());
  if (const Status written = write_output(a.output, text); !written.ok()) return fail(written.error().message);
  warn_of_old_prices(view->estimate);
  const bool hold = std::ranges::all_of(view->verdicts, &LimitVerdict::holds);
  return hold && view->sums_are_whole() ? ExitCode::kOk : ExitCode::kPartly;
}

}  // namespace

void add_estimate_command(Command& app, Action& action) {
  auto a = std::make_shared<EstimateArguments>();
  Command* command = app.add_subcommand("estimate", "Says what the GPU machines of a Terraform plan would cost, before they run");
  command->footer(
      "Exit code 3 where a limit fails, or a machine with GPUs has no price.\n"
      "Example: terraform show -json plan.out > plan.json; stint estimate plan.json --budget 20000 --format markdown");
  command->add_option("plan", a->plan, "the plan, as `terraform show -json` writes it")->required()->check(existing_file());
  command->add_option("--history", a->fleet.history, "the fleet as it is: its cost is shown beside, and its prices are used");
  add_period_options(*command, a->fleet.period);
  command->add_option("--region", a->region, "where the plan names no region");
  command->add_option("--budget", a->budget, "per month, for all GPU machines (with --history: of the whole fleet)");
  command->add_option("--max-increase", a->most_more, "per month, at most so much more than before");
  command->add_option("--quota", a->quotas, "GPUs at most, such as H100-80GB=16; several by commas")->delimiter(',');
  command->add_option("--format", a->format, "table, json, or markdown: a comment for a pull request")
      ->check(one_of({"table", "json", "markdown"}))
      ->capture_default_str();
  command->add_flag("--json", a->json, "the same as --format json");
  command->add_option("-o,--output", a->output, "write to this file");
  command->callback([a, &action] { action = [a] { return run_estimate(*a); }; });
}

}  // namespace stint
