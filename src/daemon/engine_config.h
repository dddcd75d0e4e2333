// What runs the daemon's jobs, as the operator configures it: field `engine`. Without it: the machine that the daemon runs on.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/machine.h"

namespace stint {

class JsonFields;

struct SlurmEngineConfig {
  std::map<std::string, std::string, std::less<>> accounts;  ///< queue by Slurm account, where it is not called as the account is
  std::vector<std::string> partitions;                       ///< whose held jobs are the daemon's; empty = all
  std::map<std::string, int32_t, std::less<>> qos;           ///< priority by QOS; others have 50
  std::string programs;                                      ///< folder of Slurm's client programs; empty = searched in PATH
  std::string logs;  ///< folder that all machines see, for output of jobs that name no file; empty = in the state folder
  std::map<std::string, std::string, std::less<>> users;  ///< account to run as, by "CLIENT/USER"; "*" = all that are not named
  Duration every = Duration::seconds(2);
  Duration patience = Duration::seconds(60);
  std::map<std::string, Machine, std::less<>>
      machines;  ///< prices and places: the configuration's machines, their hostlists expanded
};

/// Jobs that are submitted to the daemon, as Jobs of the cluster.
struct KubernetesJobsConfig {
  std::string ns;                                           ///< where they are made
  std::map<std::string, std::string, std::less<>> clients;  ///< in place of it, by client
  Duration keep = Duration::hours(24);
  Duration patience = Duration::minutes(10);
  std::string service_account;
  std::vector<std::string> pull_secrets;
  std::vector<std::string> tolerations;  ///< "KEY=VALUE:EFFECT", "KEY:EFFECT", "KEY"
  bool restricted = false;
  std::string server;  ///< the daemon's address as pods reach it; "" = they do not
};

struct KubernetesEngineConfig {
  std::string kubeconfig, context;                             ///< "" = as `stint import kubernetes` finds them
  std::string scheduler = "stint";                             ///< spec.schedulerName of pods that the daemon places
  std::map<std::string, std::string, std::less<>> namespaces;  ///< queue by namespace, where it is not called as the namespace is
  std::string queue;                                           ///< of all other namespaces
  std::map<std::string, int32_t, std::less<>> priorities;      ///< by PriorityClass; others by their value
  std::string lease_namespace = "default", lease_name = "stint";
  Duration lease_duration = Duration::seconds(15);
  Duration every = Duration::milliseconds(250);
  std::optional<KubernetesJobsConfig> jobs;
  std::map<std::string, Machine, std::less<>>
      machines;  ///< prices and places: the configuration's machines, their hostlists expanded
};

struct EngineConfig {
  std::optional<SlurmEngineConfig> slurm;
  std::optional<KubernetesEngineConfig> kubernetes;
  /// Jobs run on machines of a cluster that has tools of its own.
  [[nodiscard]] bool is_cluster() const { return slurm || kubernetes; }
};

/// @param nodes  of the configuration: what a cluster has is told by it, so they are taken over as prices and places, and none is left.
Result<EngineConfig> read_engine_config(JsonFields& fields, std::vector<Machine>& nodes);

}  // namespace stint
