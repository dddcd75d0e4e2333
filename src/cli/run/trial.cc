// stint trial: what a trial of a study tells at a rung, and how the trials of a study stand.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
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

struct TrialOptions {
  ClientOptions daemon;
  std::string study, job, loss;
  int rung = 0;
};

Status report_trial(DaemonClient& client, const TrialOptions& options) {
  std::string id = options.job;
  if (const char* own = std::getenv("STINT_JOB"); id.empty() && own != nullptr) id = own;
  if (id.empty()) return invalid("give the trial's id; inside of the job itself STINT_JOB says it");
  const auto loss = parse_number(options.loss);
  if (!loss)
    return invalid("--loss '{}': give a number, smaller is better; of a trial that diverged a great one", excerpt(options.loss));
  TRY_ASSIGN(const Json job,
             client.send("POST", fmt::format("/v1/jobs/{}/trial", escape_url(id)), {{"rung", options.rung}, {"loss", *loss}}));
  if (options.daemon.json) return print_json(job);
  return write_text(fmt::format("job {}: {}\n", text_of(job["id"]), text_of(job["state"])));
}

/// Of all pages.
Result<std::vector<Json>> trials_of(DaemonClient& client, const std::string& study) {
  std::vector<Json> trials;
  for (std::string cursor;;) {
    TRY_ASSIGN(const Json page, client.get(with_query("/v1/jobs", {{"study", study}, {"limit", "1000"}, {"cursor", cursor}})));
    for (const Json& job : page["jobs"])
      trials.push_back(job);
    if (page["next"].is_null()) return trials;
    cursor = text_of(page["next"]);
  }
}

Status list_trials(DaemonClient& client, const TrialOptions& options) {
  TRY_ASSIGN(std::vector<Json> trials, trials_of(client, options.study));
  // Furthest first, then the best there; the older of two alike.
  std::ranges::reverse(trials);
  const auto standing = [](const Json& job) {
    const Json& reports = job["trial"]["reports"];
    return reports.empty() ? std::pair(1, 0.0)
                           : std::pair(-reports.back()["rung"].get<int>(), reports.back()["loss"].get<double>());
  };
  std::ranges::stable_sort(trials, {}, standing);
  if (options.daemon.json) return print_json({{"study", options.study}, {"trials", std::move(trials)}});
  Table table({{"id"},
               {"name", Align::kLeft, 28},
               {"state"},
               {"rung", Align::kRight},
               {"reached", Align::kRight, 0, 2},
               {"loss", Align::kRight},
               {"why", Align::kLeft, 60, 1}});
  for (const Json& job : trials) {
    const Json& reports = job["trial"]["reports"];
    const Json last = reports.empty() ? Json() : reports.back();
    const auto of_last = [&last](const char* field) { return last.is_null() ? std::string() : last[field].dump(); };
    const size_t rungs = job["trial"]["rungs"].size();
    table.add_row({text_of(job["id"]), text_of(job["name"]), text_of(job["state"]),
                   last.is_null() ? "" : fmt::format("{} of {}", last["rung"].get<int>(), rungs - 1), of_last("reached"),
                   of_last("loss"), text_of(job["reason"])});
  }
  return write_output("", table.empty() ? fmt::format("no trials of a study '{}' that you see\n", options.study)
                                        : table.render(screen_of_stdout()));
}

}  // namespace

void add_trial_command(Command& app, Action& action) {
  auto options = std::make_shared<TrialOptions>();
  Command* trial = app.add_subcommand("trial", "Trials of a search: report how good one is, and see how they stand");
  trial->require_subcommand(1);
  Command* report = add_client_command(*trial, action, options, "report",
                                       "A trial has reached a rung; when enough have and it is not among the best, it is stopped",
                                       report_trial);
  options->daemon.tells_of_job = true;
  report->add_option("job", options->job, "the trial; else STINT_JOB");
  report->add_option("--rung", options->rung, "which, from 0")->required();
  report->add_option("--loss", options->loss, "how good it is there: smaller is better")->required();
  Command* list = add_client_command(*trial, action, options, "list", "Trials of a study, furthest and best first", list_trials);
  list->add_option("study", options->study, "as named by `stint submit --study`")->required();
  trial->footer(
      "Example: stint submit --study lr --rung-last 27 --array 9 -- ./train.sh; stint trial report --rung 0 --loss 0.42");
}

}  // namespace stint
