// The fields of each stored row, once: naming, binding and reading all walk these lists, so that they cannot
// drift apart. The names are the columns of store/schema.cc.
#pragma once

#include <utility>

#include "model/exchange_rate.h"
#include "model/history.h"
#include "model/queue_record.h"
#include "model/run_owner.h"

namespace stint {

template <typename Visit, typename T>
void visit_tenant(Visit& visit, T& tenant) {
  visit("client", tenant.client);
  visit("project", tenant.project);
  visit("team", tenant.team);
  visit("environment", tenant.environment);
  visit("workload", tenant.workload);
}

template <typename Visit, typename T>
void visit_holder(Visit& visit, T& holder) {
  visit("ns", holder.ns);
  visit("pod", holder.pod);
  visit("container", holder.container);
  visit("job", holder.job);
  visit("process", holder.process);
  visit("user", holder.user);
  visit("account", holder.account);
}

// RowFields<T>::visit(visitor, row) for every kind of row; `row` may be const.
template <typename T>
struct RowFields;

template <>
struct RowFields<Node> {
  static constexpr std::string_view table = "node";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& n) {
    visit("name", n.name);
    visit("resource_id", n.resource_id);
    visit("provider", n.provider);
    visit("region", n.region);
    visit("zone", n.zone);
    visit("instance_type", n.instance_type);
    visit("market", n.market);
    visit("gpu_model", n.gpu_model);
    visit("gpu_count", n.gpu_count);
    visit("vcpus", n.vcpus);
    visit("memory", n.memory);
    visit("rate", n.rate);
    visit_tenant(visit, n.tenant);
    visit("kind", n.kind);
    visit("checkpointable", n.checkpointable);
    visit("present_from", n.present_from);
    visit("present_until", n.present_until);
  }
};

/// One of Node::absent.
struct NodeAbsence {
  std::string node;
  Interval when;
};

template <>
struct RowFields<NodeAbsence> {
  static constexpr std::string_view table = "node_absence";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& a) {
    visit("node", a.node);
    visit("absent_from", a.when.begin);
    visit("absent_until", a.when.end);
  }
};

/// One of Node::rates.
struct NodeRate {
  std::string node;
  RatePoint of;
};

template <>
struct RowFields<NodeRate> {
  static constexpr std::string_view table = "node_rate";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& r) {
    visit("node", r.node);
    visit("paid_from", r.of.from);
    visit("rate", r.of.rate);
  }
};

template <>
struct RowFields<Holder> {
  static constexpr std::string_view table = "holder";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& holder) {
    visit_holder(visit, holder);
  }
};

template <>
struct RowFields<Run> {
  static constexpr std::string_view table = "run";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& r) {
    visit("run_id", r.id);
    visit("restart", r.restart);
    visit("name", r.name);
    visit_holder(visit, r.holder);
    visit_tenant(visit, r.tenant);
    visit("kind", r.kind);
    visit("state", r.state);
    visit("submitted", r.submitted);
    visit("started", r.started);
    visit("ended", r.ended);
    visit("time_limit", r.time_limit);
    visit("gpus_requested", r.gpus_requested);
    visit("share", r.share);
    visit("cpus", r.cpus);
    visit("memory", r.memory);
    visit("allocations", r.allocations);
    visit("checkpointable", r.checkpointable);
  }
};

template <>
struct RowFields<RunOwner> {
  static constexpr std::string_view table = "run_owner";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& o) {
    visit("run_id", o.run_id);
    visit("restart", o.restart);
    visit("owner_kind", o.kind);
    visit("labels", o.labels);
  }
};

template <>
struct RowFields<QueueRecord> {
  static constexpr std::string_view table = "queue_record";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& r) {
    visit("run_id", r.run_id);
    visit("restart", r.restart);
    visit("queue", r.partition);
    visit("qos", r.qos);
    visit("reason", r.reason);
    visit("eligible", r.eligible);
  }
};

template <>
struct RowFields<PartitionNode> {
  static constexpr std::string_view table = "partition_node";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& p) {
    visit("queue", p.partition);
    visit("node", p.node);
  }
};

template <>
struct RowFields<BillLine> {
  static constexpr std::string_view table = "bill_line";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& b) {
    visit("provider", b.provider);
    visit("billing_account", b.billing_account);
    visit("sub_account", b.sub_account);
    visit("service", b.service);
    visit("service_category", b.service_category);
    visit("description", b.description);
    visit("region", b.region);
    visit("zone", b.zone);
    visit("resource_id", b.resource_id);
    visit("resource_name", b.resource_name);
    visit("resource_type", b.resource_type);
    visit("instance_type", b.instance_type);
    visit("sku", b.sku);
    visit("invoice_id", b.invoice_id);
    visit("category", b.category);
    visit("spend", b.spend);
    visit("market", b.market);
    visit("commitment_id", b.commitment_id);
    visit("commitment_unused", b.commitment_unused);
    visit("correction", b.correction);
    visit("charge_begin", b.charge_period.begin);
    visit("charge_end", b.charge_period.end);
    visit("billing_begin", b.billing_period.begin);
    visit("billing_end", b.billing_period.end);
    visit("billed", b.billed);
    visit("effective", b.effective);
    visit("list", b.list);
    visit("contracted", b.contracted);
    visit("list_unit_price", b.list_unit_price);
    visit("pricing_unit", b.pricing_unit);
    visit("quantity", b.quantity);
    visit("tags", b.tags);
  }
};

template <>
struct RowFields<PriceRow> {
  static constexpr std::string_view table = "price";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& p) {
    visit("provider", p.provider);
    visit("region", p.region);
    visit("instance_type", p.instance_type);
    visit("market", p.market);
    visit("term", p.term);
    visit("payment", p.payment);
    visit("rate", p.rate);
    visit("estimated", p.estimated);
    visit("source", p.source);
    visit("as_of", p.as_of);
  }
};

template <>
struct RowFields<ExchangeRate> {
  static constexpr std::string_view table = "exchange_rate";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& r) {
    visit("day", r.day);
    visit("base", r.base);
    visit("price", r.price);
  }
};

template <>
struct RowFields<TenantRule> {
  static constexpr std::string_view table = "tenant_rule";
  template <typename Visit, typename T>
  static void visit(Visit& visit, T& rule) {
    visit("pattern", rule.pattern);
    visit_tenant(visit, rule.tenant);
  }
};

}  // namespace stint
