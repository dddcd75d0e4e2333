// Tells the service manager how this process fares: systemd's notification protocol, a datagram to a socket named by the environment.
// Without one nothing is said. Source: sd_notify(3).
#pragma once

#include <string>
#include <string_view>

namespace stint {

class ServiceManager {
 public:
  /// Reads NOTIFY_SOCKET and takes it out of the environment, so that what is started from here does not speak for us.
  /// Call it before there are threads.
  ServiceManager();
  // Each says whether a manager has it. Where it has not, its own time limits deal with silence.
  /// @param status  one line for people, shown by `systemctl status`.
  bool ready(std::string_view status) const;
  bool reloading() const;
  bool stopping() const;

 private:
  [[nodiscard]] bool send(const std::string& state) const;
  std::string socket_;  ///< path, or a name that begins with '@'; empty = none
};

}  // namespace stint
