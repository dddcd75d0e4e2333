// How much of what is only read, or refused, the audit log holds. What changes something always has its record, for good.
//
// Of one user's reads so many have a record of their own, a burst and then one every so often; the others are counted, and one record a
// minute says how many they were. Those that are refused count apart, so that many good reads hide none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "daemon/identity/audit_log.h"

namespace stint {

/// The object `audit_log` of the configuration.
struct AuditPolicy {
  int64_t reads_per_minute = 60;  ///< of one user, after a burst of five minutes' worth; 0 = each has its record
  Duration keep_reads;            ///< then they are taken out; 0 = never
  bool operator==(const AuditPolicy&) const = default;
};

class JsonFields;
/// @param fields  of that object; all are asked for here.
Result<AuditPolicy> read_audit_policy(JsonFields& fields);

/// What a record of the log tells; none of one that was taken out, or is no record.
struct RecordFacts {
  Instant at;
  bool read = false;
};
std::optional<RecordFacts> facts_of(std::string_view record);

/// For one thread at a time.
class ReadSampler {
 public:
  void set(int64_t reads_per_minute) { per_minute_ = reads_per_minute; }
  /// @param entry  of a read. @return whether it has a record of its own; else it is counted
  bool take(const AuditEntry& entry);
  /// Records of what was counted and is a minute old. @param all  the younger, too
  std::vector<AuditEntry> due(Instant now, bool all = false);
  [[nodiscard]] bool counts() const { return counts_; }

 private:
  struct Reader {
    double left = 0;  ///< records of its own
    Instant seen;
    int64_t counted = 0;
    AuditEntry last;  ///< of those counted
    Instant first_at;
  };
  std::map<std::pair<std::string, bool>, Reader> readers_;  ///< by user, and whether they were refused
  int64_t per_minute_ = AuditPolicy().reads_per_minute;
  bool counts_ = false;
};

}  // namespace stint
