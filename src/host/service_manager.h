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
  /// @param status  one line for people, shown by `systemctl status`.
  void ready(std::string_view status) const;
  void reloading() const;
  void stopping() const;

 private:
  void send(const std::string& state) const;
  std::string socket_;  ///< path, or a name that begins with '@'; empty = none
};

}  // namespace stint
