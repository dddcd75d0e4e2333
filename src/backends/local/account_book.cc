#include "backends/local/account_book.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr int64_t kFirstOfUsers = 1000;                                 // Debian policy 9.2.2: below are the system's
constexpr int64_t kLastUid = std::numeric_limits<uint32_t>::max() - 1;  // the last number means "none"
constexpr int kBookVersion = 1;

/// An account or a group of the machine that is in the range; empty = none.
std::string taken_in(const UidRange& range) {
  std::string name;
  ::setpwent();
  while (const passwd* entry = ::getpwent())
    if (name.empty() && range.contains(entry->pw_uid)) name = fmt::format("user {} ({})", entry->pw_name, entry->pw_uid);
  ::endpwent();
  ::setgrent();
  while (const group* entry = ::getgrent())
    if (name.empty() && range.contains(entry->gr_gid)) name = fmt::format("group {} ({})", entry->gr_name, entry->gr_gid);
  ::endgrent();
  return name;
}

}  // namespace

Result<UidRange> parse_uid_range(std::string_view text) {
  const auto parts = split(text, '-');
  const auto first = parts.size() == 2 ? parse_int(parts[0]) : std::nullopt;
  const auto last = parts.size() == 2 ? parse_int(parts[1]) : std::nullopt;
  if (!first || !last || *first > *last || *last > kLastUid)
    return invalid("'{}' is no range of user ids: give the first and the last, such as 70000-79999", excerpt(text));
  if (*first < kFirstOfUsers) return invalid("user ids {}: those below {} are the system's", text, kFirstOfUsers);
  const UidRange range{static_cast<uint32_t>(*first), static_cast<uint32_t>(*last)};
  if (const std::string name = taken_in(range); !name.empty())
    return invalid("user ids {}: {} is one of them, and jobs would have its files: name a range that this machine does not use",
                   text, name);
  return range;
}

Result<AccountBook> AccountBook::open(std::string path, UidRange range) {
  AccountBook book(std::move(path), range);
  if (::access(book.path_.c_str(), F_OK) != 0) return book;
  TRY_ASSIGN(const std::string text, read_all(book.path_));
  const auto damaged = [&](std::string_view why) {
    return invalid(
        "{}: is damaged ({}): restore it from a backup; without it a user could get the account and the files of another",
        book.path_, excerpt(why, 200));
  };
  try {
    const auto json = nlohmann::json::parse(text);
    if (json.at("version").get<int>() != kBookVersion) return damaged("it was written by another release");
    std::set<uint32_t> given;
    for (const auto& [owner, uid] : json.at("accounts").items()) {
      if (!uid.is_number_unsigned() || !given.insert(uid.get<uint32_t>()).second) return damaged("user id " + uid.dump());
      book.accounts_[owner] = uid.get<uint32_t>();
    }
  } catch (const nlohmann::json::exception& e) {
    return damaged(e.what());
  }
  return book;
}

Result<RunAs> AccountBook::account_of(const std::string& owner) {
  if (const auto known = accounts_.find(owner); known != accounts_.end()) return RunAs{known->second, known->second};
  std::set<uint32_t> given;
  for (const auto& [name, uid] : accounts_)
    given.insert(uid);
  uint64_t next = range_.first;
  while (next <= range_.last && given.contains(static_cast<uint32_t>(next)))
    ++next;
  if (next > range_.last)
    return make_error(
        ErrorCode::kConflict,
        "no account is left for {}: all of {}-{} (--jobs-as-range) are given, and none is given twice: widen the range", owner,
        range_.first, range_.last);
  auto accounts = accounts_;
  accounts[owner] = static_cast<uint32_t>(next);
  TRY(write(accounts));
  accounts_ = std::move(accounts);
  return RunAs{static_cast<uint32_t>(next), static_cast<uint32_t>(next)};
}

Status AccountBook::write(const std::map<std::string, uint32_t>& accounts) const {
  const nlohmann::json json = {{"version", kBookVersion}, {"accounts", accounts}};
  return write_file_atomically(path_, json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

}  // namespace stint
