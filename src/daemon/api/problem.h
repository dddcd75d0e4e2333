// Errors as RFC 9457 problem details: what every answer of the API that is not a success looks like.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"
#include "host/http_server.h"

namespace stint {

/// @param detail  what happened and what to do next. @param status  400 … 599.
HttpReply problem(int status, std::string_view detail);

/// The same of a kind that programs act on, with further fields beside the usual ones. @param type  "urn:stint:…".
HttpReply problem(int status, std::string_view detail, std::string_view type, const nlohmann::ordered_json& fields);

/// kInvalidInput → 422, kNotFound → 404, kConflict → 409, kUnavailable → 503, kInternal → 500.
HttpReply problem(const Error& error);

}  // namespace stint
