// Checkpoints as they lie in a folder: found, proven whole, pointed at, and copied to where they outlive the machine.
//
// Each entry of the folder is one: a file, or a folder of files. Not one are names that begin with a dot or end in .tmp,
// .partial or .sha256, and links. A list of hashes as sha256sum writes it proves one whole: SHA256SUMS inside the folder,
// NAME.sha256 beside the file. Without a list only time can tell that a checkpoint is complete.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"

namespace stint {

struct CheckpointFile {
  std::string name;  ///< relative to the folder the checkpoint lies in: `step-7/model.bin`, `step-7.pt`, `step-7.pt.sha256`
  Bytes size;
  Instant modified;
  bool operator==(const CheckpointFile&) const = default;
};

struct Checkpoint {
  std::string name;  ///< of the entry: `step-7`
  bool is_folder = false;
  bool has_list = false;              ///< of hashes
  std::vector<CheckpointFile> files;  ///< at least one, in order of names
  Bytes size;
  Instant modified;             ///< latest of its files
  std::optional<Instant> born;  ///< earliest of its files, where the file system keeps it

  /// Another text when a file came, went or changed.
  [[nodiscard]] std::string signature() const;
};

/// Not drafts, hidden files and lists of hashes.
bool can_be_a_checkpoint(std::string_view name);
/// `step-7.pt.sha256`
std::string beside_list_of(std::string_view name);

/// Newest first: by time of modification, then by name with its numbers as numbers. Empty when there is no such folder.
Result<std::vector<Checkpoint>> list_checkpoints(const std::string& folder);

/// Reads all of it. @return its digest (of all its files' names and hashes);
///   kInvalidInput when its list names a file that is missing or differs, kUnavailable when it cannot be read.
Result<std::string> digest_of(const std::string& folder, const Checkpoint& checkpoint);

/// The same of hashes by names.
std::string digest_of_hashes(const std::map<std::string, std::string>& hashes);

/// Makes the link `latest` in the folder point at the entry, in one step. @return kConflict when something else has that name.
Status point_latest_at(const std::string& folder, const std::string& name);
/// Renames the entry to `.damaged-NAME`, so that no program takes it for its newest.
Status set_aside(const std::string& folder, const std::string& name);

struct CopyOptions {
  int64_t bytes_per_second = 0;         ///< 0 = as fast as it goes
  std::function<void(Duration)> sleep;  ///< needed when there is a rate
};
/// Copies it into another folder, in place of one of that name: under a name that is no checkpoint's, every file synced,
/// proven to have the digest, then renamed. @return kInvalidInput when what arrived is not what was to be copied.
Status copy_checkpoint(const std::string& from, const Checkpoint& checkpoint, const std::string& digest, const std::string& to,
                       const CopyOptions& options);

/// Where a checkpoint is put together before it gets its place: its files keep their names below it.
std::string draft_of(const std::string& to, const std::string& name);
/// Syncs the folders of a whole draft, whose files are synced, and puts it in the place of what has its name. The draft is gone then.
Status install_draft(const std::string& to, const Checkpoint& checkpoint);
/// Takes it away, so that it is no checkpoint at any instant on the way. No error when it is not there.
Status remove_checkpoint(const std::string& folder, const std::string& name);

/// `step-9` before `step-10`.
bool natural_less(std::string_view a, std::string_view b);

}  // namespace stint
