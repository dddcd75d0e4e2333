// The contract: the table of routes as an OpenAPI 3.1 document. Source: https://spec.openapis.org/oas/v3.1.0
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/api_routes.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json schema_reference(std::string_view name) { return {{"$ref", fmt::format("#/components/schemas/{}", name)}}; }

Json json_content(std::string_view type, Json schema) { return {{std::string(type), {{"schema", std::move(schema)}}}}; }

Json parameters_of(const ApiRoute& route) {
  Json parameters = Json::array();
  const bool about_job = route.path.starts_with("/v1/jobs/");
  const Json name = {{"type", "string"}};
  const Json job_id = {{"type", "string"},
                       {"pattern", "^([A-Za-z0-9][A-Za-z0-9._-]*-)?[1-9][0-9]{0,9}(_[0-9]{1,4})?$"},
                       {"examples", {"agency-17", "agency-17_3", "17"}}};
  for (const std::string_view part : split(route.path, '/'))
    if (part.starts_with('{'))
      parameters.push_back(
          {{"name", part.substr(1, part.size() - 2)}, {"in", "path"}, {"required", true}, {"schema", about_job ? job_id : name}});
  for (const ApiParameter& parameter : route.parameters)
    parameters.push_back({{"name", parameter.name},
                          {"in", "query"},
                          {"description", parameter.description},
                          {"schema", Json::parse(parameter.schema)}});
  if (route.name == "submitJob" || route.name == "submitPipeline")
    parameters.push_back({{"name", "Idempotency-Key"},
                          {"in", "header"},
                          {"description", "the same request with the same key is carried out once, however often it is sent"},
                          {"schema", {{"type", "string"}, {"minLength", 1}, {"maxLength", 128}}}});
  return parameters;
}

Json answers_of(const ApiRoute& route) {
  Json answers = Json::object();
  Json content = route.response.empty() ? json_content(route.content, {{"type", "string"}})
                                        : json_content(route.content, schema_reference(route.response));
  if (route.name == "listEvents") content.update(json_content("text/event-stream", {{"type", "string"}}));
  answers[std::to_string(route.status)] = {{"description", "done"}, {"content", std::move(content)}};
  answers["default"] = {{"description", "not done: why, and what to do next"},
                        {"content", json_content("application/problem+json", schema_reference("Problem"))}};
  return answers;
}

Json operation_of(const ApiRoute& route) {
  Json operation = {{"operationId", route.name}, {"summary", route.summary}};
  if (Json parameters = parameters_of(route); !parameters.empty()) operation["parameters"] = std::move(parameters);
  if (!route.request.empty())
    operation["requestBody"] = {{"required", true},
                                {"content", json_content("application/json", schema_reference(route.request))}};
  operation["responses"] = answers_of(route);
  if (!route.needs) operation["security"] = Json::array();  // no user in particular
  return operation;
}

std::string lower(std::string_view text) { return to_lower(text); }

}  // namespace

std::string openapi_document(const std::string& version) {
  Json paths = Json::object();
  for (const ApiRoute& route : api_routes())
    paths[std::string(route.path)][lower(route.method)] = operation_of(route);
  const Json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Stint"},
        {"version", version},
        {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}},
        {"description", "Jobs, machines, money and who may do what. Times are UTC, money is a decimal text with its currency."}}},
      {"security", {{{"token", Json::array()}}}},
      {"paths", std::move(paths)},
      {"components",
       {{"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}, {"schemas", Json::parse(api_schemas())}}}};
  return document.dump(1);
}

}  // namespace stint
