// stint run: brings a command to its end, over crashes and interruptions, with its checkpoints looked after.
#include <fmt/format.h>

#include <memory>

#include "backends/supervise/supervisor.h"
#include "cli/cli.h"
#include "cli/parser.h"
#include "clouds/metadata_address.h"
#include "clouds/object_url.h"

namespace stint {
namespace {

struct RunArguments {
  std::vector<std::string> command;
  std::string checkpoint_folder, events, price;
  CopyTarget copies;
  std::string notice, cloud = "auto", alert_after = "2h", settled_after = "10s", look_every = "1s";
  std::string first_pause = "5s", longest_pause = "5m";
  int retries = 3;
  double copy_mib_per_second = 0;
  bool acknowledge_notice = false;
};

/// What a spot machine is told before its end at least, as its cloud documents it.
std::string usual_notice(std::optional<CloudProvider> cloud) {
  return cloud == CloudProvider::kGoogle || cloud == CloudProvider::kAzure ? "30s" : "120s";
}

Status check_copies(const SupervisorOptions& o) {
  if (o.copies.exists() && o.checkpoint_folder.empty()) return invalid("--sync-to needs --checkpoint-dir: what is to be copied");
  if (!o.copies.exists() && o.copies.keep > 0) return invalid("--sync-keep needs --sync-to: where the copies are");
  if (o.copies.is_store()) {
    TRY(parse_object_url(o.copies.to));
  } else if (o.copies.to.find("://") != std::string::npos) {
    return invalid("--sync-to {}: give a folder, s3://bucket/prefix, gs://bucket/prefix or az://account/container/prefix",
                   o.copies.to);
  } else if (!o.copies.encryption_key.empty()) {
    return invalid("--sync-kms-key is for copies in an object store: --sync-to '{}' is none", o.copies.to);
  }
  return {};
}

Result<SupervisorOptions> options_of(const RunArguments& a) {
  SupervisorOptions o;
  o.command = a.command;
  o.checkpoint_folder = a.checkpoint_folder;
  o.copies = a.copies;
  o.events_file = a.events;
  o.copy_bytes_per_second = static_cast<int64_t>(a.copy_mib_per_second * 1048576);
  o.limits.retries = a.retries;
  TRY_ASSIGN(o.cloud, cloud_named(a.cloud));
  o.acknowledge_notice = a.acknowledge_notice;
  TRY_ASSIGN(o.limits.notice, parse_duration(a.notice.empty() ? usual_notice(o.cloud) : a.notice));
  TRY_ASSIGN(o.limits.alert_after, parse_duration(a.alert_after));
  TRY_ASSIGN(o.limits.first_pause, parse_duration(a.first_pause));
  TRY_ASSIGN(o.limits.longest_pause, parse_duration(a.longest_pause));
  TRY_ASSIGN(o.settled_after, parse_duration(a.settled_after));
  TRY_ASSIGN(o.look_every, parse_duration(a.look_every));
  if (!a.price.empty()) {
    TRY_ASSIGN(o.price, Rate::parse_per_hour(a.price));
  }
  TRY(check_copies(o));
  return o;
}

/// Exits with what the command ended with, as `stint profile` does.
ExitCode run_run(const RunArguments& a) {
  const auto options = options_of(a);
  if (!options.ok()) return fail(options.error().message);
  const auto ended = supervise(*options);
  if (ended.ok()) return static_cast<ExitCode>(ended->shell_code());
  (void)fail(ended.error().message);
  return static_cast<ExitCode>(ended.error().code == ErrorCode::kNotFound ? kShellNotFound : static_cast<int>(ExitCode::kFailed));
}

}  // namespace

void add_run_command(Command& app, Action& action) {
  auto a = std::make_shared<RunArguments>();
  Command* command = app.add_subcommand(
      "run", "Runs a command to its end: looks after its checkpoints, starts it again, passes the notice of an interruption on");
  command->footer(
      "Example: stint run --checkpoint-dir ck --sync-to /mnt/durable/ck --notice 120s -- python train.py\n"
      "         stint run --checkpoint-dir ck --sync-to s3://bucket/job-7 --sync-keep 3 -- python train.py\n"
      "The command finds STINT_CHECKPOINT_DIR, STINT_RESTORE_FROM (the newest good checkpoint; empty: from the beginning)\n"
      "and STINT_NOTICE_SECONDS in its environment. Exit code: the command's; 127 when there is no such program.");
  command->add_option("COMMAND", a->command, "program and its arguments, after --")->required();
  command->add_option("--checkpoint-dir", a->checkpoint_folder,
                      "where the command saves: each file or folder in it is a checkpoint");
  command->add_option("--sync-to", a->copies.to,
                      "copy good checkpoints to this folder, s3://bucket/prefix, gs://bucket/prefix or "
                      "az://account/container/prefix, and start from "
                      "there on a new machine");
  command->add_option("--sync-keep", a->copies.keep, "keep the newest so many copies; 0: all")
      ->capture_default_str()
      ->check(non_negative_number());
  command->add_option("--sync-kms-key", a->copies.encryption_key,
                      "what encrypts copies in a store: id or ARN of an AWS KMS key, name of a Google Cloud KMS key, encryption "
                      "scope of Azure; else as the "
                      "store is set up");
  command->add_option("--sync-rate", a->copy_mib_per_second, "at most so many MiB per second while the command runs; 0: no limit")
      ->check(non_negative_number());
  command->add_option(
      "--notice", a->notice,
      "from the signal to the end of the machine; default 120s, on Google Cloud and Azure 30s, as their spot machines have");
  command
      ->add_option("--cloud", a->cloud,
                   "whose notices of interruption to watch for: aws, gcp, azure, none, or auto: as the machine's firmware says")
      ->capture_default_str();
  command->add_flag("--acknowledge-notice", a->acknowledge_notice,
                    "on Azure: once all is saved, tell it that the machine may go before its time");
  command->add_option("--retries", a->retries, "starts again so often in a row without a new good checkpoint")
      ->capture_default_str()
      ->check(non_negative_number());
  command->add_option("--pause", a->first_pause, "before the first start again; doubles each time")->capture_default_str();
  command->add_option("--longest-pause", a->longest_pause, "where that ends")->capture_default_str();
  command->add_option("--alert-after", a->alert_after, "without a good checkpoint: an alert; 0s: none")->capture_default_str();
  command
      ->add_option("--settled-after", a->settled_after, "a checkpoint without SHA256SUMS is complete when unchanged for so long")
      ->capture_default_str();
  command->add_option("--look-every", a->look_every, "at the checkpoints")->capture_default_str();
  command->add_option("--price", a->price, "of the machine in USD per hour: tells what it cost");
  command->add_option("--events", a->events, "append what happens to this file, a JSON object a line");
  command->callback([a, &action] { action = [a] { return run_run(*a); }; });
}

}  // namespace stint
