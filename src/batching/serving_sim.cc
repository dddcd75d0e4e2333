#include "batching/serving_sim.h"

#include <algorithm>

#include "batching/batcher.h"

namespace stint::batching {
namespace {

constexpr int64_t kQueue = 2048;

class Replica {
 public:
  Replica(const LatencyProfile& profile, const ServingSetup& setup, const Promise& promise, int64_t requests, uint64_t seed)
      : profile_(profile),
        setup_(setup),
        promise_(promise),
        prng_(Prng(seed).fork(1)),
        warm_up_(requests / 10),
        total_(requests + warm_up_),
        may_be_late_(requests * (1000 - promise.permille) / 1000),
        batcher_(make_batcher(profile, setup)),
        arrived_at_(static_cast<size_t>(total_)) {
    latencies_.reserve(static_cast<size_t>(requests));
  }

  ServingRun run(ArrivalStream& arrivals) {
    Instant coming = arrivals.next();
    Instant wake = kNoDeadline;
    while (ended_ < total_ && late_ <= may_be_late_) {
      const Instant ends = running_.empty() ? kNoDeadline : running_.front().end;
      now_ = std::min({sent_ < total_ ? coming : kNoDeadline, ends, wake});
      finish_batches();
      arrived_.clear();
      while (sent_ < total_ && coming <= now_) {
        arrived_at_[static_cast<size_t>(sent_)] = coming;
        arrived_.push_back(Request{RequestId{static_cast<uint64_t>(sent_++)}, ModelId(0), TenantId(0)});
        coming = arrivals.next();
      }
      const BatcherOutput out = batcher_.step(now_, {finished_, {}, arrived_});
      for (const Refusal& refusal : out.refusals)
        count(refusal.id, Duration::nanoseconds(INT64_MAX / 2));
      for (const Dispatch& dispatch : out.dispatches)
        start(dispatch);
      wake = out.wake;
    }
    return result();
  }

 private:
  struct Running {
    Instant end;
    BatchId batch;
    std::vector<RequestId> members;
  };

  static Batcher make_batcher(const LatencyProfile& profile, const ServingSetup& setup) {
    BatchPolicy policy;
    policy.buckets = {{0, profile.curve(setup.max_batch, 0.5)}};
    policy.max_batch = setup.max_batch;
    policy.max_wait = setup.max_wait;
    policy.instances = setup.instances;
    policy.queue_limit = kQueue;
    std::vector<BatchPolicy> models;
    models.push_back(std::move(policy));
    Result<Batcher> made = Batcher::create(std::move(models), {1});
    CHECK(made.ok(), "{}", made.error().message);
    return std::move(*made);
  }

  void start(const Dispatch& dispatch) {
    const Duration takes = profile_.draw(dispatch.items, prng_);
    busy_ += takes;
    ++batches_;
    const Instant end = now_ + takes;
    const auto at =
        std::upper_bound(running_.begin(), running_.end(), end, [](Instant t, const Running& r) { return t < r.end; });
    running_.insert(at, {end, dispatch.batch, {dispatch.members.begin(), dispatch.members.end()}});
  }

  void finish_batches() {
    finished_.clear();
    while (!running_.empty() && running_.front().end <= now_) {
      for (const RequestId id : running_.front().members)
        count(id, now_ - arrived_at_[static_cast<size_t>(id)]);
      finished_.push_back(running_.front().batch);
      running_.erase(running_.begin());
    }
  }

  void count(RequestId id, Duration latency) {
    ++ended_;
    if (static_cast<int64_t>(id) < warm_up_) return;
    latencies_.push_back(latency);
    if (latency > promise_.limit) ++late_;
  }

  ServingRun result() {
    ServingRun run;
    run.kept = late_ <= may_be_late_;
    if (latencies_.empty()) return run;
    const auto at = [&](int64_t permille) {
      const auto place =
          std::min(static_cast<int64_t>(latencies_.size()) - 1, static_cast<int64_t>(latencies_.size()) * permille / 1000);
      std::nth_element(latencies_.begin(), latencies_.begin() + place, latencies_.end());
      return latencies_[static_cast<size_t>(place)];
    };
    run.at_promise = at(promise_.permille);
    run.median = at(500);
    run.mean_batch = batches_ == 0 ? 0 : static_cast<double>(ended_) / static_cast<double>(batches_);
    const double span = (now_ - arrived_at_.front()).to_seconds() * static_cast<double>(setup_.instances);
    run.busy = span > 0 ? std::min(1.0, busy_.to_seconds() / span) : 0;
    return run;
  }

  const LatencyProfile& profile_;
  const ServingSetup& setup_;
  const Promise& promise_;
  Prng prng_;
  int64_t warm_up_;
  int64_t total_;
  int64_t may_be_late_;
  Batcher batcher_;
  std::vector<Instant> arrived_at_;  // by RequestId
  std::vector<Duration> latencies_;  // of those that count
  std::vector<Running> running_;     // by end
  std::vector<Request> arrived_;
  std::vector<BatchId> finished_;
  Instant now_;
  int64_t sent_ = 0;
  int64_t ended_ = 0;
  int64_t late_ = 0;
  int64_t batches_ = 0;
  Duration busy_;
};

}  // namespace

ServingRun simulate_serving(const LatencyProfile& profile, const ServingSetup& setup, const ServingLoad& load,
                            const Promise& promise, const ServingSample& sample) {
  CHECK(sample.requests >= 100 && promise.permille > 0 && promise.permille < 1000, "{} requests, {} permille", sample.requests,
        promise.permille);
  ArrivalStream stream(sample.arrivals, load.per_second, load.replicas, sample.seed);
  return Replica(profile, setup, promise, sample.requests, sample.seed).run(stream);
}

}  // namespace stint::batching
