// Time and price: jobs that may wait for a cheap hour, and queues that start work at certain hours only.
//
// A deferrable job whose longest running time is known (time limit, or what is expected) begins in the cheapest slot that
// still meets its deadline. The slot is found when it could begin, when its time has come, and each time its turn has come
// and it would start: where the hour has become dear before there was room, it waits for the next cheap one, as long as
// there is one. With no slot left it starts as soon as it can. Once it has run it is not put off again.
#include <algorithm>

#include "sched/scheduler_impl.h"

namespace stint::sched {
namespace {
constexpr size_t kSlotsKept = 256;
}

void Scheduler::set_prices(std::vector<MarketPrices> markets) {
  Impl& s = *impl_;
  s.prices = std::move(markets);
  s.slots.clear();
  // Whoever waits for a slot of the old prices looks again.
  for (uint32_t j = 0; j < s.jobs.size(); ++j)
    if (s.terms_of(JobId(j)).deferrable && s.jobs[j].phase == Phase::kNotYet && s.is_past_gates(JobId(j)))
      s.set_timer(s.timers, s.now, JobId(j), TimerKind::kBegin);
}

/// Its turn has come, but not its hour: puts it where it will be found then.
bool Scheduler::Impl::put_off(JobId j) {
  const JobRecord& r = jobs[j.index()];
  if (any_hours) {
    if (const Instant open_at = opens_at(r.queue); open_at > now) {
      pending.close(queues, r.queue, r.shape, r.queue);
      opens[r.queue.index()] = open_at;
      return true;
    }
  }
  if (!terms_of(j).deferrable) return false;
  const Waiting entry = {.rank = r.rank, .job = j};
  if (!defer(j)) return false;
  pending.removed(queues, r.queue, r.shape, entry);
  return true;
}

/// @return whether it waits for a cheaper hour, and a timer is set for that.
bool Scheduler::Impl::defer(JobId j) {
  const std::optional<Slot> slot = slot_at_its_turn(j);
  if (!slot || slot->start <= now) return false;
  jobs[j.index()].phase = Phase::kNotYet;
  set_timer(timers, slot->start, j, TimerKind::kBegin);
  return true;
}

/// slot_for(), found once for an instant.
std::optional<Slot> Scheduler::Impl::slot_at_its_turn(JobId j) {
  if (!terms_of(j).deferrable || jobs[j.index()].starts > 0) return std::nullopt;
  slots.resize(kSlotsKept);
  KnownSlot& known = slots[j.index() % kSlotsKept];
  if (known.job != j || known.at != now || known.fleet_changes != fleet_changes)
    known = {.job = j, .at = now, .fleet_changes = fleet_changes, .slot = slot_for(j)};
  return known.slot;
}

/// The cheapest slot from now on, on nodes it can run on. @return none when it cannot be deferred, or no slot meets its deadline.
std::optional<Slot> Scheduler::Impl::slot_for(JobId j) const {
  const JobTerms& spec = terms_of(j);
  const Duration longest = jobs[j.index()].longest_run();
  if (!spec.deferrable || prices.empty() || jobs[j.index()].starts > 0) return std::nullopt;
  if (spec.deadline == kNever || longest == kUnlimited || spec.deadline - now < longest) return std::nullopt;
  return slot_before(j, spec.deadline);
}

/// The same for another deadline.
std::optional<Slot> Scheduler::Impl::slot_before(JobId j, Instant deadline) const {
  const RequestId request = cluster.task(first_task(j)).request;
  std::vector<PriceWindows> markets;
  for (const MarketPrices& market : prices) {
    const bool possible =
        std::ranges::any_of(market.nodes, [&](NodeId n) { return cluster.free()[n].usable && cluster.is_eligible(request, n); });
    markets.push_back(possible ? PriceWindows(market.windows) : PriceWindows());
  }
  return cheapest_slot(markets, {.length = jobs[j.index()].longest_run(), .not_before = now, .deadline = deadline});
}

/// A deferrable job that starts now: what lies outside its market does not count as open until open.release().
/// @return false, and nothing has changed, when there is nothing to leave out.
bool Scheduler::Impl::withhold_dearer(JobId j) {
  if (prices.size() < 2 || open.withholds()) return false;
  const std::optional<Slot> slot = slot_at_its_turn(j);
  if (!slot) return false;
  for (size_t m = 0; m < prices.size(); ++m)
    if (m != slot->market)
      for (const NodeId n : prices[m].nodes) {
        open.withhold(cluster, n, kMaxGpusPerNode);
        open.close(cluster, n);
      }
  return open.withholds();
}

bool Scheduler::Impl::is_closed(QueueId q, Instant at) const {
  return queues.spec(q).closed[static_cast<size_t>(weekday(at) * 24 + to_civil(at).hour)];
}

/// When the queue and all above it are open: `now` or the beginning of an hour.
Instant Scheduler::Impl::opens_at(QueueId q) const {
  WeekHours closed;
  for (QueueId at = q; at.valid(); at = queues.spec(at).parent)
    closed |= queues.spec(at).closed;
  if (closed.none()) return now;
  Instant hour = now.hour_start();
  for (int looked_at = 0; looked_at <= 168; ++looked_at, hour = hour + kHour)
    if (!closed[static_cast<size_t>(weekday(hour) * 24 + to_civil(hour).hour)]) return std::max(now, hour);
  return kNever;  // their hours have none in common
}

void Scheduler::Impl::open_queues() {
  for (uint32_t q = 0; q < opens.size(); ++q) {
    if (opens[q] > now) continue;
    opens[q] = kNever;
    ++changes;
    pending.share_changed(queues, QueueId(q), true);
  }
}

}  // namespace stint::sched
