#include "host/service_manager.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

#include "host/descriptor.h"

namespace stint {

ServiceManager::ServiceManager() {
  if (const char* name = std::getenv("NOTIFY_SOCKET")) socket_ = name;
  ::unsetenv("NOTIFY_SOCKET");
}

bool ServiceManager::send(const std::string& state) const {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket_.size() < 2 || socket_.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = '\0';  // Linux's abstract names
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  return ::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), length) ==
         static_cast<ssize_t>(state.size());
}

bool ServiceManager::ready(std::string_view status) const { return send(fmt::format("READY=1\nSTATUS={}", status)); }
bool ServiceManager::reloading() const { return send("RELOADING=1"); }
bool ServiceManager::stopping() const { return send("STOPPING=1"); }

}  // namespace stint
