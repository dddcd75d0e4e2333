#include "daemon/live/live_inputs.h"

namespace stint {

/// A machine is called what the configuration calls it, where that is its host name's first part.
std::string LiveSink::name_here(const std::string& node) const {
  if (!node_.empty()) return node_;
  if (target_.nodes.contains(node)) return node;
  const std::string shorter = node.substr(0, node.find('.'));
  return target_.nodes.contains(shorter) ? shorter : node;
}

SeriesId LiveSink::series(const SeriesKey& key) {
  const auto [it, fresh] = ids_.try_emplace(key, static_cast<uint32_t>(known_.size()));
  if (!fresh) return it->second;
  Known& known = known_.emplace_back();
  SeriesKey here = key;
  here.device.node = known.node = name_here(key.device.node);
  known.metric = key.metric;
  if (!here.device.uuid.empty() || here.device.index >= 0) {
    known.gpu = target_.telemetry.gpu(here.device);
    known.refused = !known.gpu;
  }
  if (target_.history != nullptr && !known.refused) known.history = target_.history->series(here);
  return it->second;
}

void LiveSink::samples(SeriesId id, std::span<const Sample> samples) {
  const Known& known = known_[id.index()];
  for (const Sample& sample : samples) {
    if (known.refused) {
      target_.telemetry.refused(source_, "more GPUs than are kept");
      continue;
    }
    const bool counts = known.gpu ? target_.telemetry.put(source_, *known.gpu, known.metric, sample.at, sample.value)
                                  : target_.telemetry.put_node(known.node, known.metric, sample.at, sample.value);
    if (counts && target_.history != nullptr) target_.history->put(known.history, sample);
  }
}

void LiveSink::reject(uint64_t line, std::string_view reason) {
  target_.telemetry.refused(source_, line == 0 ? std::string(reason) : fmt::format("line {}: {}", line, reason));
}

}  // namespace stint
