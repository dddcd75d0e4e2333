#include "cli/decide/replay_input.h"

#include "advise/audit.h"
#include "advise/node_facts.h"
#include "advise/prove/proof_workload.h"
#include "base/counted.h"
#include "cli/decide/job_trace_file.h"
#include "cli/govern/accounts.h"
#include "codec/traces/openb.h"
#include "documents/workload_file.h"
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
        counted(made.nodes_without_price, "node has no known price and counts", "nodes have no known price and count") +
        " as free: the money is too low");
  notes.emplace_back("work that only telemetry shows has no submission and no length: it is not replayed");
  notes.emplace_back(
      "assumed: jobs that can save do so every hour (1 min), restarting takes 5 min; serving and notebooks are not preempted");
  return notes;
}

/// Machines in words, or from an openb node list.
Result<sim::Fleet> read_fleet(const ReplayInputOptions& options, const Catalog& catalog) {
  const std::string& text = options.fleet;
  if (!text.ends_with(".csv") && !text.ends_with(".csv.gz")) {
    TRY_ASSIGN(sim::Fleet fleet, sim::parse_elastic_fleet(text, catalog));
    if (options.provisioning.empty()) return fleet;
    TRY_ASSIGN(const Duration provisioning, parse_duration(options.provisioning));
    if (provisioning < Duration()) return invalid("--provisioning {}: use a duration such as 5m", options.provisioning);
    for (sim::NodePool& pool : fleet.pools)
      pool.provisioning = provisioning;
    return fleet;
  }
  TRY_ASSIGN(const std::string bytes, read_all(text));
  TRY_ASSIGN(const std::vector<PodTraceNode> listed, read_openb_nodes(bytes, text));
  sim::Fleet fleet;
  for (const PodTraceNode& node : listed) {
    if (node.gpus == 0) continue;
    if (node.gpus > sched::kMaxGpusPerNode) return invalid("{}: node '{}' has {} GPUs", text, node.name, node.gpus);
    sim::SimNode sim;
    sim.node.name = node.name;
    sim.node.gpu_model = node.gpu_model;
    sim.node.gpus = node.gpus;
    sim.node.cpu_milli = node.cpu_milli;
    sim.node.memory = node.memory;
    fleet.nodes.push_back(std::move(sim));
  }
  if (fleet.nodes.empty()) return invalid("{}: no node with GPUs in it", text);
  return fleet;
}

/// The same jobs on other machines; nothing when no fleet is named.
Status move_to_fleet(ReplayInput& input, const ReplayInputOptions& options) {
  const std::string& fleet = options.fleet;
  if (fleet.empty()) return {};
  TRY_ASSIGN(sim::Fleet made, read_fleet(options, input.catalog));
  input.workload.nodes = std::move(made.nodes);
  input.workload.pools = std::move(made.pools);
  // On another fleet the model a job once ran on is no condition.
  for (sched::Request& request : input.workload.requests)
    request.gpu_models.clear();
  if (!input.workload.outages.empty()) {
    input.notes.push_back(
        fmt::format("left out: {} of the machines that were there", counted(input.workload.outages.size(), "outage")));
    input.workload.outages.clear();
  }
  input.workload.prices.clear();
  input.source += ", on " + fleet;
  input.notes.emplace_back("jobs run as long on the other fleet as they did: differences in speed are not counted");
  return {};
}

/// What an audit proves its advice on, so that a change of its has the same answer here.
Result<ReplayInput> input_as_audited(const Records& records) {
  const AuditInput audited{records.history, records.usage, records.catalog, records.history.period.end, {}};
  TRY_ASSIGN(const Auditor auditor, Auditor::create(audited));
  const FleetFacts& facts = auditor.facts();
  TRY_ASSIGN(ProofWorkload made, proof_workload(records.history, facts));
  ReplayInput input{.workload = std::move(made.workload), .source = "", .notes = std::move(made.notes)};
  input.left_out = std::move(made.left_out);
  input.left_out_nodes = std::move(made.left_out_nodes);
  for (const NodeFacts& node : facts.nodes)
    input.spot_between_of[node.name] =
        interruption_model(facts.spot.rate({node.provider, node.region, node.zone, node.instance_type}).mean()).mean_between;
  return input;
}

Result<ReplayInput> input_of_recorded_jobs(const Records& records) {
  const auto price_of = [&](const Node& node) -> std::optional<Rate> {
    const Market market = node.market == Market::kUnknown ? Market::kOnDemand : node.market;
    const Result<PriceRow> price = records.catalog.price(
        {.provider = node.provider, .instance_type = node.instance_type, .region = node.region, .market = market});
    if (!price.ok()) return std::nullopt;
    return price->rate;
  };
  TRY_ASSIGN(sim::HistoryWorkload made, sim::workload_of(records.history, price_of));
  return ReplayInput{.workload = std::move(made.workload), .source = "", .notes = notes_of(made)};
}

Result<ReplayInput> input_from_history(const ReplayInputOptions& options) {
  TRY_ASSIGN(const Interval period, parse_period(options.period));
  TRY_ASSIGN(const Records records, load_records(options.history, period));
  // On other machines what telemetry shows of these has no place to run.
  const bool recorded_alone = options.only_recorded_jobs || !options.fleet.empty();
  TRY_ASSIGN(ReplayInput input, recorded_alone ? input_of_recorded_jobs(records) : input_as_audited(records));
  input.source = fmt::format("{}, {} to {}", options.history, format_date(records.history.period.begin),
                             format_date(records.history.period.end));
  input.catalog = records.catalog;
  TRY(move_to_fleet(input, options));
  return input;
}

Result<ReplayInput> input_from_trace(const ReplayInputOptions& options) {
  if (options.fleet.empty()) return invalid("--jobs needs --fleet: the trace names no machines (say --fleet 16x8)");
  TRY_ASSIGN(const JobTraceFile file, read_job_trace(options.jobs, options.jobs_format));
  TRY_ASSIGN(sim::Fleet fleet, read_fleet(options, Catalog::built_in()));
  TRY_ASSIGN(sim::TraceWorkload made, sim::workload_of(file.trace, std::move(fleet.nodes)));
  made.workload.pools = std::move(fleet.pools);
  ReplayInput input{.workload = std::move(made.workload), .source = options.jobs + ", on " + options.fleet, .notes = file.notes};
  if (made.of_no_length > 0) input.notes.push_back(fmt::format("left out: {} of no length", counted(made.of_no_length, "job")));
  if (made.models_unknown > 0)
    input.notes.push_back(counted(made.models_unknown, "job asks", "jobs ask") +
                          " for GPU models that the fleet does not have: any will do");
  if (made.services > 0)
    input.notes.push_back(counted(made.services, "job answers", "jobs answer") + " requests: no other job stops them");
  input.notes.emplace_back("assumed: jobs save every hour and when asked to leave (1 min), and take 5 min to restart");
  return input;
}

Result<ReplayInput> input_from_workload(const ReplayInputOptions& options, const std::string& path) {
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  WorkloadReader reader(path);
  while (true) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) break;
    TRY(reader.feed(piece));
  }
  ReplayInput input{.workload = {}, .source = path, .notes = {}};
  TRY_ASSIGN(input.workload, reader.finish());
  TRY(move_to_fleet(input, options));
  return input;
}

}  // namespace

Result<ReplayInput> read_replay_input(const ReplayInputOptions& options) {
  if (!options.workload.empty()) return input_from_workload(options, options.workload);
  if (!options.jobs.empty() && options.jobs_format.empty() && is_workload_file(options.jobs))
    return input_from_workload(options, options.jobs);
  return options.history.empty() ? input_from_trace(options) : input_from_history(options);
}

}  // namespace stint
