// Backups in an object store: made and checked on this machine's disk, then sent whole, proven by SHA-256; and fetched back.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "cli/run/backup_archive.h"

namespace stint {

/// @param url  of an object that is not there yet. The archive lies beside the state's folder while it is sent.
/// @param kms_key  of the store's key service; "" = as the bucket is set up.
/// @return kConflict when an object of that name is there: nothing is overwritten.
Result<BackupManifest> make_backup_object(const BackupOptions& options, const std::string& url, const std::string& kms_key,
                                          Instant now);

/// Brings an archive here and gives its path to `use`; it is gone afterwards.
/// @param beside  a path in the folder where it may lie meanwhile.
Result<BackupManifest> with_fetched_backup(const std::string& url, const std::string& beside,
                                           const std::function<Result<BackupManifest>(const std::string& file)>& use);

}  // namespace stint
