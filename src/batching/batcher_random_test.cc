// Random lives of a batcher under separate books that know nothing of queues: every request has one end, batches are sound,
// no request waits longer than max wait beside a free instance, and no member of a batch is expected late.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <new>

#include "base/prng.h"
#include "batching/testing_batches.h"

namespace {
uint64_t allocations = 0;
}  // namespace

// Counts what the whole test program allocates, so that a test can see that a step allocates nothing.
[[gnu::noinline]] void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
// Every form that the sized and unsized delete below may be given: memory goes back the way it came.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size > 0 ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace stint::batching {
namespace {

struct Waiting {
  Request request;
  int bucket = 0;
  Instant since;
};

class RandomLife {
 public:
  explicit RandomLife(uint64_t seed) : prng_(seed) {}
  void run();

 private:
  BatchPolicy random_policy();
  Request random_request();
  void check_dispatch(const Dispatch& dispatch);
  void check_none_forgotten(Instant wake);

  Prng prng_;
  Instant now_;
  std::vector<BatchPolicy> policies_;
  std::vector<int64_t> weights_;
  uint64_t last_id_ = 0;
  std::map<uint64_t, Waiting> waiting_;
  std::map<BatchId, std::pair<uint32_t, Instant>> running_;  // model, true end
};

BatchPolicy RandomLife::random_policy() {
  BatchPolicy policy;
  policy.max_batch = 1 + static_cast<int64_t>(prng_.below(12));
  const auto shapes = static_cast<int64_t>(1 + prng_.below(3));
  for (int64_t s = 1; s <= shapes; ++s)
    policy.buckets.push_back({100 * s, linear_curve(policy.max_batch, ms(3 * s), ms(static_cast<int64_t>(prng_.below(3))))});
  policy.max_wait = ms(static_cast<int64_t>(prng_.below(20)));
  for (int64_t size = 1 + static_cast<int64_t>(prng_.below(4)); prng_.below(2) == 0 && size <= policy.max_batch; size *= 2)
    policy.preferred.push_back(size);
  policy.instances = 1 + static_cast<int64_t>(prng_.below(3));
  policy.queue_limit = 1 + static_cast<int64_t>(prng_.below(60));
  if (prng_.below(2) == 0) policy.tenant_limit = 1 + static_cast<int64_t>(prng_.below(20));
  return policy;
}

Request RandomLife::random_request() {
  Request r = request(++last_id_);
  r.model = ModelId(static_cast<uint32_t>(prng_.below(policies_.size())));
  r.tenant = TenantId(static_cast<uint32_t>(prng_.below(weights_.size())));
  r.items = prng_.below(4) == 0 ? 1 + static_cast<int64_t>(prng_.below(5)) : 1;
  r.length = static_cast<int64_t>(prng_.below(310));
  r.priority = static_cast<int>(prng_.below(kPriorities));
  if (prng_.below(2) == 0) r.deadline = now_ + ms(static_cast<int64_t>(1 + prng_.below(60)));
  return r;
}

void RandomLife::check_dispatch(const Dispatch& dispatch) {
  const BatchPolicy& policy = policies_[dispatch.model.index()];
  ASSERT_FALSE(dispatch.members.empty());
  ASSERT_FALSE(running_.contains(dispatch.batch)) << "the number of a batch that runs was given again";
  int64_t items = 0;
  for (const RequestId id : dispatch.members) {
    const auto it = waiting_.find(static_cast<uint64_t>(id));
    ASSERT_NE(it, waiting_.end()) << "request " << static_cast<uint64_t>(id) << " does not wait";
    ASSERT_EQ(it->second.request.model, dispatch.model);
    ASSERT_EQ(policy.buckets[static_cast<size_t>(it->second.bucket)].longest, dispatch.padded_length);
    ASSERT_LE(dispatch.expected_end, it->second.request.deadline) << "started although it is expected late";
    items += it->second.request.items;
    waiting_.erase(it);
  }
  ASSERT_EQ(items, dispatch.items);
  ASSERT_LE(items, policy.max_batch);
  // Now and then a batch takes longer or shorter than the curve says.
  const Duration off = prng_.below(4) == 0 ? ms(static_cast<int64_t>(prng_.below(10))) - ms(3) : Duration();
  running_[dispatch.batch] = {dispatch.model.index(), std::max(now_, dispatch.expected_end + off)};
}

void RandomLife::check_none_forgotten(Instant wake) {
  std::vector<int64_t> busy(policies_.size());
  for (const auto& [batch, model_and_end] : running_)
    ++busy[model_and_end.first];
  for (const auto& [id, w] : waiting_) {
    const BatchPolicy& policy = policies_[w.request.model.index()];
    const int64_t running = busy[w.request.model.index()];
    ASSERT_LE(running, policy.instances);
    const Duration alone = policy.buckets[static_cast<size_t>(w.bucket)].latency.at(1);
    ASSERT_LE(now_ + alone, w.request.deadline) << "request " << id << " is doomed and still waits";
    if (running == policy.instances) continue;
    ASSERT_LT(now_, w.since + policy.max_wait) << "request " << id << " waited for max wait beside a free instance";
    ASSERT_LE(wake, w.since + policy.max_wait) << "the batcher would oversleep request " << id;
  }
}

void RandomLife::run() {
  for (uint64_t m = 1 + prng_.below(3); m > 0; --m)
    policies_.push_back(random_policy());
  for (uint64_t t = 1 + prng_.below(4); t > 0; --t)
    weights_.push_back(1 + static_cast<int64_t>(prng_.below(5)));
  Batcher batcher = std::move(Batcher::create(policies_, weights_)).value();
  Instant wake = kNoDeadline;
  const uint64_t pace = 1 + prng_.below(4);
  for (int i = 0; i < 3000; ++i) {
    Instant next = now_ + ms(static_cast<int64_t>(prng_.below(pace)));
    if (i > 2000 && wake == kNoDeadline && running_.empty()) break;
    if (i > 2000) next = wake;
    for (const auto& [batch, model_and_end] : running_)
      next = std::min(next, model_and_end.second);
    now_ = std::max(now_, std::min(next, wake));
    std::vector<BatchId> finished;
    for (const auto& [batch, model_and_end] : running_)
      if (model_and_end.second <= now_) finished.push_back(batch);
    for (const BatchId batch : finished)
      running_.erase(batch);
    std::vector<RequestId> cancelled;
    if (prng_.below(10) == 0 && last_id_ > 0) cancelled.push_back(RequestId{1 + prng_.below(last_id_)});
    std::vector<Request> arrived;
    for (uint64_t n = i > 2000 ? 0 : prng_.below(6); n > 0; --n)
      arrived.push_back(random_request());
    for (const RequestId id : cancelled)
      waiting_.erase(static_cast<uint64_t>(id));
    const BatcherOutput out = batcher.step(now_, {finished, cancelled, arrived});
    for (const Request& r : arrived)
      waiting_[static_cast<uint64_t>(r.id)] = {r, bucket_of(policies_[r.model.index()].buckets, r.length), now_};
    for (const Refusal& refusal : out.refusals)
      ASSERT_EQ(waiting_.erase(static_cast<uint64_t>(refusal.id)), 1U)
          << "request " << static_cast<uint64_t>(refusal.id) << " was refused (" << name_of(refusal.reason)
          << ") and does not wait";
    for (const Dispatch& dispatch : out.dispatches)
      ASSERT_NO_FATAL_FAILURE(check_dispatch(dispatch));
    ASSERT_NO_FATAL_FAILURE(check_none_forgotten(out.wake));
    ASSERT_GT(out.wake, now_);
    wake = out.wake;
  }
  EXPECT_TRUE(waiting_.empty()) << waiting_.size() << " requests never ended";
  int64_t left = 0;
  for (uint32_t m = 0; m < policies_.size(); ++m)
    left += batcher.waiting(ModelId(m));
  EXPECT_EQ(left, 0);
}

TEST(Batcher, EveryRequestHasOneEndAndNoneIsForgotten) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    RandomLife(seed).run();
    if (HasFatalFailure()) return;
  }
}

TEST(Batcher, AllocatesNothingOnceItRuns) {
  BatchPolicy policy = simple_policy(8, ms(2));
  policy.buckets = {{100, linear_curve(8, ms(1), ms(1))}, {200, linear_curve(8, ms(2), ms(1))}};
  policy.instances = 2;
  policy.queue_limit = 256;
  Batcher batcher = make_batcher(policy, {1, 2, 3});
  Prng prng(1);
  std::vector<Request> arrived(3);
  std::vector<BatchId> finished;
  finished.reserve(2);
  uint64_t id = 0;
  uint64_t dispatched = 0;
  const uint64_t before = allocations;
  for (int64_t i = 0; i < 5000; ++i) {
    for (Request& r : arrived) {
      r = request(++id, at_ms(i + static_cast<int64_t>(prng.below(40))));
      r.tenant = TenantId(static_cast<uint32_t>(prng.below(3)));
      r.length = static_cast<int64_t>(prng.below(200));
    }
    const BatcherOutput out = batcher.step(at_ms(i), {finished, {}, arrived});
    finished.clear();
    for (const Dispatch& d : out.dispatches) {
      dispatched += d.members.size();
      finished.push_back(d.batch);
    }
  }
  EXPECT_EQ(allocations, before);
  EXPECT_GT(dispatched, 1000U);
}

}  // namespace
}  // namespace stint::batching
