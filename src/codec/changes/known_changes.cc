#include "codec/changes/known_changes.h"

#include "base/text.h"

namespace stint {
namespace {

constexpr std::string_view kEvery = " every ";
constexpr std::string_view kFor = " for ";
constexpr size_t kMostTimes = 1'000;

}  // namespace

Result<std::vector<KnownChange>> expand_known_change(std::string_view text, Interval horizon) {
  const size_t every = text.find(kEvery);
  if (every == std::string_view::npos) {
    TRY_ASSIGN(KnownChange one, parse_known_change(text));
    return std::vector{std::move(one)};
  }
  const size_t amount = text.rfind(':');
  const size_t lasting = text.find(kFor, every);
  if (amount == std::string_view::npos || lasting == std::string_view::npos || lasting > amount)
    return invalid("'{}' recurs in no way known; expected WHEN every DURATION for DURATION:+AMOUNT", excerpt(text));
  const std::string_view gap = trim(text.substr(every + kEvery.size(), lasting - every - kEvery.size()));
  TRY_ASSIGN(const Duration period, parse_duration(gap));
  TRY_ASSIGN(const Duration length, parse_duration(trim(text.substr(lasting + kFor.size(), amount - lasting - kFor.size()))));
  if (period <= Duration() || length <= Duration() || length > period)
    return invalid("'{}' recurs every {} for longer, or never ends: expected 0 < for ≤ every", excerpt(text), gap);
  // The change itself is the same text without the words in between.
  TRY_ASSIGN(const KnownChange all, parse_known_change(std::string(text.substr(0, every)) + std::string(text.substr(amount))));
  const Instant until = all.until ? std::min(*all.until, horizon.end) : horizon.end;
  std::vector<KnownChange> times;
  Instant from = all.from;
  if (from + length < horizon.begin) {
    const int64_t skipped = (horizon.begin - from - length).count_ns() / period.count_ns();
    from = from + period * skipped;
  }
  for (; from < until; from = from + period) {
    const Interval when = intersect({from, std::min(from + length, until)}, horizon);
    if (when.empty()) continue;
    if (times.size() == kMostTimes) return invalid("'{}' recurs more than {} times: give it an end", excerpt(text), kMostTimes);
    KnownChange one = all;
    one.from = when.begin;
    one.until = when.end;
    one.note = text;
    times.push_back(std::move(one));
  }
  return times;
}

Result<std::vector<KnownChange>> parse_known_changes(std::string_view file, std::string_view text, Interval horizon) {
  std::vector<KnownChange> all;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    const size_t hash = line.find('#');
    const std::string_view note = hash == std::string_view::npos ? std::string_view() : trim(line.substr(hash + 1));
    line = trim(line.substr(0, hash));
    if (line.empty()) continue;
    auto made = expand_known_change(line, horizon);
    if (!made.ok()) return invalid("{}:{}: {}", file, number, made.error().message);
    for (KnownChange& change : *made) {
      if (!note.empty()) change.note = note;
      all.push_back(std::move(change));
    }
  }
  return all;
}

}  // namespace stint
