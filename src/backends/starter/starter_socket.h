// The Unix socket between the daemon and the privileged starter: messages with their length in front, and who is at the other end.
//
// A message is 4 bytes with the length of its text, 4 with that of the bytes behind it (a piece of a log; of a request none), both with the
// highest byte first, then the text, then the bytes. Source for who is at the other end: unix(7), SO_PEERCRED, which the kernel fills in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "host/descriptor.h"

namespace stint {

struct StarterMessage {
  std::string text;
  std::string bytes;
};
/// @return kUnavailable: the other end is gone, or does not take it in time.
Status send_message(const Descriptor& socket, std::string_view text, std::string_view bytes = {});
/// @param most  of the text, and of the bytes: nothing longer is taken into memory. @return kNotFound: the other end has closed before one
/// began; kInvalidInput: it is longer; kUnavailable: it broke off
Result<StarterMessage> receive_message(const Descriptor& socket, size_t most_text, size_t most_bytes);

/// @return kUnavailable with the path when no process listens there, or this process may not ask
Result<Descriptor> connect_to_socket(const std::string& path);
/// Takes away a socket that an earlier one left. For processes of that group and of this user. @param group  none = this process's
Result<Descriptor> listen_on_socket(const std::string& path, std::optional<uint32_t> group);

struct SocketPeer {
  int64_t pid = 0;
  uint32_t uid = 0;
};
Result<SocketPeer> peer_of(const Descriptor& socket);

}  // namespace stint
