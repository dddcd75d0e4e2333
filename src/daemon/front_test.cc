#include "daemon/front.h"

#include <gmock/gmock.h>

#include "base/text.h"
#include "daemon/testing_daemon.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/http_client.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

TEST(Front, AddressesAreTakenApart) {
  EXPECT_EQ(parse_listen_address("127.0.0.1:8470")->address, "127.0.0.1");
  EXPECT_EQ(parse_listen_address("127.0.0.1:8470")->port, 8470);
  EXPECT_EQ(parse_listen_address("[::1]:0")->address, "::1");
  for (const char* bad :
       {"", "8470", ":8470", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:80", "[::1]", "[]:1"})
    EXPECT_FALSE(parse_listen_address(bad).ok()) << bad;
}

TEST(Front, TheFirstTokenLetsItsOwnerInAlsoAfterARestart) {
  const ScratchDir dir;
  SimulatedBackend backend;
  auto log = EventLog::open(dir / "events.db");
  ASSERT_TRUE(log.ok()) << log.error().message;
  std::string token;
  for (const bool first : {true, false}) {
    auto engine = Engine::open(*log, backend, testing_fleet(), {}, now());
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    Service service(std::move(*engine), backend, EventClock(now()));
    FrontOptions options{.state_folder = dir / "", .listen = "127.0.0.1:0", .clients = {"acme", "zoo"}};
    auto front = Front::open(service, options);
    ASSERT_TRUE(front.ok()) << front.error().message;
    EXPECT_EQ((*front)->new_token_file().empty(), !first);
    if (first) token = std::string(trim(*read_all((*front)->new_token_file())));
    HttpOptions http;
    http.credentials.bearer_token = token;
    const auto clients = HttpClient(http).get((*front)->url() + "/v1/clients");
    ASSERT_TRUE(clients.ok()) << clients.error().message;
    EXPECT_EQ(clients->status, 200) << clients->body;
    EXPECT_THAT(clients->body, HasSubstr("\"zoo\""));
    (*front)->close_doors();
    service.stop();
  }
}

TEST(Front, RefusesToListenBeyondThisMachineWithoutTls) {
  const ScratchDir dir;
  SimulatedBackend backend;
  auto log = EventLog::open(dir / "events.db");
  auto engine = Engine::open(*log, backend, testing_fleet(), {}, now());
  Service service(std::move(*engine), backend, EventClock(now()));
  const auto front = Front::open(service, {.state_folder = dir / "", .listen = "0.0.0.0:0"});
  EXPECT_THAT(front.error().message, HasSubstr("without TLS"));
  service.stop();
}

}  // namespace
}  // namespace stint
