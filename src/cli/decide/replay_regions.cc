// stint replay spot-regions: what a task with a deadline costs on the recorded spot capacity of many zones, on SkyNomad's protocol.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/all_cores.h"
#include "cli/decide/replay.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "codec/traces/region_trace.h"
#include "host/file.h"
#include "report/table.h"
#include "sim/regions_protocol.h"

namespace stint {
namespace {

struct RegionsOptions {
  std::string zones;
  std::string prices;
  std::string egress;
  std::vector<std::string> use;
  std::string policy;
  sim::RegionsSetup setup;
  /// The published runs turn tick 1555 into hours and back, rounded up.
  std::vector<int> starts = {0, 311, 622, 933, 1244, 1556};
  bool json = false;
};

/// A window to replay; UP does so in one zone at a time.
struct RegionsWindow {
  int64_t start_tick = 0;
  std::string zone;  ///< "" = all of them
  sched::RegionsTask task;
  sim::ZoneCapacity available;
};

struct RegionsOutcome {
  sim::RegionsRun run;
  Money cost;
  Money cost_full;
};

/// What the windows look at.
struct RegionsInput {
  ZonesTrace trace;
  std::vector<RegionsWindow> windows;
};

Status read_regions(const RegionsOptions& options, sim::RegionsChoice choice, RegionsInput& in) {
  TRY_ASSIGN(const std::string zones_text, read_all(options.zones));
  TRY_ASSIGN(in.trace, read_zones_trace(zones_text, options.zones));
  TRY_ASSIGN(const std::string prices_text, read_all(options.prices));
  TRY_ASSIGN(const std::vector<ZonePrice> prices, read_zone_prices(prices_text, options.prices));
  TRY_ASSIGN(const std::string egress_text, read_all(options.egress));
  TRY_ASSIGN(const TransferPrices transfers, read_transfer_prices(egress_text, options.egress));
  sim::RegionsSetup setup = options.setup;
  setup.zones = options.use;
  TRY_ASSIGN(const sched::RegionsTask task, sim::make_regions_task(setup, in.trace.tick_s, prices, transfers));
  if (options.starts.empty()) return invalid("--starts: expected the first tick of each window");
  for (const int start : options.starts) {
    Result<sim::ZoneCapacity> available = sim::zone_capacity(in.trace, options.use, start, setup.deadline_ticks);
    if (!available.ok())
      return invalid("{}: {}; see --use, --starts and --deadline-ticks", options.zones, available.error().message);
    if (choice != sim::RegionsChoice::kUp) {
      in.windows.push_back({start, "", task, std::move(*available)});
      continue;
    }
    for (size_t z = 0; z < options.use.size(); ++z)
      in.windows.push_back({start, options.use[z], sim::only_zone(task, z), {(*available)[z]}});
  }
  return {};
}

Result<std::vector<RegionsOutcome>> replay_windows(const RegionsInput& in, sim::RegionsChoice choice) {
  std::vector<Result<RegionsOutcome>> results(in.windows.size(), Result<RegionsOutcome>(RegionsOutcome{}));
  run_on_all_cores(in.windows.size(), [&](size_t i) {
    const RegionsWindow& window = in.windows[i];
    Result<sim::RegionsRun> run = sim::run_regions(choice, window.task, window.available);
    if (!run.ok())
      results[i] = run.error();
    else
      results[i] = RegionsOutcome{*run, sim::published_cost(*run, choice, window.task), sim::cost_of(*run, window.task)};
  });
  std::vector<RegionsOutcome> outcomes;
  for (Result<RegionsOutcome>& result : results) {
    TRY_ASSIGN(RegionsOutcome outcome, std::move(result));
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

struct RegionsSummary {
  double cost_mean = 0;
  double cost_mean_full = 0;
  int64_t missed = 0;
};

RegionsSummary summary_of(const std::vector<RegionsOutcome>& outcomes) {
  RegionsSummary s;
  for (const RegionsOutcome& o : outcomes) {
    s.cost_mean += o.cost.to_double() / static_cast<double>(outcomes.size());
    s.cost_mean_full += o.cost_full.to_double() / static_cast<double>(outcomes.size());
    s.missed += o.run.late ? 1 : 0;
  }
  return s;
}

std::string as_json(const RegionsInput& in, const std::vector<RegionsOutcome>& outcomes, const RegionsOptions& options) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < outcomes.size(); ++i) {
    nlohmann::ordered_json run = {{"start_tick", in.windows[i].start_tick}};
    if (!in.windows[i].zone.empty()) run["zone"] = in.windows[i].zone;
    run["cost"] = outcomes[i].cost.to_double();
    run["cost_full"] = outcomes[i].cost_full.to_double();
    run["migrations"] = outcomes[i].run.migrations;
    run["launches"] = outcomes[i].run.launches;
    run["late"] = outcomes[i].run.late;
    runs.push_back(std::move(run));
  }
  const RegionsSummary s = summary_of(outcomes);
  const nlohmann::ordered_json json = {
      {"policy", options.policy}, {"ratio", options.setup.ratio},       {"runs", runs},
      {"cost_mean", s.cost_mean}, {"cost_mean_full", s.cost_mean_full}, {"missed_deadlines", s.missed}};
  return json.dump(2) + "\n";
}

std::string as_text(const RegionsInput& in, const std::vector<RegionsOutcome>& outcomes, const RegionsOptions& options) {
  Table table({{"start (tick)", Align::kRight},
               {"zone", Align::kLeft},
               {"cost (USD)", Align::kRight},
               {"all ticks (USD)", Align::kRight},
               {"migrations", Align::kRight},
               {"launches", Align::kRight},
               {"deadline", Align::kLeft}});
  for (size_t i = 0; i < outcomes.size(); ++i)
    table.add_row({fmt::format("{}", in.windows[i].start_tick), in.windows[i].zone.empty() ? "any" : in.windows[i].zone,
                   fmt::format("{:.2f}", outcomes[i].cost.to_double()), fmt::format("{:.2f}", outcomes[i].cost_full.to_double()),
                   fmt::format("{}", outcomes[i].run.migrations), fmt::format("{}", outcomes[i].run.launches),
                   outcomes[i].run.late ? "missed" : "met"});
  const RegionsSummary s = summary_of(outcomes);
  return fmt::format(
      "Policy {}: deadline {} times the work, {} zones\n\n{}\nMean {:.2f} USD, with the last tick {:.2f} USD; {} of {} deadlines "
      "missed\n",
      options.policy, options.setup.ratio, options.use.size(), table.render(screen_of_stdout()), s.cost_mean, s.cost_mean_full,
      s.missed, outcomes.size());
}

Status run_spot_regions(const RegionsOptions& options) {
  TRY_ASSIGN(const sim::RegionsChoice choice, sim::parse_regions_choice(options.policy));
  RegionsInput in;
  TRY(read_regions(options, choice, in));
  TRY_ASSIGN(const std::vector<RegionsOutcome> outcomes, replay_windows(in, choice));
  return write_output("", options.json ? as_json(in, outcomes, options) : as_text(in, outcomes, options));
}

}  // namespace

void add_replay_regions_command(Command& replay, Action& action) {
  auto options = std::make_shared<RegionsOptions>();
  Command* command = replay.add_subcommand(
      "spot-regions", "A task with a deadline on recorded spot capacity of many zones: what does a policy cost?");
  command->add_option("--zones", options->zones, "recorded capacity: tick,time_utc and a column per zone (CSV, may be .gz)")
      ->required();
  command->add_option("--prices", options->prices, "zone,region,spot_usd_per_hour,on_demand_usd_per_hour (CSV, may be .gz)")
      ->required();
  command->add_option("--egress", options->egress, "from_region,to_region,usd_per_gb (CSV, may be .gz)")->required();
  command->add_option("--use", options->use, "zones, separated by commas; the earlier one goes first among equals")
      ->required()
      ->delimiter(',');
  command->add_option("--ratio", options->setup.ratio, "deadline over work, above 1")->required();
  command->add_option("--policy", options->policy, "how capacity is chosen; optimal knows the future, up knows its one zone")
      ->required()
      ->check(one_of({"up", "up-s", "up-a", "up-ap", "optimal", "stint"}));
  command->add_option("--starts", options->starts, "first ticks of the windows, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--deadline-ticks", options->setup.deadline_ticks, "from the beginning of a window")->capture_default_str();
  command->add_option("--changeover-seconds", options->setup.changeover_s, "paid, without work, whenever a machine starts")
      ->capture_default_str();
  command->add_option("--checkpoint-gb", options->setup.checkpoint_gb, "moved when the next machine is in another region")
      ->capture_default_str();
  command->add_flag("--json", options->json, "as JSON");
  command->footer(
      "Example: stint replay spot-regions --zones zones.csv.gz --prices prices.csv --egress egress.csv "
      "--use us-central1-a,us-west1-a,europe-west1-c --ratio 1.2 --policy stint");
  command->callback([options, &action] {
    action = [options] {
      const Status done = run_spot_regions(*options);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
