#include "daemon/identity/audit_policy.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

constexpr int64_t kMostReadsPerMinute = 1'000'000;
constexpr double kBurstMinutes = 5;
constexpr Duration kCountedFor = Duration::minutes(1);
constexpr Duration kReaderForgotten = Duration::minutes(10);
constexpr Duration kLeastKept = kHour * 24;

}  // namespace

Result<AuditPolicy> read_audit_policy(JsonFields& fields) {
  AuditPolicy policy;
  policy.reads_per_minute = fields.integer("reads_per_minute", 0, kMostReadsPerMinute, policy.reads_per_minute);
  policy.keep_reads = fields.duration("keep_reads", policy.keep_reads);
  if (policy.keep_reads != Duration() && policy.keep_reads < kLeastKept) fields.wrong("keep_reads", "at least 1d, or 0 for ever");
  TRY(fields.finish());
  return policy;
}

std::optional<RecordFacts> facts_of(std::string_view record) {
  const auto json = nlohmann::json::parse(record, nullptr, false);
  const auto text = [&json](const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (!json.is_object()) return std::nullopt;
  const Result<Instant> at = parse_instant(text("at"));
  return at.ok() ? std::optional(RecordFacts{*at, text("method") == "GET"}) : std::nullopt;
}

bool ReadSampler::take(const AuditEntry& entry) {
  if (per_minute_ == 0) return true;
  const double full = static_cast<double>(per_minute_) * kBurstMinutes;
  const auto [place, is_new] = readers_.try_emplace({entry.actor, entry.status >= 400});
  Reader& reader = place->second;
  if (is_new) {
    reader.left = full;
  } else {
    const double minutes = (entry.at - reader.seen).to_seconds() / 60;
    reader.left = std::min(full, reader.left + std::max(0.0, minutes) * static_cast<double>(per_minute_));
  }
  reader.seen = entry.at;
  if (reader.left >= 1) {
    reader.left -= 1;
    return true;
  }
  if (reader.counted++ == 0) reader.first_at = entry.at;
  reader.last = entry;
  counts_ = true;
  return false;
}

std::vector<AuditEntry> ReadSampler::due(Instant now, bool all) {
  std::vector<AuditEntry> records;
  counts_ = false;
  for (auto place = readers_.begin(); place != readers_.end();) {
    Reader& reader = place->second;
    if (reader.counted > 0 && (all || now - reader.first_at >= kCountedFor)) {
      AuditEntry entry = std::move(reader.last);
      entry.detail = fmt::format("{} requests that changed nothing since {} have no record but this, of the last", reader.counted,
                                 format_utc(reader.first_at));
      entry.at = now;
      records.push_back(std::move(entry));
      reader.counted = 0;
    }
    counts_ = counts_ || reader.counted > 0;
    place = reader.counted == 0 && now - reader.seen >= kReaderForgotten ? readers_.erase(place) : std::next(place);
  }
  return records;
}

}  // namespace stint
