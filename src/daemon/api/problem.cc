#include "daemon/api/problem.h"

#include <nlohmann/json.hpp>

namespace stint {
namespace {

std::string_view title_of(int status) {
  switch (status) {
    case 400: return "Malformed request";
    case 401: return "Who are you?";
    case 403: return "Not allowed";
    case 404: return "Not found";
    case 405: return "No such method here";
    case 409: return "Conflict";
    case 422: return "Not possible like this";
    case 503: return "Not now";
    default: return "Internal error";
  }
}

int status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidInput: return 422;
    case ErrorCode::kNotFound: return 404;
    case ErrorCode::kConflict: return 409;
    case ErrorCode::kUnavailable: return 503;
    case ErrorCode::kInternal: return 500;
  }
  return 500;
}

}  // namespace

HttpReply problem(int status, std::string_view detail) { return problem(status, detail, "about:blank", {}); }

HttpReply problem(int status, std::string_view detail, std::string_view type, const nlohmann::ordered_json& fields) {
  nlohmann::ordered_json body = {{"type", type}, {"title", title_of(status)}, {"status", status}, {"detail", detail}};
  if (fields.is_object()) body.update(fields);
  HttpReply reply{status, "application/problem+json", {}, body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
  if (status == 401) reply.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (status == 503) reply.headers.emplace_back("Retry-After", "1");
  return reply;
}

HttpReply problem(const Error& error) { return problem(status_of(error.code), error.message); }

}  // namespace stint
