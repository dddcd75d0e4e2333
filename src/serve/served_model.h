// One version of a model being served: its requests go through the batcher, its batches through the pool, its memory through the
// keeper; every request is answered once.
//
// One lock for the batcher and what waits in it; batches run outside. A model whose largest batch takes no longer than handing it to
// another thread would runs it on the thread that has it.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "batching/batcher.h"
#include "batching/latency_watch.h"
#include "host/worker_pool.h"
#include "serve/flights.h"
#include "serve/memory_keeper.h"
#include "serve/model_source.h"
#include "serve/response_cache.h"
#include "serve/serve_figures.h"
#include "serve/steady.h"
#include "serve/wake_timer.h"

namespace stint::serve {

/// A request as the model sees it. Exactly one of answer(), refuse() and fail() is called, once, from any thread; none of them when it
/// was cancelled.
class InferCall {
 public:
  virtual ~InferCall() = default;
  /// Of an item of each input, where the model has free dimensions; else empty.
  [[nodiscard]] virtual std::span<const Shape> shapes() const { return {}; }
  /// Its rows of the model's input number `input`: its items, as large as shapes() or the model says. They hold as long as this.
  [[nodiscard]] virtual std::span<const std::byte> input(size_t input) const = 0;
  /// It holds what might spoil the answers of others in a batch (NaN, infinity, texts that are no UTF-8): it shares batches with such
  /// alone.
  [[nodiscard]] virtual bool keeps_apart() const { return false; }
  /// @param outputs  its rows of each output; they hold until it returns.
  virtual void answer(std::span<const OutputRows> outputs) = 0;
  virtual void refuse(batching::RefusalReason reason) = 0;
  virtual void fail(const Error& error) = 0;
};

struct CallTerms {
  int64_t items = 1;
  int priority = batching::kPriorities - 1;
  batching::TenantId tenant = batching::TenantId(0);
  std::optional<Duration> timeout;  ///< none: the model's own, if it has one
};

/// What a model works with; outlives it.
struct ServeTools {
  WorkerPool& pool;
  WakeTimer& timer;
  MemoryKeeper& memory;
  ResponseCache& cache;                 ///< of the models that are said to be cached
  std::vector<int64_t> tenant_weights;  ///< by TenantId
};

/// A way to run a model, and what that takes.
struct ServedVariant {
  ModelSource source;
  MeasuredModel measured;
};
/// By Variant. The whole one is there; all take and give the same tensors.
using ServedVariants = std::array<std::optional<ServedVariant>, kVariants>;

class ServedModel final : public Resident, public std::enable_shared_from_this<ServedModel> {
 public:
  /// Not loaded before the first request needs it, or preload().
  /// @param name  for messages.
  static Result<std::shared_ptr<ServedModel>> create(std::string name, ServedVariants variants, const ServedModelConfig& config,
                                                     ServeTools& tools);
  ~ServedModel() override;

  batching::RequestId submit(std::unique_ptr<InferCall> call, const CallTerms& terms);
  /// The client does not wait for the answer any more. One that runs, or has been answered, is passed over.
  void cancel(batching::RequestId id);
  /// On another thread. @param wait  from now
  void call_later(Duration wait, std::function<void()> call);
  /// A stream of requests that follow from each other: it counts as one that is open until it ends.
  void stream_began();
  /// Takes no lock: the last of a stream may be let go of under this model's.
  void stream_ended() {
    --open_streams_;
    --open_calls_;
  }
  void preload() { tools_.memory.need(memory_id_); }

  [[nodiscard]] const MeasuredModel& measured() const { return whole().measured; }
  [[nodiscard]] const ServedModelConfig& config() const { return config_; }
  [[nodiscard]] const ModelSource& source() const { return whole().source; }
  /// What of it is in memory now; none: nothing.
  [[nodiscard]] std::optional<Variant> loaded() const { return tools_.memory.loaded(memory_id_); }
  /// Requests that wait or run.
  [[nodiscard]] int64_t open_calls() const { return open_calls_.load(); }
  [[nodiscard]] ServeFigures figures() const;
  /// Follows what batches take now and, where the configuration says so, the load: called every few seconds, one thread at a time. Runs a
  /// simulation when something has changed.
  /// @return what changed, for people; none: nothing that touches a promise
  std::optional<std::string> retune();

  Status load(Variant variant) override;
  void unload() override;
  void settled(const Status& status) override;
  [[nodiscard]] std::string name() const override { return name_; }
  void trim() override;

 private:
  struct Member {
    std::unique_ptr<InferCall> call;
    int64_t items = 0;
    Instant since;
    batching::RequestId id{};
    batching::TenantId tenant = batching::TenantId(0);
    ContentKey key;  ///< of what it asks for; empty: its answer is not kept
  };
  struct Waiting {
    Member member;
    uint32_t round = 0;  ///< of the slot's use
  };
  struct Batch {
    batching::BatchId id;
    int64_t items = 0;
    Instant expected_end;
    std::vector<Member> members;
  };
  /// What a step of the batcher leaves to be done without the lock.
  struct Todo {
    std::vector<Batch> batches;
    std::vector<std::pair<Member, batching::RefusalReason>> refused;
  };

  /// How a batch came out.
  struct Ran {
    Result<std::vector<ShapedValues>> out;
    bool absent = false;  ///< the model is not loaded: nothing was done
    bool whole = true;    ///< no variant stood in for the model
  };
  /// What one request is answered, cut back to its own sizes where it was filled up.
  struct OwnRows {
    std::vector<OutputRows> rows;
    std::vector<Values> cut;
    std::vector<Shape> shapes;
  };

  ServedModel(std::string name, ServedVariants variants, const ServedModelConfig& config, ServeTools& tools,
              batching::BatchPolicy policy, batching::Batcher batcher);
  [[nodiscard]] const ServedVariant& whole() const { return *variants_[static_cast<size_t>(Variant::kWhole)]; }
  batching::RequestId keep(Member member);
  Member take(batching::RequestId id);
  /// With who goes on in the place of one that is refused.
  Todo step(batching::BatcherInput input);
  void add(const batching::BatcherOutput& out, Todo& todo, std::vector<batching::Request>& promoted);
  void wake();
  void work_off(Todo todo);
  /// Runs it and reports it. @return what that makes due
  Todo run(Batch& batch);
  /// @return false: the model is not loaded, what is not answered of the batch waits in parked_
  bool execute(Batch& batch);
  /// Those that run with these shapes, as a batch of their own. Where it fails its halves run apart, down to single requests: only one
  /// that fails by itself is told so, and none runs more than once for each halving.
  /// @return how many are answered, from the first on; fewer than all: the model is not loaded
  size_t execute(std::span<Member> members, const std::vector<Shape>& shapes);
  /// With which the request runs.
  [[nodiscard]] std::vector<Shape> run_shapes(const InferCall& call) const;
  void write_input(const Member& member, size_t input, const Shape& shape, std::span<std::byte> to) const;
  void append_texts(const Member& member, size_t input, const Shape& shape, Values& to) const;
  /// Of all of them, one behind the other.
  [[nodiscard]] Values rows_of(std::span<const Member> members, size_t input, const Shape& shape) const;
  Ran compute(int64_t items, const std::vector<Values>& in, const std::vector<Shape>& shapes);
  void answer(std::span<Member> members, const Ran& ran);
  [[nodiscard]] OwnRows own_rows(const Member& member, std::vector<OutputRows> rows) const;
  /// What the answer depends on. @return empty: this request's is not kept
  [[nodiscard]] ContentKey key_of(const InferCall& call, const CallTerms& terms) const;
  /// @return true: it was answered by what is kept
  bool answer_kept(InferCall& call, const ContentKey& key);
  /// Keeps the answer, if there is one to keep. @return who waits for it, too
  std::vector<Member> land(const Member& member, const OwnRows* answer);
  Todo finished(const Batch& batch);
  /// The batcher, and what the promise allows, go by these times and this load from now on. Under tuning_.
  /// @param seen_per_second  requests that came while these times were seen; 0: none
  void go_by(const batching::LatencyProfile& latency, double per_second, double seen_per_second);

  const std::string name_;
  const ServedVariants variants_;
  const ServedModelConfig config_;
  const bool in_place_;  ///< batches run on the thread that makes them
  ServeTools& tools_;
  batching::ModelId memory_id_;  ///< of the keeper's
  const ResponseCache::Owner cache_owner_;

  std::mutex tuning_;  ///< held where what the batcher goes by is changed, before mutex_
  mutable std::mutex mutex_;
  batching::Batcher batcher_;
  batching::LatencyWatch watch_;
  batching::BatchPolicy policy_;
  double tuned_for_ = 1;  ///< requests per second
  double most_per_second_ = 0;
  std::vector<Waiting> slots_;
  std::vector<uint32_t> free_;
  std::vector<Batch> parked_;  ///< until the model is loaded
  Flights flights_;
  Instant wake_at_ = batching::kNoDeadline;
  std::shared_ptr<Runtime> runtime_;
  Variant running_ = Variant::kWhole;  ///< which runtime_ is
  Variant timed_ = Variant::kWhole;    ///< whose times watch_ and policy_ go by
  FigureBook figures_;
  std::atomic<int64_t> open_calls_ = 0;
  std::atomic<int64_t> open_streams_ = 0;
};

}  // namespace stint::serve
