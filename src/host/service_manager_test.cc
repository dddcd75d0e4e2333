#include "host/service_manager.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

#include "host/descriptor.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

/// A manager's end. @param name  as NOTIFY_SOCKET has it.
Descriptor listen_on(const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  if (name.front() == '@') address.sun_path[0] = '\0';
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  CHECK(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) == 0, "bind {}", name);
  return socket;
}

std::string heard(const Descriptor& socket) {
  char text[256];
  const ssize_t n = ::recv(socket.get(), text, sizeof text, 0);
  return n < 0 ? "nothing" : std::string(text, static_cast<size_t>(n));
}

TEST(ServiceManager, IsToldBothByPathAndByAbstractName) {
  const ScratchDir dir;
  for (const std::string& name : {dir / "notify", "@stint-test-" + std::to_string(::getpid())}) {
    const Descriptor manager = listen_on(name);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
    const ServiceManager us;
    EXPECT_EQ(std::getenv("NOTIFY_SOCKET"), nullptr) << "children do not speak for us";
    EXPECT_TRUE(us.ready("listening on 127.0.0.1:8470"));
    EXPECT_EQ(heard(manager), "READY=1\nSTATUS=listening on 127.0.0.1:8470");
    EXPECT_TRUE(us.reloading());
    EXPECT_EQ(heard(manager), "RELOADING=1");
    EXPECT_TRUE(us.stopping());
    EXPECT_EQ(heard(manager), "STOPPING=1");
  }
}

TEST(ServiceManager, WithoutOneNothingIsSaid) {
  ::unsetenv("NOTIFY_SOCKET");
  EXPECT_FALSE(ServiceManager().ready("x"));
  ::setenv("NOTIFY_SOCKET", "/no/such/socket", 1);
  EXPECT_FALSE(ServiceManager().ready("x"));
  ::setenv("NOTIFY_SOCKET", std::string(200, 'x').c_str(), 1);
  EXPECT_FALSE(ServiceManager().ready("x"));
}

}  // namespace
}  // namespace stint
