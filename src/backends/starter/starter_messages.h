// What a daemon without rights and the privileged starter say to each other: a small fixed set of requests and their answers, as JSON.
//
// The starter takes a request for hostile: every field is named here, has its type and its range, and nothing else may stand beside it.
// Whose account a task has, in which cgroup, with which folders and devices is the starter's to say and cannot be asked for.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/backend.h"
#include "backends/local/kept_logs.h"
#include "backends/local/machine_tasks.h"

namespace stint {

/// Of a request and of an answer: no launch that the daemon takes is larger.
inline constexpr size_t kMostStarterMessage = size_t{32} << 20;
/// Of a log, in one answer.
inline constexpr int64_t kMostStarterLog = int64_t{4} << 20;
inline constexpr int kStarterVersion = 1;

/// First on each connection. Orders go over one connection at a time; all else over any number of others, up to kMostStarterClients.
enum class StarterRole : uint8_t { kOrders, kQuestions };
struct StarterHello {
  StarterRole role = StarterRole::kQuestions;
};
struct StarterOrders {
  std::vector<Order> orders;
};
struct StarterDrain {
  Instant now;
};
struct StarterReadLog {
  LogQuery query;
};
struct StarterKeptLogs {};
struct StarterCutLog {
  LaunchKey key;
};
struct StarterShortenLog {
  LaunchKey key;
  Bytes most;
};
struct StarterOwner {
  int64_t pid = 0;
};
using StarterRequest = std::variant<StarterHello, StarterOrders, StarterDrain, StarterReadLog, StarterKeptLogs, StarterCutLog,
                                    StarterShortenLog, StarterOwner>;

std::string to_json(const StarterRequest& request);
/// @return kInvalidInput that says which field is not as it must be, or should not be there
Result<StarterRequest> parse_starter_request(std::string_view json);

/// A GPU that no task begins on, or, with an empty text, on which one may again.
struct HeldGpu {
  int gpu = 0;
  std::string why;
};
struct StarterEvents {
  std::vector<BackendEvent> events;  ///< reports and refusals
  std::vector<LaunchKey> running;
  std::vector<HeldGpu> held;
};

/// What a request is answered with: "error" alone, or what was asked for.
std::string starter_error(const Error& error);
std::string starter_done();
std::string starter_notes(const std::vector<std::string>& notes);
std::string starter_events(const StarterEvents& events);
/// The piece's bytes go behind the answer, as they are.
std::string starter_log(const LogPiece& piece);
std::string starter_kept(const std::vector<KeptLog>& logs);
std::string starter_owner(const ProcessOwner& owner);

// Of an answer, for the daemon. @return the starter's own error, or kUnavailable when it is no such answer
Status read_starter_done(std::string_view json);
Result<std::vector<std::string>> read_starter_notes(std::string_view json);
Result<StarterEvents> read_starter_events(std::string_view json);
Result<LogPiece> read_starter_log(std::string_view json, std::string bytes);
Result<std::vector<KeptLog>> read_starter_kept(std::string_view json);
Result<ProcessOwner> read_starter_owner(std::string_view json);

}  // namespace stint
