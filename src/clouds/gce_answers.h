// What Compute Engine answers, as values. Pure. Source: Compute Engine API v1 (discovery document, revision 20261106).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "clouds/cloud_http.h"

namespace stint {

enum class GceState : uint8_t { kComing, kRunning, kStopping, kStopped };

struct GceInstance {
  std::string id;  ///< Google's number of this very machine
  std::string name, zone;
  GceState state = GceState::kComing;
  bool spot = false;
  std::map<std::string, std::string> labels;
};

struct GceInstances {
  std::vector<GceInstance> instances;
  std::string next;      ///< what asks for the next page; "" = this was the last
  bool complete = true;  ///< false: a zone did not answer
};
/// instances.aggregatedList.
Result<GceInstances> parse_gce_instances(std::string_view json);

/// What was begun, and what became of it.
struct GceOperation {
  std::string name;
  std::string zone;    ///< "" = of a region, or of the project
  std::string target;  ///< number of the machine, where told
  bool done = false;
  std::optional<CloudFault> fault;
};
Result<GceOperation> parse_gce_operation(std::string_view json);

/// So much of something the project may have at once in a region: `PREEMPTIBLE_NVIDIA_H100_GPUS`.
struct GceQuota {
  std::string metric;
  double limit = 0, usage = 0;
};
/// regions.get.
Result<std::vector<GceQuota>> parse_gce_quotas(std::string_view json);
/// What a region calls its quota of a GPU; "" = not known. Source: "Resource quotas", GPU quota.
std::string gce_gpu_quota(std::string_view gpu_model, bool spot);

/// A type that a zone sells.
struct GceSold {
  std::string machine_type, zone;
};
struct GceSoldPage {
  std::vector<GceSold> sold;
  std::string next;
};
/// machineTypes.aggregatedList.
Result<GceSoldPage> parse_gce_sold(std::string_view json);

/// An answer that is no success.
CloudFault parse_gce_error(int status, std::string_view body);
/// The code of an operation that failed: `ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS`.
CloudFailure classify_gce_operation(std::string_view code);

}  // namespace stint
