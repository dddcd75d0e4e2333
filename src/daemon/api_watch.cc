// What one looks at: machines, queues, events, metrics, and whether the daemon is well.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api_routes.h"
#include "daemon/problem.h"
#include "daemon/view_json.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

/// Of a machine a user of some clients sees what it is, and which of their own jobs are on it: not how busy others keep it.
Json node_for(const Principal& who, const NodeView& node, const Engine& engine) {
  Json json = to_json(node);
  if (who.may_everywhere(Permission::kSeeJobs)) return json;
  json["gpu_milli_held"] = Json();
  json["jobs"] = Json::array();
  for (const int64_t id : node.jobs)
    if (const auto job = engine.job(id); job && may_see(who, *job)) json["jobs"].push_back(id);
  return json;
}

bool may_see_queue(const Principal& who, const QueueView& queue) {
  return who.may(Permission::kSeeJobs, client_of_queue(queue.path));
}

using RunNode = void (Service::*)(std::string, CommandInfo, Service::Answer<NodeView>);

void run_node(const ApiContext& api, const Call& call, RunNode command) {
  (api.service.*command)(call->names[0], {.actor = call->who.user, .idempotency_key = ""}, [api, call](Result<NodeView> node) {
    if (!node.ok()) return api.answer(call, node.error());
    api.answer(call, 200, to_json(*node));
  });
}

/// Prometheus' text format: backslash, quote and line break are escaped in a label's value.
std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text)
    switch (c) {
      case '\\': out += "\\\\"; break;
      case '"': out += "\\\""; break;
      case '\n': out += "\\n"; break;
      default: out += c;
    }
  return out;
}

/// One metric, its help and samples.
class Metric {
 public:
  Metric(std::string& out, std::string_view name, std::string_view type, std::string_view help) : out_(out), name_(name) {
    out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
  }
  template <typename Value>
  void add(std::string_view labels, Value value) {
    out_ += fmt::format("{}{}{}{} {}\n", name_, labels.empty() ? "" : "{", labels, labels.empty() ? "" : "}", value);
  }

 private:
  std::string& out_;
  std::string_view name_;
};

std::string overview_metrics(const EngineView& view, const std::string& version) {
  std::string out;
  Metric(out, "stint_build_info", "gauge", "The program's version.").add(fmt::format("version=\"{}\"", label_value(version)), 1);
  Metric(out, "stint_jobs_accepted_total", "counter", "Jobs ever accepted.").add("", view.jobs);
  Metric(out, "stint_jobs_waiting", "gauge", "Jobs that wait.").add("", view.waiting);
  Metric(out, "stint_jobs_running", "gauge", "Jobs that run.").add("", view.running);
  Metric(out, "stint_gpus", "gauge", "GPUs of machines that are up.").add("", view.gpus);
  Metric(out, "stint_gpus_held", "gauge", "GPUs held by jobs, shares included.")
      .add("", static_cast<double>(view.held_gpu_milli) / 1e3);
  const Money burn = view.burn.per_hour();
  Metric(out, "stint_cost_per_hour", "gauge", "What all that runs costs per hour.")
      .add(fmt::format("currency=\"{}\"", burn.currency().code()), burn.to_decimal());
  Metric(out, "stint_log_sequence", "counter", "Number of the last record of the event log.").add("", view.last_sequence);
  Metric(out, "stint_read_only", "gauge", "1 when nothing can be made durable.").add("", view.read_only ? 1 : 0);
  return out;
}

std::string queue_metrics(const std::vector<QueueView>& queues) {
  std::string out;
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help, auto value) {
    Metric metric(out, name, type, help);
    for (const QueueView& queue : queues)
      metric.add(fmt::format("queue=\"{}\"", label_value(queue.path)), value(queue));
  };
  each("stint_queue_jobs_waiting", "gauge", "Jobs that wait, of the queue and those below.",
       [](const QueueView& q) { return q.waiting; });
  each("stint_queue_jobs_running", "gauge", "Jobs that run, likewise.", [](const QueueView& q) { return q.running; });
  each("stint_queue_gpus_held", "gauge", "GPUs held, likewise.",
       [](const QueueView& q) { return static_cast<double>(q.held_gpu_milli) / 1e3; });
  Metric cost(out, "stint_queue_cost_total", "counter", "What its jobs have cost since the log begins, likewise.");
  for (const QueueView& queue : queues)
    cost.add(fmt::format("queue=\"{}\",currency=\"{}\"", label_value(queue.path), queue.cost.currency().code()),
             queue.cost.to_decimal());
  return out;
}

}  // namespace

void api_overview(const ApiContext& api, const Call& call) {
  api.service.ask([api, call](const Engine& engine) {
    const EngineView view = engine.overview();
    if (call->who.may_everywhere(Permission::kSeeJobs)) return api.answer(call, 200, to_json(view));
    api.answer(call, 200, {{"now", format_utc(view.now)}, {"backend", view.backend}, {"notes", view.notes}});
  });
}

void api_nodes(const ApiContext& api, const Call& call) {
  api.service.ask([api, call](const Engine& engine) {
    Json nodes = Json::array();
    for (const NodeView& node : engine.nodes())
      nodes.push_back(node_for(call->who, node, engine));
    api.answer(call, 200, {{"nodes", std::move(nodes)}});
  });
}

void api_drain_node(const ApiContext& api, const Call& call) { run_node(api, call, &Service::drain_node); }
void api_node_up(const ApiContext& api, const Call& call) { run_node(api, call, &Service::node_up); }

void api_queues(const ApiContext& api, const Call& call) {
  api.service.ask([api, call](const Engine& engine) {
    Json queues = Json::array();
    for (const QueueView& queue : engine.queues())
      if (may_see_queue(call->who, queue)) queues.push_back(to_json(queue));
    api.answer(call, 200, {{"queues", std::move(queues)}});
  });
}

void api_events(const ApiContext& api, const Call& call) {
  const auto limit = integer_parameter(call, "limit", 100, 1, 1000);
  const auto after = integer_parameter(call, "after", -1, 0, INT64_MAX);
  if (!limit.ok()) return api.answer(call, limit.error());
  if (!after.ok()) return api.answer(call, after.error());
  const std::string* accept = call->request.header("accept");
  if (accept != nullptr && accept->find("text/event-stream") != std::string::npos) {
    const std::string* last = call->request.header("last-event-id");
    const int64_t seen = last == nullptr ? -1 : parse_int(*last).value_or(-1);
    const EventStream stream = call->responder.stream();
    api.answer(call, {.status = 200});  // the record alone: the stream is the answer
    return api.hub->subscribe(stream, call->who, seen >= 0 ? seen : *after);
  }
  api.service.ask([api, call, limit = static_cast<size_t>(*limit), after = *after](const Engine& engine) {
    Json events = Json::array();
    int64_t seen = std::max<int64_t>(after, 0);
    for (bool more = true; more && events.size() < limit;) {
      const auto batch = engine.events_since(seen, 1'000);
      more = !batch.empty();
      for (const EventView& event : batch) {
        if (events.size() == limit) break;
        seen = event.number;
        if (may_see(call->who, event)) events.push_back(to_json(event));
      }
    }
    api.answer(call, 200, {{"events", std::move(events)}, {"next", seen}});
  });
}

void api_metrics(const ApiContext& api, const Call& call) {
  api.service.ask([api, call](const Engine& engine) {
    std::vector<QueueView> queues = engine.queues();
    std::erase_if(queues, [&call](const QueueView& queue) { return !may_see_queue(call->who, queue); });
    std::string text;
    if (call->who.may_everywhere(Permission::kSeeJobs)) text = overview_metrics(engine.overview(), api.options.version);
    text += queue_metrics(queues);
    api.answer(call, {200, "text/plain; version=0.0.4; charset=utf-8", {}, std::move(text)});
  });
}

void api_healthz(const ApiContext&, const Call& call) { call->responder.reply({200, "text/plain", {}, "ok\n"}); }

void api_readyz(const ApiContext& api, const Call& call) {
  api.service.ask([call](const Engine& engine) {
    if (engine.read_only())
      return call->responder.reply(problem(503, "nothing can be made durable now: the operator sees why in /v1"));
    call->responder.reply({200, "text/plain", {}, "ready\n"});
  });
}

void api_openapi(const ApiContext& api, const Call& call) {
  call->responder.reply({200, "application/json", {}, openapi_document(api.options.version)});
}

}  // namespace stint
