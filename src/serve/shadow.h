// A version of a model that answers some of the requests once more, after another version has answered them, so that both can be compared
// on what is really asked. No client sees its answers, and none waits for them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "host/byte_budget.h"
#include "host/worker_pool.h"
#include "serve/served_model.h"

namespace stint::serve {

/// How an answer differs from another, item by item.
struct AnswerDifference {
  int64_t items = 0;
  int64_t apart = 0;         ///< items with a value that differs by more than the tolerance
  int64_t other_choice = 0;  ///< items whose largest value of the first output is another one
  /// Of a value, as a part of the largest value of its item's output; 2, as of opposites, where texts, integers or Bools are others, and where
  /// one is no number.
  double largest = 0;
};

/// @param outputs  of the model. @param first, second  rows of each. @param tolerance  beyond which an item is apart.
AnswerDifference difference_of(const std::vector<TensorSpec>& outputs, int64_t items, std::span<const OutputRows> first,
                               std::span<const OutputRows> second, double tolerance);

struct ShadowFigures {
  AnswerDifference seen;
  int64_t failed = 0;    ///< requests that it could not answer
  int64_t refused = 0;   ///< that found its queue full, or no memory
  int64_t left_out = 0;  ///< that there was no room to keep until it had answered
};

class Shadow : public std::enable_shared_from_this<Shadow> {
 public:
  /// @param pool  outlives it. @param room  for what is asked again, and the answers until they have been compared.
  Shadow(ServedShadow rules, std::shared_ptr<ServedModel> model, WorkerPool& pool, std::shared_ptr<ByteBudget> room);

  /// The call; or, by turns, one that has it answered here, too, once it has been answered there.
  std::unique_ptr<InferCall> follow(std::unique_ptr<InferCall> call, const CallTerms& terms);

  [[nodiscard]] int64_t version() const { return rules_.version; }
  [[nodiscard]] ShadowFigures figures() const;

 private:
  class Followed;
  class Again;
  /// @param outputs  what is answered there. @return null: there is no room for it
  std::unique_ptr<InferCall> kept(const InferCall& call, const CallTerms& terms, std::span<const OutputRows> outputs);
  void send(std::unique_ptr<InferCall> again, const CallTerms& terms);

  const ServedShadow rules_;
  const std::shared_ptr<ServedModel> model_;
  WorkerPool& pool_;
  const std::shared_ptr<ByteBudget> room_;
  std::atomic<int64_t> asked_ = 0;
  mutable std::mutex mutex_;
  ShadowFigures figures_;
};

}  // namespace stint::serve
