#include "sched/policy_text.h"

#include "base/text.h"
#include "sched/queues/order.h"

namespace stint::sched {

namespace {

Policy usual(Order order) {
  Policy p;
  p.order = order;
  if (order == Order::kStint) return p;
  p.backfill = Backfill::kNone;
  p.consolidate = p.cheapest = false;
  p.ageing = Duration();
  if (order == Order::kFair) return p;
  p.preempt = p.reclaim = false;
  return p;
}

Status set_flag(bool& flag, std::string_view key, std::string_view value) {
  if (value != "yes" && value != "no") return invalid("policy setting {}={}: use yes or no", key, value);
  flag = value == "yes";
  return {};
}

Status set_duration(Duration& target, std::string_view key, std::string_view value) {
  const Result<Duration> parsed = value == "0" ? Result<Duration>(Duration()) : parse_duration(value);
  if (!parsed.ok() || *parsed < Duration()) return invalid("policy setting {}={}: use a duration such as 24h, or 0", key, value);
  target = *parsed;
  return {};
}

Status set(Policy& p, std::string_view key, std::string_view value) {
  if (key == "preempt") return set_flag(p.preempt, key, value);
  if (key == "reclaim") return set_flag(p.reclaim, key, value);
  if (key == "consolidate") return set_flag(p.consolidate, key, value);
  if (key == "cheapest") return set_flag(p.cheapest, key, value);
  if (key == "shares") {
    if (value != "deserved" && value != "fair") return invalid("policy setting shares={}: use deserved or fair", value);
    p.shares = value == "fair" ? ShareRule::kFair : ShareRule::kDeserved;
    return {};
  }
  if (key == "ageing") return set_duration(p.ageing, key, value);
  if (key == "usage-half-life") {
    if (queue_rule(p.order) != QueueRule::kByShare) return invalid("policy setting {}: only fair and stint share by queue", key);
    return set_duration(p.usage_half_life, key, value);
  }
  if (key == "backfill") {
    TRY_ASSIGN(p.backfill, parse_backfill(value));
    return {};
  }
  if (key == "placement") {
    TRY_ASSIGN(p.placement, parse_placement(value));
    return {};
  }
  if (key == "durations") {
    if (value != "given" && value != "learnt") return invalid("policy setting durations={}: use given or learnt", value);
    p.durations = value == "given" ? Durations::kGiven : Durations::kLearnt;
    return {};
  }
  if (key == "victims") {
    if (value != "priority" && value != "least-lost-work")
      return invalid("policy setting victims={}: use priority or least-lost-work", value);
    p.victims = value == "priority" ? VictimOrder::kPriorityYoungest : VictimOrder::kLeastLostWork;
    return {};
  }
  return invalid(
      "unknown policy setting '{}': use backfill, placement, preempt, reclaim, consolidate, cheapest, "
      "victims, durations, shares, ageing or usage-half-life",
      key);
}

std::string duration_text(Duration d) {
  const int64_t s = d.whole_seconds();
  return s % 3600 == 0 ? (s == 0 ? "0" : fmt::format("{}h", s / 3600)) : fmt::format("{}s", s);
}

}  // namespace

Result<Policy> parse_policy(std::string_view text) {
  const size_t colon = text.find(':');
  TRY_ASSIGN(const Order order, parse_order(text.substr(0, colon)));
  Policy policy = usual(order);
  if (colon == std::string_view::npos) return policy;
  for (const std::string_view setting : split(text.substr(colon + 1), ',')) {
    const size_t equals = setting.find('=');
    if (equals == std::string_view::npos) return invalid("policy setting '{}': write key=value", setting);
    TRY(set(policy, setting.substr(0, equals), setting.substr(equals + 1)));
  }
  return policy;
}

std::string to_text(const Policy& p) {
  const Policy base = usual(p.order);
  std::string settings;
  const auto add = [&](std::string_view key, std::string_view value) {
    settings += fmt::format("{}{}={}", settings.empty() ? ":" : ",", key, value);
  };
  const auto flag = [&](std::string_view key, bool value, bool usual_value) {
    if (value != usual_value) add(key, value ? "yes" : "no");
  };
  if (p.backfill != base.backfill) add("backfill", name_of(p.backfill));
  if (p.placement != base.placement) add("placement", name_of(p.placement));
  flag("preempt", p.preempt, base.preempt);
  flag("reclaim", p.reclaim, base.reclaim);
  flag("consolidate", p.consolidate, base.consolidate);
  flag("cheapest", p.cheapest, base.cheapest);
  if (p.victims != base.victims) add("victims", p.victims == VictimOrder::kPriorityYoungest ? "priority" : "least-lost-work");
  if (p.durations != base.durations) add("durations", "learnt");
  if (p.shares != base.shares) add("shares", p.shares == ShareRule::kFair ? "fair" : "deserved");
  if (p.ageing != base.ageing) add("ageing", duration_text(p.ageing));
  if (p.usage_half_life != base.usage_half_life && queue_rule(p.order) == QueueRule::kByShare)
    add("usage-half-life", duration_text(p.usage_half_life));
  return std::string(name_of(p.order)) + settings;
}

}  // namespace stint::sched
