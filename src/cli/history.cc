// stint history: what a History file holds, and whether it is sound.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "store/history_file.h"

namespace stint {
namespace {

struct HistoryArguments {
  std::string path;
  bool json = false;
};

nlohmann::json interval_json(Interval interval) {
  if (interval.empty()) return nullptr;
  return {{"begin", format_utc(interval.begin)}, {"end", format_utc(interval.end)}};
}

std::string to_text(Interval interval) {
  return interval.empty() ? "none" : fmt::format("{} to {}", format_utc(interval.begin), format_utc(interval.end));
}

void print_info(const std::string& path, const HistoryInfo& info) {
  say("{}: schema {}, {:.1f} MB\n", path, info.schema_version, static_cast<double>(info.file_bytes) / 1e6);
  say("  telemetry   {}\n", to_text(info.telemetry));
  say("  billed      {}\n", to_text(info.billed));
  const std::pair<const char*, uint64_t> counts[] = {
      {"nodes", info.nodes},      {"devices", info.devices},       {"series", info.series}, {"series-days", info.rollup_days},
      {"runs", info.runs},        {"bill lines", info.bill_lines}, {"prices", info.prices}, {"imports", info.imports},
      {"rejected", info.rejected}};
  for (const auto& [name, count] : counts)
    say("  {:<11} {}\n", name, count);
}

nlohmann::json info_json(const std::string& path, const HistoryInfo& info) {
  return {{"path", path},
          {"schema_version", info.schema_version},
          {"telemetry", interval_json(info.telemetry)},
          {"billed", interval_json(info.billed)},
          {"nodes", info.nodes},
          {"devices", info.devices},
          {"series", info.series},
          {"rollup_days", info.rollup_days},
          {"runs", info.runs},
          {"bill_lines", info.bill_lines},
          {"prices", info.prices},
          {"imports", info.imports},
          {"rejected", info.rejected},
          {"file_bytes", info.file_bytes}};
}

ExitCode run_info(const HistoryArguments& arguments) {
  auto file = HistoryFile::open(arguments.path, OpenMode::kReadOnly);
  if (!file) return fail(file.error().message);
  const auto info = file->info();
  if (!info) return fail(info.error().message);
  if (arguments.json)
    fmt::print("{}\n", indented(info_json(arguments.path, *info)));
  else
    print_info(arguments.path, *info);
  return ExitCode::kOk;
}

ExitCode run_check(const HistoryArguments& arguments) {
  auto file = HistoryFile::open(arguments.path, OpenMode::kReadOnly);
  if (!file) return fail(file.error().message);
  const auto problems = [&] {
    const ProgressLine progress("checking " + arguments.path);
    return file->check();
  }();
  if (!problems) return fail(problems.error().message);
  if (arguments.json) {
    fmt::print("{}\n", indented(nlohmann::json{{"path", arguments.path}, {"sound", problems->empty()}, {"problems", *problems}}));
  } else if (problems->empty()) {
    say("{}: sound\n", arguments.path);
  } else {
    for (const std::string& problem : *problems)
      say("{}: {}\n", arguments.path, problem);
    tell("Restore the file from a backup, or import the sources into a new one.\n");
  }
  return problems->empty() ? ExitCode::kOk : ExitCode::kPartly;
}

}  // namespace

void add_history_command(Command& app, Action& action) {
  auto arguments = std::make_shared<HistoryArguments>();
  Command* command = app.add_subcommand("history", "Says what a History file holds and whether it is sound");
  command->require_subcommand(1);
  command->footer("Example: stint history check fleet.db");
  const auto add = [&](const char* name, const char* what, ExitCode (*run)(const HistoryArguments&)) {
    Command* sub = command->add_subcommand(name, what);
    sub->add_option("file", arguments->path, "History file")->required();
    sub->add_flag("--json", arguments->json, "print JSON");
    sub->callback([arguments, run, &action] { action = [arguments, run] { return run(*arguments); }; });
  };
  add("info", "Periods and counts", run_info);
  add("check", "Integrity of the database, of every reference and of every rollup; exit code 3 when unsound", run_check);
}

}  // namespace stint
