#include "host/syslog_out.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>

#include "host/scratch_dir.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

TEST(Syslog, LinesAreThoseOfTheRfc) {
  const SyslogMessage message{.severity = SyslogSeverity::kNotice,
                              .at = Instant::from_ns(1'800'000'000'123'456'789),
                              .host = "gpu 1",
                              .kind = "POST",
                              .details = {{"sequence", "5"}, {"actor", "a\"b\\c]d\ne"}},
                              .text = "{\"x\":1}\n<13>1 forged"};
  // Priority: 13 · 8 + 5. Section 6.3.3: ", \ and ] have a backslash before them.
  EXPECT_EQ(syslog_line(message),
            "<109>1 2027-01-15T08:00:00.123456Z gpu?1 stint - POST [stint@32473 sequence=\"5\" actor=\"a\\\"b\\\\c\\]d?e\"] "
            "{\"x\":1}?<13>1 forged");
}

TEST(Syslog, WhatIsNotKnownIsADash) {
  EXPECT_EQ(
      syslog_line({.severity = SyslogSeverity::kWarning, .at = Instant(), .host = {}, .kind = {}, .details = {}, .text = "t"}),
      "<108>1 1970-01-01T00:00:00Z - stint - - - t");
}

TEST(Syslog, ALineIsOneDatagram) {
  const ScratchDir dir;
  const std::string path = dir / "log";
  const Descriptor listens(::socket(AF_UNIX, SOCK_DGRAM, 0));
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  path.copy(at.sun_path, sizeof(at.sun_path) - 1);
  ASSERT_EQ(::bind(listens.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at)), 0);
  auto sender = SyslogSender::open("unix:" + path);
  ASSERT_TRUE(sender.ok()) << sender.error().message;
  ASSERT_TRUE(sender->send("<109>1 one").ok());
  ASSERT_TRUE(sender->send("<109>1 two").ok());
  std::array<char, 100> bytes{};
  EXPECT_EQ(std::string_view(bytes.data(), static_cast<size_t>(::recv(listens.get(), bytes.data(), bytes.size(), 0))),
            "<109>1 one");
}

TEST(Syslog, AWrongAddressIsSaid) {
  for (const char* wrong : {"", "logs:514", "http://logs:514", "udp://", "udp://:514", "tcp://logs"})
    EXPECT_THAT(SyslogSender::open(wrong).error().message, HasSubstr("udp://HOST:PORT")) << wrong;
  EXPECT_THAT(SyslogSender::open("unix:/no/such/socket").error().message, HasSubstr("/no/such/socket"));
}

}  // namespace
}  // namespace stint
