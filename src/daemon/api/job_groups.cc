#include "daemon/api/job_groups.h"

#include <algorithm>

#include "base/counted.h"
#include "base/text.h"

namespace stint {

bool holds_groups(const JobRequest& request, const JobGroup& group) {
  return !group.name.empty() &&
         std::ranges::any_of(request.groups, [&](const JobGroup& other) { return other.within == group.name; });
}

const JobGroup* group_of(const JobRequest& request, int32_t task) {
  for (const JobGroup& group : request.groups) {
    if (holds_groups(request, group)) continue;
    if (task < group.each.tasks) return &group;
    task -= group.each.tasks;
  }
  return nullptr;
}

const JobRequest& needs_of(const JobRequest& request, int32_t task) {
  const JobGroup* group = group_of(request, task);
  return group == nullptr ? request : group->each;
}

int32_t least_tasks(const JobRequest& request) { return request.min_tasks > 0 ? request.min_tasks : request.tasks; }

void sum_up_groups(JobRequest& request) {
  if (request.groups.empty()) return;
  int64_t all = 0, least = 0;
  for (const JobGroup& group : request.groups) {
    if (holds_groups(request, group)) continue;
    all += group.each.tasks;
    least += least_tasks(group.each);
  }
  // More than there may be are refused by check_request().
  request.tasks = static_cast<int32_t>(std::min<int64_t>(all, INT32_MAX));
  request.min_tasks = least == all ? 0 : static_cast<int32_t>(std::min<int64_t>(least, INT32_MAX));
}

namespace {

Status check_outside(const JobRequest& r) {
  const auto given = [](std::string_view field) -> Status {
    return invalid("field '{}': a job with 'groups' says it for each of them", field);
  };
  if (r.gpus > 0) return given("gpus");
  if (r.gpu_milli > 0) return given("gpu_milli");
  if (r.gpu_memory.count() > 0) return given("gpu_memory");
  if (!r.mig_profile.empty()) return given("mig_profile");
  if (!r.gpu_models.empty()) return given("gpu_models");
  if (r.cpu_milli > 0) return given("cpu_milli");
  if (r.memory.count() > 0) return given("memory");
  if (!r.node_labels.empty()) return given("node_labels");
  return {};
}

bool asks_for_nothing(const JobRequest& r) { return r.tasks == 1 && r.min_tasks == 0 && check_outside(r).ok(); }

}  // namespace

Status check_groups(const JobRequest& request) {
  if (request.groups.empty()) return {};
  if (request.groups.size() > kMostGroups)
    return invalid("field 'groups' has {} entries; {} at most", request.groups.size(), kMostGroups);
  TRY(check_outside(request));
  for (auto group = request.groups.begin(); group != request.groups.end(); ++group) {
    const auto stands_before = [&](const std::string& name) {
      return std::any_of(request.groups.begin(), group, [&](const JobGroup& other) { return other.name == name; });
    };
    if (stands_before(group->name)) return invalid("field 'groups': '{}' stands twice", excerpt(group->name));
    if (!group->within.empty() && !stands_before(group->within))
      return invalid("field 'groups': '{}' is within '{}', which must stand before it", excerpt(group->name),
                     excerpt(group->within));
    if (holds_groups(request, *group) && !asks_for_nothing(group->each))
      return invalid("field 'groups': '{}' holds other groups, so it has no tasks and asks for nothing", excerpt(group->name));
  }
  JobRequest summed = request;
  sum_up_groups(summed);
  if (summed.tasks != request.tasks || summed.min_tasks != request.min_tasks)
    return invalid("fields 'tasks' and 'min_tasks' are the sums of the groups': leave them out");
  return {};
}

std::string part_text(const JobRequest& r) {
  if (r.gpu_memory.count() > 0) return fmt::format("{:.4g} GiB of a GPU", r.gpu_memory.to_gibi());
  return r.mig_profile.empty() ? "" : "MIG " + r.mig_profile;
}

std::string groups_text(const JobRequest& request) {
  std::string text;
  for (const JobGroup& group : request.groups) {
    if (holds_groups(request, group)) continue;
    std::string each = part_text(group.each);
    if (group.each.gpu_milli > 0) each = fmt::format("{:g} GPUs", static_cast<double>(group.each.gpu_milli) / 1e3);
    if (each.empty()) each = counted(group.each.gpus, "GPU");
    text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", group.each.tasks, each);
  }
  return text;
}

}  // namespace stint
