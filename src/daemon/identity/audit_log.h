// The audit log: who did what, each record chained to the one before by its hash.
//
// hash(n) = SHA-256 of hash(n − 1) and record n. Whoever changes, drops or inserts a record must change every hash behind it, so
// one hash noted elsewhere proves all records before it. The idea is that of Schneier and Kelsey 1999, "Secure audit
// logs to support computer forensics", without its forward secrecy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/govern_store.h"

namespace stint {

/// Of requests that are refused before anybody is known there is one record in that time, however many come.
inline constexpr Duration kRefusedRecordEvery = Duration::seconds(1);

/// Somebody asked for something, and what came of it.
struct AuditEntry {
  Instant at;
  std::string actor;   ///< user; empty = not known
  std::string token;   ///< id of the token shown; empty = none
  std::string peer;    ///< network address
  std::string method;  ///< "POST"
  std::string target;  ///< "/v1/jobs/7/cancel", as sent, shortened
  std::string client;  ///< whose matter it is; empty = no client's in particular
  int status = 0;      ///< of the answer: 200, 404, …
  std::string detail;  ///< what a reader needs beside: "job 7", "3 more refused since 12:00:01"
};

/// The row that follows `last`.
AuditRow chain(const AuditRow& last, const AuditEntry& entry);

/// One line of an export: hash, the hash before and the record, which stands in it byte for byte.
std::string export_line(const AuditRow& row, std::string_view previous_hash);

/// Records that were taken out, first to last. A row without a record stands in place of the last and has its hash, so that the chain
/// goes on behind it; that nothing but reads was among them is said by a signed head (audit_heads.h).
struct AuditGap {
  int64_t first = 0;
  int64_t last = 0;
  bool operator==(const AuditGap&) const = default;
};
/// Over where the gaps within the records behind `after` up to `last` are.
std::string gaps_hash(const std::vector<AuditGap>& gaps, int64_t after, int64_t last);

/// Checks a chain row by row.
class AuditVerifier {
 public:
  /// The next row, from the first on. @return error naming the first row that does not follow.
  Status check(const AuditRow& row);
  /// What is to be proven beside the chain, ascending.
  [[nodiscard]] const std::vector<AuditGap>& gaps() const { return gaps_; }
  /// The same from an exported line (without its line break).
  Status check_line(std::string_view line);
  [[nodiscard]] int64_t rows() const { return rows_; }
  /// Of the last row: note it elsewhere, and later verify up to it.
  [[nodiscard]] const std::string& head() const { return head_; }

 private:
  int64_t rows_ = 0;
  std::string head_;
  std::vector<AuditGap> gaps_;
};

}  // namespace stint
