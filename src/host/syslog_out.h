// Messages for a syslog collector: RFC 5424 lines, sent by datagrams (RFC 5426, or a Unix socket) or TCP (RFC 6587, counted).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "host/descriptor.h"

namespace stint {

/// RFC 5424, section 6.2.1.
enum class SyslogSeverity : uint8_t { kWarning = 4, kNotice = 5, kInformational = 6 };

struct SyslogMessage {
  SyslogSeverity severity = SyslogSeverity::kNotice;
  Instant at;
  std::string host;                                          ///< empty = not known
  std::string kind;                                          ///< MSGID: one word
  std::vector<std::pair<std::string, std::string>> details;  ///< structured data; names are words of at most 32 letters
  std::string text;                                          ///< without line breaks
};

/// The message without a line break at its end, of facility 13 (log audit) and application "stint". Times have microseconds. What cannot
/// stand in a header field or would break a line is "?".
std::string syslog_line(const SyslogMessage& message);

/// A way to one collector.
class SyslogSender {
 public:
  /// @param address  "udp://host:514", "tcp://host:601" or "unix:/dev/log". @return error when nothing takes it there; a datagram
  /// to another machine is lost without a word where no program listens.
  static Result<SyslogSender> open(const std::string& address);
  /// Hands over one line. Waits while the collector's buffer is full. @return error when the way is gone: open another.
  Status send(std::string_view line);

 private:
  SyslogSender(Descriptor socket, bool counted, std::string address)
      : socket_(std::move(socket)), counted_(counted), address_(std::move(address)) {}
  Descriptor socket_;
  bool counted_;  // TCP: each line behind its length
  std::string address_;
};

}  // namespace stint
