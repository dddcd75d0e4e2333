// What one looks at: machines, queues, events, metrics, and whether the daemon is well.
#include <nlohmann/json.hpp>
#include <set>

#include "base/text.h"
#include "codec/metrics/metrics_text.h"
#include "daemon/alerts/alert_metrics.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/problem.h"
#include "daemon/api/view_json.h"
#include "daemon/live/live_metrics.h"
#include "daemon/logs/log_keeper.h"
#include "daemon/power/node_power.h"
#include "daemon/power/off_machines.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

using RunNode = void (Service::*)(std::string, CommandInfo, Service::Answer<NodeView>);

void run_node(const ApiContext& api, const Call& call, RunNode command) {
  (api.service.*command)(call->names[0], {.actor = call->who.user, .idempotency_key = ""}, [api, call](Result<NodeView> node) {
    if (!node.ok()) return api.answer(call, node.error());
    api.answer(call, 200, to_json(*node));
  });
}

std::string overview_metrics(const EngineView& view, const std::string& version, Duration clock_ahead) {
  std::string out;
  MetricText(out, "stint_build_info", "gauge", "The program's version.")
      .add(fmt::format("version=\"{}\"", label_value(version)), 1);
  MetricText(out, "stint_jobs_accepted_total", "counter", "Jobs ever accepted.").add("", view.jobs);
  MetricText(out, "stint_jobs_waiting", "gauge", "Jobs that wait.").add("", view.waiting);
  MetricText(out, "stint_jobs_running", "gauge", "Jobs that run.").add("", view.running);
  MetricText(out, "stint_gpus", "gauge", "GPUs of machines that are up.").add("", view.gpus);
  MetricText(out, "stint_gpus_held", "gauge", "GPUs held by jobs, shares included.")
      .add("", static_cast<double>(view.held_gpu_milli) / 1e3);
  const Money burn = view.burn.per_hour();
  MetricText(out, "stint_running_cost_per_hour", "gauge", "What all that runs costs per hour.")
      .add(fmt::format("currency=\"{}\"", burn.currency().code()), burn.to_decimal());
  MetricText(out, "stint_log_sequence", "gauge", "Number of the last record of the event log.").add("", view.last_sequence);
  MetricText(out, "stint_read_only", "gauge", "1 when nothing can be made durable.").add("", view.read_only ? 1 : 0);
  MetricText(out, "stint_clock_ahead_seconds", "gauge",
             "By how much the time of events is ahead of the machine's clock; below 0: behind.")
      .add("", clock_ahead.to_seconds());
  return out;
}

std::string queue_metrics(const std::vector<QueueView>& queues) {
  std::string out;
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help, auto value) {
    MetricText metric(out, name, type, help);
    for (const QueueView& queue : queues)
      metric.add(fmt::format("queue=\"{}\"", label_value(queue.path)), value(queue));
  };
  each("stint_queue_jobs_waiting", "gauge", "Jobs that wait, of the queue and those below.",
       [](const QueueView& q) { return q.waiting; });
  each("stint_queue_jobs_running", "gauge", "Jobs that run, likewise.", [](const QueueView& q) { return q.running; });
  each("stint_queue_gpus_held", "gauge", "GPUs held, likewise.",
       [](const QueueView& q) { return static_cast<double>(q.held_gpu_milli) / 1e3; });
  MetricText cost(out, "stint_queue_cost_total", "counter", "What its jobs have cost since the log begins, likewise.");
  for (const QueueView& queue : queues)
    cost.add(fmt::format("queue=\"{}\",currency=\"{}\"", label_value(queue.path), queue.cost.currency().code()),
             queue.cost.to_decimal());
  return out;
}

std::string log_metrics(const LogKeeper& keeper, const Principal& who) {
  std::string out;
  const auto label = [](const std::string& client) { return fmt::format("client=\"{}\"", label_value(client)); };
  MetricText bytes(out, "stint_job_logs_bytes", "gauge", "Of the disk, that logs of the client's jobs take.");
  for (const auto& [client, use] : keeper.uses())
    if (who.may(Permission::kSeeJobs, client)) bytes.add(label(client), use.bytes.count());
  MetricText most(out, "stint_job_logs_limit_bytes", "gauge", "That they may take (log_mebibytes).");
  for (const auto& [client, of] : keeper.rules().clients)
    if (of.client && who.may(Permission::kSeeJobs, client)) most.add(label(client), of.client->count());
  MetricText gone(out, "stint_job_logs_cut_bytes_total", "counter",
                  "Of logs of ended jobs, taken away since the daemon started.");
  for (const auto& [client, taken] : keeper.taken_away())
    if (who.may(Permission::kSeeJobs, client)) gone.add(label(client), taken.count());
  return out;
}

}  // namespace

Json node_for(const Principal& who, const NodeView& node, const Engine& engine) {
  Json json = to_json(node);
  if (who.may_everywhere(Permission::kSeeJobs)) return json;
  json["gpu_milli_held"] = Json();
  // That it is empty tells that no other client's jobs are on it.
  if (node.state == NodeState::kDrained || node.state == NodeState::kOff) json["state"] = name_of(NodeState::kDraining);
  json["jobs"] = Json::array();
  for (const int64_t id : node.jobs)
    if (const auto job = engine.job(id); job && may_see(who, *job)) json["jobs"].push_back(public_id(*job));
  return json;
}

std::vector<NodeView> nodes_shown(const ApiContext& api, const Engine& engine) {
  std::vector<NodeView> nodes = engine.nodes();
  if (api.options.off != nullptr) api.options.off->mark(nodes);
  return nodes;
}

bool may_see_queue(const Principal& who, const QueueView& queue) {
  return who.may(Permission::kSeeJobs, client_of_queue(queue.path));
}

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
    for (const NodeView& node : nodes_shown(api, engine))
      nodes.push_back(node_for(call->who, node, engine));
    api.answer(call, 200, {{"nodes", std::move(nodes)}});
  });
}

void api_drain_node(const ApiContext& api, const Call& call) { run_node(api, call, &Service::drain_node); }
/// One that is switched on is shown as drained until it can be used.
void api_node_up(const ApiContext& api, const Call& call) {
  if (api.options.power == nullptr) return run_node(api, call, &Service::node_up);
  api.options.power->want(call->names[0], [api, call](bool comes) {
    if (!comes) return run_node(api, call, &Service::node_up);
    api.service.ask([api, call](const Engine& engine) {
      const std::vector<NodeView> nodes = engine.nodes();
      const auto node = std::ranges::find(nodes, call->names[0], &NodeView::name);
      if (node == nodes.end()) return api.answer(call, make_error(ErrorCode::kNotFound, "no machine {}", call->names[0]));
      api.answer(call, 200, to_json(*node));
    });
  });
}

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
  const auto last = integer_parameter(call, "last", -1, 0, 100'000);
  if (!limit.ok()) return api.answer(call, limit.error());
  if (!last.ok()) return api.answer(call, last.error());
  const std::string* after = call->request.parts.parameter("after");
  EventHub::From from{.after = after == nullptr ? "" : *after, .last = *last};
  const std::string* accept = call->request.header("accept");
  if (accept != nullptr && accept->find("text/event-stream") != std::string::npos) {
    if (const std::string* seen = call->request.header("last-event-id"); seen != nullptr && !seen->empty()) from.after = *seen;
    return api.service.ask([api, call, from](const Engine& engine) {
      const Result<int64_t> place = EventHub::place_of(engine, call->who, from);
      if (!place.ok()) return api.answer(call, place.error());
      const EventStream stream = call->responder.stream();
      api.answer(call, {.status = 200});  // the record alone: the stream is the answer
      api.hub->subscribe(stream, call->who, *place);
    });
  }
  api.service.ask([api, call, from, limit = static_cast<size_t>(*limit)](const Engine& engine) {
    const bool from_oldest = from.after.empty() && from.last < 0;
    const Result<int64_t> place = from_oldest ? Result<int64_t>(0) : EventHub::place_of(engine, call->who, from);
    if (!place.ok()) return api.answer(call, place.error());
    Json events = Json::array();
    // Where to go on is behind the last one shown: how far the count of all has come is none of their business.
    std::string next = from.after;
    int64_t seen = *place;
    for (bool more = true; more && events.size() < limit;) {
      const auto batch = engine.events_since(seen, 1'000);
      more = !batch.empty();
      for (const EventView& event : batch) {
        if (events.size() == limit) break;
        seen = event.number;
        if (!may_see(call->who, event)) continue;
        events.push_back(to_json(event));
        next = public_id(event);
      }
    }
    api.answer(call, 200, {{"events", std::move(events)}, {"next", next}});
  });
}

void api_metrics(const ApiContext& api, const Call& call) {
  api.service.ask([api, call](const Engine& engine) {
    std::vector<QueueView> queues = engine.queues();
    std::erase_if(queues, [&call](const QueueView& queue) { return !may_see_queue(call->who, queue); });
    const std::vector<NodeView> nodes = nodes_shown(api, engine);
    std::set<int64_t> on_nodes;
    for (const NodeView& node : nodes)
      on_nodes.insert(node.jobs.begin(), node.jobs.end());
    std::vector<JobView> running;
    for (const int64_t id : on_nodes)
      if (auto job = engine.job(id); job && may_see(call->who, *job)) running.push_back(std::move(*job));
    std::string text;
    if (call->who.may_everywhere(Permission::kSeeJobs))
      text = overview_metrics(engine.overview(), api.options.version, api.service.clock().ahead_of_wall());
    text += queue_metrics(queues) + service_metrics(api, call->who);
    if (api.options.log_keeper != nullptr) text += log_metrics(*api.options.log_keeper, call->who);
    if (api.options.alerts != nullptr) text += alert_metrics(*api.options.alerts, queues, nodes, call->who);
    const LiveSnapshot live = api.options.telemetry == nullptr ? LiveSnapshot() : api.options.telemetry->snapshot();
    text += live_metrics({live, nodes, queues, running, call->at}, call->who);
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
