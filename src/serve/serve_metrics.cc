// What is told at /metrics. docs/serving.md lists it.
#include <fmt/format.h>

#include <set>

#include "codec/metrics/metrics_text.h"
#include "serve/kserve_api.h"

namespace stint::serve {
namespace {

struct Told {
  std::string name;
  std::string labels;
  ServedVersion served;
  ServeFigures figures;
};

std::vector<Told> told_of(const ModelStore& store) {
  std::vector<Told> all;
  for (const auto& [name, served] : store.served())
    all.push_back(
        {name, labels_text({{"model", name}, {"version", std::to_string(served.version)}}), served, served.model->figures()});
  return all;
}

void add_requests(std::string& out, const std::vector<Told>& all) {
  MetricText requests(out, "stint_serve_requests_total", "counter", "Requests, by how they ended");
  for (const Told& told : all) {
    const auto add = [&](std::string_view outcome, int64_t count) {
      requests.add(told.labels + "," + labels_text({{"outcome", outcome}}), count);
    };
    add("answered", told.figures.answered);
    add("failed", told.figures.failed);
    add("cancelled", told.figures.cancelled);
    for (size_t r = 0; r < kRefusalReasons; ++r)
      if (told.figures.refused[r] > 0) add(batching::name_of(static_cast<batching::RefusalReason>(r)), told.figures.refused[r]);
  }
}

void add_histogram(std::string& out, std::string_view name, std::string_view help, const std::vector<Told>& all,
                   TimeHistogram ServeFigures::* which) {
  MetricText metric(out, name, "histogram", help);
  for (const Told& told : all) {
    const TimeHistogram& histogram = told.figures.*which;
    int64_t below = 0;
    for (size_t b = 0; b <= TimeHistogram::kBounds; ++b) {
      below += histogram.counts[b];
      const std::string bound = b == TimeHistogram::kBounds ? "+Inf" : fmt::format("{:g}", TimeHistogram::bound(b).to_seconds());
      metric.add(told.labels + "," + labels_text({{"le", bound}}), below, "_bucket");
    }
    metric.add(told.labels, histogram.sum.to_seconds(), "_sum");
    metric.add(told.labels, below, "_count");
  }
}

template <typename Read>
void add_each(std::string& out, std::string_view name, std::string_view type, std::string_view help, const std::vector<Told>& all,
              Read read) {
  MetricText metric(out, name, type, help);
  for (const Told& told : all)
    metric.add(told.labels, read(told));
}

void add_streams(std::string& out, const std::vector<Told>& all) {
  add_each(out, "stint_serve_streams_total", "counter", "Streams of answers that began", all,
           [](const Told& t) { return t.figures.streams; });
  add_each(out, "stint_serve_open_streams", "gauge", "Streams of answers that have not ended", all,
           [](const Told& t) { return t.figures.open_streams; });
}

void add_promise(std::string& out, const std::vector<Told>& all) {
  MetricText most(out, "stint_serve_promised_requests_per_second", "gauge",
                  "Load up to which the promise is kept, by simulation");
  for (const Told& told : all)
    if (told.served.model->config().promise) most.add(told.labels, told.figures.most_per_second);
  MetricText headroom(out, "stint_serve_promise_headroom", "gauge",
                      "Part of that load which is free; below 0 the promise breaks");
  for (const Told& told : all)
    if (told.figures.most_per_second > 0) headroom.add(told.labels, 1 - told.figures.per_second / told.figures.most_per_second);
}

void add_tuning(std::string& out, const std::vector<Told>& all) {
  add_each(out, "stint_serve_latency_ratio", "gauge", "Times as long as measured at the load that batches take now", all,
           [](const Told& t) { return t.figures.latency_ratio; });
  add_each(out, "stint_serve_preferred_batch", "gauge", "Items at which a batch starts at once", all,
           [](const Told& t) { return t.figures.preferred_batch; });
  add_each(out, "stint_serve_max_wait_seconds", "gauge", "Longest wait for company while an instance is free", all,
           [](const Told& t) { return t.figures.max_wait.to_seconds(); });
  add_each(out, "stint_serve_retunes_total", "counter", "Times that batching was changed to what batches take and to the load",
           all, [](const Told& t) { return t.figures.retunes; });
}

/// Of the version that answers again, what was found.
void add_shadows(std::string& out, const ModelStore& store) {
  struct Row {
    std::string labels;
    ShadowFigures figures;
  };
  std::vector<Row> rows;
  std::set<const Shadow*> told;
  for (const auto& [name, served] : store.served())
    if (served.shadow && told.insert(served.shadow.get()).second)
      rows.push_back(
          {labels_text({{"model", name}, {"version", std::to_string(served.shadow->version())}}), served.shadow->figures()});
  if (rows.empty()) return;
  MetricText items(out, "stint_serve_shadow_items_total", "counter",
                   "Items that were answered again, by how the second answer was");
  for (const Row& row : rows) {
    const auto add = [&](std::string_view answer, int64_t count) {
      items.add(row.labels + "," + labels_text({{"answer", answer}}), count);
    };
    add("alike", row.figures.seen.items - row.figures.seen.apart);
    add("apart", row.figures.seen.apart);
  }
  MetricText choices(out, "stint_serve_shadow_other_choice_items_total", "counter",
                     "Items whose largest value of the first output was another one");
  for (const Row& row : rows)
    choices.add(row.labels, row.figures.seen.other_choice);
  MetricText largest(out, "stint_serve_shadow_largest_difference", "gauge",
                     "Largest difference of a value, as a part of the largest value of its item's output");
  for (const Row& row : rows)
    largest.add(row.labels, row.figures.seen.largest);
  MetricText lost(out, "stint_serve_shadow_lost_requests_total", "counter", "Requests that were not answered again, by why");
  for (const Row& row : rows) {
    const auto add = [&](std::string_view why, int64_t count) {
      lost.add(row.labels + "," + labels_text({{"why", why}}), count);
    };
    add("failed", row.figures.failed);
    add("refused", row.figures.refused);
    add("no_room", row.figures.left_out);
  }
}

void add_canaries(std::string& out, const std::vector<ModelStore::CanaryRow>& rows) {
  if (rows.empty()) return;
  const auto labels = [](const ModelStore::CanaryRow& row) {
    return labels_text({{"model", row.name}, {"version", std::to_string(row.version)}});
  };
  MetricText percent(out, "stint_serve_canary_percent", "gauge", "Of the requests without a version that the canary gets");
  for (const ModelStore::CanaryRow& row : rows)
    percent.add(labels(row), row.percent);
  MetricText back(out, "stint_serve_canary_taken_back", "gauge", "1: it failed, or broke its promise, and gets none any more");
  for (const ModelStore::CanaryRow& row : rows)
    back.add(labels(row), row.taken_back ? 1 : 0);
}

/// As the alert LatencyAboveBaseline looks at it, here and in Prometheus.
void add_latency(std::string& out, const std::vector<Told>& all) {
  MetricText latency(out, "stint_latency_p99", "gauge", "99th percentile of the request times of about the last minute, ms");
  for (const Told& told : all)
    if (told.figures.p99)
      latency.add(labels_text({{"service", told.name}, {"version", std::to_string(told.served.version)}}),
                  told.figures.p99->to_seconds() * 1000);
}

void add_cache(std::string& out, const std::vector<Told>& all, const ResponseCache& cache) {
  const auto each = [&](std::string_view name, std::string_view help, int64_t ServeFigures::* which) {
    MetricText metric(out, name, "counter", help);
    for (const Told& told : all)
      if (told.served.model->config().cache) metric.add(told.labels, told.figures.*which);
  };
  each("stint_serve_cache_hits_total", "Requests answered by what is kept", &ServeFigures::cache_hits);
  each("stint_serve_cache_misses_total", "Requests of cached models that were computed", &ServeFigures::cache_misses);
  each("stint_serve_cache_joined_total", "Requests that waited for the answer to the same one", &ServeFigures::cache_joined);
  if (!cache.keeps_any()) return;
  const ResponseCache::Figures figures = cache.figures();
  MetricText(out, "stint_serve_cache_room_bytes", "gauge", "What kept answers may take together").add("", figures.room.count());
  MetricText(out, "stint_serve_cache_bytes", "gauge", "What they take").add("", figures.used.count());
  MetricText(out, "stint_serve_cache_answers", "gauge", "Answers that are kept").add("", figures.answers);
  MetricText(out, "stint_serve_cache_evictions_total", "counter", "Answers given up to make room").add("", figures.evictions);
}

void add_pressure(std::string& out, const MemoryKeeper::Figures& memory) {
  if (!memory.device) return;
  const MemoryUse& device = *memory.device;
  MetricText(out, "stint_serve_device_limit_bytes", "gauge", "Memory there is").add("", device.limit.count());
  MetricText(out, "stint_serve_device_used_bytes", "gauge", "Memory in use, by whoever").add("", device.used.count());
  MetricText steps(out, "stint_serve_relief_steps_total", "counter", "What was given up while memory was short");
  for (size_t k = 0; k < memory.relief_steps.size(); ++k) {
    const auto kind = static_cast<batching::ReliefStep::Kind>(k);
    steps.add(labels_text({{"kind", batching::name_of(kind)}}), memory.relief_steps[k]);
  }
  MetricText(out, "stint_serve_host_booked_bytes", "gauge", "Of the host, by models moved off the GPU")
      .add("", memory.on_host.count());
  MetricText(out, "stint_serve_leaked_bytes_total", "counter", "Growth that no model accounts for")
      .add("", memory.leaked.count());
}

}  // namespace

std::string serve_metrics(const ModelStore& store, const ByteBudget& requests) {
  std::string out;
  const std::vector<Told> all = told_of(store);
  add_requests(out, all);
  add_each(out, "stint_serve_items_total", "counter", "Items in batches", all, [](const Told& t) { return t.figures.items; });
  add_each(out, "stint_serve_batches_total", "counter", "Batches run", all, [](const Told& t) { return t.figures.batches; });
  add_each(out, "stint_serve_late_batches_total", "counter", "Batches that took more than twice what was to be expected", all,
           [](const Told& t) { return t.figures.late_batches; });
  add_histogram(out, "stint_serve_request_seconds", "From a request's coming to its answer", all, &ServeFigures::request_time);
  add_latency(out, all);
  add_histogram(out, "stint_serve_batch_seconds", "Batches, as they run", all, &ServeFigures::batch_time);
  add_each(out, "stint_serve_waiting_requests", "gauge", "Requests in the queue", all,
           [](const Told& t) { return t.figures.waiting; });
  add_each(out, "stint_serve_running_batches", "gauge", "Batches in work", all, [](const Told& t) { return t.figures.running; });
  add_each(out, "stint_serve_arrivals_per_second", "gauge",
           "Requests, over about the last minute; over the last seconds once the load has risen", all,
           [](const Told& t) { return t.figures.per_second; });
  add_streams(out, all);
  add_promise(out, all);
  add_tuning(out, all);
  add_each(out, "stint_serve_model_resident", "gauge", "1: in memory now", all,
           [](const Told& t) { return t.served.model->loaded() ? 1 : 0; });
  add_each(out, "stint_serve_model_weight_bytes", "gauge", "As measured at the load", all,
           [](const Told& t) { return t.served.model->measured().memory.weights.count(); });
  add_each(out, "stint_serve_model_on_host", "gauge", "1: moved off the GPU, runs on the processor", all,
           [](const Told& t) { return t.served.model->loaded() == Variant::kHost ? 1 : 0; });
  add_cache(out, all, store.cache());
  add_shadows(out, store);
  add_canaries(out, store.canaries());
  const MemoryKeeper::Figures memory = store.memory().figures();
  MetricText(out, "stint_serve_memory_room_bytes", "gauge", "What models may take together").add("", memory.room.count());
  MetricText(out, "stint_serve_memory_booked_bytes", "gauge", "Weights and activations booked").add("", memory.used.count());
  MetricText(out, "stint_serve_request_room_bytes", "gauge", "What requests may take together").add("", requests.room());
  MetricText(out, "stint_serve_request_bytes", "gauge", "Booked for requests: bodies, tensors, answers").add("", requests.used());
  MetricText(out, "stint_serve_loaded_bytes_total", "counter", "Weights brought in by loads").add("", memory.loaded.count());
  MetricText(out, "stint_serve_loads_total", "counter", "Models loaded").add("", memory.loads);
  MetricText(out, "stint_serve_evictions_total", "counter", "Models unloaded to make room").add("", memory.evictions);
  add_pressure(out, memory);
  return out;
}

}  // namespace stint::serve
