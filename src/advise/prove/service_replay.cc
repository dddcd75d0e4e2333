#include "advise/prove/service_replay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "advise/prove/proof_weeks.h"
#include "advise/prove/service_pools.h"
#include "advise/prove/service_seats.h"
#include "base/prng.h"

namespace stint {
namespace {

constexpr double kPerFactorOfE = 50;  // bins: the mean time of an hour is kept to 1 %
constexpr size_t kBins = 400;         // from e^−2 to e^6 times as long as a request takes on an idle GPU
constexpr double kFirstBin = -2 * kPerFactorOfE;

/// Requests of a block by their hour's mean time; those of hours that do not keep up apart.
struct Times {
  std::array<double, kBins> weight = {};
  double late = 0;
  double all = 0;

  void add(double requests, double mean_time) {
    const double bin = std::round(std::log(mean_time) * kPerFactorOfE) - kFirstBin;
    weight[static_cast<size_t>(std::clamp(bin, 0.0, static_cast<double>(kBins - 1)))] += requests;
    all += requests;
  }
  void add_late(double requests) {
    late += requests;
    all += requests;
  }
  void merge(const Times& other) {
    for (size_t b = 0; b < kBins; ++b)
      weight[b] += other.weight[b];
    late += other.late;
    all += other.all;
  }

  /// That one in a hundred exceeds; none when more than one in a hundred are late.
  [[nodiscard]] std::optional<double> p99() const {
    if (late > 0.01 * all) return std::nullopt;
    std::vector<std::pair<double, double>> rates;  // 1 / mean, weight
    for (size_t b = 0; b < kBins; ++b)
      if (weight[b] > 0) rates.emplace_back(std::exp(-(static_cast<double>(b) + kFirstBin) / kPerFactorOfE), weight[b]);
    double low = 0;
    double high = 1e5;
    for (int i = 0; i < 50; ++i) {
      const double t = (low + high) / 2;
      double beyond = late;
      for (const auto& [rate, w] : rates)
        beyond += w * std::exp(-t * rate);
      (beyond > 0.01 * all ? low : high) = t;
    }
    return high;
  }
};

using Blocks = std::vector<Times>;

Times sum_of(const Blocks& blocks) {
  Times sum;
  for (const Times& times : blocks)
    sum.merge(times);
  return sum;
}

double p99_pct(const Times& now, const Times& then) {
  const auto before = now.p99();
  const auto after = then.p99();
  if (!after) return before ? kCannotKeepUpPct : 100;  // what did not keep up before is no worse
  return before ? std::min(100 * *after / *before, kCannotKeepUpPct) : 100;
}

double in_time_pct(const Times& now, const Times& then) {
  return now.all > now.late ? 100 * (then.all - then.late) / (now.all - now.late) : 100;
}

/// The seats of one service, as it is and then.
struct ServiceTimes {
  Blocks now, then;
  std::optional<double> p99_ms;
};

class Replay {
 public:
  Replay(const FleetFacts& facts, const ServiceDraws& draws) : facts_(facts), draws_(draws) {
    for (size_t h = 0; h < facts.hour_count; ++h)
      block_of_.push_back(proof_block(draws.marks, Instant::from_hour_index(facts.first_hour + static_cast<int64_t>(h))));
  }

  void add(const ServiceSeat& seat) {
    ServiceTimes& service = services_[seat.service];
    const size_t blocks = draws_.marks.size() - 1;
    for (Blocks* b : {&service.now, &service.then})
      b->resize(blocks);
    if (seat.p99_ms) service.p99_ms = std::max(service.p99_ms.value_or(0), *seat.p99_ms);
    serve(seat, {}, service.now);
    serve(seat, seat.off, service.then);
  }

  ServiceOutlook outlook() const {
    ServiceOutlook out;
    const ServiceTimes* worst = nullptr;
    Blocks now, then;
    double largest = -1;
    for (const auto& [name, service] : services_) {
      const Times as_is = sum_of(service.now);
      if (as_is.all <= 0) continue;
      out.busy = true;
      add_blocks(now, service.now);
      add_blocks(then, service.then);
      const double pct = p99_pct(as_is, sum_of(service.then));
      const ServiceP99 p99{name, pct, pct, service.p99_ms, p99_bound(facts_, name, service.p99_ms)};
      out.each.push_back(p99);
      if (p99.most_pct / p99.bound.pct <= largest) continue;
      largest = p99.most_pct / p99.bound.pct;
      worst = &service;
      out.worst = name;
      out.bound = p99.bound;
    }
    if (worst == nullptr) {
      out.p99_pct = out.in_time_pct = {100, 100, 100};
      return out;
    }
    out.p99_pct = drawn_again(worst->now, worst->then, p99_pct);
    out.p99_least_pct = out.p99_pct.mean;
    out.in_time_pct = drawn_again(now, then, in_time_pct);
    out.in_time_most_pct = out.in_time_pct.mean;
    out.p99_now_ms = worst->p99_ms;
    return out;
  }

 private:
  /// Hour by hour: what does not fit into one waits for the next.
  void serve(const ServiceSeat& seat, const std::vector<uint8_t>& off, Blocks& into) const {
    double waiting_h = 0;
    for (size_t h = 0; h < seat.busy.size(); ++h) {
      if (seat.busy[h] < 0) continue;
      const double requests = seat.busy[h];
      Times& times = into[block_of_[h]];
      if (!off.empty() && off[h] != 0) {
        times.add_late(requests);
        continue;
      }
      const double left_before_h = waiting_h;
      waiting_h = std::max(0.0, waiting_h + requests - 1);
      if (left_before_h > 0 || waiting_h > 0 || requests >= 1)
        times.add_late(requests);
      else
        times.add(requests, 1 / (1 - requests));
    }
  }

  static void add_blocks(Blocks& sum, const Blocks& blocks) {
    sum.resize(blocks.size());
    for (size_t b = 0; b < blocks.size(); ++b)
      sum[b].merge(blocks[b]);
  }

  template <typename Ratio>
  [[nodiscard]] ProofFigure drawn_again(const Blocks& now, const Blocks& then, Ratio ratio) const {
    Prng prng(draws_.seed);
    std::vector<double> drawn;
    for (int d = 0; d < draws_.draws; ++d) {
      Times before, after;
      for (size_t k = 0; k < now.size(); ++k) {
        const size_t block = prng.below(now.size());
        before.merge(now[block]);
        after.merge(then[block]);
      }
      drawn.push_back(ratio(before, after));
    }
    return figure_of(ratio(sum_of(now), sum_of(then)), std::move(drawn));
  }

  const FleetFacts& facts_;
  const ServiceDraws& draws_;
  std::vector<size_t> block_of_;
  std::map<std::string, ServiceTimes> services_;
};

}  // namespace

Result<ServiceOutlook> replay_services(const Change& change, const FleetFacts& facts, const Catalog& catalog,
                                       const ServiceDraws& draws) {
  if (const auto* resize = std::get_if<ResizeNodes>(&change)) return replay_pools(*resize, facts, catalog, draws);
  if (const auto* share = std::get_if<ShareGpus>(&change)) return replay_pools(*share, facts, draws);
  TRY_ASSIGN(const std::vector<ServiceSeat> seats, service_seats(change, facts));
  Replay replay(facts, draws);
  for (const ServiceSeat& seat : seats)
    replay.add(seat);
  ServiceOutlook out = replay.outlook();
  out.seats = std::ssize(seats);
  return out;
}

bool touches_services(const Change& change, const FleetFacts& facts) {
  const auto& nodes = nodes_of(change);
  return std::ranges::any_of(facts.nodes, [&](const NodeFacts& node) {
    return node.kind == WorkloadKind::kRealtimeInference && std::ranges::find(nodes, node.name) != nodes.end();
  });
}

}  // namespace stint
