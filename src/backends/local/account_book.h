// Which account of this machine a user's jobs have: a user id out of a range, given once and for ever.
//
// The book is a small file of JSON in the daemon's state folder, durable before a job of a new account starts. A user id is never given to
// a second user, also when the first is gone: files that they left stay theirs alone.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "backends/backend.h"

namespace stint {

/// Both ends are in it.
struct UidRange {
  uint32_t first = 0, last = 0;
  [[nodiscard]] bool contains(uint32_t uid) const { return uid >= first && uid <= last; }
};
/// "20000-29999". @return error also below 1000, where the system has its accounts, and for an account or group that exists already.
Result<UidRange> parse_uid_range(std::string_view text);

class AccountBook {
 public:
  /// @return error for a file that is damaged: to begin anew would give accounts a second time.
  static Result<AccountBook> open(std::string path, UidRange range);

  /// The owner's, a new one where there is none yet: the group has the same number. @param owner  "CLIENT/USER"
  /// @return error when the range is used up, or the book cannot be written.
  Result<RunAs> account_of(const std::string& owner);
  [[nodiscard]] const std::map<std::string, uint32_t>& accounts() const { return accounts_; }

 private:
  AccountBook(std::string path, UidRange range) : path_(std::move(path)), range_(range) {}
  Status write(const std::map<std::string, uint32_t>& accounts) const;

  std::string path_;
  UidRange range_;
  std::map<std::string, uint32_t> accounts_;
};

}  // namespace stint
