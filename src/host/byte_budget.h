// What many may take of memory together: each says what it takes before it takes it, and gives it back by letting go of what it got.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace stint {

/// Any thread.
class ByteBudget : public std::enable_shared_from_this<ByteBudget> {
 public:
  static std::shared_ptr<ByteBudget> of(uint64_t room) { return std::shared_ptr<ByteBudget>(new ByteBudget(room)); }
  ByteBudget(const ByteBudget&) = delete;
  ByteBudget& operator=(const ByteBudget&) = delete;
  ~ByteBudget() = default;

  /// So many bytes until the last hold on what is returned goes. @return null: there is no room now
  std::shared_ptr<const void> take(uint64_t bytes);

  [[nodiscard]] uint64_t room() const { return room_; }
  [[nodiscard]] uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  explicit ByteBudget(uint64_t room) : room_(room) {}
  struct Taken;
  const uint64_t room_;
  std::atomic<uint64_t> used_ = 0;
};

struct ByteBudget::Taken {
  Taken(std::shared_ptr<ByteBudget> budget, uint64_t taken) : from(std::move(budget)), bytes(taken) {}
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() { from->used_.fetch_sub(bytes, std::memory_order_relaxed); }
  const std::shared_ptr<ByteBudget> from;
  const uint64_t bytes;
};

inline std::shared_ptr<const void> ByteBudget::take(uint64_t bytes) {
  uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > room_ - used) return nullptr;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  return std::make_shared<const Taken>(shared_from_this(), bytes);
}

}  // namespace stint
