#include "launch/launch_decision.h"

#include <algorithm>

#include "sched/spot/spot_policy.h"

namespace stint {
namespace {

constexpr int64_t kTickSeconds = 60;

enum class Standing : uint8_t {
  kFree,
  kPassedOver,  ///< its machine was taken back a while ago
  kShut,        ///< left alone: no stock, no quota
};

Standing standing_of(const LaunchOffer& offer, const LaunchSight& sight) {
  const std::string pool = offer.name();
  const auto shut = sight.book.shut().find(pool);
  if (shut != sight.book.shut().end() && shut->second.until > sight.now) return Standing::kShut;
  const bool was_taken = std::ranges::any_of(sight.record.machines(), [&](const LaunchedMachine& each) {
    return each.pool == pool && each.interrupted && each.ended && sight.now - *each.ended < kPassedOver;
  });
  return was_taken ? Standing::kPassedOver : Standing::kFree;
}

std::vector<std::string> pools_of(const LaunchSight& sight, Market market, Standing standing) {
  std::vector<std::string> pools;
  for (const LaunchOffer& offer : sight.plan.offers)
    if (offer.market == market && standing_of(offer, sight) == standing) pools.push_back(offer.name());
  return pools;
}

/// Those to be tried now: what was passed over only where nothing else has stock.
std::vector<std::string> open_pools(const LaunchSight& sight, Market market) {
  std::vector<std::string> pools = pools_of(sight, market, Standing::kFree);
  return pools.empty() ? pools_of(sight, market, Standing::kPassedOver) : pools;
}

std::string hours_of(Duration d) { return fmt::format("{:.1f} h", d.to_hours()); }

sched::SpotTask task_of(const LaunchPlan& plan) {
  return {.tick_s = kTickSeconds,
          .work_s = plan.takes.whole_seconds(),
          .deadline_s = (*plan.deadline - plan.begun).whole_seconds(),
          .changeover_s = plan.start_up.whole_seconds()};
}

/// Spot, on demand, or wait: there is no machine.
sched::SpotTake market_now(const LaunchSight& sight, bool has_spot) {
  const LaunchPlan& plan = sight.plan;
  const bool sells_spot = std::ranges::any_of(plan.offers, [](const LaunchOffer& o) { return o.market == Market::kSpot; });
  if (!sells_spot) return sched::SpotTake::kOnDemand;
  if (!plan.deadline) return has_spot ? sched::SpotTake::kSpot : sched::SpotTake::kIdle;
  const sched::SpotTask task = task_of(plan);
  const int64_t elapsed = std::max<int64_t>(0, (sight.now - plan.begun).whole_seconds());
  return sched::UniformProgressSpot(task).choose(
      {.elapsed_s = elapsed - elapsed % kTickSeconds,
       .work_left_s = std::max<int64_t>(1, task.work_s - sight.record.saved().whole_seconds()),
       .changeover_left_s = task.changeover_s,
       .held = sched::SpotTake::kIdle,
       .spot_available = has_spot});
}

/// Every pool is refused for a reason that waiting does not mend. @return the reasons; "" = one may come to have stock.
std::string hopeless(const LaunchSight& sight) {
  std::string why;
  for (const LaunchOffer& offer : sight.plan.offers) {
    const auto shut = sight.book.shut().find(offer.name());
    if (shut == sight.book.shut().end() || shut->second.until <= sight.now) return "";
    const bool waits_in_vain = shut->second.why.starts_with(name_of(CapacityOutcome::kQuota)) ||
                               shut->second.why.starts_with(name_of(CapacityOutcome::kRefused));
    if (!waits_in_vain) return "";
    if (why.find(shut->second.why) == std::string::npos) why += fmt::format("{}{}", why.empty() ? "" : "; ", shut->second.why);
  }
  return why;
}

/// @return how many of the last machines came to nothing.
int failed_starts(const LaunchRecord& record) {
  int failed = 0;
  for (auto m = record.machines().rbegin(); m != record.machines().rend() && m->ended && !m->spoke; ++m)
    if (m->made && !m->interrupted) ++failed;
  return failed;
}

/// What a machine that can be used has told. @return why it is to go; "" = it stays.
std::string leaves(const LaunchSight& sight, const std::string& name) {
  const auto heard = sight.reports.find(name);
  if (heard == sight.reports.end()) return "";
  const LaunchReport& report = heard->second.report;
  switch (report.state) {
    case ReportedState::kEnded: return report.interrupted ? "it was taken back" : "the command has ended";
    case ReportedState::kUnfit: return report.detail;
    case ReportedState::kStarted:
    case ReportedState::kRunning: break;
  }
  return sight.now - heard->second.heard > kLaunchSilent ? "it has told nothing for ten minutes" : "";
}

void look_at_machines(const LaunchSight& sight, LaunchDecision& out) {
  // A machine powers off when its command has ended, and may be gone before that is heard.
  for (const auto& [name, heard] : sight.reports)
    if (heard.report.state == ReportedState::kEnded && !heard.report.interrupted)
      out.end = {.code = heard.report.exit_code, .at = sight.now, .why = {}};
  for (const auto& [name, made] : sight.book.machines()) {
    const bool is_up = made.state == MadeState::kReady || made.state == MadeState::kLeaving;
    std::string why = leaves(sight, name);
    // Time to start, and as much again to fetch what it runs.
    if (why.empty() && is_up && !sight.reports.contains(name) && sight.now - made.begun > sight.plan.ready_within * 2)
      why = "it runs, and told nothing";
    if (why.empty()) continue;
    out.ask.released.push_back(name);
    out.why = fmt::format("{}: {}", name, why);
  }
}

CapacityWish wish_of(const LaunchPlan& plan) {
  return {.id = plan.name, .client = {}, .machines = 1, .pools = {}, .names = {}, .first = {}, .limit = {}, .most = 1};
}

void wish_for_one(const LaunchSight& sight, LaunchDecision& out) {
  CapacityWish wish = wish_of(sight.plan);
  const std::vector<std::string> spot = open_pools(sight, Market::kSpot), on_demand = open_pools(sight, Market::kOnDemand);
  switch (market_now(sight, !spot.empty())) {
    case sched::SpotTake::kSpot:
      wish.pools = spot;
      out.why = "spot";
      break;
    case sched::SpotTake::kOnDemand:
      // With the deadline in sight whatever there is will do.
      wish.pools = on_demand.empty() ? spot : on_demand;
      out.why = spot.empty() && sight.plan.deadline
                    ? "on demand: no spot machine can be had, and the deadline does not let it wait"
                    : "on demand";
      break;
    case sched::SpotTake::kIdle: out.why = "waits for a spot machine: none can be had now"; break;
  }
  if (wish.pools.empty()) wish.machines = 0;  // else all would do
  out.ask.wishes.push_back(std::move(wish));
}

}  // namespace

CapacityWish wish_to_keep(const LaunchPlan& plan, int32_t machines) {
  CapacityWish wish = wish_of(plan);
  wish.machines = machines;
  wish.pools = {"none"};
  return wish;
}

LaunchDecision decide_launch(const LaunchSight& sight) {
  LaunchDecision out;
  if (sight.record.end() || sight.record.stopped()) {
    out.why = "it is over";
    for (const auto& [name, made] : sight.book.machines())
      out.ask.released.push_back(name);
    return out;
  }
  look_at_machines(sight, out);
  if (out.end) return out;
  if (!sight.book.machines().empty()) {
    out.ask.wishes.push_back(wish_to_keep(sight.plan, 1));
    return out;
  }
  if (!sight.last_words) {
    out.ask.wishes.push_back(wish_to_keep(sight.plan, 0));
    return out;
  }
  if (failed_starts(sight.record) >= kMostFailedStarts) {
    const LaunchedMachine& last = sight.record.machines().back();
    out.end = {
        .code = 1,
        .at = sight.now,
        .why = fmt::format("{} machines in a row did not begin{}{}: look at the image, the security group and the instance "
                           "profile (aws ec2 get-console-output)",
                           kMostFailedStarts, last.why.empty() ? "" : ": ", last.why)};
    return out;
  }
  if (const std::string why = hopeless(sight); !why.empty()) {
    out.end = {.code = 1, .at = sight.now, .why = fmt::format("no machine can be had: {}", why)};
    return out;
  }
  wish_for_one(sight, out);
  return out;
}

Status check_deadline(const LaunchPlan& plan) {
  if (!plan.deadline) return {};
  if (const Status can = task_of(plan).check(); can.ok()) return {};
  const Duration needed = plan.takes + plan.start_up;
  return invalid("the deadline {} cannot be met: {} of work and {} to start, on demand and at once, end at {}",
                 format_utc(*plan.deadline), hours_of(plan.takes), hours_of(plan.start_up), format_utc(plan.begun + needed));
}

}  // namespace stint
