// What a machine of a launch tells: one small object in the store, written anew when something has changed and once a minute.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace stint {

enum class ReportedState : uint8_t {
  kStarted,  ///< it fetches what it is to run
  kRunning,
  kEnded,  ///< the command has, and what it saved is in the store
  kUnfit,  ///< the command did not begin: GPUs or files are missing
};
std::string_view name_of(ReportedState state);

struct LaunchReport {
  ReportedState state = ReportedState::kStarted;
  int32_t gpus = 0;          ///< that it counted
  bool interrupted = false;  ///< kEnded: it was told to leave before the command had done its work
  int32_t exit_code = 0;     ///< kEnded: the command's, as a shell has it
  Duration saved;            ///< so much work of this machine is in copied checkpoints
  int64_t pieces = 0;        ///< of its output, in the store
  int64_t beat = 0;          ///< grows with each report
  std::string detail;        ///< why
  bool operator==(const LaunchReport&) const = default;
};

std::string to_json(const LaunchReport& report);
/// @param source  for messages. @return kInvalidInput naming it and the line.
Result<LaunchReport> parse_launch_report(std::string_view json, const std::string& source);

}  // namespace stint
