// Who made, started, stopped and ended machines: kept in a History file from clouds' own audit logs, which clouds keep for some time only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "codec/trails/cloud_trail.h"

namespace stint {

/// In one transaction; what is there already stays once. An older file is brought up to date. @return how many are new
Result<int64_t> keep_machine_acts(const std::string& path, std::span<const MachineActRecord> records);
/// Ascending by time, machine, act. Empty where nothing was kept, or the file is older than the table that would hold it.
Result<std::vector<MachineActRecord>> read_machine_acts(const std::string& path);

class Database;
/// The same of a History that is open.
Result<std::vector<MachineActRecord>> read_machine_acts(Database& database);

}  // namespace stint
