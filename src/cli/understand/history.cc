// stint history: what a History file holds, and whether it is sound.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "codec/trails/cloud_trail.h"
#include "host/file.h"
#include "report/table.h"
#include "store/event_log.h"
#include "store/history_file.h"
#include "store/machine_acts.h"

namespace stint {
namespace {

struct HistoryArguments {
  std::string path;
  int64_t import_id = 0;
  std::string currency;
  std::string machine;
  std::vector<std::string> cloud_trails, gcp_audits, azure_activities;  ///< files
  bool keep = false;
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
  say("  telemetry      {}\n", to_text(info.telemetry));
  say("  billed         {}\n", to_text(info.billed));
  const std::pair<const char*, uint64_t> counts[] = {{"nodes", info.nodes},     {"devices", info.devices},
                                                     {"series", info.series},   {"series-days", info.rollup_days},
                                                     {"runs", info.runs},       {"bill lines", info.bill_lines},
                                                     {"prices", info.prices},   {"exchange rates", info.exchange_rates},
                                                     {"imports", info.imports}, {"rejected", info.rejected}};
  for (const auto& [name, count] : counts)
    say("  {:<14} {}\n", name, count);
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
          {"exchange_rates", info.exchange_rates},
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

ExitCode show_check(const HistoryArguments& arguments, const std::vector<std::string>& problems, std::string_view more,
                    std::string_view remedy) {
  if (arguments.json) {
    fmt::print("{}\n", indented(nlohmann::json{{"path", arguments.path}, {"sound", problems.empty()}, {"problems", problems}}));
  } else if (problems.empty()) {
    say("{}: sound{}\n", arguments.path, more);
  } else {
    for (const std::string& problem : problems)
      say("{}: {}\n", arguments.path, problem);
    tell("{}\n", remedy);
  }
  return problems.empty() ? ExitCode::kOk : ExitCode::kPartly;
}

/// A daemon's: what it has posted for bills.
ExitCode run_check_postings(const HistoryArguments& arguments) {
  const auto check = [&]() -> Result<PostingCheck> {
    const ProgressLine progress("checking postings");
    TRY_ASSIGN(EventLog log, EventLog::open(arguments.path, {.vfs = "", .follow = is_database_url(arguments.path)}));
    return log.check_postings();
  }();
  if (!check) return fail(check.error().message);
  const std::string more =
      check->unchained > 0  ? fmt::format(" as far as can be told: {} have no hashes yet", counted(check->unchained, "posting"))
      : check->head.empty() ? std::string(", without postings")
                            : fmt::format(", {}, the last hash is {}", counted(check->postings, "posting"), check->head);
  return show_check(arguments, check->problems, more,
                    "Bills of these months are not what the daemon reckoned. Restore the log from a backup.");
}

ExitCode run_check(const HistoryArguments& arguments) {
  if (is_database_url(arguments.path) || is_event_log(arguments.path)) return run_check_postings(arguments);
  auto file = HistoryFile::open(arguments.path, OpenMode::kReadOnly);
  if (!file) return fail(file.error().message);
  const auto problems = [&] {
    const ProgressLine progress("checking " + arguments.path);
    return file->check();
  }();
  if (!problems) return fail(problems.error().message);
  return show_check(arguments, *problems, "", "Restore the file from a backup, or import the sources into a new one.");
}

std::string account_of(const ImportedBill& bill) {
  return bill.billing_account.empty() ? bill.provider : fmt::format("{} {}", bill.provider, bill.billing_account);
}

/// "2026-10", or the dates of a billing period that is no month; with the last day where the bill ends before it.
std::string period_of(const ImportedBill& bill) {
  const Interval month = month_of(bill.billing.begin);
  std::string text = month.begin == bill.billing.begin
                         ? format_date(month.begin).substr(0, 7)
                         : fmt::format("{} to {}", format_date(bill.billing.begin), format_date(bill.billing.end));
  if (bill.charged.end < bill.billing.end && bill.charged.end > bill.billing.begin)
    text += fmt::format(" to the {}", to_civil(bill.charged.end - Duration::nanoseconds(1)).day);
  return text;
}

std::string imports_table(const std::vector<ImportListing>& imports) {
  Table table({{"import", Align::kRight},
               {"imported", Align::kLeft, 0, 2},
               {"format"},
               {"source", Align::kLeft, 40, 3},
               {"rows", Align::kRight, 0, 1},
               {"bill", Align::kLeft, 40},
               {"period"},
               {"billed", Align::kRight},
               {"counts"}});
  for (const ImportListing& import : imports) {
    const std::string id = fmt::format("{}", import.id);
    const std::string when = format_utc(import.record.imported_at).substr(0, 16);
    if (import.bills.empty())
      table.add_row(
          {id, when, import.record.kind, import.record.source, fmt::format("{}", import.record.accepted), "", "", "", ""});
    for (const ImportedBill& bill : import.bills)
      table.add_row({id, when, import.record.kind, import.record.source, fmt::format("{}", bill.lines), account_of(bill),
                     period_of(bill), bill.billed.to_text(2),
                     !bill.superseded_by    ? "yes"
                     : bill.purchases_count ? fmt::format("purchases of commitments, beside import {}", *bill.superseded_by)
                                            : fmt::format("no: import {}", *bill.superseded_by)},
                    bill.superseded_by ? Tone::kMuted : Tone::kPlain);
  }
  return table.render(screen_of_stdout());
}

nlohmann::json import_json(const ImportListing& import) {
  auto bills = nlohmann::json::array();
  for (const ImportedBill& bill : import.bills)
    bills.push_back({{"provider", bill.provider},
                     {"billing_account", bill.billing_account},
                     {"billing", interval_json(bill.billing)},
                     {"charged", interval_json(bill.charged)},
                     {"lines", bill.lines},
                     {"currency", bill.billed.currency().code()},
                     {"billed", bill.billed.to_decimal()},
                     {"effective", bill.effective.to_decimal()},
                     {"superseded_by", bill.superseded_by ? nlohmann::json(*bill.superseded_by) : nlohmann::json()},
                     {"purchases_count", bill.purchases_count}});
  return {{"id", import.id},
          {"format", import.record.kind},
          {"source", import.record.source},
          {"imported_at", format_utc(import.record.imported_at)},
          {"accepted", import.record.accepted},
          {"rejected", import.record.rejected},
          {"duplicates", import.record.duplicates},
          {"bills", std::move(bills)}};
}

ExitCode run_imports(const HistoryArguments& arguments) {
  auto file = HistoryFile::open(arguments.path, OpenMode::kReadOnly);
  if (!file) return fail(file.error().message);
  const auto imports = file->imports();
  if (!imports) return fail(imports.error().message);
  if (arguments.json) {
    auto list = nlohmann::json::array();
    for (const ImportListing& import : *imports)
      list.push_back(import_json(import));
    fmt::print("{}\n", indented(nlohmann::json{{"path", arguments.path}, {"imports", std::move(list)}}));
  } else {
    fmt::print("{}", imports_table(*imports));
  }
  return ExitCode::kOk;
}

ExitCode run_drop_import(const HistoryArguments& arguments) {
  auto file = HistoryFile::open(arguments.path, OpenMode::kReadWrite);
  if (!file) return fail(file.error().message);
  const auto dropped = file->drop_import(arguments.import_id);
  if (!dropped) return fail(dropped.error().message);
  if (arguments.json) {
    fmt::print("{}\n", indented(nlohmann::json{{"path", arguments.path},
                                               {"dropped", arguments.import_id},
                                               {"source", dropped->record.source},
                                               {"brought_back", dropped->brought_back}}));
    return ExitCode::kOk;
  }
  say("import {} ({}, {}) is gone\n", arguments.import_id, dropped->record.kind, dropped->record.source);
  for (const int64_t id : dropped->brought_back)
    say("import {} counts again\n", id);
  return ExitCode::kOk;
}

ExitCode run_currency(const HistoryArguments& arguments) {
  const bool sets = !arguments.currency.empty();
  auto file = HistoryFile::open(arguments.path, sets ? OpenMode::kReadWrite : OpenMode::kReadOnly);
  if (!file) return fail(file.error().message);
  if (sets) {
    const auto currency = Currency::parse(arguments.currency);
    if (!currency) return fail(currency.error().message);
    if (const Status shown = file->show_in(*currency); !shown.ok()) return fail(shown.error().message);
  }
  const auto currency = file->shown_currency();
  if (!currency) return fail(currency.error().message);
  const std::string code(*currency ? (*currency)->code() : std::string_view());
  if (arguments.json)
    fmt::print("{}\n",
               indented(nlohmann::json{{"path", arguments.path}, {"currency", *currency ? nlohmann::json(code) : nullptr}}));
  else if (*currency)
    say("{}: amounts are shown in {}\n", arguments.path, code);
  else
    say("{}: amounts are shown in the currency of the bills\n", arguments.path);
  return ExitCode::kOk;
}

Status read_trail(TrailFormat format, const std::string& path, const std::function<void(MachineActRecord)>& take) {
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  TrailReader reader(format, path, take);
  for (;;) {
    TRY_ASSIGN(const std::string_view bytes, file.read());
    if (bytes.empty()) return reader.finish();
    TRY(reader.feed(bytes));
  }
}

/// As telemetry, bill and provider call it: of a path the last part, for clouds write it in capitals in one place and not in another.
std::vector<std::string> names_of_machine(const History& history, const std::string& name) {
  std::vector<std::string> names = {name};
  for (const Node& node : history.nodes)
    if (node.name == name || node.resource_id == name)
      for (const std::string& known : {node.name, node.resource_id.substr(node.resource_id.rfind('/') + 1)})
        if (!known.empty()) names.push_back(known);
  return names;
}

Result<std::vector<MachineActRecord>> acts_on_machine(const HistoryArguments& arguments) {
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(arguments.path, OpenMode::kReadOnly));
  const Instant any;  // machines are there whatever the period
  TRY_ASSIGN(const History history, file.load({any, any + Duration::nanoseconds(1)}));
  const std::vector<std::string> names = names_of_machine(history, arguments.machine);
  TRY_ASSIGN(std::vector<MachineActRecord> acts, read_machine_acts(arguments.path));
  std::vector<MachineActRecord> told;
  const auto take = [&](MachineActRecord act) { told.push_back(std::move(act)); };
  for (const auto& [format, paths] : {std::pair(TrailFormat::kCloudTrail, &arguments.cloud_trails),
                                      {TrailFormat::kGcpAudit, &arguments.gcp_audits},
                                      {TrailFormat::kAzureActivity, &arguments.azure_activities}})
    for (const std::string& path : *paths)
      TRY(read_trail(format, path, take));
  if (arguments.keep) {
    TRY_ASSIGN(const int64_t kept, keep_machine_acts(arguments.path, told));
    tell("{}: {} kept\n", arguments.path, counted(kept, "new act"));
  }
  const auto is_other = [&](const MachineActRecord& act) {
    return std::ranges::none_of(names, [&](const std::string& name) { return equals_ignoring_case(name, act.machine); });
  };
  std::erase_if(acts, is_other);
  for (MachineActRecord& act : told)
    if (!is_other(act) && std::ranges::find(acts, act) == acts.end()) acts.push_back(std::move(act));
  std::ranges::stable_sort(acts, {}, &MachineActRecord::at);
  return acts;
}

/// Who made, started, stopped and ended it, by the clouds' own audit logs.
ExitCode run_machine(const HistoryArguments& arguments) {
  const bool has_files = !arguments.cloud_trails.empty() || !arguments.gcp_audits.empty() || !arguments.azure_activities.empty();
  constexpr std::string_view kFiles = "--cloudtrail, --gcp-audit or --azure-activity FILE";
  if (arguments.keep && !has_files) return fail(fmt::format("--keep: name what to keep: {}", kFiles));
  const auto acts = acts_on_machine(arguments);
  if (!acts) return fail(acts.error().message);
  if (!has_files && acts->empty())
    return fail(fmt::format("{} keeps nothing about machine {}: give the cloud's audit log: {}", arguments.path,
                            excerpt(arguments.machine), kFiles));
  if (arguments.json) {
    auto list = nlohmann::json::array();
    for (const MachineActRecord& act : *acts)
      list.push_back({{"at", format_utc(act.at)},
                      {"act", name_of(act.act)},
                      {"who", act.who.empty() ? nlohmann::json() : nlohmann::json(act.who)},
                      {"from", act.from.empty() ? nlohmann::json() : nlohmann::json(act.from)},
                      {"by", act.by.empty() ? nlohmann::json() : nlohmann::json(act.by)},
                      {"failed", act.failed.empty() ? nlohmann::json() : nlohmann::json(act.failed)}});
    fmt::print("{}\n", indented(nlohmann::json{{"machine", arguments.machine}, {"acts", std::move(list)}}));
    return ExitCode::kOk;
  }
  if (acts->empty()) {
    tell("these logs do not speak of machine {}\n", excerpt(arguments.machine));
    return ExitCode::kOk;
  }
  Table table({{"at (UTC)"}, {"what"}, {"who", Align::kLeft, 40}, {"from", Align::kLeft, 40, 1}, {"by", Align::kLeft, 40, 2}});
  for (const MachineActRecord& act : *acts)
    table.add_row({format_utc(act.at),
                   act.failed.empty() ? std::string(name_of(act.act)) : fmt::format("not {}: {}", name_of(act.act), act.failed),
                   act.who.empty() ? "not said" : act.who, act.from, act.by});
  fmt::print("{}", table.render(screen_of_stdout()));
  return ExitCode::kOk;
}

}  // namespace

void add_history_command(Command& app, Action& action) {
  auto arguments = std::make_shared<HistoryArguments>();
  Command* command = app.add_subcommand("history", "Says what a History file holds and whether it is sound");
  command->require_subcommand(1);
  command->footer("Example: stint history check fleet.db");
  const auto add = [&](const char* name, const char* what, ExitCode (*run)(const HistoryArguments&)) {
    Command* sub = command->add_subcommand(name, what);
    sub->add_option("file", arguments->path, "History file; of check also a daemon's event log: a file or postgresql://…")
        ->required();
    sub->add_flag("--json", arguments->json, "print JSON");
    sub->callback([arguments, run, &action] { action = [arguments, run] { return run(*arguments); }; });
    return sub;
  };
  add("info", "Periods and counts", run_info);
  add("check",
      "Integrity of the database, of every reference and of every rollup; of a daemon's events.db that postings are as they were "
      "written; "
      "exit code 3 when unsound",
      run_check);
  add("imports", "What was imported when; of bills the account, period and total, and which delivery counts", run_imports);
  add("drop-import", "Takes a bill out again; the delivery in whose place it counted counts again", run_drop_import)
      ->add_option("import", arguments->import_id, "number of the import, as `stint history imports` says")
      ->required();
  add("currency", "The currency in which every command shows amounts of this History; bills stay as they are", run_currency)
      ->add_option("code", arguments->currency, "ISO 4217 code, such as EUR; without it: which one it is");
  Command* machine = add("machine", "Who made, started, stopped and ended a machine, by the cloud's own audit log", run_machine);
  machine->add_option("name", arguments->machine, "as telemetry, the bill or the cloud calls it")->required();
  machine->add_option("--cloudtrail", arguments->cloud_trails, "log file of AWS CloudTrail; repeatable");
  machine->add_option("--gcp-audit", arguments->gcp_audits, "what `gcloud logging read --format=json` printed; repeatable");
  machine->add_option("--azure-activity", arguments->azure_activities, "what `az monitor activity-log list` printed; repeatable");
  machine->add_flag("--keep", arguments->keep,
                    "put what these logs say of any machine into the History: later it is told without them");
  machine->footer("Example: stint history machine fleet.db gpu-1 --cloudtrail 777788889999_CloudTrail_us-east-1.json.gz");
}

}  // namespace stint
