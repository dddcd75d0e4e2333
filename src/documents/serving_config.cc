#include "documents/serving_config.h"

#include <fmt/format.h>

namespace stint {
namespace {

// As in our own simulation: the setup was found with a queue this long.
constexpr int64_t kQueue = 2048;

std::string triton_config(const batching::ServingSetup& setup) {
  return fmt::format(
      "max_batch_size: {}\n"
      "dynamic_batching {{\n"
      "  max_queue_delay_microseconds: {}\n"
      "  default_queue_policy {{ max_queue_size: {} }}\n"
      "}}\n"
      "instance_group [ {{ count: {} }} ]\n",
      setup.max_batch, setup.max_wait.count_ns() / 1000, kQueue, setup.instances);
}

std::string tf_serving_config(const batching::ServingSetup& setup) {
  return fmt::format(
      "max_batch_size {{ value: {} }}\n"
      "batch_timeout_micros {{ value: {} }}\n"
      "num_batch_threads {{ value: {} }}\n"
      "max_enqueued_batches {{ value: {} }}\n",
      setup.max_batch, setup.max_wait.count_ns() / 1000, setup.instances, (kQueue + setup.max_batch - 1) / setup.max_batch);
}

std::string stint_config(const batching::ServingSetup& setup, const batching::Promise& promise) {
  return fmt::format("{{\"max_batch\": {}, \"max_wait_ms\": {}, \"instances\": {}, \"queue\": {}{}}}\n", setup.max_batch,
                     setup.max_wait.to_seconds() * 1e3, setup.instances, kQueue,
                     promise.permille == 990 ? fmt::format(", \"promise_p99_ms\": {}", promise.limit.to_seconds() * 1e3) : "");
}

}  // namespace

std::string write_serving_config(ServingConfigKind kind, const batching::ServingSetup& setup, const batching::Promise& promise) {
  switch (kind) {
    case ServingConfigKind::kStint: return stint_config(setup, promise);
    case ServingConfigKind::kTriton: return triton_config(setup);
    case ServingConfigKind::kTfServing: return tf_serving_config(setup);
  }
  return {};
}

}  // namespace stint
