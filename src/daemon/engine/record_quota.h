// How much one user, and one client, may put into the event log in a day. What is there stays, so it is disk for ever, and every restart
// behind a snapshot reads it.
//
// Counted in memory, from the start of the daemon on and anew each day (UTC): it is a brake, and no part of the state.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "daemon/engine/admission.h"
#include "daemon/engine/govern_policy.h"

namespace stint {

/// Where the configuration sets no limit.
inline constexpr int64_t kRecordsOfUser = 200'000, kRecordsOfClient = 1'000'000;
inline constexpr int64_t kMebibytesOfUser = 1'024, kMebibytesOfClient = 4'096;

struct LogUse {
  int64_t records = 0;  ///< each job of an array, each other command
  Bytes bytes;
};
/// Of a submission with all jobs of its array, about.
LogUse log_use_of(const JobRequest& request);
/// Of any other command about one job.
inline constexpr LogUse kCommandUse = {.records = 1, .bytes = Bytes::of(100)};

class RecordQuota {
 public:
  /// @param rules  of the client; null = none. @param why  see admit(). @return error that names the limit, and what to do
  Status check(std::string_view client, std::string_view user, const LogUse& more, const ClientRules* rules, Instant now,
               AdmissionRefusal* why) const;
  void add(std::string_view client, std::string_view user, const LogUse& more, Instant now);

 private:
  [[nodiscard]] LogUse used(std::string_view client, std::string_view user, Instant now) const;

  int64_t day_ = 0;                                           ///< that the counts are of
  std::map<std::pair<std::string, std::string>, LogUse> by_;  ///< client and user; of the client itself: user ""
};

}  // namespace stint
