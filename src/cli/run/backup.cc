// stint backup and stint restore: a daemon's state as one file, and back.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/counted.h"
#include "base/quoting.h"
#include "cli/app.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "cli/run/backup_archive.h"
#include "cli/run/backup_object.h"
#include "clouds/object_url.h"
#include "daemon/fleet_config.h"
#include "host/clock.h"
#include "host/file.h"
#include "report/short_text.h"

namespace stint {
namespace {

struct BackupArguments {
  BackupOptions backup;
  std::string file, kms_key;
  bool json = false;
};

struct RestoreArguments {
  std::string file;
  std::string state_folder;
  std::string key_file;
  bool check = false;
  bool json = false;
};

/// With a line that says how long it takes.
template <typename Work>
Result<BackupManifest> at_work(std::string what, Work work) {
  const ProgressLine progress(std::move(what));
  return work();
}

std::string summary(const BackupManifest& manifest) {
  uint64_t bytes = 0;
  for (const BackupFile& file : manifest.files)
    bytes += file.bytes;
  return fmt::format("{}, {:.1f} MB, as of {}; audit log sound: {}{}{}\n", counted(manifest.files.size(), "file"),
                     static_cast<double>(bytes) / 1e6, short_utc(manifest.made_at) + " UTC",
                     counted(manifest.audit_records, "record"), manifest.audit_head.empty() ? "" : ", head ",
                     manifest.audit_head);
}

ExitCode finish(const Result<BackupManifest>& done, bool json, const std::string& next) {
  if (!done.ok()) return fail(done.error().message);
  const Status printed = json ? write_output("", to_json(*done)) : write_text(summary(*done));
  if (!printed.ok()) return fail(printed.error().message);
  if (!next.empty()) tell("{}\n", next);
  return ExitCode::kOk;
}

/// Without what stands between user and host, where a password may be.
std::string without_password(const std::string& url) {
  const size_t user = url.find("://") + 3;
  const size_t at = url.find('@', user), colon = url.find(':', user);
  return at == std::string::npos || colon > at ? url : url.substr(0, colon) + url.substr(at);
}

/// Of the event log; empty = a file, or not known.
std::string log_url(const std::string& config_file) {
  const auto text = read_all(config_file);
  const auto config = text.ok() ? parse_daemon_config(*text, config_file) : Result<DaemonConfig>(text.error());
  return config.ok() ? config->log : "";
}

/// What of the daemon's state this archive does not hold; empty = it holds all.
std::string what_is_elsewhere(const BackupArguments& arguments) {
  if (arguments.backup.database.empty()) return "";
  return fmt::format(
      "The event log is in PostgreSQL and not in this file; users, tokens and the audit log are in both. Save it after this, so "
      "that it knows all that is in here:\n"
      "  pg_dump --format=custom --schema=stint_log --file={} {}",
      shell_quoted(arguments.file + ".pgdump"), shell_quoted(without_password(arguments.backup.database)));
}

/// What to do after it was restored.
std::string next_step(const RestoreArguments& arguments) {
  const std::string start = fmt::format("stint daemon --config {0}/config.json --state {0}", arguments.state_folder);
  const std::string url = log_url(arguments.state_folder + "/config.json");
  if (url.empty()) return "Next: " + start;
  return fmt::format(
      "Next, where its database is lost, too, restore that: pg_restore --dbname={} DUMP\n"
      "Without its dump the event log begins anew; users, tokens and the audit log are then taken from this backup.\n"
      "Then: {}",
      shell_quoted(without_password(url)), start);
}

ExitCode run_backup(BackupArguments arguments) {
  arguments.backup.database = log_url(arguments.backup.config_file);
  const bool is_object = is_object_url(arguments.file);
  if (!is_object && !arguments.kms_key.empty())
    return fail("--kms-key is for backups in an object store; --key FILE encrypts any");
  return finish(at_work("saving " + arguments.backup.state_folder,
                        [&] {
                          return is_object ? make_backup_object(arguments.backup, arguments.file, arguments.kms_key, now())
                                           : make_backup(arguments.backup, arguments.file, now());
                        }),
                arguments.json, what_is_elsewhere(arguments));
}

std::string scratch_folder() {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  return error ? "." : folder.string();
}

/// @param use  is given the archive's path on this machine.
Result<BackupManifest> with_backup(const std::string& file, const std::string& beside,
                                   const std::function<Result<BackupManifest>(const std::string&)>& use) {
  return is_object_url(file) ? with_fetched_backup(file, beside, use) : use(file);
}

ExitCode run_restore(const RestoreArguments& arguments) {
  if (arguments.check) {
    const auto check = [&](const std::string& file) { return check_backup(file, scratch_folder(), arguments.key_file); };
    return finish(
        at_work("checking " + arguments.file, [&] { return with_backup(arguments.file, scratch_folder() + "/stint", check); }),
        arguments.json, "");
  }
  const auto restore = [&](const std::string& file) { return restore_backup(file, arguments.state_folder, arguments.key_file); };
  const Result<BackupManifest> restored =
      at_work("restoring " + arguments.file, [&] { return with_backup(arguments.file, arguments.state_folder, restore); });
  return finish(restored, arguments.json, restored.ok() ? next_step(arguments) : "");
}

}  // namespace

void add_backup_commands(Command& app, Action& action) {
  auto backup = std::make_shared<BackupArguments>();
  backup->backup.stint_version = STINT_VERSION;
  Command* make = app.add_subcommand("backup", "Saves a daemon's state into one file, while the daemon runs");
  make->add_option(
          "file", backup->file,
          "to write: a tar archive, for its owner alone to read; or s3://bucket/name.tar, gs://…, az://account/container/…")
      ->required();
  make->add_option("--state", backup->backup.state_folder, "the daemon's folder")->required();
  make->add_option("--config", backup->backup.config_file, "the daemon's configuration, which goes with it")->required();
  make->add_flag("--logs", backup->backup.logs, "also what jobs printed");
  make->add_option("--key", backup->backup.key_file,
                   "file with 64 hexadecimal digits (openssl rand -hex 32): the archive is encrypted with it (AES-256-GCM)");
  make->add_option("--kms-key", backup->kms_key,
                   "of the store, that encrypts it there: id or ARN (s3://), key name (gs://), encryption scope (az://)");
  make->add_flag("--json", backup->json, "print its manifest as JSON");
  make->footer(
      "Example: stint backup --state /var/lib/stint --config /etc/stint/stint.json stint-$(date +%F).tar\n"
      "Keys for TLS and the file admin.token are not in it. Note the head of the audit log elsewhere: it proves what came "
      "before.");
  make->callback([backup, &action] { action = [backup] { return run_backup(*backup); }; });

  auto restore = std::make_shared<RestoreArguments>();
  Command* back = app.add_subcommand("restore", "Makes a daemon's state folder of a backup, checked, whole or not at all");
  back->add_option("file", restore->file, "that `stint backup` wrote, or its address in an object store")->required();
  Option* state = back->add_option("--state", restore->state_folder, "folder to make; not there yet, or empty");
  Option* check = back->add_flag("--check", restore->check, "only say whether the backup is sound")->excludes(state);
  back->add_option("--key", restore->key_file, "file with the key that it was encrypted with");
  back->add_flag("--json", restore->json, "print the backup's manifest as JSON");
  back->footer("Example: stint restore stint-2026-10-01.tar --state /var/lib/stint");
  back->callback([restore, state, check, &action] {
    if (state->empty() && check->empty()) wrong_usage("name the folder with --state, or give --check");
    action = [restore] { return run_restore(*restore); };
  });
}

}  // namespace stint
