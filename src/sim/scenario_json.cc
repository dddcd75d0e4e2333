// A scenario as JSON, one line per thing, fields only where they say something.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "sim/explore.h"

namespace stint::sim {
namespace {

class Lines {
 public:
  void open(std::string_view name, char bracket) {
    line(name.empty() ? std::string(1, bracket) : quote(name) + ": " + bracket);
    fresh_ = true;
    ++depth_;
  }
  void close(char bracket) {
    --depth_;
    fresh_ = true;
    text_ += fmt::format("\n{:{}}{}", "", depth_ * 2, bracket);
    fresh_ = false;
  }
  void line(const std::string& text) {
    if (!text_.empty()) text_ += fresh_ ? "\n" : ",\n";
    text_ += fmt::format("{:{}}{}", "", depth_ * 2, text);
    fresh_ = false;
  }
  static std::string quote(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      if (static_cast<unsigned char>(c) >= 0x20)
        out += c;
      else
        out += fmt::format("\\u{:04x}", static_cast<int>(c));
    }
    return out + '"';
  }
  [[nodiscard]] std::string take() { return std::move(text_) + "\n"; }

 private:
  std::string text_;
  size_t depth_ = 0;
  bool fresh_ = true;
};

// `{"a": 1, "b": "x"}` on one line.
class Fields {
 public:
  Fields& add(std::string_view name, const std::string& json) {
    text_ += fmt::format("{}\"{}\": {}", text_.empty() ? "" : ", ", name, json);
    return *this;
  }
  Fields& number(std::string_view name, int64_t value, int64_t usual) {
    return value == usual ? *this : add(name, fmt::to_string(value));
  }
  Fields& text(std::string_view name, std::string_view value) { return value.empty() ? *this : add(name, Lines::quote(value)); }
  Fields& flag(std::string_view name, bool value, bool usual) {
    return value == usual ? *this : add(name, value ? "true" : "false");
  }
  Fields& seconds(std::string_view name, Duration d, Duration usual) {
    return d == usual ? *this : add(name, d == sched::kUnlimited ? "null" : fmt::to_string(d.to_seconds()));
  }
  Fields& instant(std::string_view name, Instant t, Instant usual) {
    return t == usual ? *this : add(name, t == sched::kNever ? "null" : Lines::quote(format_utc(t)));
  }
  [[nodiscard]] std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

void amounts(Fields& fields, std::string_view name, const sched::QueueAmounts& a) {
  Fields inner;
  if (a.gpu_milli) inner.add("gpu_milli", fmt::to_string(*a.gpu_milli));
  if (a.cpu_milli) inner.add("cpu_milli", fmt::to_string(*a.cpu_milli));
  if (a.memory_bytes) inner.add("memory_bytes", fmt::to_string(*a.memory_bytes));
  if (const std::string text = inner.object(); text != "{}") fields.add(name, text);
}

std::string list(const std::vector<std::string>& items) { return fmt::format("[{}]", fmt::join(items, ", ")); }

std::string labels(const std::vector<Label>& all) {
  Fields fields;
  for (const Label& label : all)
    fields.text(label.key, label.value);
  return fields.object();
}

std::string instances(const std::vector<MigAsk>& all) {
  std::vector<std::string> items;
  for (const MigAsk& ask : all)
    items.push_back(fmt::format("[{}, {}]", Lines::quote(ask.profile), ask.count));
  return list(items);
}

std::string terms(const std::vector<sched::AffinityTerm>& all) {
  std::vector<std::string> items;
  for (const sched::AffinityTerm& term : all)
    items.push_back(Fields().add("labels", labels(term.labels)).text("within", term.topology_key).object());
  return list(items);
}

std::string node_json(const Workload& w, const SimNode& n) {
  const SimNode plain;
  Fields f;
  f.text("name", n.node.name).text("gpu_model", n.node.gpu_model).number("gpus", n.node.gpus, 0);
  f.number("cpu_milli", n.node.cpu_milli, 0).number("memory_bytes", n.node.memory.count(), 0);
  f.text("market", name_of(n.market)).text("per_hour", n.rate.per_hour().to_decimal());
  if (!n.node.labels.empty()) f.add("labels", labels(n.node.labels));
  f.flag("whole_gpus", n.node.whole_gpus, true).flag("repartition", n.node.repartition, false);
  if (!n.node.static_mig.empty()) f.add("static_mig", instances(n.node.static_mig));
  if (n.prices >= 0) f.text("prices", w.prices[static_cast<size_t>(n.prices)].name);
  f.instant("present_from", n.present_from, plain.present_from).instant("present_until", n.present_until, plain.present_until);
  return f.object();
}

std::string request_json(const sched::Request& r) {
  Fields f;
  f.number("gpus", r.gpus, 0).number("milli", r.milli, 0).number("gpu_memory_bytes", r.gpu_memory.count(), 0);
  f.number("cpu_milli", r.cpu_milli, 0).number("memory_bytes", r.memory.count(), 0);
  std::vector<std::string> items;
  for (const std::string& model : r.gpu_models)
    items.push_back(Lines::quote(model));
  if (!items.empty()) f.add("gpu_models", list(items));
  if (!r.mig.empty()) f.add("mig", instances(r.mig));
  if (!r.labels.empty()) f.add("labels", labels(r.labels));
  if (!r.affinity.empty()) f.add("affinity", terms(r.affinity));
  if (!r.anti_affinity.empty()) f.add("anti_affinity", terms(r.anti_affinity));
  if (!r.node_labels.empty()) f.add("node_labels", labels(r.node_labels));
  f.text("shares_with", r.shares_with).text("work_kind", r.work_kind).number("max_slowdown_percent", r.max_slowdown_percent, -1);
  std::vector<std::string> slowdowns;
  for (const sched::Slowdown& slowdown : r.slowdowns)
    slowdowns.push_back(fmt::format("[{}, {}]", Lines::quote(slowdown.beside), slowdown.percent));
  if (!slowdowns.empty()) f.add("slowdowns", list(slowdowns));
  return f.object();
}

std::string job_json(const Workload& w, size_t j) {
  const SimJob& job = w.jobs[j];
  const sched::JobSpec& spec = job.spec;
  const sched::JobSpec plain;
  Fields f;
  f.add("job", fmt::to_string(j)).text("queue", w.queues[spec.queue.index()].name);
  f.add("request", request_json(w.requests[spec.request.index()]));
  if (spec.gang.valid()) {
    const sched::TopologyWish& wish = w.gangs[spec.gang.index()].topology;
    f.text("topology", wish.required_level).text("preferred_topology", wish.preferred_level);
  }
  f.number("tasks", spec.tasks, 1)
      .number("min_tasks", spec.min_tasks, spec.tasks)
      .number("priority", spec.priority, plain.priority);
  f.flag("preemptible", spec.preemptible, true).instant("submitted", spec.submitted, Instant());
  f.seconds("run_s", job.run_time, Duration()).instant("not_before", spec.not_before, plain.not_before);
  f.instant("deadline", spec.deadline, plain.deadline).seconds("time_limit_s", spec.time_limit, plain.time_limit);
  f.number("kin_user", static_cast<int64_t>(spec.kin.user), 0).number("kin_name", static_cast<int64_t>(spec.kin.name), 0);
  f.seconds("expected_s", spec.expected, plain.expected).seconds("min_runtime_s", spec.min_runtime, plain.min_runtime);
  f.number("retries", spec.retries, 0).number("failures", job.failures, 0);
  if (job.failures > 0) f.seconds("fails_after_s", job.fails_after, Duration());
  if (spec.checkpoint.interval != sched::kUnlimited)
    f.seconds("checkpoint_s", spec.checkpoint.interval, Duration()).seconds("save_s", spec.checkpoint.save, Duration());
  f.seconds("restart_s", spec.checkpoint.restart, Duration()).instant("cancelled", job.cancelled, sched::kNever);
  if (spec.array.valid()) f.text("array", w.arrays[spec.array.index()]).number("at_once", spec.at_once, 0);
  if (spec.makes.valid()) f.text("makes", w.products[spec.makes.index()]);
  std::vector<std::string> after;
  for (const sched::JobId a : spec.after)
    after.push_back(fmt::to_string(a.index()));
  if (!after.empty()) f.add("after", list(after));
  return f.object();
}

}  // namespace

std::string scenario_json(const Scenario& scenario) {
  const Workload& w = scenario.workload;
  Lines out;
  out.open("", '{');
  out.line(fmt::format("\"seed\": {}", scenario.seed));
  const sched::Policy& p = scenario.policy;
  Fields policy;
  policy.text("order", name_of(p.order)).text("backfill", name_of(p.backfill)).text("placement", name_of(p.placement));
  policy.text("victims", p.victims == sched::VictimOrder::kLeastLostWork ? "least-lost-work" : "priority-youngest");
  policy.flag("preempt", p.preempt, true).flag("reclaim", p.reclaim, true).flag("consolidate", p.consolidate, true);
  policy.flag("cheapest", p.cheapest, true);
  policy.flag("durations_learnt", p.durations == sched::Durations::kLearnt, false);
  policy.seconds("ageing_s", p.ageing, Duration::nanoseconds(-1))
      .seconds("half_life_s", p.usage_half_life, Duration::nanoseconds(-1));
  out.line("\"policy\": " + policy.object());
  Fields world;
  const ReplayOptions& o = scenario.options;
  world.seconds("grace_s", o.grace, Duration::nanoseconds(-1)).seconds("leaving_s", o.leaving, Duration::nanoseconds(-1));
  world.flag("save_when_leaving", o.save_when_leaving, true).flag("announce_checkpoints", o.announce_checkpoints, true);
  world.number("copy_at_step", scenario.copy_at_step, -1);
  out.line("\"world\": " + world.object());
  out.open("queues", '[');
  for (const sched::QueueSpec& q : w.queues) {
    Fields f;
    f.text("name", q.name);
    if (q.parent.valid()) f.text("parent", w.queues[q.parent.index()].name);
    amounts(f, "deserved", q.deserved);
    amounts(f, "limit", q.limit);
    f.add("over_quota_weight", fmt::to_string(q.over_quota_weight)).number("priority", q.priority, 100);
    if (q.budget)
      f.text("budget", q.budget->amount.to_decimal())
          .seconds("budget_period_s", q.budget->period, Duration())
          .instant("budget_from", q.budget->from, Instant());
    out.line(f.object());
  }
  out.close(']');
  out.open("nodes", '[');
  for (const SimNode& n : w.nodes)
    out.line(node_json(w, n));
  out.close(']');
  out.open("jobs", '[');
  for (size_t j = 0; j < w.jobs.size(); ++j)
    out.line(job_json(w, j));
  out.close(']');
  out.open("outages", '[');
  for (const Outage& outage : w.outages) {
    Fields f;
    f.text("node", w.nodes[outage.node.index()].node.name).text("cause", name_of(outage.cause));
    f.instant("notice", outage.notice, outage.down).instant("down", outage.down, Instant()).instant("up", outage.up, Instant());
    out.line(f.object());
  }
  out.close(']');
  out.close('}');
  return out.take();
}

}  // namespace stint::sim
