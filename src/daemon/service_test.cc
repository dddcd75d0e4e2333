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

TEST(Service, WhatRunsCostsMoreEachTimeItIsLookedAt) {
  const ScratchDir dir;
  SimulatedBackend backend;
  std::optional<EventLog> log;
  const std::unique_ptr<Service> service = testing_service(log, dir / "events.db", backend);
  std::promise<int64_t> submitted;
  service->submit(testing_job(8, Duration::hours(100)), {.actor = "ada", .idempotency_key = ""},
                  [&](const Result<JobView>& job) { submitted.set_value(job->id); });
  const int64_t id = submitted.get_future().get();
  const auto cost = [&] { return service->get([id](const Engine& e) { return e.job(id)->cost; }).get(); };
  const auto written = [&] { return service->get([](const Engine& e) { return e.overview().last_sequence; }).get(); };
  const Money first = cost();
  const int64_t sequence = written();
  Money later = first;
  for (int tries = 0; tries < 10'000 && later == first; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    later = cost();
  }
  EXPECT_GT(later, first);
  EXPECT_EQ(written(), sequence) << "nothing happened";
}

}  // namespace
}  // namespace stint
