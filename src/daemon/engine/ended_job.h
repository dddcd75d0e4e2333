// A job that has ended and left memory, as the row that the log keeps of it. Format stint-ended/1, docs/formats.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/engine/engine_books.h"

namespace stint {

/// What encode_ended() wrote, but for the queue.
struct DecodedJob {
  JobBook job;
  std::string reason;  ///< in words
  std::optional<ApprovalView> approval;
};

/// @param approval  nullptr: it needed none.
std::string encode_ended(const JobBook& job, const ApprovalView* approval);
/// @return error naming the field that is wrong.
Result<DecodedJob> decode_ended(std::string_view payload);

}  // namespace stint
