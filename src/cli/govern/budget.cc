// stint budget, approval and share: what may be spent, who lets it be spent, and who has what part of the fleet.
#include <fmt/format.h>

#include <array>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "report/table.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

struct BudgetOptions {
  ClientOptions daemon;
  std::string name, queue, project, per_month, at_limit, reason;
  std::vector<int> thresholds;
  bool remove = false;
  std::vector<std::string> jobs;
};

/// Of two amounts of one currency, for a reader.
std::string percent_of(const Json& part, const Json& whole) {
  const auto amount = [](const Json& money) { return parse_number(text_of(money["amount"])).value_or(0); };
  return amount(whole) > 0 ? fmt::format("{:.1f}", 100 * amount(part) / amount(whole)) : "";
}

std::string gpus_or_nothing(const Json& milli) {
  return milli.is_null() ? "" : fmt::format("{:g}", static_cast<double>(milli.get<int64_t>()) / 1e3);
}

void add_budget_row(Table& table, const Json& budget) {
  const bool over = budget["forecast_over"].get<bool>();
  const int reached = budget["reached_percent"].get<int>();
  table.add_row({text_of(budget["name"]), text_of(budget["queue"]).empty() ? "(all)" : text_of(budget["queue"]),
                 text_of(budget["project"]), text_of(budget["month"]), money_of(budget["per_month"]), money_of(budget["spent"]),
                 percent_of(budget["spent"], budget["per_month"]), money_of(budget["promised"]),
                 reached > 0 ? fmt::format("{} %", reached) : "", money_of(budget["burn_per_hour"]),
                 money_of(budget["month_end"]),
                 !over                          ? "within"
                 : budget["runs_out"].is_null() ? "over"
                                                : "runs out " + time_of(budget["runs_out"]),
                 text_of(budget["at_limit"])});
  table.tone_cell(11, over ? Tone::kBad : Tone::kGood);
}

Table budget_table() {
  return Table({{"budget"},
                {"queue", Align::kLeft, 28, 3},
                {"project", Align::kLeft, 20, 5},
                {"month", Align::kLeft, 0, 2},
                {"per month", Align::kRight},
                {"spent", Align::kRight},
                {"%", Align::kRight},
                {"promised", Align::kRight, 0, 1},
                {"reached", Align::kRight, 0, 6},
                {"an hour now", Align::kRight, 0, 1},
                {"at month's end", Align::kRight, 0, 2},
                {"forecast"},
                {"at limit", Align::kLeft, 0, 4}});
}

Status list_budgets(DaemonClient& client, const BudgetOptions& options) {
  TRY_ASSIGN(const Json body, client.get("/v1/budgets"));
  if (options.daemon.json) return print_json(body);
  Table table = budget_table();
  for (const Json& budget : body["budgets"])
    add_budget_row(table, budget);
  return write_output("", table.empty() ? "no budgets\n" : table.render(screen_of_stdout()));
}

Status show_budget(DaemonClient& client, const BudgetOptions& options) {
  TRY_ASSIGN(const Json budget, client.get("/v1/budgets/" + escape_url(options.name)));
  if (options.daemon.json) return print_json(budget);
  Table table = budget_table();
  add_budget_row(table, budget);
  return write_output("", table.render(screen_of_stdout()));
}

Status set_budget(DaemonClient& client, const BudgetOptions& options) {
  const std::string path = "/v1/budgets/" + escape_url(options.name);
  if (options.remove) {
    TRY_ASSIGN(const Json removed, client.send("DELETE", path, nullptr));
    return options.daemon.json ? print_json(removed) : write_output("", fmt::format("budget {} removed\n", options.name));
  }
  if (options.per_month.empty()) return invalid("give --per-month AMOUNT, or --remove");
  Json wish = {{"per_month", options.per_month}};
  if (!options.queue.empty()) wish["queue"] = options.queue;
  if (!options.project.empty()) wish["project"] = options.project;
  if (!options.at_limit.empty()) wish["at_limit"] = options.at_limit;
  if (!options.thresholds.empty()) wish["thresholds"] = options.thresholds;
  TRY_ASSIGN(const Json budget, client.send("PUT", path, wish));
  if (options.daemon.json) return print_json(budget);
  Table table = budget_table();
  add_budget_row(table, budget);
  return write_output("", table.render(screen_of_stdout()));
}

Status list_approvals(DaemonClient& client, const BudgetOptions& options) {
  TRY_ASSIGN(const Json body, client.get("/v1/approvals"));
  if (options.daemon.json) return print_json(body);
  Table table({{"id"},
               {"name", Align::kLeft, 28},
               {"queue", Align::kLeft, 28, 2},
               {"user", Align::kLeft, 16, 1},
               {"submitted (UTC)", Align::kLeft, 0, 3},
               {"at most", Align::kRight},
               {"why", Align::kLeft, 80}});
  for (const Json& job : body["jobs"])
    table.add_row({text_of(job["id"]), text_of(job["name"]), text_of(job["queue"]), text_of(job["user"]),
                   time_of(job["submitted"]), money_of(job["approval"]["most_cost"]), text_of(job["approval"]["why"])});
  return write_output("", table.empty() ? "nothing waits for approval\n" : table.render(screen_of_stdout()));
}

Status decide(DaemonClient& client, const BudgetOptions& options, const char* what, const Json& body) {
  Json changed = Json::array();
  for (const std::string& id : options.jobs) {
    TRY_ASSIGN(Json job, client.send("POST", fmt::format("/v1/jobs/{}/{}", escape_url(id), what), body));
    if (!options.daemon.json)
      say("{} {}: {}\n", job.contains("array") && !job["array"].contains("index") ? "array" : "job", text_of(job["id"]),
          text_of(job["state"]));
    changed.push_back(std::move(job));
  }
  return options.daemon.json ? print_json({{"jobs", std::move(changed)}}) : Status();
}

Status approve(DaemonClient& client, const BudgetOptions& options) { return decide(client, options, "approve", nullptr); }
Status refuse(DaemonClient& client, const BudgetOptions& options) {
  return decide(client, options, "refuse", {{"reason", options.reason}});
}

/// What each queue is guaranteed, holds and has used: who has what part of the fleet.
Status show_shares(DaemonClient& client, const BudgetOptions& options) {
  TRY_ASSIGN(const Json body, client.get("/v1/queues"));
  if (options.daemon.json) return print_json(body);
  int64_t held = 0;
  for (const Json& queue : body["queues"])
    if (text_of(queue["parent"]).empty()) held += queue["held_gpu_milli"].get<int64_t>();
  Table table({{"queue"},
               {"guaranteed", Align::kRight},
               {"limit", Align::kRight, 0, 2},
               {"weight", Align::kRight, 0, 3},
               {"GPUs held", Align::kRight},
               {"% of those held", Align::kRight, 0, 1},
               {"GPU-hours this month", Align::kRight},
               {"waiting", Align::kRight, 0, 1}});
  for (const Json& queue : body["queues"]) {
    const auto own = queue["held_gpu_milli"].get<int64_t>();
    table.add_row({text_of(queue["path"]), gpus_or_nothing(queue["deserved_gpu_milli"]),
                   gpus_or_nothing(queue["limit_gpu_milli"]), fmt::format("{:g}", queue["weight"].get<double>()),
                   gpus_or_nothing(queue["held_gpu_milli"]),
                   held > 0 ? fmt::format("{:.1f}", 100.0 * static_cast<double>(own) / static_cast<double>(held)) : "",
                   fmt::format("{:.1f}", queue["month_gpu_hours"].get<double>()), text_of(queue["waiting"])});
  }
  return write_output("", table.render(screen_of_stdout()));
}

std::array<Command*, 2> add_decisions(Command& parent, Action& action, const std::shared_ptr<BudgetOptions>& options) {
  Command* yes = add_client_command(parent, action, options, "approve", "Let jobs that need approval wait for room", approve);
  yes->add_option("job", options->jobs, "ids")->required();
  Command* no = add_client_command(parent, action, options, "refuse", "End jobs that need approval", refuse);
  no->add_option("job", options->jobs, "ids")->required();
  no->add_option("--reason", options->reason, "for whoever asked");
  return {yes, no};
}

}  // namespace

void add_budget_commands(Command& app, Action& action) {
  auto options = std::make_shared<BudgetOptions>();
  Command* budget = app.add_subcommand(
      "budget", "Budgets of a month: what is spent, promised and left; the daemon's, and a file's against bills");
  budget->require_subcommand(1);
  add_client_command(*budget, action, options, "list", "Those you see", list_budgets);
  Command* show = add_client_command(*budget, action, options, "show", "One", show_budget);
  show->add_option("name", options->name, "the budget")->required()->type_name("BUDGET");
  Command* set = add_client_command(*budget, action, options, "set",
                                    "Make or change one that the configuration does not have; for operators", set_budget);
  set->add_option("name", options->name, "the budget")->required()->type_name("BUDGET");
  set->add_option("--per-month", options->per_month, "amount for each calendar month (UTC), in the currency of the machines");
  set->add_option("--queue", options->queue, "that pays for this queue and those below it; else for all");
  set->add_option("--project", options->project, "for jobs with this tag `project` alone");
  set->add_option("--threshold", options->thresholds,
                  "percent at which an event tells; 50, 80 and 100 when not given; repeatable")
      ->allow_extra_args(false);
  set->add_option("--at-limit", options->at_limit, "what becomes of a job that would overrun it: refuse, approve or warn")
      ->check(one_of({"refuse", "approve", "warn"}));
  set->add_flag("--remove", options->remove, "it is no more");
  add_budget_check_command(*budget, action);
  budget->footer("Example: stint budget set vision --queue agency/vision --per-month 5000 --at-limit approve");
  Command* approval = app.add_subcommand("approval", "Jobs that wait for approval: list, approve and refuse them");
  approval->require_subcommand(1);
  approval->footer("Example: stint approval approve agency-17");
  add_client_command(*approval, action, options, "list", "Jobs that wait for approval", list_approvals);
  add_decisions(*approval, action, options);
  // Their names before there was `stint approval`.
  add_client_command(app, action, options, "approvals", "Jobs that wait for approval", list_approvals)->group("");
  for (Command* earlier : add_decisions(app, action, options))
    earlier->group("");
  add_client_command(app, action, options, "share", "Queues' shares of the fleet: guaranteed, held, used", show_shares);
}

}  // namespace stint
