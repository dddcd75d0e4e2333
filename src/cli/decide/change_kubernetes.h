// What Stint carries out of a change on a Kubernetes cluster: fields of objects by server-side apply, evictions; or as files for a repository.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "cli/parser.h"
#include "model/fleet_plan.h"
#include "model/proposal.h"

namespace stint {

struct ClusterOptions {
  bool asked = false;
  std::string kubeconfig, context;
  std::string kubectl_image;       ///< KubeChangeInput's
  std::string kustomize;           ///< a folder; "" = no files
  std::string cut_within = "10m";  ///< for the MIG manager
};

/// --kubernetes and how to reach the cluster.
void add_cluster_options(Command& command, ClusterOptions& options);

struct ClusterOutcome {
  std::string text;  ///< for people, a line each, beginning with #
  size_t refused = 0;
};

/// What --execute would do, as the API server would take it. Changes nothing. @param json  gets the same; nullptr = not asked for.
Result<ClusterOutcome> try_on_cluster(const Proposal& proposal, const FleetPlan& fleet, const ClusterOptions& options,
                                      nlohmann::ordered_json* json);
/// The same again does only what is not done yet. @return error when there is nothing that can be done.
Result<ClusterOutcome> execute_on_cluster(const Proposal& proposal, const FleetPlan& fleet, const ClusterOptions& options);
/// What the change set is as it was before, unless somebody set another value since.
Result<ClusterOutcome> undo_on_cluster(const Proposal& proposal, const ClusterOptions& options);
/// Writes the folder of --kustomize. @return what was written, a line each.
Result<std::string> write_kustomize(const Proposal& proposal, const FleetPlan& fleet, const ClusterOptions& options);

}  // namespace stint
