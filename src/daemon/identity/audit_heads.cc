#include "daemon/identity/audit_heads.h"

#include <fcntl.h>
#include <syslog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/file.h"
#include "host/secret.h"

namespace stint {
namespace {

using HeadJson = nlohmann::ordered_json;

std::string signature_of(const AuditHead& head, std::string_view key) {
  std::string text = fmt::format("{}\n{}\n{}", format_utc(head.at), head.records, head.hash);
  if (!head.gaps.empty()) text += fmt::format("\n{}\n{}", head.thinned_after, head.gaps);
  return hmac_sha256_hex(key, text);
}

std::optional<AuditHead> parse_head(const HeadJson& line) {
  const auto text = [&line](const char* name) {
    const auto at = line.find(name);
    return at != line.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  if (!line.is_object() || !line.contains("records") || !line["records"].is_number_integer()) return std::nullopt;
  const auto at = parse_instant(text("at"));
  AuditHead head{at.ok() ? *at : Instant(), line["records"].get<int64_t>(), text("head")};
  head.gaps = text("gaps");
  if (!head.gaps.empty() && line.contains("thinned_after") && line["thinned_after"].is_number_integer())
    head.thinned_after = line["thinned_after"].get<int64_t>();
  return at.ok() && head.records > 0 && head.hash.size() == 64 ? std::optional(head) : std::nullopt;
}

/// The bytes of a key file; it is made where `make` says so.
Result<std::string> read_key(const std::string& path, bool make) {
  if (make) TRY(write_secret(path, random_hex(32) + "\n"));
  TRY(check_secret_file(path));
  TRY_ASSIGN(const std::string digits, read_secret_file(path));
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (digits.size() != 64 || !std::ranges::all_of(digits, is_digit))
    return invalid("{}: no key of the audit log's heads: 64 hexadecimal digits, as the daemon makes it", path);
  return bytes_of_hex(digits);
}

}  // namespace

std::string signed_line(const AuditHead& head, std::string_view key) {
  HeadJson line = {
      {"at", format_utc(head.at)}, {"records", head.records}, {"head", head.hash}, {"signature", signature_of(head, key)}};
  if (!head.gaps.empty()) {
    line["gaps"] = head.gaps;
    line["thinned_after"] = head.thinned_after;
  }
  return line.dump() + "\n";
}

Result<std::vector<AuditHead>> read_signed_heads(std::string_view text, std::string_view key, const std::string& source) {
  std::vector<AuditHead> heads;
  for (uint64_t number = 1; text.find('\n') != std::string_view::npos; ++number) {
    const size_t end = text.find('\n');
    const HeadJson line = HeadJson::parse(text.substr(0, end), nullptr, /*allow_exceptions=*/false);
    text.remove_prefix(end + 1);
    const auto head = parse_head(line);
    if (!head) return invalid("{}:{}: no head of an audit log: the line was changed", source, number);
    if (!line.contains("signature") || line["signature"] != signature_of(*head, key))
      return invalid("{}:{}: not signed with this key: the line was changed, or the key is another one", source, number);
    heads.push_back(*head);
  }
  return heads;
}

HeadCheck::HeadCheck(std::vector<AuditHead> heads) : heads_(std::move(heads)) {
  std::ranges::stable_sort(heads_, {}, &AuditHead::records);
}

Status HeadCheck::record(int64_t sequence, std::string_view hash) {
  for (; next_ < heads_.size() && heads_[next_].records <= sequence; ++next_) {
    const AuditHead& head = heads_[next_];
    if (head.records == sequence && head.hash != hash)
      return invalid(
          "audit record {} is not the one that was there on {}: records up to it were changed or removed, and the hashes "
          "behind them computed anew",
          sequence, format_utc(head.at));
  }
  return {};
}

Status HeadCheck::finish(int64_t records, const std::vector<AuditGap>& gaps) const {
  if (!heads_.empty() && heads_.back().records > records)
    return invalid(
        "{} records are there, and on {} there were {}: the last ones were removed, or the log is from an older backup", records,
        format_utc(heads_.back().at), heads_.back().records);
  std::vector<const AuditHead*> good;  // of what was begun and not done there may be heads that do not fit
  for (const AuditHead& head : heads_)
    if (!head.gaps.empty() && head.gaps == gaps_hash(gaps, head.thinned_after, head.records)) good.push_back(&head);
  for (const AuditGap& gap : gaps) {
    const auto covers = [&gap](const AuditHead* head) { return gap.first > head->thinned_after && gap.last <= head->records; };
    if (std::ranges::none_of(good, covers))
      return invalid(
          "audit records {} to {} are not there, and no signed head says that they were reads past their time: they were removed",
          gap.first, gap.last);
  }
  return {};
}

Result<AuditHeadsFile> AuditHeadsFile::open(AuditHeadsOptions options) {
  AuditHeadsFile opened;
  std::error_code ignored;
  std::string text;
  if (std::filesystem::exists(options.file, ignored)) {
    TRY_ASSIGN(text, read_all(options.file));
  }
  if (const size_t whole = text.rfind('\n') + 1; whole < text.size()) {  // a crash left a part of a line
    std::error_code failed;
    std::filesystem::resize_file(options.file, whole, failed);
    if (failed) return make_error(ErrorCode::kUnavailable, "cannot write {}: {}", options.file, failed.message());
    text.resize(whole);
  }
  const bool has_key = std::filesystem::exists(options.key_file, ignored);
  if (!has_key && !text.empty())
    return make_error(
        ErrorCode::kNotFound,
        "{}: heads of the audit log are there, and their key {} is not: bring it back, or move the heads elsewhere and "
        "new ones begin with a new key",
        options.file, options.key_file);
  TRY_ASSIGN(opened.key_, read_key(options.key_file, !has_key));
  TRY_ASSIGN(opened.heads_, read_signed_heads(text, opened.key_, options.file));
  opened.options_ = std::move(options);
  return opened;
}

Status AuditHeadsFile::add(const AuditHead& head) {
  const std::string line = signed_line(head, key_);
  const int file = ::open(options_.file.c_str(), O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  const off_t before = file < 0 ? 0 : ::lseek(file, 0, SEEK_END);
  const bool written =
      file >= 0 && ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size()) && ::fsync(file) == 0;
  const int failure = errno;
  if (!written && file >= 0) (void)!::ftruncate(file, before);  // a part of a line would be in the way of the next one
  if (file >= 0) ::close(file);
  if (!written)
    return make_error(ErrorCode::kUnavailable, "cannot write {}: {}: check its folder and the space left", options_.file,
                      std::strerror(failure));
  if (options_.syslog)
    ::syslog(LOG_AUTH | LOG_NOTICE, "stint audit log: %lld records, head %s", static_cast<long long>(head.records),
             head.hash.c_str());
  heads_.push_back(head);
  return {};
}

}  // namespace stint
