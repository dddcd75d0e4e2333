// Where checkpoints are copied to, so that they outlive the machine: a folder, or an object store (object_copies.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/supervise/checkpoint.h"
#include "backends/supervise/supervisor_state.h"

namespace stint {

struct CopyTarget {
  std::string to;              ///< folder, or `s3://bucket/prefix`; "" = there are no copies
  int keep = 0;                ///< the newest so many copies; 0 = all
  std::string encryption_key;  ///< of the store's key service; "" = as the bucket is set up

  [[nodiscard]] bool exists() const { return !to.empty(); }
  [[nodiscard]] bool is_store() const;
};

struct StoredCheckpoint {
  Checkpoint checkpoint;
  Instant newness;    ///< what orders it among others
  std::string place;  ///< what fetch() finds it by
};

struct StoredCheckpoints {
  std::vector<StoredCheckpoint> found;  ///< newest first
  /// Damaged and half-uploaded ones, with the reason.
  std::vector<std::pair<std::string, std::string>> passed_over;
  bool anything = false;             ///< was there ever a copy?
  std::vector<std::string> digests;  ///< of those found, where they are recorded
  std::string state;                 ///< the newest SupervisorState there, as JSON; "" = none
};

/// For one thread, in a process of its own: an implementation may start threads.
class CheckpointCopies {
 public:
  virtual ~CheckpointCopies() = default;
  CheckpointCopies() = default;
  CheckpointCopies(const CheckpointCopies&) = delete;
  CheckpointCopies& operator=(const CheckpointCopies&) = delete;

  virtual Result<StoredCheckpoints> list() = 0;
  /// Brings it into the folder, whole and proven, in place of one of its name.
  /// @param expected  digest, where it is known; "" = any.
  /// @return its digest; kInvalidInput or kNotFound when it is damaged, another error when it cannot be had now.
  virtual Result<std::string> fetch(const StoredCheckpoint& stored, const std::string& expected, const std::string& folder) = 0;
  /// Copies one that has the digest, then takes older copies away, beyond those to keep.
  /// @param then  what is to be found beside it. @return bytes that were sent; kConflict when another run has the place.
  virtual Result<int64_t> copy(const std::string& folder, const Checkpoint& checkpoint, const std::string& digest,
                               const SupervisorState& then, const CopyOptions& options) = 0;

  /// Is the place ours, and was it taken from us? Both change with the calls above. A folder is everybody's.
  struct Hold {
    CopyPosition position;
    std::string run;  ///< another text for each run, the same for all its workers
    bool claimed = false;
    bool unread = false;  ///< it holds what this run has not looked at, and must not hide
    bool lost = false;
    bool operator==(const Hold&) const = default;
  };
  [[nodiscard]] const Hold& hold() const { return hold_; }
  /// What was listed could not be fetched.
  void could_not_read() { hold_.unread = true; }
  /// What people are to be told, once.
  std::vector<std::string> take_notes() { return std::exchange(notes_, {}); }
  /// Does the last error stay until somebody acts: wrong keys, no such bucket?
  [[nodiscard]] virtual bool is_hopeless(const Error& error) const = 0;

 protected:
  Hold hold_;
  std::vector<std::string> notes_;
};

Result<std::unique_ptr<CheckpointCopies>> open_copies(const CopyTarget& target, const CheckpointCopies::Hold& hold);

}  // namespace stint
