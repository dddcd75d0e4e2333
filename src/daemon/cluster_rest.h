// Machines that are to rest, told to the cluster whose own scheduler places work on them, too. What it does not take is asked for again.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"

namespace stint {

class ClusterRest {
 public:
  using BringInLine = std::function<Status(const std::set<std::string>& resting)>;

  /// @param cluster  its name: "slurm". @param bring_in_line  may wait for the cluster, changes only what is not as asked.
  ClusterRest(std::string cluster, BringInLine bring_in_line)
      : cluster_(std::move(cluster)), bring_in_line_(std::move(bring_in_line)) {}

  /// One thread. Asks the cluster where it was not told so much yet, or refused it.
  void rest(const std::set<std::string>& machines);

  [[nodiscard]] const std::string& cluster() const { return cluster_; }
  /// Why the cluster was last not brought in line; empty = it was. Any thread.
  [[nodiscard]] std::string problem() const;

 private:
  const std::string cluster_;
  const BringInLine bring_in_line_;
  std::optional<std::set<std::string>> told_;  ///< none = not known what the cluster has
  mutable std::mutex mutex_;
  std::string problem_;  // guarded
};

}  // namespace stint
