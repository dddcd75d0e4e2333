// Services and their replicas.
#include <nlohmann/json.hpp>

#include "daemon/api_routes.h"
#include "daemon/replica_keeper.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json replica_json(const Replica& replica) {
  return {{"job", replica.job_name}, {"listens", replica.place}, {"state", name_of(replica.phase)}, {"current", replica.current}};
}

Json service_json(const ReplicaSetView& service) {
  Json json = {{"name", service.name},
               {"queue", service.queue},
               {"wanted", service.wanted},
               {"ready", std::ranges::count(service.replicas, ReplicaPhase::kReady, &Replica::phase)},
               {"min", service.least},
               {"max", service.most},
               {"utilization", service.utilization ? Json(*service.utilization) : Json()},
               {"reason", service.reason},
               {"trouble", service.trouble},
               {"replicas", Json::array()}};
  for (const Replica& replica : service.replicas)
    json["replicas"].push_back(replica_json(replica));
  return json;
}

}  // namespace

void api_services(const ApiContext& api, const Call& call) {
  Json list = Json::array();
  if (api.options.replicas != nullptr)
    for (const ReplicaSetView& service : api.options.replicas->views())
      if (call->who.may(Permission::kSeeJobs, client_of_queue(service.queue))) list.push_back(service_json(service));
  api.answer(call, 200, {{"services", std::move(list)}});
}

}  // namespace stint
