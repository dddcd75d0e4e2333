#include "daemon/identity/audit_log.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr std::string_view kHash = R"({"hash":")";
constexpr std::string_view kPrevious = R"(","previous":")";
constexpr std::string_view kRecord = R"(","record":)";
constexpr std::string_view kUpTo = R"(","taken_out_up_to":)";

std::string chain_hash(std::string_view previous, std::string_view record) {
  return sha256_hex(fmt::format("{}\n{}", previous, record));
}

/// Takes `front` off `text`. @return false when it does not begin so.
bool take(std::string_view& text, std::string_view front) {
  if (!text.starts_with(front)) return false;
  text.remove_prefix(front.size());
  return true;
}

/// Takes what stands before `end`.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(part.size());
  return part;
}

}  // namespace

AuditRow chain(const AuditRow& last, const AuditEntry& entry) {
  nlohmann::ordered_json record = {{"sequence", last.sequence + 1}, {"at", format_utc(entry.at)}};
  const auto add = [&record](const char* name, const std::string& value) {
    if (!value.empty()) record[name] = value;
  };
  add("actor", entry.actor);
  add("token", entry.token);
  add("peer", entry.peer);
  add("method", entry.method);
  add("target", entry.target);
  add("client", entry.client);
  record["status"] = entry.status;
  add("detail", entry.detail);
  AuditRow row{last.sequence + 1, entry.client, record.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace), ""};
  row.hash = chain_hash(last.hash, row.record);
  return row;
}

std::string gaps_hash(const std::vector<AuditGap>& gaps, int64_t after, int64_t last) {
  std::string text;
  for (const AuditGap& gap : gaps)
    if (gap.first > after && gap.last <= last) text += fmt::format("{}-{},", gap.first, gap.last);
  return sha256_hex(text);
}

std::string export_line(const AuditRow& row, std::string_view previous_hash) {
  if (row.record.empty()) return fmt::format("{}{}{}{}{}{}}}", kHash, row.hash, kPrevious, previous_hash, kUpTo, row.sequence);
  return fmt::format("{}{}{}{}{}{}}}", kHash, row.hash, kPrevious, previous_hash, kRecord, row.record);
}

Status AuditVerifier::check(const AuditRow& row) {
  if (row.record.empty() && row.sequence > rows_) {
    gaps_.push_back({rows_ + 1, row.sequence});
    rows_ = row.sequence;
    head_ = row.hash;
    return {};
  }
  if (row.sequence != rows_ + 1)
    return invalid("audit record {}: record {} is missing: it was removed, or the copy is not whole", row.sequence, rows_ + 1);
  if (row.hash != chain_hash(head_, row.record))
    return invalid("audit record {}: its hash does not follow from what stands before: this record or its hash was changed",
                   row.sequence);
  rows_ = row.sequence;
  head_ = row.hash;
  return {};
}

Status AuditVerifier::check_line(std::string_view line) {
  std::string_view rest = line;
  AuditRow row{.sequence = rows_ + 1};
  const bool begins = take(rest, kHash);
  row.hash = std::string(take_until(rest, '"'));
  const bool has_previous = begins && take(rest, kPrevious);
  const std::string previous(take_until(rest, '"'));
  if (has_previous && previous == head_ && take(rest, kUpTo)) {
    const std::optional<int64_t> last = parse_int(take_until(rest, '}'));
    if (!last || *last <= rows_) return invalid("audit record {}: line {} takes out no record", rows_ + 1, excerpt(line));
    row.sequence = *last;
    return check(row);
  }
  if (!has_previous || !take(rest, kRecord) || !rest.ends_with("}"))
    return invalid("audit record {}: line {} is not one of an export", rows_ + 1, excerpt(line));
  rest.remove_suffix(1);
  row.record = std::string(rest);
  if (previous != head_)
    return invalid("audit record {}: it follows another record than the one before it: one was removed, added or changed",
                   rows_ + 1);
  return check(row);
}

}  // namespace stint
