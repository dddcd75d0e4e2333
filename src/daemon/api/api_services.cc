// Services and their replicas.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/metrics/metrics_text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/view_json.h"
#include "daemon/replicas/replica_keeper.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json replica_json(const Replica& replica) {
  return {{"job", replica.job_name}, {"listens", replica.place}, {"state", name_of(replica.phase)}, {"current", replica.current}};
}

int64_t count_of(const ReplicaSetView& service, ReplicaPhase phase) {
  return std::ranges::count(service.replicas, phase, &Replica::phase);
}

Json service_json(const ReplicaSetView& service) {
  Json json = {{"name", service.name},
               {"queue", service.queue},
               {"wanted", service.wanted},
               {"ready", count_of(service, ReplicaPhase::kReady)},
               {"min", service.least},
               {"max", service.most},
               {"utilization", service.utilization ? Json(*service.utilization) : Json()},
               {"requests_per_second", service.per_second ? Json(*service.per_second) : Json()},
               {"per_hour", money_json(service.per_hour)},
               {"per_thousand_requests", money_json(cost_per_thousand(service))},
               {"reason", service.reason},
               {"trouble", service.trouble},
               {"replicas", Json::array()}};
  for (const Replica& replica : service.replicas)
    json["replicas"].push_back(replica_json(replica));
  return json;
}

std::vector<ReplicaSetView> services_for(const ApiContext& api, const Principal& who) {
  if (api.options.replicas == nullptr) return {};
  std::vector<ReplicaSetView> services = api.options.replicas->views();
  std::erase_if(services,
                [&who](const ReplicaSetView& service) { return !who.may(Permission::kSeeJobs, client_of_queue(service.queue)); });
  return services;
}

}  // namespace

void api_services(const ApiContext& api, const Call& call) {
  Json list = Json::array();
  for (const ReplicaSetView& service : services_for(api, call->who))
    list.push_back(service_json(service));
  api.answer(call, 200, {{"services", std::move(list)}});
}

std::string service_metrics(const ApiContext& api, const Principal& who) {
  std::string out;
  const std::vector<ReplicaSetView> services = services_for(api, who);
  if (services.empty()) return out;
  const auto labels = [](const ReplicaSetView& service) {
    return fmt::format("service=\"{}\",queue=\"{}\"", label_value(service.name), label_value(service.queue));
  };
  MetricText replicas(out, "stint_service_replicas", "gauge", "Replicas of a service, by what they do.");
  for (const ReplicaSetView& service : services)
    for (const ReplicaPhase phase : kReplicaPhases)
      replicas.add(fmt::format("{},state=\"{}\"", labels(service), name_of(phase)), count_of(service, phase));
  MetricText wanted(out, "stint_service_replicas_wanted", "gauge", "How many there should be.");
  for (const ReplicaSetView& service : services)
    wanted.add(labels(service), service.wanted);
  MetricText used(out, "stint_service_promise_used_ratio", "gauge",
                  "Mean part of what their promises allow that ready ones use.");
  for (const ReplicaSetView& service : services)
    if (service.utilization) used.add(labels(service), *service.utilization);
  MetricText cost(out, "stint_service_cost_per_thousand_requests", "gauge", "What 1,000 requests cost at this load.");
  for (const ReplicaSetView& service : services)
    if (const auto each = cost_per_thousand(service))
      cost.add(fmt::format("{},currency=\"{}\"", labels(service), each->currency().code()), each->to_decimal());
  return out;
}

}  // namespace stint
