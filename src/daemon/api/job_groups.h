// Groups of a gang whose tasks differ: which task belongs to which, and what it needs.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "daemon/api/job_request.h"

namespace stint {

/// Does it hold other groups together, and have no tasks?
bool holds_groups(const JobRequest& request, const JobGroup& group);
/// That the task belongs to; nullptr = the job has none. @param task  0 … tasks − 1, in the order of the groups
const JobGroup* group_of(const JobRequest& request, int32_t task);
/// What the task needs: of these fields of a JobRequest those of its group, else the job's own.
const JobRequest& needs_of(const JobRequest& request, int32_t task);
/// Fewer of them never run.
int32_t least_tasks(const JobRequest& request);
/// `tasks` and `min_tasks` of the job by its groups.
void sum_up_groups(JobRequest& request);
/// Names and who holds whom; that the job says nothing of what its groups say. What they need is looked at elsewhere.
Status check_groups(const JobRequest& request);
/// "4 × 8 GPUs, 2 × 0 GPUs" of groups with tasks; empty = it has none.
std::string groups_text(const JobRequest& request);
/// What one task asks for of GPUs where that is no number: "18 GiB of a GPU", "MIG 1g.10gb"; else empty.
std::string part_text(const JobRequest& needs);

}  // namespace stint
