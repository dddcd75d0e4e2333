// A daemon's state as one file: a tar archive with a manifest first, then the databases, the configuration and, where asked for,
// what jobs printed. Drawn in docs/formats.md, stint-backup/1.
//
// Making one needs no pause of the daemon (store/database_copy.h). A backup is checked before it is given its name, and a
// restored folder before it is given its own: neither is ever there by half.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

struct BackupFile {
  std::string name;  ///< in the archive and in the folder: "events.db", "logs/17.0.0.out"
  uint64_t bytes = 0;
  std::string sha256;
  int64_t schema_version = 0;  ///< SQLite's user_version; 0 = none, or no database
  bool operator==(const BackupFile&) const = default;
};

struct BackupManifest {
  Instant made_at;
  std::string stint_version;
  std::vector<BackupFile> files;  ///< as they follow in the archive
  int64_t audit_records = 0;
  std::string audit_head;  ///< hash of the last audit record; empty = none
  bool operator==(const BackupManifest&) const = default;
};

/// As it stands in the archive and as --json prints it.
std::string to_json(const BackupManifest& manifest);

struct BackupOptions {
  std::string state_folder;
  std::string config_file;  ///< goes with it as config.json
  std::string
      database;       ///< URL of an event log in PostgreSQL, with users, tokens and the audit log; empty = all is in the folder
  bool logs = false;  ///< what jobs printed, too
  std::string key_file;  ///< of the key that it is encrypted with (host/sealed.h); "" = it is not
  std::string stint_version;
};

/// Writes the archive, readable to its owner alone, or leaves nothing. @return error also when `file` is there already, or when the
/// audit log's chain is broken.
Result<BackupManifest> make_backup(const BackupOptions& options, const std::string& file, Instant now);

/// Unpacks and checks everything: checksums, databases, the audit log's chain. The folder appears whole or not at all.
/// @param state_folder  absent or empty. @return error naming what is wrong with the archive or in the way.
/// @param key_file  "" = the archive is not encrypted; with one, an archive that is not encrypted is refused
Result<BackupManifest> restore_backup(const std::string& file, const std::string& state_folder, const std::string& key_file = "");

/// The same without leaving a folder. @param scratch_folder  where what is unpacked may lie meanwhile.
Result<BackupManifest> check_backup(const std::string& file, const std::string& scratch_folder, const std::string& key_file = "");

}  // namespace stint
