// Is the notice of an interruption long enough to save and to copy what was saved? Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"
#include "base/units.h"

namespace stint {

struct NoticeQuestion {
  Duration notice;
  Bytes size;                    ///< of a checkpoint
  int64_t bytes_per_second = 0;  ///< as measured at the last copy; 0 = not known
  bool at_a_bound = false;       ///< a rate was kept then: the way may be faster
  Duration saving;               ///< what writing a checkpoint takes; 0 = not known
};

enum class NoticeFit : uint8_t {
  kUnknown,  ///< nothing was copied yet
  kFits,
  kMayNot,  ///< not at the rate that was kept, which does not hold then
  kTooShort,
};

/// As events name it: `too_short`.
std::string_view word_of(NoticeFit fit);
NoticeFit judge_notice(const NoticeQuestion& q);
/// What saving and copying would take.
Duration notice_needed(const NoticeQuestion& q);
/// A line for people; of one that is too short also what would help. @param name  of the checkpoint.
std::string notice_text(const NoticeQuestion& q, const std::string& name);

}  // namespace stint
