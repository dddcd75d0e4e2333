// What a machine of a launch does first: it fetches stint by an address made for it alone, proves it, and lets it do the rest.
#pragma once

#include <string>

namespace stint {

struct LaunchScript {
  std::string machine;         ///< its name
  std::string store;           ///< LaunchPlan::store
  std::string cloud;           ///< whose machine it is, as `stint run --cloud` takes it. A stint that knows AWS alone is not told
  std::string program;         ///< where stint lies: an address of https
  std::string program_sha256;  ///< 64 hexadecimal digits
};

/// POSIX shell, run by root at the machine's first start. Whatever becomes of it, the machine powers off at its end, which ends it.
std::string launch_script(const LaunchScript& script);

}  // namespace stint
