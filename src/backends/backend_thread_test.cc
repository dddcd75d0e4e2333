// What a caller sees of a backend that takes its time.
#include "backends/backend_thread.h"

#include <gtest/gtest.h>

#include <latch>

namespace stint {
namespace {

constexpr Instant kThreadStart = Instant::from_seconds(1'790'000'000);

/// Takes orders for as long as the test likes, and foresees something at once.
class SlowBackend final : public Backend {
 public:
  SlowBackend(std::latch& begun, std::latch& may_end) : begun_(begun), may_end_(may_end) {}
  [[nodiscard]] std::string_view name() const override { return "slow"; }
  [[nodiscard]] std::vector<std::string> notes() const override { return {}; }
  void submit(std::vector<Order>) override {
    begun_.count_down();
    may_end_.wait();
  }
  std::vector<BackendEvent> drain(Instant) override { return {}; }
  [[nodiscard]] std::optional<Instant> next_event_at() const override { return kThreadStart; }
  [[nodiscard]] std::vector<LaunchKey> running() const override { return {}; }
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery&) const override { return LogPiece(); }

 private:
  std::latch& begun_;
  std::latch& may_end_;
};

TEST(BackendThread, WhileItIsBusyItsCallerNeedNotAskWithoutAPause) {
  std::latch begun(1), may_end(1);
  BackendThread thread(std::make_unique<SlowBackend>(begun, may_end), kThreadStart);
  EXPECT_TRUE(thread.drain(kThreadStart).empty());
  thread.submit({Order{.kind = OrderKind::kStop, .key = {.job = 1}, .at = kThreadStart, .launch = {}, .grace = {}}});
  begun.wait();
  const Instant later = kThreadStart + Duration::seconds(1);
  EXPECT_TRUE(thread.drain(later).empty());
  EXPECT_GT(thread.next_event_at().value(), later);
  may_end.count_down();
}

}  // namespace
}  // namespace stint
