#include "daemon/engine/record_quota.h"

#include "base/counted.h"
#include "base/text.h"

namespace stint {
namespace {

int64_t day_of(Instant at) { return at.ns() / (kHour.count_ns() * 24); }

/// What stands beside the request in its record, and the row that tells its number.
constexpr int64_t kRecordBytes = 100, kRowBytes = 60;

}  // namespace

LogUse log_use_of(const JobRequest& request) {
  const int64_t jobs = std::max(request.array, 1);
  return {.records = jobs, .bytes = Bytes::of(kRecordBytes + std::ssize(to_json(request)) + jobs * kRowBytes)};
}

LogUse RecordQuota::used(std::string_view client, std::string_view user, Instant now) const {
  if (day_of(now) != day_) return {};
  const auto found = by_.find({std::string(client), std::string(user)});
  return found == by_.end() ? LogUse() : found->second;
}

void RecordQuota::add(std::string_view client, std::string_view user, const LogUse& more, Instant now) {
  if (day_of(now) != day_) by_.clear();
  day_ = day_of(now);
  for (const std::string_view of : {user, std::string_view()}) {
    LogUse& use = by_[{std::string(client), std::string(of)}];
    use.records += more.records;
    use.bytes = use.bytes + more.bytes;
  }
}

Status RecordQuota::check(std::string_view client, std::string_view user, const LogUse& more, const ClientRules* rules,
                          Instant now, AdmissionRefusal* why) const {
  struct Limit {
    const char* field;  ///< "user_" before it for a user's
    const char* unit;
    int64_t most, used, asked, scale;
  };
  const auto check = [&](bool of_user, const Quota& quota) -> Status {
    const LogUse before = used(client, of_user ? user : "", now);
    constexpr int64_t kMebi = int64_t{1} << 20;
    const Limit limits[] = {
        {"records_per_day", "records", quota.records_per_day.value_or(of_user ? kRecordsOfUser : kRecordsOfClient),
         before.records, more.records, 1},
        {"mebibytes_per_day", "MiB", quota.mebibytes_per_day.value_or(of_user ? kMebibytesOfUser : kMebibytesOfClient),
         before.bytes.count(), more.bytes.count(), kMebi}};
    for (const Limit& limit : limits) {
      if (Int128{limit.used} + limit.asked <= Int128{limit.most} * limit.scale) continue;
      const auto shown = [&](int64_t amount) {
        return limit.scale == 1 ? std::to_string(amount)
                                : fmt::format("{:.1f}", static_cast<double>(amount) / static_cast<double>(limit.scale));
      };
      if (why != nullptr)
        *why = {.by = limit.field,
                .of = of_user ? "user" : "client",
                .name = std::string(of_user ? user : client),
                .limit = std::to_string(limit.most),
                .used = shown(limit.used),
                .asked = shown(limit.asked),
                .unit = limit.unit};
      return invalid(
          "{}client {} may put {} {} a day into the event log: {} are there since midnight UTC, this adds {}: wait until {}, or "
          "have an operator raise {}{}",
          of_user ? fmt::format("user {} in ", user) : "", client, limit.most, limit.unit, shown(limit.used), shown(limit.asked),
          format_date(Instant::from_ns((day_of(now) + 1) * kHour.count_ns() * 24)), of_user ? "user_" : "", limit.field);
    }
    return {};
  };
  TRY(check(true, rules == nullptr ? Quota() : rules->user_quota));
  return check(false, rules == nullptr ? Quota() : rules->quota);
}

}  // namespace stint
