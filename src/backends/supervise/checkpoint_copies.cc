#include "backends/supervise/checkpoint_copies.h"

#include <algorithm>

#include "backends/supervise/object_copies.h"
#include "clouds/object_url.h"
#include "host/file.h"

namespace stint {
namespace {

class FolderCopies final : public CheckpointCopies {
 public:
  explicit FolderCopies(const CopyTarget& target) : target_(target) { hold_.claimed = true; }

  Result<StoredCheckpoints> list() override {
    StoredCheckpoints stored;
    TRY_ASSIGN(const std::vector<Checkpoint> listed, list_checkpoints(target_.to));
    for (const Checkpoint& c : listed)
      stored.found.push_back({.checkpoint = c, .newness = c.modified, .place = c.name});
    return stored;
  }

  Result<std::string> fetch(const StoredCheckpoint& stored, const std::string& expected, const std::string& folder) override {
    TRY_ASSIGN(std::string digest, digest_of(target_.to, stored.checkpoint));
    if (!expected.empty() && digest != expected)
      return invalid("{}/{}: its bytes are not those that were proven good", target_.to, stored.place);
    TRY(copy_checkpoint(target_.to, stored.checkpoint, digest, folder, {}));
    return digest;
  }

  Result<int64_t> copy(const std::string& folder, const Checkpoint& checkpoint, const std::string& digest,
                       const SupervisorState& then, const CopyOptions& options) override {
    TRY(copy_checkpoint(folder, checkpoint, digest, target_.to, options));
    TRY(point_latest_at(target_.to, checkpoint.name));
    TRY(write_file_atomically(state_path_in(target_.to), to_json(then)));
    if (target_.keep > 0) TRY(take_older_away(then));
    return checkpoint.size.count();
  }

  [[nodiscard]] bool is_hopeless(const Error&) const override { return false; }

 private:
  /// Of those that we copied: a folder may hold what is not ours.
  Status take_older_away(const SupervisorState& state) {
    int kept = 0;
    for (auto it = state.checkpoints.rbegin(); it != state.checkpoints.rend(); ++it)
      if (it->copied && ++kept > target_.keep) TRY(remove_checkpoint(target_.to, it->name));
    return {};
  }

  CopyTarget target_;
};

}  // namespace

bool CopyTarget::is_store() const { return is_object_url(to); }

Result<std::unique_ptr<CheckpointCopies>> open_copies(const CopyTarget& target, const CheckpointCopies::Hold& hold) {
  if (target.is_store()) return open_object_copies(target, hold);
  return std::unique_ptr<CheckpointCopies>(std::make_unique<FolderCopies>(target));
}

}  // namespace stint
