// The door to the engine: who asks is answered, also of a service that has stopped.
#include "daemon/service.h"

#include <gmock/gmock.h>

#include <thread>

#include "daemon/testing_daemon.h"

namespace stint {
namespace {

TEST(Service, WhoAsksWhileItStopsAndAfterIsAnswered) {
  for (int round = 0; round < 20; ++round) {
    const ScratchDir dir;
    SimulatedBackend backend;
    std::optional<EventLog> log;
    const std::unique_ptr<Service> running = testing_service(log, dir / "events.db", backend);
    Service& service = *running;
    const auto nodes = [](const Engine& e) { return e.nodes().size(); };
    std::jthread asking([&] {
      for (int i = 0; i < 200; ++i)
        EXPECT_EQ(service.get(nodes).get(), 2u);
    });
    service.stop();
    EXPECT_EQ(service.get(nodes).get(), 2u);
    size_t within = 0;
    service.ask([&](const Engine&) { service.ask([&](const Engine& e) { within = nodes(e); }); });
    EXPECT_EQ(within, 2u);
    bool refused = false;
    service.submit(testing_job(1, kHour), {.actor = "ada", .idempotency_key = ""},
                   [&](const Result<JobView>& job) { refused = !job.ok(); });
    EXPECT_TRUE(refused);
  }
}

}  // namespace
}  // namespace stint
