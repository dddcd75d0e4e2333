// Copies of checkpoints in an object store: files in parts, each proven by SHA-256, then a record that makes the checkpoint count.
//
// Records are numbered (copy_record.h) and made only where there is none of that number, so that one run at a time has the place:
// a run claims it with a record before it reads what to go on from. The run that claimed last wins; the one before finds the next
// number taken, or a later one there, and copies no more.
#pragma once

#include <functional>
#include <memory>

#include "backends/supervise/checkpoint_copies.h"
#include "clouds/object_store.h"

namespace stint {

/// Opens the store at `target.to`; asks nothing of it yet.
Result<std::unique_ptr<CheckpointCopies>> open_object_copies(const CopyTarget& target, const CheckpointCopies::Hold& hold);

using OpenStore = std::function<Result<std::unique_ptr<ObjectStore>>(const ObjectStoreOptions&)>;
/// The same with another store. @param open  is called anew for a copy at a bound.
Result<std::unique_ptr<CheckpointCopies>> open_object_copies(const CopyTarget& target, const CheckpointCopies::Hold& hold,
                                                             OpenStore open);

}  // namespace stint
