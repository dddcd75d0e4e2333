// Heads of the audit log, signed, in a file outside of its database.
//
// A chain of hashes shows that a record was changed. It does not show that somebody who may write the database took records away and
// computed the hashes behind them anew, or cut off its end. Heads do: each says how many records there were, and the hash of the last.
// They are signed with a key that is not in the database (HMAC-SHA-256), and only ever added. Where reads were taken out by policy, a head says
// where: a gap that none speaks of is one that somebody made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "daemon/identity/audit_log.h"

namespace stint {

struct AuditHead {
  Instant at;
  int64_t records = 0;
  std::string hash;  ///< of record number `records`
  /// Where reads were taken out of the records behind `thinned_after` up to `records`: gaps_hash() of that. Empty: none were
  std::string gaps = {};
  int64_t thinned_after = 0;
  bool operator==(const AuditHead&) const = default;
};

/// A line of the file, with its line break.
std::string signed_line(const AuditHead& head, std::string_view key);
/// All lines of such a file. What a crash left of a last line, without line break, is passed over.
/// @param source  its name, for messages. @return error naming the line whose signature is not of this key.
Result<std::vector<AuditHead>> read_signed_heads(std::string_view text, std::string_view key, const std::string& source);

/// Does a chain hold what heads say? Shown each record's number and hash, ascending.
class HeadCheck {
 public:
  explicit HeadCheck(std::vector<AuditHead> heads);
  /// @return error: that record is not what a head says it was.
  Status record(int64_t sequence, std::string_view hash);
  /// After the last one. @param gaps  of the chain. @return error: heads tell of more records, or none says of a gap that it may be
  Status finish(int64_t records, const std::vector<AuditGap>& gaps) const;

 private:
  std::vector<AuditHead> heads_;  // ascending by records
  size_t next_ = 0;
};

struct AuditHeadsOptions {
  std::string file;                     ///< added to, or made
  std::string key_file;                 ///< made where neither is there
  Duration every = Duration::hours(1);  ///< as long as there are new records
  bool syslog = false;                  ///< each head, too, as a notice of facility auth
};

/// The file, to be added to. For one thread.
class AuditHeadsFile {
 public:
  /// @return error when heads are there without their key, or are not signed with it.
  static Result<AuditHeadsFile> open(AuditHeadsOptions options);
  /// Durable when this returns.
  Status add(const AuditHead& head);
  [[nodiscard]] const std::vector<AuditHead>& heads() const { return heads_; }
  [[nodiscard]] Duration every() const { return options_.every; }

 private:
  AuditHeadsOptions options_;
  std::string key_;
  std::vector<AuditHead> heads_;
};

}  // namespace stint
