// Which logs of running jobs lose their front: where what has ended and may go (log_rules.h) does not make enough room. Pure.
#pragma once

#include <vector>

#include "daemon/logs/log_rules.h"

namespace stint {

struct LogShortening {
  size_t log = 0;  ///< its place in what was given
  LogCause cause = LogCause::kTotal;
  Bytes left;  ///< so much of it, the newest, stays
  bool operator==(const LogShortening&) const = default;
};

inline constexpr Bytes kLeastRunningLog = Bytes::of(int64_t{64} << 10);

/// Each log at most once. Of those who take more than their part of a bound the client that takes the most gives way, and of its users the
/// one who does: the largest log loses half, or what is too much, until all that is over has room or kLeastRunningLog of each is left.
/// @param logs  as they are once those of ended jobs are gone
std::vector<LogShortening> logs_to_shorten(const std::vector<JobLog>& logs, const LogRules& rules);

}  // namespace stint
