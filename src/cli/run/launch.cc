// stint launch: a command on a machine that is bought for it, followed, replaced when it is taken back, and given back at the end.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/launch/launch_controller.h"
#include "backends/launch/launch_machine.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/decide/catalog_source.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/launch_offers.h"
#include "cli/run/launch_state.h"
#include "cli/run/launch_view.h"
#include "clouds/aws_credentials.h"
#include "clouds/gce_machine.h"
#include "clouds/object_transfer.h"
#include "daemon/power/cloud_config.h"
#include "host/clock.h"
#include "host/fed_command.h"
#include "host/file.h"
#include "host/secret.h"
#include "host/sha256.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

constexpr int kLeft = 130;  // as a shell has it for an interrupted program
constexpr const char* kThisProgram = "/proc/self/exe";

struct LaunchArguments {
  std::vector<std::string> command;
  std::string resume, stop, state, name, store, history;
  // What runs.
  std::string folder = ".", data, checkpoint_folder = "checkpoints", program = kThisProgram;
  std::vector<std::string> excluded, environment;
  int64_t keep = 3, retries = 3;
  // On what.
  LaunchNeeds needs;
  std::string clouds_file;
  std::vector<std::string> clouds, zones, subnets, security_groups, tags;
  std::string image, launch_template, key_name, instance_profile, limit;
  bool on_demand = false;
  // Until when.
  std::string takes, start_up = "10m", lifetime = "24h", ready_within = "15m", look_every = "5s", list_lag = "30s";
  bool dry_run = false, json = false;
};

/// SIGINT and SIGTERM come to asked_to_leave() alone: every thread that is made later has them blocked.
class LeaveSignals {
 public:
  LeaveSignals() {
    sigemptyset(&set_);
    for (const int signal : {SIGTERM, SIGINT})
      sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  [[nodiscard]] bool asked_to_leave(Duration patience) const {
    const timespec time = {patience.whole_seconds(), patience.count_ns() % 1'000'000'000};
    return sigtimedwait(&set_, nullptr, &time) > 0;
  }

 private:
  sigset_t set_;
};

// ---- the plan -------------------------------------------------------------------------------------------------------

Result<LaunchPlan::Pairs> launch_pairs_of(const std::vector<std::string>& words, const char* option) {
  LaunchPlan::Pairs pairs;
  for (const std::string& word : words) {
    const size_t is = word.find('=');
    if (is == std::string::npos || is == 0) return invalid("{} '{}': write NAME=VALUE", option, excerpt(word));
    pairs.emplace_back(word.substr(0, is), word.substr(is + 1));
  }
  return pairs;
}

Result<Duration> launch_time_of(const std::string& text, const char* option, Duration least) {
  const auto time = parse_duration(text);
  if (!time.ok()) return invalid("{}: {}", option, time.error().message);
  if (*time < least || *time > kHour * 24 * 365)
    return invalid("{} {}: at least {} s, at most a year", option, text, least.whole_seconds());
  return Duration::seconds(time->whole_seconds());
}

/// The clouds of --clouds, those of --cloud alone; none without a file.
Result<CloudSettings> launch_clouds_of(const LaunchArguments& a, LaunchPlan& plan) {
  CloudSettings clouds;
  const auto is_wanted = [&a](const char* name) {
    return a.clouds.empty() || std::ranges::find(a.clouds, name) != a.clouds.end();
  };
  for (const std::string& cloud : a.clouds)
    if (cloud != "aws" && (a.clouds_file.empty() || (cloud != "gcp" && cloud != "azure")))
      return invalid(
          "--cloud {}: aws; or, with a file that says what their machines are made of (--clouds clouds.json), gcp and azure: "
          "docs/launch.md",
          excerpt(cloud));
  if (a.clouds_file.empty()) return clouds;
  const bool has_more = !a.image.empty() || !a.launch_template.empty() || !a.instance_profile.empty() || !a.subnets.empty() ||
                        !a.security_groups.empty() || !a.key_name.empty() || !a.tags.empty();
  if (has_more)
    return invalid(
        "--clouds {}: the file says what machines are made of: leave out --image, --launch-template, --instance-profile, "
        "--subnet, --security-group, --key-name and --tag",
        a.clouds_file);
  TRY_ASSIGN(plan.clouds, read_all(a.clouds_file));
  TRY_ASSIGN(clouds, parse_clouds(plan.clouds, a.clouds_file));
  if (!is_wanted("aws")) clouds.aws.reset();
  if (!is_wanted("gcp")) clouds.gcp.reset();
  if (!is_wanted("azure")) clouds.azure.reset();
  if (!clouds.is_on())
    return invalid("--cloud {}: {} has none of these", fmt::format("{}", fmt::join(a.clouds, ",")), a.clouds_file);
  if (clouds.gcp && plan.lifetime > kGceLongestRun) return invalid("--lifetime {}: Google takes at most 120 days", a.lifetime);
  return clouds;
}

/// All of the plan that the words say; what is to be looked up is not in it yet.
Result<LaunchPlan> launch_plan_of(const LaunchArguments& a) {
  TRY_ASSIGN(const ObjectUrl store, parse_object_url(a.store));
  LaunchPlan plan{.name = a.name.empty() ? "launch-" + random_hex(4) : a.name,
                  .owner = "stint-launch-" + random_hex(8),
                  .store = {},
                  .command = a.command,
                  .data = a.data,
                  .checkpoint_folder = a.checkpoint_folder,
                  .keep = a.keep,
                  .retries = a.retries,
                  .region = a.needs.region,
                  .image = a.image,
                  .launch_template = a.launch_template,
                  .key_name = a.key_name,
                  .instance_profile = a.instance_profile,
                  .security_groups = a.security_groups,
                  .begun = Instant::from_seconds(now().seconds())};
  if (!is_launch_name(plan.name)) return invalid("--name '{}': 1 to 40 of a–z, 0–9 and -, a letter first", excerpt(plan.name));
  std::string root = store.text();
  while (root.ends_with('/'))
    root.pop_back();
  plan.store = root + "/" + plan.name;
  if (plan.image.empty() && plan.launch_template.empty() && a.clouds_file.empty())
    return invalid("--image: what machines start from, such as ami-0123456789abcdef0; or --launch-template; or --clouds");
  if (plan.checkpoint_folder.empty()) return invalid("--checkpoint-dir: a folder of the working directory");
  TRY_ASSIGN(plan.environment, launch_pairs_of(a.environment, "--env"));
  TRY_ASSIGN(plan.subnets, launch_pairs_of(a.subnets, "--subnet"));
  TRY_ASSIGN(plan.tags, launch_pairs_of(a.tags, "--tag"));
  TRY_ASSIGN(plan.start_up, launch_time_of(a.start_up, "--start-up", Duration()));
  TRY_ASSIGN(plan.lifetime, launch_time_of(a.lifetime, "--lifetime", Duration::minutes(1)));
  TRY_ASSIGN(plan.ready_within, launch_time_of(a.ready_within, "--ready-within", Duration::seconds(1)));
  TRY_ASSIGN(plan.look_every, launch_time_of(a.look_every, "--look-every", Duration::seconds(1)));
  TRY_ASSIGN(plan.list_lag, launch_time_of(a.list_lag, "--list-lag", Duration::seconds(1)));
  if (!a.takes.empty()) {
    TRY_ASSIGN(plan.takes, launch_time_of(a.takes, "--takes", Duration::seconds(1)));
  }
  if (!a.needs.work.deadline.empty()) {
    TRY_ASSIGN(const Duration within, launch_time_of(a.needs.work.deadline, "--deadline", Duration::minutes(1)));
    plan.deadline = plan.begun + within;
  }
  if (!a.limit.empty()) {
    TRY_ASSIGN(const Rate limit, Rate::parse_per_hour(a.limit));
    plan.limit = limit;
  }
  return plan;
}

/// AWS by the words alone: in one region.
Result<CloudSettings> aws_alone(LaunchPlan& plan) {
  AwsCredentialChain credentials;
  if (plan.region.empty()) {
    TRY_ASSIGN(plan.region, credentials.region());
  }
  if (plan.region.empty()) return invalid("--region: where the machines are bought, such as us-east-1; or set AWS_REGION");
  CloudSettings clouds;
  clouds.aws = ec2_settings_of(plan);
  return clouds;
}

/// What is to be bought, at the prices of the moment.
Status look_offers_up(const LaunchArguments& a, LaunchPlan& plan) {
  TRY_ASSIGN(CloudSettings clouds, launch_clouds_of(a, plan));
  if (!clouds.is_on()) {
    TRY_ASSIGN(clouds, aws_alone(plan));
  }
  LaunchNeeds needs = a.needs;
  needs.region = plan.region;
  if (clouds.aws) needs.providers.emplace_back("aws");
  if (clouds.gcp) needs.providers.emplace_back("gcp");
  if (clouds.azure) needs.providers.emplace_back("azure");
  TRY_ASSIGN(const Catalog catalog, open_catalog(a.history));
  TRY_ASSIGN(const LaunchTypes types, launch_types(needs, catalog));
  const OfferLimits limits{.spot = !a.on_demand,
                           .on_demand = a.on_demand || plan.deadline.has_value(),
                           .region = plan.region,
                           .zones = a.zones,
                           .limit = plan.limit};
  LaunchMarket market = look_at_clouds(clouds, types, limits, catalog);
  for (const std::string& why : market.offers.empty() ? std::vector<std::string>() : market.unasked)
    tell("stint: {}\n", why);
  if (!market.old.empty())
    tell(
        "stint: the catalogue's price is older than half a year: {}. stint catalog refresh fetches new ones, and --history takes "
        "them\n",
        fmt::join(std::set<std::string>(market.old.begin(), market.old.end()), ", "));
  TRY_ASSIGN(plan.offers, launch_offers(types, std::move(market), limits));
  plan.gpu_model = types.gpu_model;
  plan.gpus = types.gpus;
  if (plan.takes <= Duration() && types.types.front().takes)
    plan.takes = Duration::seconds(std::max<int64_t>(1, types.types.front().takes->whole_seconds()));
  if (plan.deadline && plan.takes <= Duration())
    return invalid("--deadline needs --takes: how long the command runs on one such machine, so that on demand begins in time");
  return check_deadline(plan);
}

// ---- what is brought ------------------------------------------------------------------------------------------------

Status pack_folder(const LaunchArguments& a, const std::string& archive, LaunchPlan& plan) {
  std::vector<std::string> command = {"tar", "--create", "--gzip", "--file", archive, "--exclude-vcs"};
  std::vector<std::string> excluded = a.excluded;
  excluded.push_back("./" + plan.checkpoint_folder);
  for (const std::string& pattern : excluded)
    command.push_back("--exclude=" + pattern);
  command.insert(command.end(), {"--directory", a.folder, "."});
  TRY_ASSIGN(const CommandOutput packed, run_fed_command(command, "", kHour, 1 << 20));
  if (packed.status.shell_code() != 0)
    return make_error(ErrorCode::kUnavailable, "{} cannot be packed: {}", a.folder, excerpt(trim(packed.standard_error), 300));
  std::error_code failed;
  plan.code_bytes = static_cast<int64_t>(fs::file_size(archive, failed));
  TRY_ASSIGN(plan.code_sha256, sha256_of_file(archive));
  return {};
}

/// The stint that the machines run, once for all launches of a store.
Status bring_program(const LaunchArguments& a, LaunchPlan& plan) {
  TRY_ASSIGN(plan.program_sha256, sha256_of_file(a.program));
  plan.program = fmt::format("{}/programs/stint-{}", plan.store.substr(0, plan.store.rfind('/')), plan.program_sha256);
  TRY_ASSIGN(const ObjectUrl url, parse_object_url(plan.program));
  TRY_ASSIGN(const auto store, open_object_store(url));
  // Machines fetch it by such an address: without one none is to be bought.
  if (const auto address = store->link(url.key, kHour); !address.ok()) return address.error();
  if (store->head(url.key).ok()) return {};
  if (store->last_failure() != CloudFailure::kNotFound) return store->head(url.key).error();
  std::error_code failed;
  const auto size = static_cast<int64_t>(fs::file_size(a.program, failed));
  if (failed) return make_error(ErrorCode::kNotFound, "{}: {}", a.program, failed.message());
  tell("stint: {} is brought to {}\n", a.program == kThisProgram ? "this program" : a.program, plan.program);
  return send_file(*store, a.program, url.key, {.size = size, .sha256 = plan.program_sha256});
}

// ---- running --------------------------------------------------------------------------------------------------------

void print_bill(const LaunchController& controller, bool as_json) {
  const Instant at = now();
  if (as_json) {
    fmt::print("{}\n", indented(launch_json(controller.plan(), controller.record(), at)));
    return;
  }
  const auto& end = controller.record().end();
  const LaunchPlan& plan = controller.plan();
  if (end && plan.deadline)
    tell("stint: {} the deadline {}\n", end->at <= *plan.deadline ? "within" : "AFTER", format_utc(*plan.deadline));
  fmt::print(stderr, "{}", launch_bill_table(plan, controller.record(), at, screen_of_stderr()));
}

LaunchTalk talk_of(const LeaveSignals& signals, bool as_json) {
  return {.say = [](const std::string& sentence) { tell("{}  {}\n", format_utc(now()).substr(11, 8), sentence); },
          .output =
              [as_json](std::string_view bytes) {
                std::FILE* to = as_json ? stderr : stdout;  // the result alone stands on standard output
                std::fwrite(bytes.data(), 1, bytes.size(), to);
                std::fflush(to);
              },
          .pause = [&signals](Duration time) { return signals.asked_to_leave(time); }};
}

ExitCode control(const std::string& folder, bool stops, bool as_json) {
  const LeaveSignals signals;
  auto controller = LaunchController::open(folder, talk_of(signals, as_json), parse_clouds);
  if (!controller.ok()) return fail(controller.error().message);
  const std::string name = (*controller)->plan().name;
  const Result<bool> done = stops ? (*controller)->stop() : (*controller)->run();
  if (!done.ok() || !*done) {
    const LaunchRecord& record = (*controller)->record();
    const std::string why = done.ok() ? "left alone" : done.error().message;
    tell("stint: {}. `stint launch --resume {}` goes on, `stint launch --stop {}` gives back what there is{}\n", why, name, name,
         record.end() || record.stopped() ? "" : "; what runs now goes on, and costs");
    return done.ok() ? static_cast<ExitCode>(kLeft) : ExitCode::kFailed;
  }
  print_bill(**controller, as_json);
  const auto& end = (*controller)->record().end();
  if (!end) return ExitCode::kOk;  // stopped as asked
  if (!end->why.empty()) return fail(end->why);
  return static_cast<ExitCode>(end->code);
}

ExitCode begin_launch(const LaunchArguments& a) {
  auto made = launch_plan_of(a);
  if (!made.ok()) return fail(made.error().message);
  LaunchPlan& plan = *made;
  if (const Status found = look_offers_up(a, plan); !found.ok()) return fail(found.error().message);
  if (a.dry_run) {
    const std::string text =
        a.json ? indented(launch_json(plan, {}, plan.begun)) + "\n" : launch_offers_table(plan, screen_of_stdout());
    return write_text(text).ok() ? ExitCode::kOk : ExitCode::kFailed;
  }
  const std::string folder = launch_state_folder(a.state) + "/" + plan.name;
  const Status ready = [&]() -> Status {
    TRY(make_launch_folder(folder));
    TRY(pack_folder(a, folder + "/code.tar.gz", plan));
    TRY(bring_program(a, plan));
    return keep_launch_plan(folder, plan);
  }();
  if (!ready.ok()) return fail(ready.error().message);
  tell("stint: launch {}: {} kinds of machines, {} first; `stint launch --stop {}` gives all back\n", plan.name,
       plan.offers.size(), plan.offers.front().name(), plan.name);
  return control(folder, false, a.json);
}

ExitCode run_launch(const LaunchArguments& a) {
  if (!a.resume.empty()) return control(launch_state_folder(a.state) + "/" + a.resume, false, a.json);
  if (!a.stop.empty()) return control(launch_state_folder(a.state) + "/" + a.stop, true, a.json);
  return begin_launch(a);
}

void check_words(const LaunchArguments& a) {
  for (const std::string& name : {a.resume, a.stop})
    if (!name.empty() && !is_launch_name(name)) wrong_usage(fmt::format("'{}' is no name of a launch", excerpt(name)));
  if (!a.resume.empty() && !a.stop.empty()) wrong_usage("--resume or --stop, not both");
  const bool is_new = a.resume.empty() && a.stop.empty();
  if (!is_new && !a.command.empty()) wrong_usage("the command of a launch stays: give none with --resume and --stop");
  if (is_new && a.command.empty()) missing_argument("COMMAND, after --, or --resume NAME or --stop NAME");
  if (is_new && a.store.empty()) missing_argument("--store");
}

}  // namespace

void add_launch_command(Command& app, Action& action) {
  auto a = std::make_shared<LaunchArguments>();
  Command* command = app.add_subcommand(
      "launch", "Runs a command on a machine bought for it: cheapest first, spot with its deadline kept, billed to the cent");
  command->footer(
      "Example: stint launch --store s3://bucket/launches --image ami-0123456789abcdef0 --instance-profile trainer --gpu "
      "A100-40GB --gpus 8 "
      "--deadline 12h --takes 5h -- python train.py\n"
      "         stint launch --resume night\n"
      "The command runs under stint run in a copy of the working directory: it finds STINT_CHECKPOINT_DIR, STINT_RESTORE_FROM "
      "and\n"
      "STINT_DATA in its environment. Exit code: the command's; 130 when you leave it (Ctrl-C) and it goes on.");
  command->add_option("COMMAND", a->command, "program and its arguments, after --");
  command->add_option("--resume", a->resume, "go on with this launch, after its controller ended however")->type_name("NAME");
  command->add_option("--stop", a->stop, "end this launch: give its machine back and say what it cost")->type_name("NAME");
  command->add_option("--name", a->name, "of the launch: a–z, 0–9 and -; else drawn");
  command->add_option("--store", a->store, "where code, checkpoints and output lie: s3://bucket/prefix, gs://…, az://…");
  command->add_option("--clouds", a->clouds_file,
                      "file that says what machines of AWS, Google Cloud and Azure are made of: the cheapest is bought");
  command->add_option("--cloud", a->clouds, "of these alone: aws, gcp, azure; parted by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--folder", a->folder, "the working directory: it is packed and brought")->capture_default_str();
  command->add_option("--exclude", a->excluded, "not packed: names or patterns as tar has them; repeatable")
      ->allow_extra_args(false);
  command->add_option("--env", a->environment, "NAME=VALUE for the command's environment; repeatable")->allow_extra_args(false);
  command->add_option("--data", a->data, "where the data lie: the command finds it as STINT_DATA");
  command->add_option("--checkpoint-dir", a->checkpoint_folder, "where the command saves, in the working directory")
      ->capture_default_str();
  command->add_option("--sync-keep", a->keep, "keep the newest so many copies of checkpoints; 0: all")
      ->capture_default_str()
      ->check(non_negative_number());
  command->add_option("--retries", a->retries, "starts again so often in a row on one machine without a new good checkpoint")
      ->capture_default_str()
      ->check(non_negative_number());
  command->add_option("--instance-type", a->needs.instance_types, "these types alone; parted by commas")->delimiter(',');
  command->add_option("--gpu", a->needs.gpu_models, "types with one of these GPU models; parted by commas")->delimiter(',');
  command->add_option("--gpus", a->needs.gpus, "GPUs of the machine, at least")->check(non_negative_number());
  Command* kinds =
      command->add_option_group("work", "What is to be done, as stint pick takes it: types that do it, and how long it takes");
  add_work_kinds(*kinds, a->needs.work, WorkKinds::kJobs);
  add_work_options(*command, a->needs.work, WorkKinds::kJobs);
  command->add_option("--takes", a->takes, "how long the command runs on one such machine, such as 5h: for --deadline");
  command->add_option("--start-up", a->start_up, "from the purchase until the command works again, lost work included")
      ->capture_default_str();
  command->add_flag("--on-demand", a->on_demand, "no spot machines");
  command->add_option("--limit-per-hour", a->limit, "USD: no dearer machine");
  command->add_option("--lifetime", a->lifetime, "a machine ends by itself then, whatever becomes of this program")
      ->capture_default_str();
  command->add_option("--region", a->needs.region, "this one alone; without --clouds of AWS, else AWS_REGION");
  command->add_option("--history", a->history, "lay this History's imported prices over the built-in ones");
  command->add_option("--zone", a->zones, "these zones alone; parted by commas")->delimiter(',');
  command->add_option("--image", a->image, "what machines start from: ami-…");
  command->add_option("--launch-template", a->launch_template, "in its place, or beside it for disks and network");
  command->add_option("--instance-profile", a->instance_profile, "the machine's role: it may read and write the store");
  command->add_option("--subnet", a->subnets, "ZONE=SUBNET; repeatable; else the zone's default")->allow_extra_args(false);
  command->add_option("--security-group", a->security_groups, "sg-…; repeatable")->allow_extra_args(false);
  command->add_option("--key-name", a->key_name, "an SSH key, for a look at the machine");
  command->add_option("--tag", a->tags, "KEY=VALUE on machines and disks; repeatable")->allow_extra_args(false);
  command->add_option("--ready-within", a->ready_within, "a machine that is not up by then is given up")->capture_default_str();
  command->add_option("--look-every", a->look_every, "at what the machine tells")->capture_default_str();
  command->add_option("--list-lag", a->list_lag, "how far the clouds' lists may be behind")->capture_default_str();
  command->add_option("--program", a->program, "the stint that the machine runs")->capture_default_str();
  command->add_option("--state", a->state, "folder of the launches; else STINT_LAUNCHES or ~/.local/state/stint/launches");
  command->add_flag("--dry-run", a->dry_run, "say what would be bought, and buy nothing");
  command->add_flag("--json", a->json, "print the bill as JSON");
  command->callback([a, &action] {
    check_words(*a);
    action = [a] { return run_launch(*a); };
  });
}

/// Not for people: what a machine of a launch runs.
void add_launch_machine_command(Command& app, Action& action) {
  auto options = std::make_shared<LaunchMachineOptions>();
  Command* command = app.add_subcommand("launch-machine", "Runs a launch's command on its machine")->group("");
  command->add_option("STORE", options->store, "of the launch")->required();
  command->add_option("MACHINE", options->machine, "this one's name")->required();
  command->add_option("CLOUD", options->cloud, "whose it is")->capture_default_str();
  command->callback([options, &action] {
    action = [options] {
      options->program = fs::canonical(kThisProgram).string();
      options->folder = ".";
      const auto ended = run_launch_machine(*options);
      return ended.ok() ? static_cast<ExitCode>(*ended) : fail(ended.error().message);
    };
  });
}

}  // namespace stint
