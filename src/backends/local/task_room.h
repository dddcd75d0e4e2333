// What of the machine a task has for itself: a home, /tmp and /var/tmp, a /dev with the GPUs it was granted (gpu_devices.h), and a /proc
// that shows its user's processes alone.
//
// For a daemon that is root, and tasks that have other accounts. Sources: mount_namespaces(7), proc(5) (hidepid), Linux 5.8 or newer for
// a hidepid that leaves the machine's own /proc as it is.
#pragma once

#include <string>
#include <vector>

#include "backends/local/task_record.h"

namespace stint {

/// What this kernel, and what this process may do on it, allow: tried once, in a process that ends at once.
struct RoomMeans {
  bool mounts = false;  ///< a task can have its /tmp and its /dev
  bool hides = false;   ///< it cannot see processes of other users
  std::string why_not;
  /// Adds what is not enforced and what that means. @param apart  each user has an account.
  void tell(bool apart, std::vector<std::string>& notes) const;
};
/// @param uid  of an account that tasks have.
RoomMeans find_room_means(uint32_t uid);

/// Can accounts that are not root's get there? @param path  absolute.
Status check_reachable(const std::string& path, const RoomMeans& means);

/// In the keeper: makes the folders and gives them to the task's user.
Status make_room(const TaskPlan& plan);
/// In the task's process, while it is root. @param home  of its user. @return the step that failed (errno says why), or none.
const char* enter_room(const TaskRoom& room, const std::string& home);
/// Takes away what goes with the task.
void leave_room(const TaskRoom& room);

}  // namespace stint
