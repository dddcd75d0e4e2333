// stint profile: runs a command and watches the GPUs while it runs.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "advise/audit_report.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "collect/gpu_profile.h"
#include "collect/gpu_sampler.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/process.h"
#include "store/history_file.h"

namespace stint {
namespace {

struct ProfileArguments {
  std::vector<std::string> command;
  std::string interval = "1s";
  std::string history, node;
  std::string nvml_library = Nvml::kLibrary;
  bool json = false;
};

struct ProfiledRun {
  ExitStatus status;
  Instant started;
  Instant ended;
  std::string source;    ///< of the samples; "" = no GPU telemetry
  std::string why_none;  ///< when there is none, or where it broke off
  GpuProfile profile{{}};
};

/// Runs the command to its end, looking at the GPUs every `interval`: at once, and a last time is never forced.
Result<ProfiledRun> run(const ProfileArguments& arguments, Duration interval) {
  ProfiledRun run;
  auto sampler = GpuSampler::open({.nvml_library = arguments.nvml_library});
  if (sampler.ok()) {
    run.source = (*sampler)->source();
    run.profile = GpuProfile((*sampler)->gpus());
  } else {
    run.why_none = sampler.error().message;
    tell("stint: no GPU telemetry: {}\n", run.why_none);
  }
  run.started = now();
  TRY_ASSIGN(ChildProcess child, ChildProcess::start(arguments.command));
  // Looks keep to the grid of the interval, however long one takes.
  for (Instant next = run.started;;) {
    next = std::max(next + interval, now());
    const auto ended = child.wait_for(sampler.ok() ? next - now() : kHour);
    if (ended) {
      run.status = *ended;
      break;
    }
    if (!sampler.ok()) continue;
    auto readings = (*sampler)->read();
    if (readings.ok()) {
      run.profile.add(now(), std::move(readings).value());
    } else {
      run.why_none = readings.error().message;
    }
  }
  run.ended = now();
  return run;
}

UtilizationVerdict verdict_of(const GpuSummary& summary) {
  return summary.utilization_pct ? utilization_verdict(summary.utilization_pct->mean) : UtilizationVerdict::kUnknown;
}

std::string_view advice_for(UtilizationVerdict verdict) {
  switch (verdict) {
    case UtilizationVerdict::kUnknown: return "no telemetry";
    case UtilizationVerdict::kOverProvisioned: return "over-provisioned: a smaller or shared GPU would do";
    case UtilizationVerdict::kUnderUtilised: return "under-utilised: investigate the bottleneck";
    case UtilizationVerdict::kWellUsed: return "well used";
  }
  CHECK(false, "verdict {}", static_cast<int>(verdict));
}

double gibi(double bytes) { return bytes / (1 << 30); }

void print(const ProfiledRun& run) {
  tell("stint: {:.1f} s, exit code {}", (run.ended - run.started).to_seconds(), run.status.shell_code());
  if (run.source.empty()) {
    tell("; no GPU telemetry\n");
    return;
  }
  tell("; {} looks through {}\n", run.profile.looks(), run.source);
  if (!run.why_none.empty()) tell("stint: some looks failed: {}\n", run.why_none);
  if (run.profile.looks() == 0) {
    tell("stint: it ended before the first look: give a shorter --interval\n");
    return;
  }
  tell("{:>3}  {:<26} {:>7} {:>20} {:>26} {:>14}\n", "GPU", "model", "samples", "util % mean/p50/p95", "VRAM GiB p95/peak/total",
       "W mean/max");
  for (const GpuSummary& s : run.profile.summaries()) {
    const auto utilization = s.utilization_pct ? fmt::format("{:.1f} / {:.0f} / {:.0f}", s.utilization_pct->mean,
                                                             s.utilization_pct->p50, s.utilization_pct->p95)
                                               : std::string("not known");
    const auto memory = s.memory_used_bytes
                            ? fmt::format("{:.1f} / {:.1f} / {}", gibi(s.memory_used_bytes->p95), gibi(s.memory_used_bytes->max),
                                          s.memory_total ? fmt::format("{:.1f}", s.memory_total->to_gibi()) : "?")
                            : std::string("not known");
    const auto power = s.power_w ? fmt::format("{:.0f} / {:.0f}", s.power_w->mean, s.power_w->max) : std::string("not known");
    tell("{:>3}  {:<26} {:>7} {:>20} {:>26} {:>14}\n", s.gpu.index, s.gpu.name, s.samples, utilization, memory, power);
    tell("     {}\n", advice_for(verdict_of(s)));
  }
}

nlohmann::json to_json(const std::optional<Distribution>& d, double divisor = 1) {
  if (!d) return nullptr;
  return {{"mean", d->mean / divisor}, {"p50", d->p50 / divisor}, {"p95", d->p95 / divisor}, {"max", d->max / divisor}};
}

nlohmann::json to_json(const ProfileArguments& arguments, const ProfiledRun& run) {
  auto gpus = nlohmann::json::array();
  for (const GpuSummary& s : run.profile.summaries()) {
    gpus.push_back({{"index", s.gpu.index},
                    {"model", s.gpu.name},
                    {"uuid", s.gpu.uuid},
                    {"samples", s.samples},
                    {"utilization_pct", to_json(s.utilization_pct)},
                    {"memory_gib", to_json(s.memory_used_bytes, 1 << 30)},
                    {"memory_total_gib", s.memory_total ? nlohmann::json(s.memory_total->to_gibi()) : nlohmann::json(nullptr)},
                    {"power_w", to_json(s.power_w)},
                    {"verdict", name_of(verdict_of(s))}});
  }
  return {{"command", arguments.command},
          {"started", format_utc(run.started)},
          {"seconds", (run.ended - run.started).to_seconds()},
          {"exit_code", run.status.shell_code()},
          {"telemetry", run.source.empty() ? nlohmann::json(nullptr) : nlohmann::json(run.source)},
          {"telemetry_problem", run.why_none.empty() ? nlohmann::json(nullptr) : nlohmann::json(run.why_none)},
          {"looks", run.profile.looks()},
          {"gpus", std::move(gpus)}};
}

std::string host_name() {
  std::array<char, 256> name = {};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

/// Puts the samples into a History as a separate import.
Status keep(const ProfileArguments& arguments, const ProfiledRun& run) {
  if (run.profile.looks() == 0) return {};
  const std::string node = arguments.node.empty() ? host_name() : arguments.node;
  TRY_ASSIGN(HistoryFile history, HistoryFile::open(arguments.history, OpenMode::kCreate));
  TRY_ASSIGN(const auto import, history.begin_import("profile", fmt::format("{}", fmt::join(arguments.command, " ")), run.ended));
  run.profile.write(node, *import);
  TRY(import->commit(fingerprint_of_bytes(fmt::format("{} {} {}", node, run.started.ns(), run.ended.ns()))));
  return {};
}

ExitCode run_profile(const ProfileArguments& arguments) {
  const auto interval = parse_duration(arguments.interval);
  if (!interval || *interval < Duration::seconds(1))
    return fail(fmt::format("--interval '{}': give 1s or more", arguments.interval));
  if (!arguments.history.empty()) {
    // Better to know before the run than after it.
    if (const auto history = HistoryFile::open(arguments.history, OpenMode::kCreate); !history)
      return fail(history.error().message);
  }
  const auto run_result = run(arguments, *interval);
  if (!run_result) {
    fail(run_result.error().message);
    return static_cast<ExitCode>(kShellNotFound);
  }
  if (arguments.json)
    fmt::print("{}\n", to_json(arguments, *run_result).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    print(*run_result);
  if (!arguments.history.empty()) {
    if (const Status kept = keep(arguments, *run_result); !kept.ok())
      tell("stint: the samples are not kept: {}\n", kept.error().message);
  }
  return static_cast<ExitCode>(run_result->status.shell_code());
}

}  // namespace

void add_profile_command(Command& app, Action& action) {
  auto arguments = std::make_shared<ProfileArguments>();
  Command* command = app.add_subcommand("profile", "Runs a command and samples the GPUs while it runs");
  command->footer(
      "Example: stint profile --history fleet.db -- python train.py --epochs 1\n\n"
      "The report goes to standard error (with --json to standard output, after what the command prints).\n"
      "The exit code is the command's; 127 when it cannot be started.");
  command->add_option("command", arguments->command, "the command and its arguments, after --")->required();
  command->add_option("--interval", arguments->interval, "time between samples")->capture_default_str();
  command->add_option("--history", arguments->history, "keep the samples in this History");
  command->add_option("--node", arguments->node, "name of this machine in the History; its host name by default");
  command->add_option("--nvml-library", arguments->nvml_library, "NVIDIA's management library")->capture_default_str();
  command->add_flag("--json", arguments->json, "print the report as JSON");
  command->callback([arguments, &action] { action = [arguments] { return run_profile(*arguments); }; });
}

}  // namespace stint
