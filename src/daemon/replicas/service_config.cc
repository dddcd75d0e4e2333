#include "daemon/replicas/service_config.h"

#include <fmt/format.h>

#include <simdjson.h>
#include <algorithm>
#include <set>

#include "base/text.h"
#include "daemon/api/job_request_fields.h"
#include "daemon/json_fields.h"
#include "daemon/power/scaling_fields.h"
#include "host/http_server.h"

namespace stint {
namespace {

constexpr size_t kMostServices = 100;
constexpr int64_t kMostReplicas = 1'000;

Result<std::vector<std::string>> read_places(JsonFields& fields) {
  const std::string address = fields.text("address", "127.0.0.1");
  const std::string host = address.find(':') == std::string::npos ? address : fmt::format("[{}]", address);
  const std::vector<int64_t> ports = fields.integers("ports", 1, 65535);
  if (ports.size() != 2 || ports[0] > ports[1] || ports[1] - ports[0] > kMostReplicas) {
    fields.wrong("ports", "the first and the last of the ports that replicas listen on, such as [8481, 8490]");
    return std::vector<std::string>();
  }
  std::vector<std::string> places;
  for (int64_t port = ports[0]; port <= ports[1]; ++port)
    places.push_back(fmt::format("{}:{}", host, port));
  if (const Status usable = check_listening(address, {}, true); !usable.ok()) fields.wrong("address", "an IP address");
  return places;
}

Result<ServiceConfig> read_service(JsonFields& fields) {
  ServiceConfig service;
  service.name = fields.text("name");
  if (service.name.empty()) fields.wrong("name", "what the service is called");
  if (!fields.has("job")) {
    fields.wrong("job", "what a replica is, as a job request");
    return fields.finish().error();
  }
  TRY_ASSIGN(service.job, read_job_request(fields.raw("job")));
  service.job.name = service.name;
  if (const Status checked = check_request(service.job); !checked.ok())
    return invalid("{}: job: {}", fields.where(), checked.error().message);
  if (service.job.tasks != 1 || service.job.array != 0)
    return invalid("{}: job: a replica is one task: leave out 'tasks' and 'array'", fields.where());
  TRY_ASSIGN(service.places, read_places(fields));
  const auto most = std::max<int64_t>(1, std::ssize(service.places) - 1);
  service.rules = read_scaling_rules(fields, 1, most, 1);
  if (std::cmp_less_equal(service.places.size(), service.rules.max_nodes))
    fields.wrong("ports", "one more than `max`, so that a new replica can be there before an old one goes");
  service.every = fields.duration("every", service.every);
  if (service.every < Duration::seconds(1)) fields.wrong("every", "at least one second");
  service.drain = fields.duration("drain", service.drain);
  service.start_within = fields.duration("start_within", service.start_within);
  service.endpoints = fields.text("endpoints");
  if (!service.endpoints.empty() && !service.endpoints.starts_with('/')) fields.wrong("endpoints", "the whole path of a file");
  service.token_file = fields.text("token_file");
  service.proof = fields.flag("proof", service.proof);
  TRY(fields.finish());
  return service;
}

}  // namespace

Result<std::vector<ServiceConfig>> read_service_configs(JsonFields& fields) {
  std::vector<ServiceConfig> services;
  std::set<std::string> names, places;
  TRY(fields.each_object("services", [&](simdjson::dom::element element, const std::string& where) -> Status {
    if (services.size() == kMostServices) return invalid("{}: at most {} services", where, kMostServices);
    JsonFields service(element, where);
    TRY_ASSIGN(ServiceConfig read, read_service(service));
    if (!names.insert(read.name).second) return invalid("{}: there is a service '{}' already", where, excerpt(read.name));
    for (const std::string& place : read.places)
      if (!places.insert(place).second) return invalid("{}: {} is among the ports of another service", where, place);
    services.push_back(std::move(read));
    return {};
  }));
  return services;
}

}  // namespace stint
