// stint replay cases: runs conformance cases and says what differs.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/decide/replay.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "documents/sched_case.h"
#include "host/file.h"
#include "report/table.h"
#include "sim/case_runner.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

struct CasesOptions {
  std::vector<std::string> paths;
  bool json = false;
  std::string victims = "priority";
};

struct Count {
  int64_t passed = 0;
  int64_t failed = 0;
  void add(bool pass) { ++(pass ? passed : failed); }
};

struct CaseFailure {
  std::string id;
  std::string file;
  std::string kind;  ///< "strict", "tie_break" or "not_applicable"
  std::string difference;
};

struct CaseTally {
  int64_t not_applicable = 0;
  Count strict;
  Count tie_break;
  std::map<std::string, Count> features;  ///< strict
  std::vector<CaseFailure> failures;
};

/// Files as they are named; of folders all *.json below, in order of their names.
Result<std::vector<std::string>> case_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code problem;
    if (!fs::is_directory(path, problem)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (auto it = fs::recursive_directory_iterator(path, problem); !problem && it != fs::recursive_directory_iterator();
         it.increment(problem))
      if (it->is_regular_file(problem) && it->path().extension() == ".json") found.push_back(it->path().string());
    if (problem) return make_error(ErrorCode::kNotFound, "{}: {}", path, problem.message());
    if (found.empty()) return make_error(ErrorCode::kNotFound, "{}: no *.json files in it", path);
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

Status run_file(const std::string& file, sched::VictimOrder victims, CaseTally& tally) {
  TRY_ASSIGN(const std::string text, read_all(file));
  const Result<std::vector<sched::SchedCase>> cases = read_sched_cases(text);
  if (!cases) return make_error(cases.error().code, "{}: {}", file, cases.error().message);
  for (const sched::SchedCase& c : *cases) {
    const CaseVerdict verdict = run_case(c, victims);
    if (!verdict.not_applicable.empty()) {
      ++tally.not_applicable;
      tally.failures.push_back({c.id, file, "not_applicable", verdict.not_applicable});
      continue;
    }
    tally.strict.add(verdict.strict.empty());
    for (const std::string& feature : c.features)
      tally.features[feature].add(verdict.strict.empty());
    if (!verdict.strict.empty()) tally.failures.push_back({c.id, file, "strict", verdict.strict});
    if (!verdict.has_tie_break) continue;
    tally.tie_break.add(verdict.tie_break.empty());
    if (!verdict.tie_break.empty()) tally.failures.push_back({c.id, file, "tie_break", verdict.tie_break});
  }
  return {};
}

std::string_view name_of_kind(const std::string& kind) {
  return kind == "tie_break" ? "tie-break" : kind == "not_applicable" ? "does not apply" : kind;
}

std::string tally_json(const CaseTally& tally) {
  using nlohmann::ordered_json;
  const auto count = [](const Count& c) { return ordered_json{{"passed", c.passed}, {"failed", c.failed}}; };
  ordered_json out{{"strict", count(tally.strict)},
                   {"tie_break", count(tally.tie_break)},
                   {"not_applicable", tally.not_applicable},
                   {"features", ordered_json::object()}};
  for (const auto& [name, c] : tally.features)
    out["features"][name] = count(c);
  out["failures"] = ordered_json::array();
  for (const CaseFailure& f : tally.failures)
    out["failures"].push_back({{"id", f.id}, {"file", f.file}, {"kind", f.kind}, {"difference", f.difference}});
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string tally_text(const CaseTally& tally, Screen screen) {
  Table counts({{"Feature"}, {"passed", Align::kRight}, {"failed", Align::kRight}});
  const auto add = [&](const std::string& name, const Count& c) {
    counts.add_row({name, fmt::to_string(c.passed), fmt::to_string(c.failed)}, c.failed > 0 ? Tone::kWarn : Tone::kPlain);
  };
  for (const auto& [name, c] : tally.features)
    add(name, c);
  counts.add_rule();
  add("all cases, strict", tally.strict);
  add("all cases, tie-break", tally.tie_break);
  std::string out = counts.render(screen);
  if (tally.not_applicable > 0)
    out += fmt::format("\n{} cases more do not apply to the scheduler: they turn on what it has no notion of.\n",
                       tally.not_applicable);
  if (tally.failures.empty()) return out;
  out += "\nDifferences\n";
  for (const CaseFailure& f : tally.failures) {
    out += fmt::format("  {} ({})\n", toned(f.id, Tone::kStrong, screen), name_of_kind(f.kind));
    out += wrapped(f.difference, 120, 4) + "\n";
  }
  return out;
}

Status run_cases(const CasesOptions& options, CaseTally& tally) {
  const auto victims = options.victims == "priority" ? sched::VictimOrder::kPriorityYoungest : sched::VictimOrder::kLeastLostWork;
  TRY_ASSIGN(const std::vector<std::string> files, case_files(options.paths));
  for (const std::string& file : files)
    TRY(run_file(file, victims, tally));
  return write_output("", options.json ? tally_json(tally) : tally_text(tally, screen_of_stdout()));
}

}  // namespace

void add_replay_cases_command(Command& replay, Action& action) {
  auto options = std::make_shared<CasesOptions>();
  Command* command = replay.add_subcommand("cases", "Runs conformance cases (sched-case/1) and says what differs");
  command->add_option("path", options->paths, "case files, or folders with *.json below")->required();
  command->add_flag("--json", options->json, "counts and differences as JSON");
  command
      ->add_option("--victims", options->victims,
                   "who gives way first: priority (then surplus, then youngest) or least-lost-work")
      ->check(one_of({"priority", "least-lost-work"}))
      ->capture_default_str();
  command->footer("Exit code 3 when a case differs in what must hold.\nExample: stint replay cases shared/cases --json");
  command->callback([options, &action] {
    action = [options] {
      CaseTally tally;
      const Status done = run_cases(*options, tally);
      if (!done.ok()) return fail(done.error().message);
      return tally.strict.failed > 0 ? ExitCode::kPartly : ExitCode::kOk;
    };
  });
}

}  // namespace stint
