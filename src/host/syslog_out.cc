#include "host/syslog_out.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace stint {
namespace {

constexpr int kLogAudit = 13;  // RFC 5424, table 1

/// Of a header field: printable ASCII, "-" where there is nothing.
std::string header_field(std::string_view text, size_t most) {
  std::string out(text.substr(0, most));
  for (char& c : out)
    if (c <= ' ' || c > '~') c = '?';
  return out.empty() ? "-" : out;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string without_breaks(std::string text) {
  for (char& c : text)
    if (is_control(c)) c = '?';
  return text;
}

std::string parameter(const std::string& value) {
  std::string out;
  for (const char c : without_breaks(value)) {
    if (c == '"' || c == '\\' || c == ']') out += '\\';
    out += c;
  }
  return out;
}

/// At most six digits of a second, as the RFC allows.
Instant to_microseconds(Instant at) {
  const int64_t rest = at.ns() % 1000;
  return Instant::from_ns(at.ns() - (rest < 0 ? rest + 1000 : rest));
}

Error no_way(const std::string& address, std::string_view why) {
  return make_error(ErrorCode::kUnavailable, "syslog {}: {}", address, why);
}

Result<Descriptor> unix_socket(const std::string& address, const std::string& path) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(to.sun_path)) return invalid("syslog {}: the path is empty or too long", address);
  std::memcpy(to.sun_path, path.data(), path.size());
  Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid() || ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0)
    return no_way(address, std::strerror(errno));
  return socket;
}

Result<Descriptor> inet_socket(const std::string& address, const std::string& host, const std::string& port, int type) {
  addrinfo wanted{};
  wanted.ai_socktype = type;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), port.c_str(), &wanted, &found); failed != 0)
    return no_way(address, gai_strerror(failed));
  Error error = no_way(address, "no address");
  Descriptor connected;
  for (const addrinfo* each = found; each != nullptr && !connected.valid(); each = each->ai_next) {
    Descriptor socket(::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol));
    if (socket.valid() && ::connect(socket.get(), each->ai_addr, each->ai_addrlen) == 0)
      connected = std::move(socket);
    else
      error = no_way(address, std::strerror(errno));
  }
  ::freeaddrinfo(found);
  if (!connected.valid()) return error;
  return connected;
}

}  // namespace

std::string syslog_line(const SyslogMessage& message) {
  std::string data;
  for (const auto& [name, value] : message.details)
    data += fmt::format(" {}=\"{}\"", name, parameter(value));
  // 32473 is the number that RFC 5612 keeps for those who have none of their own.
  const std::string structured = data.empty() ? "-" : fmt::format("[stint@32473{}]", data);
  return fmt::format("<{}>1 {} {} stint - {} {} {}", kLogAudit * 8 + static_cast<int>(message.severity),
                     format_utc(to_microseconds(message.at)), header_field(message.host, 255), header_field(message.kind, 32),
                     structured, without_breaks(message.text));
}

Result<SyslogSender> SyslogSender::open(const std::string& address) {
  constexpr std::string_view kUnix = "unix:";
  if (address.starts_with(kUnix)) {
    TRY_ASSIGN(Descriptor socket, unix_socket(address, address.substr(kUnix.size())));
    return SyslogSender(std::move(socket), false, address);
  }
  const bool tcp = address.starts_with("tcp://");
  const size_t colon = address.rfind(':');
  if ((!tcp && !address.starts_with("udp://")) || colon <= 6)
    return invalid("syslog '{}' must be udp://HOST:PORT, tcp://HOST:PORT or unix:PATH, such as udp://logs.example.org:514",
                   excerpt(address));
  std::string host = address.substr(6, colon - 6);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);  // an IPv6 address
  TRY_ASSIGN(Descriptor socket, inet_socket(address, host, address.substr(colon + 1), tcp ? SOCK_STREAM : SOCK_DGRAM));
  return SyslogSender(std::move(socket), tcp, address);
}

Status SyslogSender::send(std::string_view line) {
  const std::string bytes = counted_ ? fmt::format("{} {}", line.size(), line) : std::string(line);
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return no_way(address_, std::strerror(errno));
    rest.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

}  // namespace stint
