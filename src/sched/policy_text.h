// A policy in one word, with what differs from its defaults: "stint", "fifo:backfill=easy,placement=fgd,preempt=no".
#pragma once

#include <string>
#include <string_view>

#include "sched/policy.h"

namespace stint::sched {

/// The order named, with that order's usual rules: fifo, fifo-skip, sjf-oracle and srtf neither backfill, preempt, reclaim
/// nor move; fair adds preemption and reclaim; stint everything. After a colon, settings `key=value` separated by commas:
/// backfill, placement, preempt and reclaim (yes or no), victims (priority or least-lost-work), ageing and usage-half-life
/// (a duration such as 24h, or 0). @return error naming the setting and what it may be.
Result<Policy> parse_policy(std::string_view text);

/// The shortest text that parse_policy() reads as this policy.
std::string to_text(const Policy& policy);

}  // namespace stint::sched
