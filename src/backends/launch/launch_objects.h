// Where controller and machines of a launch leave things for each other in the object store, below LaunchPlan::store.
//
//   launch.json, code.tar.gz           what is to run; put once by the controller
//   checkpoints/…                      of `stint run --sync-to`
//   machines/NAME/report.json          launch_report.h
//   machines/NAME/output/000001, …     what the machine printed, in pieces
#pragma once

#include <fmt/format.h>

#include <string>

namespace stint {

/// @param root  the key of LaunchPlan::store.
inline std::string launch_plan_key(const std::string& root) { return root + "/launch.json"; }
inline std::string launch_code_key(const std::string& root) { return root + "/code.tar.gz"; }
inline std::string launch_report_key(const std::string& root, const std::string& machine) {
  return fmt::format("{}/machines/{}/report.json", root, machine);
}
/// @param piece  from 1.
inline std::string launch_output_key(const std::string& root, const std::string& machine, int64_t piece) {
  return fmt::format("{}/machines/{}/output/{:06}", root, machine, piece);
}

}  // namespace stint
