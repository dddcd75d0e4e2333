// A group of the device controller of cgroup version 1 for a task: on machines without the filter of version 2 (gpu_devices.h) it opens
// no GPU that it was not granted, by whatever file.
//
// Source: Linux kernel documentation, admin-guide/cgroup-v1/devices.rst.
#pragma once

#include <string>
#include <vector>

#include "backends/local/gpu_devices.h"

namespace stint {

/// The folder in which this process can make such groups: its own place in that hierarchy. Tried once.
/// @return error that says why there is none
Result<std::string> find_device_groups();

/// Of devices whose majors are among `guarded`, processes in it can open `allowed` alone. @return error naming the group: then it is gone
Status make_device_group(const std::string& group, const std::vector<DeviceNumber>& guarded,
                         const std::vector<DeviceNumber>& allowed);
/// The calling process, and what it starts from then on. "" = there is none, and it is entered.
bool enter_device_group(const std::string& group);
/// Once it is empty.
void remove_device_group(const std::string& group);

}  // namespace stint
