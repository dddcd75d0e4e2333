// The audit whose findings people decide on, and what they decided.
//
// `audit.json` of the state folder is what `stint audit --json` wrote last: put there by hand, by a timer, or by put_audit().
// `decisions.json` beside it holds the last decision on each finding; findings keep their ids over audits of the same history, so
// a decision outlives the audit it was made on. A decision changes nothing but itself.
// `changes.json` holds which changes were carried out here, and what of them undoing has to take back: written before anything is done, so that
// what was cut short can go on, and nothing is done twice.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/change.h"

namespace stint {

enum class Decision : uint8_t { kApproved, kDismissed, kOpen };
std::string_view name_of(Decision decision);  // "approved", "dismissed", "open"
std::optional<Decision> parse_decision(std::string_view text);

struct FindingDecision {
  Decision decision = Decision::kOpen;
  std::string by;
  Instant at;
  std::string note;   ///< why; may be empty
  std::string title;  ///< of the finding as it was then
};

/// A change that was carried out, or begun: its machines take no new work, always or in hours of the week; services have fewer replicas, jobs
/// shorter limits.
struct CarriedChange {
  std::string title, by;
  Instant at;
  std::vector<std::string> machines = {};            ///< ascending; may be none where it asks for anything below
  std::vector<std::string> drained = {};             ///< those of them that took work until then: undoing lets them again
  WeekHours off = {};                                ///< in which they rest; none = in all
  bool rests = true;                                 ///< they do, as last intended
  bool is_done = true;                               ///< nothing of that intent is left to do
  std::map<std::string, int32_t> replicas = {};      ///< of a service there are so many at most, by its name
  std::map<std::string, Duration> time_limits = {};  ///< jobs submitted under that name run so long at most
  std::string undone_by = {};
  std::optional<Instant> undone_at = {};
  bool operator==(const CarriedChange&) const = default;
};

/// What changes that were carried out ask for as long as they are not taken back; of several that ask for the same the least.
struct StandingAsks {
  std::set<std::string> resting;  ///< machines
  std::map<std::string, int32_t> replicas;
  std::map<std::string, Duration> time_limits;
};
StandingAsks standing_asks(const std::map<std::string, CarriedChange>& carried);

/// How far what a client pays for a service was from usual on one of the last days.
struct UnusualSpend {
  std::string client;     ///< "" = not attributed, or idle and of no client
  std::string name;       ///< "CLIENT: PROVIDER SERVICE", of no other
  double deviations = 0;  ///< robust standard deviations; negative where it cost less
  bool operator==(const UnusualSpend&) const = default;
};

/// What is read of an audit.
struct AuditContents {
  std::map<std::string, std::string> titles;  ///< of its findings, by id
  std::vector<UnusualSpend> unusual;          ///< recent days; one for each name, the one that is off most
  std::optional<Instant> oldest_price;        ///< day of the oldest catalogue price that it rests on; none = it rests on none
};

class FindingBook {
 public:
  struct Audit : AuditContents {
    std::string json;  ///< as `stint audit --json` writes it
    Instant written;   ///< when the file was
  };

  /// @param folder  where the files lie. @return error when decisions.json or changes.json is there and cannot be read.
  static Result<std::unique_ptr<FindingBook>> open(const std::string& folder);

  // From any thread. The audit is read again when its file has changed.

  /// @return null when there is none; error for a file that is none.
  Result<std::shared_ptr<const Audit>> audit();
  /// Takes the place of the audit there is, durably. @return error for what is no audit, and when it cannot be written.
  Status put_audit(std::string_view json);
  [[nodiscard]] std::map<std::string, FindingDecision> decisions() const;
  /// Durable when it returns; kOpen takes a decision back.
  Status decide(const std::string& finding, FindingDecision decision);
  [[nodiscard]] std::map<std::string, CarriedChange> carried() const;
  /// Of carried(). Cheap, for each job and each look.
  [[nodiscard]] std::shared_ptr<const StandingAsks> asks() const;
  /// Durable when it returns.
  Status carry(const std::string& change, CarriedChange carried);
  /// The same, unless it is not `expected` any more. @return whether it was.
  Result<bool> carry_over(const std::string& change, const CarriedChange& expected, CarriedChange carried);

 private:
  Status write_carried(const std::string& change, CarriedChange carried);
  explicit FindingBook(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
  mutable std::mutex lock_;
  std::shared_ptr<const Audit> audit_;                                                 // guarded
  int64_t audit_size_ = -1;                                                            // guarded; of the file that was read
  std::map<std::string, FindingDecision> decisions_;                                   // guarded
  std::map<std::string, CarriedChange> carried_;                                       // guarded
  std::shared_ptr<const StandingAsks> asks_ = std::make_shared<const StandingAsks>();  // guarded
};

}  // namespace stint
