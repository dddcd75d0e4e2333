#include "cli/replay_input.h"

#include "cli/accounts.h"
#include "cli/job_trace_file.h"
#include "codec/workload_file.h"
#include "host/file.h"
#include "sim/fleet_text.h"
#include "sim/history_workload.h"
#include "sim/trace_workload.h"

namespace stint {
namespace {

std::vector<std::string> notes_of(const sim::HistoryWorkload& made) {
  std::vector<std::string> notes;
  for (const auto& [reason, count] : made.left_out)
    notes.push_back(fmt::format("left out: {} {}", count, reason));
  if (made.nodes_without_price > 0)
    notes.push_back(
        fmt::format("{} nodes have no known price and count as free: the money is too low", made.nodes_without_price));
  notes.emplace_back("work that only telemetry shows has no submission and no length: it is not replayed");
  notes.emplace_back(
      "assumed: jobs that can save do so every hour (1 min), restarting takes 5 min; serving and notebooks are not preempted");
  return notes;
}

/// The same jobs on other machines; nothing when no fleet is named.
Status move_to_fleet(ReplayInput& input, const std::string& fleet) {
  if (fleet.empty()) return {};
  TRY_ASSIGN(input.workload.nodes, sim::parse_fleet(fleet, input.catalog));
  // On another fleet the model a job once ran on is no condition.
  for (sched::Request& request : input.workload.requests)
    request.gpu_models.clear();
  if (!input.workload.outages.empty()) {
    input.notes.push_back(fmt::format("left out: {} outages of the machines that were there", input.workload.outages.size()));
    input.workload.outages.clear();
  }
  input.workload.prices.clear();
  input.source += ", on " + fleet;
  input.notes.emplace_back("jobs run as long on the other fleet as they did: differences in speed are not counted");
  return {};
}

Result<ReplayInput> input_from_history(const ReplayInputOptions& options) {
  TRY_ASSIGN(const Interval period, parse_period(options.period));
  TRY_ASSIGN(const Records records, load_records(options.history, period));
  const auto price_of = [&](const Node& node) -> std::optional<Rate> {
    const Market market = node.market == Market::kUnknown ? Market::kOnDemand : node.market;
    const Result<PriceRow> price = records.catalog.price(
        {.provider = node.provider, .instance_type = node.instance_type, .region = node.region, .market = market});
    if (!price.ok()) return std::nullopt;
    return price->rate;
  };
  TRY_ASSIGN(sim::HistoryWorkload made, sim::workload_of(records.history, price_of));
  ReplayInput input{.workload = std::move(made.workload), .source = "", .notes = notes_of(made)};
  input.source = fmt::format("{}, {} to {}", options.history, format_date(records.history.period.begin),
                             format_date(records.history.period.end));
  input.catalog = records.catalog;
  TRY(move_to_fleet(input, options.fleet));
  return input;
}

Result<ReplayInput> input_from_trace(const ReplayInputOptions& options) {
  if (options.fleet.empty()) return invalid("--jobs needs --fleet: the trace names no machines (say --fleet 16x8)");
  TRY_ASSIGN(const JobTrace trace, read_job_trace(options.jobs));
  TRY_ASSIGN(std::vector<sim::SimNode> fleet, sim::parse_fleet(options.fleet, Catalog::built_in()));
  TRY_ASSIGN(sim::Workload workload, sim::workload_of(trace, std::move(fleet)));
  ReplayInput input{.workload = std::move(workload), .source = options.jobs + ", on " + options.fleet, .notes = {}};
  input.notes.emplace_back("assumed: jobs save every hour and when told to leave (1 min), and take 5 min to restart");
  return input;
}

Result<ReplayInput> input_from_workload(const ReplayInputOptions& options) {
  TRY_ASSIGN(InputFile file, InputFile::open(options.workload));
  WorkloadReader reader(options.workload);
  while (true) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) break;
    TRY(reader.feed(piece));
  }
  ReplayInput input{.workload = {}, .source = options.workload, .notes = {}};
  TRY_ASSIGN(input.workload, reader.finish());
  TRY(move_to_fleet(input, options.fleet));
  return input;
}

}  // namespace

Result<ReplayInput> read_replay_input(const ReplayInputOptions& options) {
  if (!options.workload.empty()) return input_from_workload(options);
  return options.history.empty() ? input_from_trace(options) : input_from_history(options);
}

}  // namespace stint
