// Time and price: jobs that may wait for a cheap hour, and queues that start work at certain hours only.
//
// A deferrable job whose longest running time is known (time limit, or what is expected) begins in the cheapest slot that
// still meets its deadline. The slot is found when it could begin, when its time has come, and each time its turn has come
// and it would start: where the hour has become dear before there was room, it waits for the next cheap one, as long as
// there is one. A slot begins while the queue is open. With none left the job starts as soon as it can. Once it has run it is not put off again.
#include "sched/scheduler_time.h"

#include <algorithm>

#include "sched/scheduler_impl.h"

namespace stint::sched {
namespace {
constexpr size_t kSlotsKept = 256;
/// Before its queue closes a job starts by then at the latest.
constexpr Duration kBeforeClosing = Duration::seconds(1);

bool is_in(const WeekHours& hours, Instant at) { return hours[static_cast<size_t>(weekday(at) * 24 + to_civil(at).hour)]; }
WeekHours closed_hours(const QueueUsage& queues, QueueId q) {
  WeekHours closed;
  for (QueueId at = q; at.valid(); at = queues.spec(at).parent)
    closed |= queues.spec(at).closed;
  return closed;
}
}  // namespace

void Scheduler::set_prices(std::vector<MarketPrices> markets) {
  Impl& s = *impl_;
  s.books.hours.prices = std::move(markets);
  s.books.hours.slots.clear();
  // Whoever waits for a slot of the old prices looks again.
  for (uint32_t j = 0; j < s.books.jobs.book().records.size(); ++j)
    if (s.jobs.terms_of(JobId(j)).deferrable && s.books.jobs.book().records[j].phase == Phase::kNotYet &&
        s.gates.is_past_gates(JobId(j)))
      s.jobs.set_timer(s.books.runs.timers, s.books.clock.now, JobId(j), TimerKind::kBegin);
}

bool StartTimes::put_off(JobId j) {
  const JobRecord& r = s_.jobs[j];
  if (book_.any_hours) {
    if (const Instant open_at = opens_at(r.queue); open_at > s_.clock.now) {
      s_.pending.close(s_.queues, r.queue, r.shape, r.queue);
      book_.opens[r.queue.index()] = open_at;
      return true;
    }
  }
  if (!s_.jobs.terms_of(j).deferrable) return false;
  const Waiting entry = {.rank = r.rank, .job = j};
  if (!defer(j)) return false;
  s_.pending.removed(s_.queues, r.queue, r.shape, entry);
  return true;
}

bool StartTimes::defer(JobId j) {
  const std::optional<Slot> slot = slot_at_its_turn(j);
  if (!slot || slot->start <= s_.clock.now) return false;
  s_.jobs[j].phase = Phase::kNotYet;
  s_.jobs.set_timer(s_.timers, slot->start, j, TimerKind::kBegin);
  return true;
}

/// slot_for(), found once for an instant.
std::optional<Slot> StartTimes::slot_at_its_turn(JobId j) {
  if (!s_.jobs.terms_of(j).deferrable || s_.jobs[j].starts > 0) return std::nullopt;
  book_.slots.resize(kSlotsKept);
  KnownSlot& known = book_.slots[j.index() % kSlotsKept];
  if (known.job != j || known.at != s_.clock.now || known.fleet_changes != s_.clock.fleet_changes)
    known = {.job = j, .at = s_.clock.now, .fleet_changes = s_.clock.fleet_changes, .slot = slot_for(j)};
  return known.slot;
}

std::optional<Slot> StartTimes::slot_for(JobId j) const {
  const JobTerms& spec = s_.jobs.terms_of(j);
  const Duration longest = s_.jobs[j].longest_run();
  if (!spec.deferrable || book_.prices.empty() || s_.jobs[j].starts > 0) return std::nullopt;
  if (spec.deadline == kNever || longest == kUnlimited || spec.deadline - s_.clock.now < longest) return std::nullopt;
  return slot_before(j, spec.deadline);
}

std::optional<Slot> StartTimes::slot_before(JobId j, Instant deadline) const {
  const RequestId request = s_.cluster.task(s_.jobs.first_task(j)).request;
  std::vector<PriceWindows> markets;
  for (const MarketPrices& market : book_.prices) {
    const bool possible = std::ranges::any_of(
        market.nodes, [&](NodeId n) { return s_.cluster.free()[n].usable && s_.cluster.is_eligible(request, n); });
    markets.push_back(possible ? PriceWindows(market.windows) : PriceWindows());
  }
  const Duration length = s_.jobs[j].longest_run();
  const WeekHours closed = book_.any_hours ? closed_hours(s_.queues, s_.jobs[j].queue) : WeekHours();
  if (closed.none()) return cheapest_slot(markets, {.length = length, .not_before = s_.clock.now, .deadline = deadline});
  // It starts while its queue is open; what it has begun goes on beyond that.
  Instant end = s_.clock.now;  // of known prices
  for (const PriceWindows& market : markets)
    if (!market.empty()) end = std::max(end, market.back().when.end);
  end = std::min(end, deadline);
  std::optional<Slot> best;
  for (Instant hour = s_.clock.now.hour_start(); hour < end;) {
    const Instant opens = std::max(s_.clock.now, hour);
    const bool is_open = !is_in(closed, hour);
    do
      hour = hour + kHour;
    while (hour < end && is_in(closed, hour) != is_open);
    if (!is_open) continue;
    const auto slot = cheapest_slot(
        markets, {.length = length, .not_before = opens, .deadline = std::min(deadline, hour - kBeforeClosing + length)});
    if (slot && (!best || slot->cost < best->cost)) best = slot;
  }
  return best;
}

bool StartTimes::withhold_dearer(JobId j) {
  if (book_.prices.size() < 2 || s_.open.withholds()) return false;
  const std::optional<Slot> slot = slot_at_its_turn(j);
  if (!slot) return false;
  for (size_t m = 0; m < book_.prices.size(); ++m)
    if (m != slot->market)
      for (const NodeId n : book_.prices[m].nodes) {
        s_.open.withhold(s_.cluster, n, kMaxGpusPerNode);
        s_.open.close(s_.cluster, n);
      }
  return s_.open.withholds();
}

bool StartTimes::is_closed(QueueId q, Instant at) const { return is_in(s_.queues.spec(q).closed, at); }

Instant StartTimes::opens_at(QueueId q) const {
  const WeekHours closed = closed_hours(s_.queues, q);
  if (closed.none()) return s_.clock.now;
  Instant hour = s_.clock.now.hour_start();
  for (int looked_at = 0; looked_at <= 168; ++looked_at, hour = hour + kHour)
    if (!is_in(closed, hour)) return std::max(s_.clock.now, hour);
  return kNever;  // their hours have none in common
}

void StartTimes::open_queues() {
  if (!book_.any_hours) return;
  for (uint32_t q = 0; q < book_.opens.size(); ++q) {
    if (book_.opens[q] > s_.clock.now) continue;
    book_.opens[q] = kNever;
    ++s_.clock.changes;
    s_.pending.share_changed(s_.queues, QueueId(q), true);
  }
}

void StartTimes::forget_node(NodeId n) {
  for (MarketPrices& market : book_.prices)
    std::erase(market.nodes, n);
}

}  // namespace stint::sched
