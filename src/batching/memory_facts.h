// What a served model takes of a device, as measured when it is loaded, and what the device has.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"

namespace stint::batching {

struct ModelMemory {
  Bytes weights;                  ///< > 0
  std::vector<Bytes> activation;  ///< peak of a batch beside the weights; entry i: of i + 1 items. Never falls, at least one
  Duration reload;                ///< how long a load takes, > 0: with the request rate, what an eviction costs
  bool pinned = false;            ///< never evicted
  Bytes budget = Bytes::of(INT64_MAX);  ///< weights and activations together may not pass it
  Bytes loading = {};                   ///< beside the weights while it is loaded, where that is more than a batch of one
};

struct MemoryOptions {
  Bytes room;  ///< what models may take together
  /// Of the request counts that evictions weigh, by time; by requests they are halved with every 32 for each model on the device.
  Duration half_life = Duration::minutes(10);
  /// How long a model that is worth less than what it would displace lets its requests gather before it is loaded all the same.
  /// 0: it is loaded at once, as a plain cache does. None: as long as its own load takes.
  std::optional<Duration> patience = Duration();
};

/// Ok, or what contradicts what: a model that cannot fit alone with a batch of one is refused here.
Status check_memory(const MemoryOptions& options, const std::vector<ModelMemory>& models);

}  // namespace stint::batching
