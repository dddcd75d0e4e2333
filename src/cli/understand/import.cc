// stint import: files, or a live Prometheus, into a History.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/nearest.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "cli/understand/import_outcome.h"
#include "collect/delivery_folder.h"
#include "collect/file_import.h"
#include "collect/kubernetes_client.h"
#include "collect/object_delivery.h"
#include "collect/prometheus_client.h"
#include "collect/slurm_client.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/secret.h"
#include "host/time_zone.h"

namespace stint {
namespace {

struct ImportArguments {
  std::string format;
  std::vector<std::string> files;
  std::string history;
  std::string node, zone, at;
  std::string client_label, kubeconfig, context, every = "60s";
  bool watch = false;
  std::string url, since = "7d", until = "now", step = "60s", token_file, user, slurm_programs, prefer;
  bool part = false, replace = false;
  bool json = false;
};

/// `Europe/Berlin`, or `+02:00`, `-0530`, `Z`: what a local time without a zone is ahead of UTC.
Result<LocalZone> parse_zone(const std::string& text) {
  if (text.empty()) return LocalZone();
  const auto instant = parse_instant("1970-01-02T00:00:00" + text);
  if (instant.ok() && std::string_view("+-Z").find(text[0]) != std::string_view::npos)
    return LocalZone(Instant::from_seconds(86'400) - *instant);
  auto zone = find_time_zone(text);
  if (!zone.ok()) return invalid("--zone {}", zone.error().message);
  return zone;
}

Result<DeliveryOptions> delivery_options(const ImportArguments& arguments) {
  if (arguments.part && arguments.replace)
    return invalid("--part counts a bill beside the others, --replace instead of them: give one");
  DeliveryOptions delivery;
  if (arguments.part) delivery.as = DeliveryAs::kPart;
  if (arguments.replace) delivery.as = DeliveryAs::kReplace;
  delivery.prefer = arguments.prefer;
  return delivery;
}

/// An instant, `now`, or how long before `now`.
Result<Instant> parse_moment(const std::string& option, const std::string& text, Instant now) {
  if (text == "now") return now;
  if (const auto ago = parse_duration(text); ago.ok()) return now - *ago;
  auto instant = parse_instant(text);
  if (!instant)
    return invalid("{} '{}': give an instant such as 2026-10-01T00:00:00Z, how long ago such as 7d, or now", option,
                   excerpt(text));
  return instant;
}

Result<ImportOptions> import_options(const ImportArguments& arguments) {
  ImportOptions options;
  options.node = arguments.node;
  options.client_label = arguments.client_label;
  TRY_ASSIGN(options.zoneless, parse_zone(arguments.zone));
  if (!arguments.at.empty()) {
    TRY_ASSIGN(options.at, parse_instant(arguments.at, options.zoneless));
  }
  return options;
}

Result<HttpOptions> http_options(const ImportArguments& arguments) {
  HttpOptions http;
  if (!arguments.token_file.empty()) {
    TRY(check_secret_file(arguments.token_file));
    TRY_ASSIGN(InputFile file, InputFile::open(arguments.token_file));
    TRY_ASSIGN(const std::string_view token, file.read());
    http.credentials.bearer_token = std::string(trim(token));
  }
  const size_t colon = arguments.user.find(':');
  http.credentials.user = arguments.user.substr(0, colon);
  if (colon != std::string::npos) http.credentials.password = arguments.user.substr(colon + 1);
  return http;
}

Result<ImportOutcome> import_server(HistoryFile& history, const ImportArguments& arguments, const ImportOptions& options,
                                    Instant at) {
  PrometheusImport request;
  request.url = arguments.url;
  request.options = options;
  TRY_ASSIGN(request.window.begin, parse_moment("--since", arguments.since, at));
  TRY_ASSIGN(request.window.end, parse_moment("--until", arguments.until, at));
  TRY_ASSIGN(request.step, parse_duration(arguments.step));
  TRY_ASSIGN(request.http, http_options(arguments));
  ProgressLine progress(arguments.url);
  return import_prometheus(history, request, at, progress.callback());
}

Result<ImportOutcome> import_cluster(HistoryFile& history, const ImportArguments& arguments, Instant at) {
  SlurmImport request;
  TRY_ASSIGN(request.window.begin, parse_moment("--since", arguments.since, at));
  TRY_ASSIGN(request.window.end, parse_moment("--until", arguments.until, at));
  request.programs = arguments.slurm_programs;
  ProgressLine progress("slurm");
  TRY_ASSIGN(SlurmOutcome outcome, import_slurm(history, request, at));
  progress.clear();
  for (const std::string& note : outcome.notes)
    tell("slurm: {}\n", note);
  return std::move(outcome.import);
}

KubernetesImport kubernetes_import(const ImportArguments& arguments) {
  KubernetesImport request;
  request.identity.kubeconfig = arguments.kubeconfig;
  request.identity.context = arguments.context;
  request.client_label = arguments.client_label;
  return request;
}

/// Waits between imports until somebody ends them.
class UntilTheEnd {
 public:
  /// Before there are threads, so that none of them takes a signal.
  UntilTheEnd() {
    sigemptyset(&ends_);
    sigaddset(&ends_, SIGTERM);
    sigaddset(&ends_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends_, nullptr);
  }
  /// @return whether SIGINT or SIGTERM came.
  bool after(Duration every) {
    std::fflush(stdout);
    const timespec pause = {every.whole_seconds(), every.count_ns() % 1'000'000'000};
    return sigtimedwait(&ends_, nullptr, &pause) > 0;
  }

 private:
  sigset_t ends_ = {};
};

Result<Duration> every_of(const ImportArguments& arguments) {
  TRY_ASSIGN(const Duration every, parse_duration(arguments.every));
  if (every < Duration::seconds(1)) return invalid("--every {}: give 1s or more", arguments.every);
  return every;
}

/// Imports now and again, until SIGINT or SIGTERM; then once more. An import that fails is told and tried again.
Status follow_kubernetes(HistoryFile& history, const ImportArguments& arguments, const std::function<void(ImportOutcome)>& add) {
  TRY_ASSIGN(const Duration every, every_of(arguments));
  UntilTheEnd end;
  TRY_ASSIGN(KubernetesFollower follower, KubernetesFollower::start(kubernetes_import(arguments)));
  for (bool last = false;;) {
    auto outcome = follower.import(history, now());
    if (outcome.ok())
      add(std::move(*outcome));
    else if (last)
      return outcome.error();
    else
      tell("kubernetes: {}\n", outcome.error().message);
    if (last) return {};
    last = end.after(every);
  }
}

/// What the files of the command line are as imports, without options. The files of a bill are parts of one delivery; of an object
/// store each period is one.
Result<std::vector<FileImport>> files_to_import(const ImportArguments& arguments) {
  const ImportFormat* format = find_import_format(arguments.format);
  const bool bill = is_bill(*format);
  std::vector<FileImport> wanted;
  std::vector<std::string> files;
  std::string name;
  for (const std::string& path : arguments.files) {
    std::error_code ignored;
    if (is_object_url(path)) {
      TRY_ASSIGN(std::vector<FileImport> objects, imports_of_objects(path, *format));
      std::ranges::move(objects, std::back_inserter(wanted));
    } else if (bill && std::filesystem::is_directory(path, ignored)) {
      TRY_ASSIGN(const std::vector<std::string> in_folder, files_of_delivery(path));
      files.insert(files.end(), in_folder.begin(), in_folder.end());
      if (arguments.files.size() == 1) name = fmt::format("{} ({})", path, counted(in_folder.size(), "file"));
    } else {
      files.push_back(path);
    }
  }
  if (bill && !files.empty())
    wanted.push_back({.format = format, .path = files.front(), .name = name, .parts = {files.begin() + 1, files.end()}});
  else
    for (const std::string& path : files)
      wanted.push_back({.format = format, .path = path});
  return wanted;
}

/// What the command line names, once.
Status import_files(HistoryFile& history, const ImportArguments& arguments, const std::function<void(ImportOutcome)>& add) {
  TRY_ASSIGN(const ImportOptions options, import_options(arguments));
  TRY_ASSIGN(const DeliveryOptions delivery, delivery_options(arguments));
  TRY_ASSIGN(std::vector<FileImport> wanted, files_to_import(arguments));
  for (FileImport& one : wanted) {
    one.delivery = delivery;
    one.options = options;
    ProgressLine progress(one.path);
    TRY_ASSIGN(ImportOutcome outcome, import_file(history, one, now(), progress.callback()));
    progress.clear();
    add(std::move(outcome));
  }
  return {};
}

/// The same again and again, until SIGINT or SIGTERM; of later times only what is new counts. The first that fails ends it: the
/// command line may be wrong.
Status follow_objects(HistoryFile& history, const ImportArguments& arguments, const std::function<void(ImportOutcome)>& add) {
  TRY_ASSIGN(const Duration every, every_of(arguments));
  UntilTheEnd end;
  TRY(import_files(history, arguments, add));
  while (!end.after(every)) {
    const Status done = import_files(history, arguments, [&](ImportOutcome outcome) {
      if (!outcome.already_there) add(std::move(outcome));
    });
    if (!done.ok()) tell("{}; tried again in {}\n", done.error().message, arguments.every);
  }
  return {};
}

Result<std::vector<ImportOutcome>> import_all(const ImportArguments& arguments) {
  TRY_ASSIGN(const ImportOptions options, import_options(arguments));
  TRY_ASSIGN(HistoryFile history, HistoryFile::open(arguments.history, OpenMode::kCreate));
  std::vector<ImportOutcome> outcomes;
  const auto add = [&](ImportOutcome outcome) {
    if (!arguments.json) print_outcome(outcome);
    outcomes.push_back(std::move(outcome));
  };
  if (!arguments.url.empty()) {
    TRY_ASSIGN(ImportOutcome outcome, import_server(history, arguments, options, now()));
    add(std::move(outcome));
  }
  if (arguments.format == "slurm" && arguments.files.empty()) {
    TRY_ASSIGN(ImportOutcome outcome, import_cluster(history, arguments, now()));
    add(std::move(outcome));
  }
  if (arguments.format == "kubernetes" && arguments.files.empty()) {
    if (arguments.watch) {
      TRY(follow_kubernetes(history, arguments, add));
    } else {
      ProgressLine progress("kubernetes");
      TRY_ASSIGN(ImportOutcome outcome, import_kubernetes(history, kubernetes_import(arguments), now()));
      progress.clear();
      add(std::move(outcome));
    }
  }
  TRY(arguments.watch && !arguments.files.empty() ? follow_objects(history, arguments, add)
                                                  : import_files(history, arguments, add));
  return outcomes;
}

/// A failed import leaves no History behind that holds nothing.
void remove_empty_history(const std::string& path) {
  {
    auto file = HistoryFile::open(path, OpenMode::kReadOnly);
    if (!file.ok()) return;
    const auto info = file->info();
    if (!info.ok() || info->imports > 0) return;
  }
  std::error_code ignored;
  for (const char* part : {"", "-wal", "-shm"})
    std::filesystem::remove(path + part, ignored);
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const ImportFormat& format : import_formats())
    names.emplace_back(format.name);
  return names;
}

ExitCode run_import(const ImportArguments& arguments) {
  if (find_import_format(arguments.format) == nullptr)
    return fail(fmt::format("there is no format '{}'{}", arguments.format, what_exists(arguments.format, format_names())));
  if (!arguments.url.empty() && arguments.format != "prometheus") return fail("--url is for `stint import prometheus`");
  const bool of_cluster = !arguments.kubeconfig.empty() || !arguments.context.empty();
  if (of_cluster && arguments.format != "kubernetes") return fail("--kubeconfig and --context are for `stint import kubernetes`");
  const bool of_stores = !arguments.files.empty() && std::ranges::all_of(arguments.files, is_object_url);
  if (arguments.watch && !of_stores && (arguments.format != "kubernetes" || !arguments.files.empty()))
    return fail("--watch is for a cluster (`stint import kubernetes` without files) and for files in a store (s3://bucket/key)");
  if (of_cluster && !arguments.files.empty()) return fail("give a cluster, or files of one: not both");
  if (arguments.url.empty() && arguments.files.empty() && arguments.format != "slurm" && arguments.format != "kubernetes")
    return fail(arguments.format == "prometheus" ? "name a file, or a server with --url"
                                                 : "name a file, or - for standard input");
  std::error_code ignored;
  const bool made_here = !std::filesystem::exists(arguments.history, ignored);
  const auto outcomes = import_all(arguments);
  const bool nothing = outcomes.ok() && std::ranges::all_of(*outcomes, &ImportOutcome::nothing_known);
  if ((!outcomes || nothing) && made_here) remove_empty_history(arguments.history);
  if (!outcomes) return fail(outcomes.error().message);
  if (nothing)
    return fail(
        "nothing was imported: Stint reads the metrics of DCGM exporter (DCGM_FI_DEV_GPU_UTIL, …), of nvidia_gpu_exporter "
        "(nvidia_smi_utilization_gpu_ratio, …) and its own (stint_gpu_…)");
  bool all_accepted = true;
  auto json = nlohmann::json::array();
  for (const ImportOutcome& outcome : *outcomes) {
    all_accepted &= outcome.already_there || outcome.record.rejected == 0;
    json.push_back(outcome_json(outcome));
  }
  if (arguments.json) fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  return all_accepted ? ExitCode::kOk : ExitCode::kPartly;
}

std::string format_help() {
  std::string text = "Formats:\n";
  for (const ImportFormat& format : import_formats())
    text += fmt::format("  {:<12} {}\n", format.name, format.what);
  return text +
         "\nExamples:\n"
         "  stint import dcgm metrics-*.prom.gz --at 2026-10-01T12:00:00Z --history fleet.db\n"
         "  nvidia-smi --query-gpu=timestamp,index,uuid,utilization.gpu --format=csv | stint import nvidia-smi - --node "
         "$(hostname) "
         "--history fleet.db\n"
         "  stint import prometheus --url http://localhost:9090 --since 30d --history fleet.db\n"
         "  stint import slurm --since 30d --history fleet.db\n"
         "  stint import kubernetes --kubeconfig ~/.kube/config --history fleet.db\n"
         "  stint import cur s3://billing/exports/cur2 --history fleet.db --watch --every 6h\n"
         "  kubectl get nodes,pods,namespaces,replicasets,jobs,resourcequotas -A -o json | stint import kubernetes - --history "
         "fleet.db\n\n"
         "A bill takes the place of the one before of its provider, account, month and format; the files of one command are one "
         "bill.\n"
         "Parquet (cur, focus) is read by DuckDB's library: libduckdb.so, or what STINT_DUCKDB names.\n"
         "Of a bill in a store each period is one import; what did not change is not fetched again. AWS's keys are found as "
         "AWS's "
         "tools find them.\n"
         "The same bytes twice change nothing. Exit code 3: something was refused, with its reason.";
}

}  // namespace

void add_import_command(Command& app, Action& action) {
  auto arguments = std::make_shared<ImportArguments>();
  Command* command = app.add_subcommand("import", "Takes telemetry, bills, jobs, inventory and prices into a History");
  command->footer(format_help());
  command->add_option("format", arguments->format, "what the files are; listed below")->required();
  command->add_option("files", arguments->files,
                      "files, plain, .gz, .zip or .tar.gz, here or in a store (s3://bucket/key); of a bill also the folder it "
                      "was delivered in; - is standard input");
  command->add_option("--history", arguments->history, "History file; made when it is not there")->required();
  command->add_option("--node", arguments->node, "the machine, where the files do not name it");
  command
      ->add_option("--zone,--zone-offset", arguments->zone,
                   "of local times that name none: Europe/Berlin, or +02:00 ahead of UTC")
      ->type_name("ZONE");
  command->add_option("--at", arguments->at, "time of samples that carry none (a scrape saved to a file)");
  command->add_option("--url", arguments->url, "prometheus: address of a live server");
  command->add_option("--since", arguments->since, "prometheus --url, slurm: from when; an instant or how long ago")
      ->capture_default_str();
  command->add_option("--until", arguments->until, "prometheus --url, slurm: to when; an instant, how long ago, or now")
      ->capture_default_str();
  command->add_option("--slurm-programs", arguments->slurm_programs, "slurm: folder of scontrol, squeue and sacct")
      ->type_name("DIR");
  command
      ->add_option("--client-label", arguments->client_label,
                   "kubernetes: label of pods or namespaces that names the client; without, the namespace does")
      ->type_name("LABEL");
  command
      ->add_option("--kubeconfig", arguments->kubeconfig,
                   "kubernetes without files: how to reach the cluster; else KUBECONFIG, the pod's account, ~/.kube/config")
      ->type_name("FILE");
  command->add_option("--context", arguments->context, "kubernetes without files: of the kubeconfig; else the current one");
  command->add_flag("--watch", arguments->watch,
                    "kubernetes without files, or files in a store: go on, and import what changed, until SIGINT or SIGTERM");
  command->add_option("--every", arguments->every, "--watch: time between imports")->capture_default_str();
  command->add_option("--step", arguments->step, "prometheus --url: time between samples, 1s to 1h")->capture_default_str();
  command->add_option("--token-file", arguments->token_file, "prometheus --url: file with a bearer token");
  command->add_option("--user", arguments->user, "prometheus --url: NAME:PASSWORD for basic authentication");
  command->add_flag("--part", arguments->part, "bills: another part of a bill that is there, to be counted beside it");
  command->add_flag("--replace", arguments->replace,
                    "bills: in the place of what is there of the account and month, whatever it holds");
  command->add_option("--prefer", arguments->prefer, "bills: of two exports of one account and month, the one that counts")
      ->type_name("FORMAT")
      ->check(one_of({"focus", "cur", "azure", "azure-actual", "gcp"}));
  command->add_flag("--json", arguments->json, "print the imports as JSON");
  command->callback([arguments, &action] { action = [arguments] { return run_import(*arguments); }; });
}

}  // namespace stint
