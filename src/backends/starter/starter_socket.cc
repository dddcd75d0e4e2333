#include "backends/starter/starter_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "backends/system_error.h"

namespace stint {
namespace {

constexpr int kLongestSilenceSeconds = 60;  // in the middle of a message, or of an answer
constexpr size_t kHeadBytes = 8;
constexpr int kWaitingConnections = 16;

/// Never SIGPIPE. @return false with errno
bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

/// @return how many came before the other end closed; -1 with errno
ssize_t receive_all(int socket, char* to, size_t count) {
  size_t have = 0;
  while (have < count) {
    const ssize_t n = ::recv(socket, to + have, count - have, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return -1;
    if (n == 0) break;
    have += static_cast<size_t>(n);
  }
  return static_cast<ssize_t>(have);
}

Status receive_into(int socket, std::string& to, size_t count) {
  // Memory for what has come, not for what was announced.
  constexpr size_t kPiece = size_t{64} << 10;
  while (to.size() < count) {
    const size_t have = to.size(), want = std::min(count - have, std::max(kPiece, have));
    to.resize(have + want);
    if (receive_all(socket, to.data() + have, want) != static_cast<ssize_t>(want))
      return make_error(ErrorCode::kUnavailable, "the other end broke off in the middle of a message");
  }
  return {};
}

uint32_t number_at(const std::array<char, kHeadBytes>& head, size_t at) {
  uint32_t number = 0;
  for (size_t i = at; i < at + 4; ++i)
    number = number << 8 | static_cast<unsigned char>(head[i]);
  return number;
}

void limit_silence(int socket) {
  const timeval longest = {.tv_sec = kLongestSilenceSeconds, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &longest, sizeof longest);
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path)
    return invalid("{}: a socket's path has 1 to {} bytes", path, sizeof address.sun_path - 1);
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

}  // namespace

Status send_message(const Descriptor& socket, std::string_view text, std::string_view bytes) {
  std::string head;
  for (const size_t length : {text.size(), bytes.size()})
    for (int shift = 24; shift >= 0; shift -= 8)
      head.push_back(static_cast<char>(length >> shift & 0xff));
  if (text.size() > UINT32_MAX || bytes.size() > UINT32_MAX) return invalid("a message of {} bytes is too long", text.size());
  for (const std::string_view part : {std::string_view(head), text, bytes})
    if (!send_all(socket.get(), part)) return system_error("socket", "cannot be written to");
  return {};
}

Result<StarterMessage> receive_message(const Descriptor& socket, size_t most_text, size_t most_bytes) {
  // Between two messages there may be any time.
  pollfd waiting = {.fd = socket.get(), .events = POLLIN, .revents = 0};
  while (::poll(&waiting, 1, -1) < 0 && errno == EINTR) {
  }
  std::array<char, kHeadBytes> head = {};
  const ssize_t n = receive_all(socket.get(), head.data(), head.size());
  if (n == 0) return make_error(ErrorCode::kNotFound, "the other end has closed the connection");
  if (n != static_cast<ssize_t>(head.size())) return make_error(ErrorCode::kUnavailable, "the other end broke off a message");
  const size_t text = number_at(head, 0), bytes = number_at(head, 4);
  if (text > most_text || bytes > most_bytes)
    return invalid("a message of {} and {} bytes: at most {} and {} are taken", text, bytes, most_text, most_bytes);
  StarterMessage message;
  TRY(receive_into(socket.get(), message.text, text));
  TRY(receive_into(socket.get(), message.bytes, bytes));
  return message;
}

Result<Descriptor> connect_to_socket(const std::string& path) {
  TRY_ASSIGN(const sockaddr_un address, address_of(path));
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return system_error(path, "no socket");
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return system_error(path, "the starter cannot be reached");
  limit_silence(socket.get());
  return socket;
}

Result<Descriptor> listen_on_socket(const std::string& path, std::optional<uint32_t> group) {
  TRY_ASSIGN(const sockaddr_un address, address_of(path));
  struct stat there = {};
  if (::lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) return invalid("{}: is there and is no socket: name another path", path);
    if (::unlink(path.c_str()) != 0) return system_error(path, "cannot be made anew");
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return system_error(path, "no socket");
  // It is this process's alone before it has its group and mode.
  const mode_t before = ::umask(0177);
  const int bound = ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::umask(before);
  if (bound != 0) return system_error(path, "cannot be made");
  if (group && ::chown(path.c_str(), static_cast<uid_t>(-1), *group) != 0)
    return system_error(path, "cannot be given to its group");
  if (::chmod(path.c_str(), group ? 0660 : 0600) != 0) return system_error(path, "cannot be given to its group");
  if (::listen(socket.get(), kWaitingConnections) != 0) return system_error(path, "cannot be listened on");
  return socket;
}

Result<SocketPeer> peer_of(const Descriptor& socket) {
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    return system_error("socket", "does not say who asks");
  limit_silence(socket.get());
  return SocketPeer{.pid = peer.pid, .uid = peer.uid};
}

}  // namespace stint
