#include "backends/supervise/notice_fit.h"

#include <fmt/format.h>

#include <cmath>

namespace stint {
namespace {

std::string seconds_text(Duration d) { return fmt::format("{:.3g} s", d.to_seconds()); }

std::string size_text(double bytes) {
  if (bytes >= 1073741824.0) return fmt::format("{:.3g} GiB", bytes / 1073741824.0);
  if (bytes >= 1048576.0) return fmt::format("{:.3g} MiB", bytes / 1048576.0);
  return fmt::format("{:.0f} bytes", std::floor(bytes));
}

Duration sending(const NoticeQuestion& q) {
  return Duration::from_seconds(static_cast<double>(q.size.count()) / static_cast<double>(q.bytes_per_second));
}

/// What would do, whichever comes first; the last always does.
std::string remedies(const NoticeQuestion& q) {
  const Duration left = q.notice - q.saving;
  std::string text = fmt::format("what would: a notice of {}", seconds_text(notice_needed(q)));
  if (left > Duration())
    text += fmt::format(", {} per second, checkpoints of at most {}",
                        size_text(std::ceil(static_cast<double>(q.size.count()) / left.to_seconds())),
                        size_text(static_cast<double>(q.bytes_per_second) * left.to_seconds()));
  return text + "; or save more often: an interruption then costs the work since the last copy";
}

}  // namespace

std::string_view word_of(NoticeFit fit) {
  switch (fit) {
    case NoticeFit::kUnknown: return "unknown";
    case NoticeFit::kFits: return "fits";
    case NoticeFit::kMayNot: return "may_not";
    case NoticeFit::kTooShort: return "too_short";
  }
  return "";
}

Duration notice_needed(const NoticeQuestion& q) { return q.bytes_per_second > 0 ? q.saving + sending(q) : q.saving; }

NoticeFit judge_notice(const NoticeQuestion& q) {
  if (q.bytes_per_second <= 0) return NoticeFit::kUnknown;
  if (notice_needed(q) <= q.notice) return NoticeFit::kFits;
  return q.at_a_bound && q.saving < q.notice ? NoticeFit::kMayNot : NoticeFit::kTooShort;
}

std::string notice_text(const NoticeQuestion& q, const std::string& name) {
  const std::string sum = fmt::format(
      "{}{} at {} per second {} {}", q.saving > Duration() ? fmt::format("saving takes {}, ", seconds_text(q.saving)) : "",
      size_text(static_cast<double>(q.size.count())), size_text(static_cast<double>(q.bytes_per_second)),
      q.saving > Duration() ? "then" : "take", seconds_text(sending(q)));
  switch (judge_notice(q)) {
    case NoticeFit::kUnknown: return "whether a save fits the notice is not known before the first copy";
    case NoticeFit::kFits:
      return fmt::format("a save as large as {} fits the notice of {}: {}", name, seconds_text(q.notice), sum);
    case NoticeFit::kMayNot:
      return fmt::format(
          "a save as large as {} may not fit the notice of {}: {}; --sync-rate does not hold then, and how fast "
          "the way is without it was not measured",
          name, seconds_text(q.notice), sum);
    case NoticeFit::kTooShort:
      return fmt::format("a save as large as {} does NOT fit the notice of {}: {}; {}", name, seconds_text(q.notice), sum,
                         remedies(q));
  }
  return "";
}

}  // namespace stint
