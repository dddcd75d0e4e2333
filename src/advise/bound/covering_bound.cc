#include "advise/bound/covering_bound.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace stint {
namespace {

__extension__ using Wide = __int128;

constexpr size_t kFewestAnswers = 32;
constexpr size_t kMostAnswers = 400;
constexpr size_t kStepsWanted = 200'000'000;               // a step: one use of one work in one hour; a second or so
constexpr int64_t kDearestHour = 1'000'000'000'000'000;    // a million an hour
constexpr int64_t kMostUnitsAnHour = 1'000'000'000'000;    // 277,777 units for an hour
constexpr int64_t kMostOfMachine = 1'000'000'000'000'000;  // a million machines for a unit
constexpr double kJustBelow = 1 - 1e-12;                   // before rounding down: sums of rounded doubles stay below their limit

int64_t most_of(const CoveringOffer& offer) {
  return offer.same_every_hour && offer.committed ? std::min(offer.hourly, *offer.committed) : offer.hourly;
}

/// Prices in floating point and the answers of both sides.
class Play {
 public:
  explicit Play(const CoveringProblem& problem)
      : problem_(problem),
        cells_(problem.offers.size() * problem.hours),
        compute_(cells_),
        memory_(cells_),
        load_compute_(cells_),
        load_memory_(cells_) {
    for (size_t o = 0; o < problem.offers.size(); ++o) {
      const CoveringOffer& offer = problem.offers[o];
      const int64_t least = offer.committed ? std::min(offer.hourly, *offer.committed) : offer.hourly;
      std::fill_n(at(compute_, o), problem.hours, static_cast<double>(least) / 2);
      std::fill_n(at(memory_, o), problem.hours, static_cast<double>(least) / 2);
    }
  }

  void run() {
    size_t steps = 1;
    for (const CoveringWork& work : problem_.works)
      steps += work.uses.size() * problem_.hours;
    const size_t rounds = std::clamp(kStepsWanted / steps, kFewestAnswers, kMostAnswers);
    for (size_t round = 0; round < rounds; ++round) {
      // Later answers are to better prices, so they weigh more.
      const double step = 2.0 / static_cast<double>(round + 2);
      const double worth = work_answers(step);
      if (worth > best_) {
        best_ = worth;
        best_compute_ = compute_;
        best_memory_ = memory_;
      }
      prices_answer(step);
    }
  }

  [[nodiscard]] CoveringPrices rounded_down() const {
    CoveringPrices out;
    const auto down = [](double price) { return static_cast<int64_t>(price * kJustBelow); };
    std::ranges::transform(best_compute_, std::back_inserter(out.compute), down);
    std::ranges::transform(best_memory_, std::back_inserter(out.memory), down);
    return out;
  }

 private:
  double* at(std::vector<double>& of, size_t offer) const { return of.data() + offer * problem_.hours; }

  /// All work goes where it is cheapest. @return what that costs, in the units of a price × kUnitHour × kWholeMachine.
  /// @param step  how far the remembered load moves towards it.
  double work_answers(double step) {
    for (std::vector<double>* load : {&load_compute_, &load_memory_})
      for (double& of_cell : *load)
        of_cell *= 1 - step;
    double sum = 0;
    for (const CoveringWork& work : problem_.works)
      for (size_t h = 0; h < problem_.hours; ++h) {
        const auto compute = static_cast<double>(work.compute[h]);
        const auto memory = static_cast<double>(work.memory[h]);
        if (compute == 0 && memory == 0) continue;
        double least = std::numeric_limits<double>::infinity();
        const CoveringUse* where = nullptr;
        for (const CoveringUse& use : work.uses) {
          const size_t cell = use.offer * problem_.hours + h;
          const double price = compute_[cell] * compute * static_cast<double>(use.compute) +
                               memory_[cell] * memory * static_cast<double>(use.memory);
          if (price >= least) continue;
          least = price;
          where = &use;
        }
        sum += least;
        const size_t cell = where->offer * problem_.hours + h;
        load_compute_[cell] += step * compute * static_cast<double>(where->compute);
        load_memory_[cell] += step * memory * static_cast<double>(where->memory);
      }
    return sum;
  }

  /// The prices move by `step` towards those that this load would pay the most at.
  void prices_answer(double step) {
    std::vector<double> best(problem_.hours), for_compute(problem_.hours);
    for (size_t o = 0; o < problem_.offers.size(); ++o) {
      const double* compute = load_compute_.data() + o * problem_.hours;
      const double* memory = load_memory_.data() + o * problem_.hours;
      answer_of(problem_.offers[o], compute, memory, best, for_compute);
      double* price_compute = at(compute_, o);
      double* price_memory = at(memory_, o);
      for (size_t h = 0; h < problem_.hours; ++h) {
        price_compute[h] += step * (best[h] * for_compute[h] - price_compute[h]);
        price_memory[h] += step * (best[h] * (1 - for_compute[h]) - price_memory[h]);
      }
    }
  }

  /// @param best  out: the price of a machine by hour. @param for_compute  out: how much of it is for its compute.
  void answer_of(const CoveringOffer& offer, const double* compute, const double* memory, std::vector<double>& best,
                 std::vector<double>& for_compute) {
    const size_t hours = problem_.hours;
    if (offer.same_every_hour) {
      const double all_compute = std::accumulate(compute, compute + hours, 0.0);
      const double all_memory = std::accumulate(memory, memory + hours, 0.0);
      std::ranges::fill(best, static_cast<double>(most_of(offer)));
      std::ranges::fill(for_compute, all_compute >= all_memory ? 1.0 : 0.0);
      return;
    }
    const auto hourly = static_cast<double>(offer.hourly);
    for (size_t h = 0; h < hours; ++h)
      for_compute[h] = compute[h] >= memory[h] ? 1.0 : 0.0;
    std::ranges::fill(best, hourly);
    if (!offer.committed || *offer.committed >= offer.hourly) return;
    // A commitment limits the sum: what there is goes to the hours with the greatest load.
    order_.resize(hours);
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::ranges::stable_sort(order_, std::greater(), [&](size_t h) { return std::max(compute[h], memory[h]); });
    double left = static_cast<double>(*offer.committed) * static_cast<double>(hours);
    for (const size_t h : order_) {
      best[h] = std::min(hourly, left);
      left -= best[h];
    }
  }

  const CoveringProblem& problem_;
  size_t cells_;
  std::vector<double> compute_, memory_, load_compute_, load_memory_;
  std::vector<double> best_compute_, best_memory_;
  double best_ = -1;
  std::vector<size_t> order_;
};

}  // namespace

Status check_covering(const CoveringProblem& problem) {
  for (const CoveringOffer& offer : problem.offers)
    if (offer.hourly < 0 || offer.hourly > kDearestHour ||
        (offer.committed && (*offer.committed < 0 || *offer.committed > kDearestHour)))
      return invalid("an offer of {} nano-units an hour", offer.hourly);
  for (const CoveringWork& work : problem.works) {
    if (work.uses.empty()) return invalid("work that fits no offer");
    if (work.compute.size() != problem.hours || work.memory.size() != problem.hours)
      return invalid("work of {} and {} hours, not {}", work.compute.size(), work.memory.size(), problem.hours);
    for (const CoveringUse& use : work.uses)
      if (use.offer >= problem.offers.size() || use.compute < 0 || use.memory < 0 || use.compute > kMostOfMachine ||
          use.memory > kMostOfMachine)
        return invalid("work that needs {} and {} billionths of offer {}", use.compute, use.memory, use.offer);
    for (size_t h = 0; h < problem.hours; ++h)
      if (std::min(work.compute[h], work.memory[h]) < 0 || std::max(work.compute[h], work.memory[h]) > kMostUnitsAnHour)
        return invalid("work of {} and {} in hour {}", work.compute[h], work.memory[h], h);
  }
  return {};
}

Status check_prices(const CoveringProblem& problem, const CoveringPrices& prices) {
  const size_t cells = problem.offers.size() * problem.hours;
  if (prices.compute.size() != cells || prices.memory.size() != cells)
    return invalid("prices of {} cells, not {}", prices.compute.size(), cells);
  for (size_t o = 0; o < problem.offers.size(); ++o) {
    const CoveringOffer& offer = problem.offers[o];
    Wide sum = 0;
    for (size_t h = 0; h < problem.hours; ++h) {
      const size_t cell = o * problem.hours + h;
      const int64_t compute = prices.compute[cell], memory = prices.memory[cell];
      if (compute < 0 || memory < 0 || compute > most_of(offer) - memory)
        return invalid("offer {} at {} + {} in hour {}, {} at most", o, compute, memory, h, most_of(offer));
      if (offer.same_every_hour && (compute != prices.compute[o * problem.hours] || memory != prices.memory[o * problem.hours]))
        return invalid("offer {} has other prices in hour {} than in the first", o, h);
      sum += Wide{compute} + memory;
    }
    if (offer.committed && sum > Wide{*offer.committed} * static_cast<int64_t>(problem.hours))
      return invalid("offer {} is priced above its commitment", o);
  }
  return {};
}

std::vector<int64_t> worth_at(const CoveringProblem& problem, const CoveringPrices& prices) {
  std::vector<int64_t> out;
  for (const CoveringWork& work : problem.works) {
    Wide sum = 0;
    for (size_t h = 0; h < problem.hours; ++h) {
      if (work.compute[h] == 0 && work.memory[h] == 0) continue;
      Wide least = -1;
      for (const CoveringUse& use : work.uses) {
        const size_t cell = use.offer * problem.hours + h;
        // Billionths of a machine first, rounded down: within check_covering()'s limits the product stays within 128 bits.
        const Wide price = (Wide{work.compute[h]} * use.compute / kUnitHour) * prices.compute[cell] +
                           (Wide{work.memory[h]} * use.memory / kUnitHour) * prices.memory[cell];
        if (least < 0 || price < least) least = price;
      }
      sum += least / kWholeMachine;
    }
    out.push_back(static_cast<int64_t>(std::min<Wide>(sum, std::numeric_limits<int64_t>::max())));
  }
  return out;
}

CoveringBound covering_bound(const CoveringProblem& problem) {
  const Status sound = check_covering(problem);
  CHECK(sound.ok(), "{}", sound.error().message);
  Play play(problem);
  play.run();
  CoveringBound out{.at_least = 0, .of_work = {}, .prices = play.rounded_down()};
  const Status feasible = check_prices(problem, out.prices);
  CHECK(feasible.ok(), "{}", feasible.error().message);
  out.of_work = worth_at(problem, out.prices);
  for (const int64_t nanos : out.of_work)
    out.at_least += nanos;
  return out;
}

}  // namespace stint
