// Where a command takes up its work again: the newest checkpoint that proves good, here or among the copies; and what worker
// processes tell of that and of copies.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backends/supervise/checkpoint_copies.h"

namespace stint {

/// Checkpoints without a list of hashes that were not seen complete.
enum class Unproven : uint8_t {
  kRefused,  ///< they may have been cut off by a crash
  kTaken,    ///< nothing is known of this folder yet: what lies there was put there by somebody
};

struct RestorePoint {
  std::optional<KnownCheckpoint> chosen;  ///< none = from the beginning
  bool fetched = false;                   ///< it was copied back
  using PassedOver = std::vector<std::pair<std::string, std::string>>;
  /// Newer ones here that are damaged or incomplete, with the reason: they are set aside.
  PassedOver passed_over;
  PassedOver copies_passed_over;  ///< the same of copies
  // Of the copies:
  std::string unreachable;           ///< why they could not be looked at; "" = they were
  bool hopeless = false;             ///< and that will stay so
  bool listed = false;               ///< `digests` are those of all that count
  std::vector<std::string> digests;  ///< of those in an object store
  std::string state;                 ///< the SupervisorState that lies with them in an object store, as JSON; "" = none
  std::vector<std::string> notes;
  CheckpointCopies::Hold hold;
  bool operator==(const RestorePoint&) const = default;
};

/// Reads checkpoints, newest first, until one is good.
/// @param target  where copies are.
RestorePoint choose_restore_point(const std::string& folder, const CopyTarget& target, const CheckpointCopies::Hold& hold,
                                  const SupervisorState& state, Unproven unproven);
/// The same with copies that are open. @param copies  null = there are none.
RestorePoint choose_restore_point(const std::string& folder, CheckpointCopies* copies, const SupervisorState& state,
                                  Unproven unproven);

std::string to_json(const RestorePoint& point);
Result<RestorePoint> parse_restore_point(std::string_view json);

/// What a worker process tells of a copy.
struct CopyAnswer {
  std::string failure;  ///< "" = it is there
  int64_t bytes = 0;    ///< that were sent
  std::vector<std::string> notes;
  CheckpointCopies::Hold hold;
};
/// A checkpoint that is to be copied.
struct CopyTask {
  std::string folder;
  Checkpoint checkpoint;
  std::string digest;
  SupervisorState then;  ///< once it is copied
};
/// For a worker process. @return the answer as JSON.
std::string copy_and_tell(const CopyTask& task, const CopyTarget& target, const CheckpointCopies::Hold& hold,
                          const CopyOptions& options);
Result<CopyAnswer> parse_copy_answer(std::string_view json);

}  // namespace stint
