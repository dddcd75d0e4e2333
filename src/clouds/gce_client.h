// Compute Engine of one project: machines made, found by their labels, and ended; what a region's quotas leave.
//
// Source: Compute Engine API v1: instances.insert, aggregatedList, delete; zoneOperations.get; regions.get.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "clouds/cloud_api.h"
#include "clouds/gce_answers.h"
#include "clouds/gce_machine.h"

namespace stint {

struct GceClientOptions {
  std::string project;
  Environment environment = process_environment();
  int tries = 3;   ///< of one request
  int page = 500;  ///< machines of one answer, at most
  /// An operation is looked at so often, and given up after so long: what became of it is not known then.
  Duration look_every = Duration::seconds(1), patience = Duration::seconds(90);
  std::function<void(Duration)> sleep;
  std::function<bool()> stopping;
};

/// For any number of threads.
class GceClient {
 public:
  /// At CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE, as gcloud has it, or Google's. An address that is none fails with each request.
  explicit GceClient(GceClientOptions options);

  /// One machine; told twice with its id, the same. Waits until Google has it, or says why not.
  std::optional<OrderFailure> insert(const GceMachine& machine, const std::string& request_id);
  struct Found {
    std::vector<GceInstance> instances;
    bool complete = true;  ///< false: a zone did not answer
  };
  /// All pages of all zones. @param filter  as the API has it: `labels.stint-fleet=a`. @return error when a page cannot be had.
  Result<Found> find(const std::string& filter);
  /// It is gone, or goes; no error when it is not there.
  std::optional<OrderFailure> remove(const std::string& zone, const std::string& name);
  Result<std::vector<GceQuota>> quotas(const std::string& region);
  /// In which zones of all regions which of these types are sold.
  Result<std::vector<GceSold>> sold(const std::vector<std::string>& machine_types);

  [[nodiscard]] const std::string& project() const { return options_.project; }
  [[nodiscard]] Instant now() const { return api_.now(); }

 private:
  GceClient(const Result<std::string>& address, GceClientOptions options);
  [[nodiscard]] std::string zone_url(const std::string& zone) const;
  std::optional<OrderFailure> outcome_of(GceOperation operation, const std::string& what);

  std::string base_;  ///< to the project, without a slash at the end
  GceClientOptions options_;
  CloudApi api_;
};

}  // namespace stint
