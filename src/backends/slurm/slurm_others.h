// Jobs that users give to a Slurm by its own tools, as a backend tells of them: held ones wait for the caller, running ones hold their
// room. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "backends/slurm/slurm_mirror.h"

namespace stint {

struct SlurmOthersRules {
  std::map<std::string, std::string, std::less<>> queues;  ///< by account, where the queue is not called as it is
  std::set<std::string, std::less<>> known_queues;         ///< accounts that are called so need no rule
  std::vector<std::string> partitions;                     ///< whose held jobs are the caller's; empty = all
  std::map<std::string, int32_t, std::less<>> qos;         ///< priority by QOS; others have 50
};

/// All that have not ended, whether they can be honoured or not.
/// @param named  of the view, but for the caller's own launches.
OthersThere others_there(const std::vector<std::pair<const SlurmEntry*, std::string>>& named);

class SlurmOthers {
 public:
  explicit SlurmOthers(SlurmOthersRules rules) : rules_(std::move(rules)) {}
  /// What is news: OthersJob; and BackendNote, once for each that has no place in the books.
  /// @param named  of the view, but for the caller's own launches.
  std::vector<BackendEvent> look(const std::vector<std::pair<const SlurmEntry*, std::string>>& named, const SlurmView& view,
                                 Instant now);

 private:
  void look_at(const SlurmEntry& entry, const std::string& job, const SlurmView& view, Instant now,
               std::vector<BackendEvent>& events);
  [[nodiscard]] Result<OthersJob> read(const SlurmEntry& entry, const std::string& job, const SlurmView& view) const;
  [[nodiscard]] bool is_driven(std::string_view partition) const;

  SlurmOthersRules rules_;
  std::map<std::string, OthersJob, std::less<>> told_;  ///< by name
  std::set<std::string> said_;                          ///< notes
};

}  // namespace stint
