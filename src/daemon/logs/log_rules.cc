#include "daemon/logs/log_rules.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <tuple>

#include "daemon/engine/govern_policy.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

constexpr int64_t kPartOfDisk = 4;

/// The logs that may go, by whose they are; the use of all, kept up to date.
class Shelf {
 public:
  Shelf(const std::vector<JobLog>& logs, const LogRules& rules) : logs_(logs), rules_(rules) {
    std::vector<size_t> order;
    for (size_t i = 0; i < logs.size(); ++i) {
      Client& client = clients_[logs[i].client];
      client.bytes = client.bytes + logs[i].bytes;
      client.users[logs[i].user].bytes = client.users[logs[i].user].bytes + logs[i].bytes;
      all_ = all_ + logs[i].bytes;
      if (logs[i].ended) order.push_back(i);
    }
    std::ranges::sort(
        order, [&](size_t a, size_t b) { return std::tie(*logs[a].ended, logs[a].job) < std::tie(*logs[b].ended, logs[b].job); });
    for (const size_t i : order)
      clients_[logs[i].client].users[logs[i].user].oldest_first.push_back(i);
  }

  std::vector<LogCut> cut(Instant now) {
    for (auto& [name, client] : clients_)
      for (auto& [user, own] : client.users)
        while (rules_.keep > Duration() && !own.oldest_first.empty() && is_old(own.oldest_first.front(), now))
          take(client, own, LogCause::kAge);
    for (auto& [name, client] : clients_) {
      const auto found = rules_.clients.find(name);
      if (found == rules_.clients.end()) continue;
      for (auto& [user, own] : client.users)
        while (found->second.user && own.bytes > *found->second.user && !own.oldest_first.empty())
          take(client, own, LogCause::kUser);
      if (const auto most = found->second.client)
        while (client.bytes > *most && take_of_largest_user(client, LogCause::kClient, part_of(*most, client.users.size()))) {
        }
    }
    while (rules_.most && all_ > *rules_.most && take_of_largest_client()) {
    }
    return std::move(cuts_);
  }

 private:
  struct User {
    Bytes bytes;
    std::deque<size_t> oldest_first;
  };
  struct Client {
    Bytes bytes;
    std::map<std::string, User, std::less<>> users;
  };

  [[nodiscard]] bool is_old(size_t log, Instant now) const { return now - *logs_[log].ended >= rules_.keep; }

  void take(Client& client, User& user, LogCause cause) {
    const size_t log = user.oldest_first.front();
    user.oldest_first.pop_front();
    for (Bytes* bytes : {&user.bytes, &client.bytes, &all_})
      *bytes = *bytes - logs_[log].bytes;
    // What takes no room makes none.
    if (cause == LogCause::kAge || logs_[log].bytes > Bytes()) cuts_.push_back({.log = log, .cause = cause});
  }

  static Bytes part_of(Bytes bound, size_t among) { return Bytes::of(bound.count() / static_cast<int64_t>(among)); }

  /// Of those that take more than their part and have something that may go; of equal ones the first by name: what runs may go over a bound,
  /// and those within their part do not pay for that. @return false: there is none.
  bool take_of_largest_user(Client& client, LogCause cause, Bytes part) {
    User* largest = nullptr;
    for (auto& [name, user] : client.users)
      if (!user.oldest_first.empty() && user.bytes > part && (largest == nullptr || user.bytes > largest->bytes)) largest = &user;
    if (largest != nullptr) take(client, *largest, cause);
    return largest != nullptr;
  }

  bool take_of_largest_client() {
    Client* largest = nullptr;
    const Bytes part = part_of(*rules_.most, clients_.size());
    const auto may_give = [&part](const Client& client) {
      return std::ranges::any_of(client.users, [&](const auto& user) {
        return !user.second.oldest_first.empty() && user.second.bytes > part_of(part, client.users.size());
      });
    };
    for (auto& [name, client] : clients_)
      if (client.bytes > part && may_give(client) && (largest == nullptr || client.bytes > largest->bytes)) largest = &client;
    return largest != nullptr && take_of_largest_user(*largest, LogCause::kTotal, part_of(part, largest->users.size()));
  }

  const std::vector<JobLog>& logs_;
  const LogRules& rules_;
  std::map<std::string, Client, std::less<>> clients_;
  Bytes all_;
  std::vector<LogCut> cuts_;
};

std::optional<Bytes> bytes_of_mebibytes(const std::optional<int64_t>& mebibytes) {
  return mebibytes ? std::optional(Bytes::mebi(*mebibytes)) : std::nullopt;
}

}  // namespace

Result<LogKeeping> read_log_keeping(JsonFields& fields) {
  LogKeeping keeping;
  keeping.keep = fields.duration("keep", keeping.keep);
  if (keeping.keep < Duration()) fields.wrong("keep", "a duration such as 30d, or 0 for as long as there is room");
  if (fields.has("most")) {
    keeping.most = fields.size("most", Bytes());
    if (*keeping.most < Bytes()) fields.wrong("most", "a size such as 50GiB, or 0 for no bound");
  }
  TRY(fields.finish());
  return keeping;
}

LogRules log_rules(const LogKeeping& keeping, const std::vector<ClientRules>& clients, std::optional<Bytes> disk) {
  LogRules rules{.keep = keeping.keep, .most = keeping.most, .clients = {}};
  if (!rules.most && disk) rules.most = Bytes::of(disk->count() / kPartOfDisk);
  if (rules.most == Bytes()) rules.most.reset();
  for (const ClientRules& of : clients)
    if (of.quota.log_mebibytes || of.user_quota.log_mebibytes)
      rules.clients[of.client] = {.client = bytes_of_mebibytes(of.quota.log_mebibytes),
                                  .user = bytes_of_mebibytes(of.user_quota.log_mebibytes)};
  return rules;
}

LogDiskUses uses_of(const std::vector<JobLog>& logs) {
  LogDiskUses uses;
  for (const JobLog& log : logs) {
    LogDiskUse& use = uses[log.client];
    use.bytes = use.bytes + log.bytes;
    use.users[log.user] = use.users[log.user] + log.bytes;
  }
  return uses;
}

std::string_view name_of(LogCause cause) {
  switch (cause) {
    case LogCause::kAge: return "age (job_logs.keep)";
    case LogCause::kUser: return "its user's quota (user_log_mebibytes)";
    case LogCause::kClient: return "the client's quota (log_mebibytes)";
    case LogCause::kTotal: return "the bound of all (job_logs.most)";
  }
  return "";
}

std::vector<LogCut> logs_to_cut(const std::vector<JobLog>& logs, const LogRules& rules, Instant now) {
  return Shelf(logs, rules).cut(now);
}

}  // namespace stint
