#include "daemon/finding_book.h"

#include <sys/stat.h>

#include <algorithm>

#include "daemon/finding_json.h"
#include "host/file.h"

namespace stint {

std::string_view name_of(Decision decision) {
  switch (decision) {
    case Decision::kApproved: return "approved";
    case Decision::kDismissed: return "dismissed";
    case Decision::kOpen: return "open";
  }
  return "unknown";
}

std::optional<Decision> parse_decision(std::string_view text) {
  for (const Decision d : {Decision::kApproved, Decision::kDismissed, Decision::kOpen})
    if (name_of(d) == text) return d;
  return std::nullopt;
}

StandingAsks standing_asks(const std::map<std::string, CarriedChange>& carried) {
  StandingAsks asks;
  const auto keep_least = [](auto& all, const auto& more) {
    for (const auto& [name, limit] : more)
      if (const auto [known, is_new] = all.emplace(name, limit); !is_new) known->second = std::min(known->second, limit);
  };
  for (const auto& [id, change] : carried) {
    if (change.undone_at) continue;
    if (change.rests) asks.resting.insert(change.machines.begin(), change.machines.end());
    keep_least(asks.replicas, change.replicas);
    keep_least(asks.time_limits, change.time_limits);
  }
  return asks;
}

Result<std::unique_ptr<FindingBook>> FindingBook::open(const std::string& folder) {
  std::unique_ptr<FindingBook> book(new FindingBook(folder));
  if (const std::string path = folder + "/decisions.json"; is_regular_file(path)) {
    TRY_ASSIGN(const std::string json, read_all(path));
    TRY_ASSIGN(book->decisions_, parse_decisions(json, path));
  }
  if (const std::string path = folder + "/changes.json"; is_regular_file(path)) {
    TRY_ASSIGN(const std::string json, read_all(path));
    TRY_ASSIGN(book->carried_, parse_carried(json, path));
    book->asks_ = std::make_shared<const StandingAsks>(standing_asks(book->carried_));
  }
  return book;
}

Result<std::shared_ptr<const FindingBook::Audit>> FindingBook::audit() {
  const std::string path = folder_ + "/audit.json";
  const std::lock_guard guard(lock_);
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::shared_ptr<const Audit>();
  const Instant written = Instant::from_seconds(status.st_mtim.tv_sec) + Duration::nanoseconds(status.st_mtim.tv_nsec);
  if (audit_ && audit_->written == written && audit_size_ == status.st_size) return audit_;
  auto audit = std::make_shared<Audit>();
  TRY_ASSIGN(audit->json, read_all(path));
  TRY_ASSIGN(static_cast<AuditContents&>(*audit), read_audit(audit->json, path));
  audit->written = written;
  audit_ = std::move(audit);
  audit_size_ = status.st_size;
  return audit_;
}

Status FindingBook::put_audit(std::string_view json) {
  TRY(read_audit(json, "the audit"));
  return write_file_atomically(folder_ + "/audit.json", json);
}

std::map<std::string, FindingDecision> FindingBook::decisions() const {
  const std::lock_guard guard(lock_);
  return decisions_;
}

Status FindingBook::decide(const std::string& finding, FindingDecision decision) {
  const std::lock_guard guard(lock_);
  std::map<std::string, FindingDecision> next = decisions_;
  if (decision.decision == Decision::kOpen)
    next.erase(finding);
  else
    next[finding] = std::move(decision);
  TRY(write_file_atomically(folder_ + "/decisions.json", format_decisions(next)));
  decisions_ = std::move(next);
  return {};
}

std::map<std::string, CarriedChange> FindingBook::carried() const {
  const std::lock_guard guard(lock_);
  return carried_;
}

std::shared_ptr<const StandingAsks> FindingBook::asks() const {
  const std::lock_guard guard(lock_);
  return asks_;
}

Status FindingBook::carry(const std::string& change, CarriedChange carried) {
  const std::lock_guard guard(lock_);
  return write_carried(change, std::move(carried));
}

Result<bool> FindingBook::carry_over(const std::string& change, const CarriedChange& expected, CarriedChange carried) {
  const std::lock_guard guard(lock_);
  const auto known = carried_.find(change);
  if (known == carried_.end() || known->second != expected) return false;
  if (expected == carried) return true;
  TRY(write_carried(change, std::move(carried)));
  return true;
}

/// Under the lock.
Status FindingBook::write_carried(const std::string& change, CarriedChange carried) {
  std::map<std::string, CarriedChange> next = carried_;
  next[change] = std::move(carried);
  TRY(write_file_atomically(folder_ + "/changes.json", format_carried(next)));
  carried_ = std::move(next);
  asks_ = std::make_shared<const StandingAsks>(standing_asks(carried_));
  return {};
}

}  // namespace stint
