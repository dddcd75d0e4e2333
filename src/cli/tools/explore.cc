// stint explore: looks for scenarios in which the scheduler breaks a promise, and makes them small.
#include "sim/explore.h"
#include "base/counted.h"
#include "cli/parser.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <memory>
#include <vector>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "host/isolated.h"

namespace stint {
namespace {

constexpr Duration kRunLimit = Duration::seconds(60);
constexpr size_t kMaxShrunk = 3;

struct ExploreOptions {
  uint64_t seed = 1;
  int64_t hours = 24;
  int64_t runs = 100;
  int tries = 400;
  bool json = false;
};

// One run as its worker process tells it.
struct Told {
  bool failed = false;
  std::string rule;  // "crash" for a failed CHECK, a signal, or no end
  std::string what;
  int64_t simulated_s = 0;
  int64_t steps = 0;
  int64_t decisions = 0;
  uint64_t fingerprint = 0;
};

std::string told_text(const sim::Exploration& e) {
  std::string text = fmt::format("{} {} {} {}", e.simulated.whole_seconds(), e.steps, e.decisions, e.fingerprint);
  if (e.violation) text += fmt::format("\n{}\nat {}: {}", e.violation->rule, format_utc(e.violation->at), e.violation->what);
  return text;
}

Told hear(const IsolatedOutcome& outcome) {
  Told told;
  if (!outcome.ok()) {
    told.failed = true;
    told.rule = "crash";
    told.what = outcome.status.signal == SIGALRM ? fmt::format("no end within {} s", kRunLimit.whole_seconds())
                : outcome.said.empty()           ? fmt::format("exit status {}", outcome.status.shell_code())
                                                 : std::string(trim(outcome.said));
    return told;
  }
  const std::vector<std::string_view> lines = split(outcome.result, '\n');
  const std::vector<std::string_view> numbers = split(lines[0], ' ');
  told.simulated_s = parse_int(numbers[0]).value_or(0);
  told.steps = parse_int(numbers[1]).value_or(0);
  told.decisions = parse_int(numbers[2]).value_or(0);
  std::from_chars(numbers[3].data(), numbers[3].data() + numbers[3].size(), told.fingerprint);
  if (lines.size() < 3) return told;
  told.failed = true;
  told.rule = lines[1];
  told.what = lines[2];
  return told;
}

Told run_one(const sim::Scenario& scenario) {
  Told told;
  const Status done = run_isolated(
      1, 1, kRunLimit, [&](int64_t) { return told_text(sim::explore(scenario)); },
      [&](int64_t, const IsolatedOutcome& outcome) {
        told = hear(outcome);
        return true;
      });
  if (!done.ok()) told.what = done.error().message;
  return told;
}

// A CHECK is known by its place: everything up to the values it prints.
std::string_view kind_of(const Told& told) {
  return told.rule == "crash" ? std::string_view(told.what).substr(0, told.what.find(": broken invariant")) : told.rule;
}

struct ExploredFailure {
  uint64_t seed = 0;
  Told told;
  std::string shrunk;  // JSON of the smallest scenario found; empty = not shrunk
  Told then;
};

struct Report {
  int64_t runs = 0;
  int64_t simulated_s = 0;
  int64_t steps = 0;
  int64_t decisions = 0;
  uint64_t fingerprint = 0;
  std::vector<ExploredFailure> failures;  // by seed
};

Result<Report> run_all(const ExploreOptions& options) {
  Report report;
  ProgressLine progress("exploring");
  const auto workers = static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
  const Duration length = Duration::hours(options.hours);
  TRY(run_isolated(
      options.runs, workers, kRunLimit,
      [&](int64_t i) { return told_text(sim::explore(sim::make_scenario(options.seed + static_cast<uint64_t>(i), length))); },
      [&](int64_t i, const IsolatedOutcome& outcome) {
        const Told told = hear(outcome);
        ++report.runs;
        report.simulated_s += told.simulated_s;
        report.steps += told.steps;
        report.decisions += told.decisions;
        // A sum does not depend on the order in which runs end.
        report.fingerprint += told.fingerprint * (2 * static_cast<uint64_t>(i) + 1);
        if (told.failed) report.failures.push_back({options.seed + static_cast<uint64_t>(i), told, {}, {}});
        progress.show(report.runs, options.runs);
        return true;
      }));
  std::ranges::sort(report.failures, {}, &ExploredFailure::seed);
  return report;
}

void shrink_some(const ExploreOptions& options, Report& report) {
  std::vector<std::string> seen;
  ProgressLine progress("making failing scenarios small");
  for (ExploredFailure& failure : report.failures) {
    const std::string kind(kind_of(failure.told));
    if (options.tries == 0 || seen.size() == kMaxShrunk || std::ranges::find(seen, kind) != seen.end()) continue;
    seen.push_back(kind);
    const sim::Scenario small = sim::shrink(
        sim::make_scenario(failure.seed, Duration::hours(options.hours)),
        [&](const sim::Scenario& candidate) {
          const Told told = run_one(candidate);
          return told.failed && kind_of(told) == kind;
        },
        options.tries);
    failure.shrunk = sim::scenario_json(small);
    failure.then = run_one(small);
  }
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

std::string as_json(const ExploreOptions& options, const Report& report) {
  std::string out = fmt::format(
      "{{\"seed\": {}, \"hours\": {}, \"runs\": {}, \"simulated_hours\": {}, \"steps\": {}, \"decisions\": {}, "
      "\"fingerprint\": \"{:016x}\", \"violations\": {}, \"failures\": [",
      options.seed, options.hours, report.runs, report.simulated_s / 3600, report.steps, report.decisions, report.fingerprint,
      report.failures.size());
  for (size_t i = 0; i < report.failures.size(); ++i) {
    const ExploredFailure& f = report.failures[i];
    out += fmt::format("{}\n{{\"seed\": {}, \"rule\": {}, \"what\": {}, \"shrunk\": {}}}", i > 0 ? "," : "", f.seed,
                       quote(f.told.rule), quote(f.told.what), f.shrunk.empty() ? "null" : f.shrunk);
  }
  return out + "]}\n";
}

std::string as_text(const ExploreOptions& options, const Report& report) {
  std::string out;
  for (const ExploredFailure& f : report.failures) {
    out += fmt::format("seed {}: {}: {}\n  again: stint explore --seed {} --hours {} --runs 1\n", f.seed, f.told.rule,
                       f.told.what, f.seed, options.hours);
    if (!f.shrunk.empty()) out += fmt::format("  smallest found ({}: {}):\n{}", f.then.rule, f.then.what, f.shrunk);
  }
  out += fmt::format("{} from seed {}, {} simulated hours, {} steps, {} decisions, fingerprint {:016x}: {}\n",
                     counted(report.runs, "run"), options.seed, report.simulated_s / 3600, report.steps, report.decisions,
                     report.fingerprint,
                     report.failures.empty() ? "no violation" : fmt::format("{} failed", report.failures.size()));
  return out;
}

ExitCode run_explore(const ExploreOptions& options) {
  Result<Report> report = run_all(options);
  if (!report.ok()) return fail(report.error().message);
  shrink_some(options, *report);
  const Status written = options.json ? write_output("", as_json(options, *report)) : write_text(as_text(options, *report));
  if (!written.ok()) return fail(written.error().message);
  return report->failures.empty() ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace

void add_explore_command(Command& app, Action& action) {
  auto options = std::make_shared<ExploreOptions>();
  Command* command = app.add_subcommand("explore", "Tests the scheduler on random fleets, work and faults, under checkers");
  command->add_option("--seed", options->seed, "of the first run; each further run has the next")->capture_default_str();
  command->add_option("--hours", options->hours, "in which jobs are submitted and machines fail, per run")
      ->check(in_range(1, 100'000))
      ->capture_default_str();
  command->add_option("--runs", options->runs, "how many")->check(in_range(1, 100'000'000))->capture_default_str();
  command->add_option("--tries", options->tries, "runs to make a failing scenario small; 0 = leave it")
      ->check(in_range(0, 1'000'000))
      ->capture_default_str();
  command->add_flag("--json", options->json, "a summary with each failure and the smallest scenario found");
  command->footer(
      "Ends with 1 when a rule is broken; src/sim/checkers.h lists the rules.\n"
      "Example: stint explore --seed 1 --hours 24 --runs 420");
  command->callback([options, &action] { action = [options] { return run_explore(*options); }; });
}

}  // namespace stint
