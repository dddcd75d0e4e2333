// Which logs of ended jobs go, and in what order: by age, by what each user and each client may keep, by what all take together.
//
// Where many share a bound, whoever takes the most gives way: a client that keeps less than its equal part loses nothing to one that
// prints more. What has not ended counts, and is never named.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"

namespace stint {

/// The object `job_logs` of the configuration.
struct LogKeeping {
  Duration keep;              ///< from a job's end on; 0 = as long as there is room
  std::optional<Bytes> most;  ///< of all jobs together, 0 = no bound; none = a quarter of the disk that holds them
  bool operator==(const LogKeeping&) const = default;
};
class JsonFields;
/// @param fields  of that object; all are asked for here.
Result<LogKeeping> read_log_keeping(JsonFields& fields);

struct ClientRules;  // daemon/engine/govern_policy.h

/// What holds now. none = no bound.
struct LogRules {
  Duration keep;
  std::optional<Bytes> most;
  struct OfClient {
    std::optional<Bytes> client, user;
  };
  std::map<std::string, OfClient, std::less<>> clients;
};
/// @param disk  size of the file system with the logs; none = it does not tell
LogRules log_rules(const LogKeeping& keeping, const std::vector<ClientRules>& clients, std::optional<Bytes> disk);

/// What a job printed, in all its tasks and attempts, as far as it is kept.
struct JobLog {
  int64_t job = 0;
  std::string client, user;
  Bytes bytes;                   ///< of the disk
  std::optional<Instant> ended;  ///< none = it has not, or it is not known
};

/// What a client's jobs, or one user's there, take.
struct LogDiskUse {
  Bytes bytes;
  std::map<std::string, Bytes, std::less<>> users;
};
using LogDiskUses = std::map<std::string, LogDiskUse, std::less<>>;
LogDiskUses uses_of(const std::vector<JobLog>& logs);

enum class LogCause : uint8_t { kAge, kUser, kClient, kTotal };
/// With the field that sets it: "age (job_logs.keep)".
std::string_view name_of(LogCause cause);

struct LogCut {
  size_t log = 0;  ///< its place in what was given
  LogCause cause = LogCause::kAge;
  bool operator==(const LogCut&) const = default;
};
/// In the order to take them away; each ended log at most once. Of one user the job that ended first goes first, of equal ones the one
/// with the lower number.
std::vector<LogCut> logs_to_cut(const std::vector<JobLog>& logs, const LogRules& rules, Instant now);

}  // namespace stint
