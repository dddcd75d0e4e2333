#include "clouds/gce_client.h"

#include "base/text.h"
#include "clouds/google_credentials.h"

namespace stint {
namespace {

constexpr const char* kGceAddress = "https://compute.googleapis.com/compute/v1";
constexpr const char* kGceAddressVariable = "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE";
constexpr const char* kComputeScope = "https://www.googleapis.com/auth/compute";
constexpr size_t kMostGcePages = 10'000;
/// User data are left out: they are most of a machine's bytes.
constexpr const char* kGceFields =
    "nextPageToken,unreachables,items/*/instances(id,name,zone,status,labels,scheduling/provisioningModel)";

std::string gce_remedy(CloudFailure failure, const std::string& source) {
  switch (failure) {
    case CloudFailure::kCredential: return fmt::format("the token comes from {}: check it, and the clock", source);
    case CloudFailure::kForbidden:
      return fmt::format("the token comes from {}: give it the role Compute Instance Admin (v1) in the project", source);
    case CloudFailure::kNetwork: return fmt::format("check the network, and {} where it is set", kGceAddressVariable);
    case CloudFailure::kQuota: return "ask Google for a higher one (IAM & Admin, Quotas), or name other types or regions";
    default: return "";
  }
}

}  // namespace

GceClient::GceClient(GceClientOptions options)
    : GceClient(api_address(kGceAddressVariable, options.environment(kGceAddressVariable), kGceAddress), options) {}

GceClient::GceClient(const Result<std::string>& address, GceClientOptions options)
    : base_((address.ok() ? *address : "") + "/projects/" + escape_url(options.project)),
      options_(std::move(options)),
      api_(google_tokens({.environment = options_.environment, .scope = kComputeScope, .clock = {}}),
           {.address = address.ok() ? Status() : Status(address.error()),
            .tries = options_.tries,
            .sleep = options_.sleep,
            .stopping = options_.stopping,
            .read_fault = parse_gce_error,
            .remedy = gce_remedy}) {}

std::string GceClient::zone_url(const std::string& zone) const { return base_ + "/zones/" + escape_url(zone); }

/// Google says at once that it has begun, and later what became of it.
std::optional<OrderFailure> GceClient::outcome_of(GceOperation operation, const std::string& what) {
  const Instant until = api_.now() + options_.patience;
  while (!operation.done) {
    const std::string zone = operation.zone;
    const bool goes_on = api_.pause(options_.look_every);
    if (!goes_on || api_.now() > until)
      return OrderFailure{.failure = CloudFailure::kNetwork, .may_be_done = true, .text = what + ": not done yet"};
    OrderFailure failure;
    const auto response = api_.send(
        {.url = fmt::format("{}/operations/{}", zone_url(zone), escape_url(operation.name)), .body = {}, .what = what}, failure);
    auto next = response.ok() ? parse_gce_operation(response->body) : Result<GceOperation>(response.error());
    if (!next.ok()) return OrderFailure{.failure = CloudFailure::kNetwork, .may_be_done = true, .text = next.error().message};
    operation = std::move(*next);
    operation.zone = zone;
  }
  if (!operation.fault) return std::nullopt;
  const CloudFault& fault = *operation.fault;
  const std::string remedy = gce_remedy(fault.failure, "Google");
  return OrderFailure{.failure = fault.failure,
                      .may_be_done = fault.failure == CloudFailure::kServer,
                      .text = fmt::format("{}: {} ({}: {}){}{}", what, name_of(fault.failure), excerpt(fault.code),
                                          excerpt(fault.message, 300), remedy.empty() ? "" : ": ", remedy)};
}

std::optional<OrderFailure> GceClient::insert(const GceMachine& machine, const std::string& request_id) {
  const std::string what = fmt::format("Compute Engine instances.insert in {}", machine.zone);
  OrderFailure failure;
  const auto response = api_.send({.method = "POST",
                                   .url = fmt::format("{}/instances?requestId={}", zone_url(machine.zone), request_id),
                                   .body = gce_insert_body(machine),
                                   .what = what},
                                  failure);
  // Its name is of this order alone: what is there already is what was ordered.
  if (!response.ok() && failure.failure == CloudFailure::kConflict) return std::nullopt;
  if (!response.ok()) return failure;
  auto operation = parse_gce_operation(response->body);
  if (!operation.ok())
    return OrderFailure{.failure = CloudFailure::kServer, .may_be_done = true, .text = operation.error().message};
  operation->zone = machine.zone;
  auto failed = outcome_of(std::move(*operation), what);
  if (failed && failed->failure == CloudFailure::kConflict) return std::nullopt;
  return failed;
}

Result<GceClient::Found> GceClient::find(const std::string& filter) {
  Found found;
  std::string next;
  for (size_t page = 0; page < kMostGcePages; ++page) {
    std::string url = fmt::format("{}/aggregated/instances?maxResults={}&filter={}&fields={}", base_, options_.page,
                                  escape_url(filter), escape_url(kGceFields));
    if (!next.empty()) url += "&pageToken=" + escape_url(next);
    OrderFailure failure;
    TRY_ASSIGN(const HttpResponse response,
               api_.send({.url = url, .body = {}, .what = "Compute Engine instances.aggregatedList"}, failure));
    TRY_ASSIGN(GceInstances read, parse_gce_instances(response.body));
    found.complete = found.complete && read.complete;
    std::move(read.instances.begin(), read.instances.end(), std::back_inserter(found.instances));
    if (read.next.empty()) return found;
    if (read.next == next) break;
    next = std::move(read.next);
  }
  return make_error(ErrorCode::kUnavailable, "Compute Engine of {}: its pages have no end", options_.project);
}

std::optional<OrderFailure> GceClient::remove(const std::string& zone, const std::string& name) {
  OrderFailure failure;
  const auto response = api_.send({.method = "DELETE",
                                   .url = fmt::format("{}/instances/{}", zone_url(zone), escape_url(name)),
                                   .body = {},
                                   .what = fmt::format("Compute Engine instances.delete in {}", zone)},
                                  failure);
  if (response.ok() || failure.failure == CloudFailure::kNotFound) return std::nullopt;
  return failure;
}

Result<std::vector<GceSold>> GceClient::sold(const std::vector<std::string>& machine_types) {
  std::string filter;
  for (const std::string& type : machine_types)
    filter += fmt::format("{}(name={})", filter.empty() ? "" : " OR ", type);
  std::vector<GceSold> all;
  std::string next;
  for (size_t page = 0; page < kMostGcePages; ++page) {
    std::string url = fmt::format("{}/aggregated/machineTypes?filter={}&fields={}", base_, escape_url(filter),
                                  escape_url("nextPageToken,items/*/machineTypes/name"));
    if (!next.empty()) url += "&pageToken=" + escape_url(next);
    OrderFailure failure;
    TRY_ASSIGN(const HttpResponse response,
               api_.send({.url = url, .body = {}, .what = "Compute Engine machineTypes.aggregatedList"}, failure));
    TRY_ASSIGN(GceSoldPage read, parse_gce_sold(response.body));
    std::move(read.sold.begin(), read.sold.end(), std::back_inserter(all));
    if (read.next.empty()) return all;
    if (read.next == next) break;
    next = std::move(read.next);
  }
  return make_error(ErrorCode::kUnavailable, "Compute Engine of {}: its pages have no end", options_.project);
}

Result<std::vector<GceQuota>> GceClient::quotas(const std::string& region) {
  OrderFailure failure;
  TRY_ASSIGN(const HttpResponse response, api_.send({.url = fmt::format("{}/regions/{}?fields=quotas", base_, escape_url(region)),
                                                     .body = {},
                                                     .what = fmt::format("Compute Engine regions.get of {}", region)},
                                                    failure));
  return parse_gce_quotas(response.body);
}

}  // namespace stint
