#include "daemon/logs/log_shortening.h"

#include <algorithm>
#include <utility>

namespace stint {
namespace {

/// What all take, by whose it is; and what of it runs.
class RunningLogs {
 public:
  RunningLogs(const std::vector<JobLog>& logs, const LogRules& rules) : rules_(rules) {
    for (size_t i = 0; i < logs.size(); ++i) {
      Client& client = clients_[logs[i].client];
      User& user = client.users[logs[i].user];
      for (Bytes* bytes : {&user.bytes, &client.bytes, &all_})
        *bytes = *bytes + logs[i].bytes;
      if (!logs[i].ended) user.running[i] = logs[i].bytes;
    }
  }

  std::vector<LogShortening> find() {
    for (auto& [name, client] : clients_) {
      const auto found = rules_.clients.find(name);
      if (found == rules_.clients.end()) continue;
      for (auto& [user, own] : client.users)
        while (found->second.user && shorten(client, own, own.bytes - *found->second.user, LogCause::kUser)) {
        }
      if (const auto most = found->second.client)
        while (shorten_of(client, client.bytes - *most, LogCause::kClient, equal_part(*most, client.users.size()))) {
        }
    }
    while (rules_.most && shorten_of_largest_client(all_ - *rules_.most)) {
    }
    return std::move(found_);
  }

 private:
  struct User {
    Bytes bytes;
    std::map<size_t, Bytes> running;
  };
  struct Client {
    Bytes bytes;
    std::map<std::string, User, std::less<>> users;
  };

  static Bytes equal_part(Bytes bound, size_t among) { return Bytes::of(bound.count() / static_cast<int64_t>(among)); }

  /// The largest log by half, or by what is too much. @return false: nothing is too much, or nothing can go
  bool shorten(Client& client, User& user, Bytes too_much, LogCause cause) {
    if (too_much <= Bytes()) return false;
    const auto largest = std::ranges::max_element(user.running, {}, [](const auto& log) { return log.second; });
    if (largest == user.running.end() || largest->second <= kLeastRunningLog) return false;
    const Bytes left = std::max({kLeastRunningLog, Bytes::of(largest->second.count() / 2), largest->second - too_much});
    for (Bytes* bytes : {&user.bytes, &client.bytes, &all_})
      *bytes = *bytes - (largest->second - left);
    largest->second = left;
    const auto known = std::ranges::find(found_, largest->first, &LogShortening::log);
    if (known == found_.end())
      found_.push_back({.log = largest->first, .cause = cause, .left = left});
    else
      known->left = left;
    return true;
  }

  static bool can_shorten(const User& user) {
    return std::ranges::any_of(user.running, [](const auto& log) { return log.second > kLeastRunningLog; });
  }

  bool shorten_of(Client& client, Bytes too_much, LogCause cause, Bytes part) {
    User* largest = nullptr;
    for (auto& [name, user] : client.users)
      if (can_shorten(user) && user.bytes > part && (largest == nullptr || user.bytes > largest->bytes)) largest = &user;
    return largest != nullptr && shorten(client, *largest, too_much, cause);
  }

  bool shorten_of_largest_client(Bytes too_much) {
    if (too_much <= Bytes()) return false;
    const Bytes part = equal_part(*rules_.most, clients_.size());
    Client* largest = nullptr;
    for (auto& [name, client] : clients_) {
      const bool can = std::ranges::any_of(client.users, [&](const auto& user) {
        return can_shorten(user.second) && user.second.bytes > equal_part(part, client.users.size());
      });
      if (can && client.bytes > part && (largest == nullptr || client.bytes > largest->bytes)) largest = &client;
    }
    return largest != nullptr && shorten_of(*largest, too_much, LogCause::kTotal, equal_part(part, largest->users.size()));
  }

  const LogRules& rules_;
  std::map<std::string, Client, std::less<>> clients_;
  Bytes all_;
  std::vector<LogShortening> found_;
};

}  // namespace

std::vector<LogShortening> logs_to_shorten(const std::vector<JobLog>& logs, const LogRules& rules) {
  return RunningLogs(logs, rules).find();
}

}  // namespace stint
