#include "sched/time_price.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace stint::sched {

namespace {

/// One market between two instants. Costs of runs in it whose starts ascend, each in constant time on average.
class Sweep {
 public:
  Sweep(PriceWindows market, Interval span) {
    const auto ends_after = [](Instant t, const PriceWindow& w) { return t < w.when.end; };
    for (auto w = std::upper_bound(market.begin(), market.end(), span.begin, ends_after);
         w != market.end() && w->when.begin < span.end; ++w) {
      const Interval part = intersect(w->when, span);
      const Money cost = w->rate.over(part.length());
      const bool joins = !windows_.empty() && windows_.back().when.end == part.begin;
      stretch_.push_back(windows_.empty() ? 0 : stretch_.back() + (joins ? 0 : 1));
      before_.push_back(windows_.empty() ? Money::nanos(0, cost.currency()) : before_.back() + last_cost_);
      windows_.push_back({part, w->rate});
      last_cost_ = cost;
    }
  }

  /// Where a cheapest run of that length may begin, ascending.
  [[nodiscard]] std::vector<Instant> starts(Duration length) const {
    std::vector<Instant> all;
    for (const PriceWindow& w : windows_) {
      all.push_back(w.when.begin);
      all.push_back(w.when.end - length);
    }
    if (windows_.empty()) return all;
    std::erase_if(all, [&](Instant s) { return s < windows_.front().when.begin || s + length > windows_.back().when.end; });
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// @param run  inside the known time, begins not before the last one. @return none where a part of it is not known.
  std::optional<Money> cost_of(Interval run) {
    while (windows_[first_].when.end <= run.begin)
      ++first_;
    while (windows_[last_].when.end < run.end)
      ++last_;
    if (windows_[first_].when.begin > run.begin || stretch_[first_] != stretch_[last_]) return std::nullopt;
    const auto part = [&](size_t w) { return windows_[w].rate.over(intersect(windows_[w].when, run).length()); };
    if (first_ == last_) return part(first_);
    return part(first_) + (before_[last_] - before_[first_ + 1]) + part(last_);
  }

 private:
  std::vector<PriceWindow> windows_;
  std::vector<size_t> stretch_;  // by window: windows that touch are one stretch
  std::vector<Money> before_;    // by window: cost of all windows before it
  Money last_cost_;
  size_t first_ = 0, last_ = 0;
};

/// Known stretches between not_before and the deadline, with how much of each is used.
struct Piece {
  PriceWindow window;
  Duration used;  // from the start of the window, resume included; 0 = not used
};

class Planner {
 public:
  Planner(PriceWindows market, const SlotRequest& request, Duration resume) : request_(request), resume_(resume) {
    for (const PriceWindow& w : market) {
      const Interval part = intersect(w.when, {request.not_before, request.deadline});
      if (!part.empty()) pieces_.push_back({.window = {part, w.rate}, .used = Duration()});
    }
  }

  std::optional<Pieces> plan() {
    std::vector<bool> open(pieces_.size(), true);
    std::optional<Pieces> best = fill(open);
    if (!best) return std::nullopt;
    // Leaving a window out joins or saves a resumption; each round keeps the one that helps most.
    for (bool better = true; better;) {
      better = false;
      size_t leave_out = 0;
      for (size_t i = 0; i < open.size(); ++i) {
        if (!open[i]) continue;
        open[i] = false;
        const std::optional<Pieces> without = fill(open);
        open[i] = true;
        if (without && without->cost < best->cost) {
          best = without;
          leave_out = i;
          better = true;
        }
      }
      if (better) open[leave_out] = false;
    }
    return best;
  }

 private:
  /// Cheapest open windows first, until the useful time is reached. A window that continues a used one needs no resumption.
  std::optional<Pieces> fill(const std::vector<bool>& open) {
    for (Piece& p : pieces_)
      p.used = Duration();
    std::vector<size_t> order;
    for (size_t i = 0; i < pieces_.size(); ++i)
      if (open[i]) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return pieces_[a].window.rate < pieces_[b].window.rate; });
    Duration left = request_.length;
    for (const size_t i : order) {
      if (left <= Duration()) break;
      const Duration whole = pieces_[i].window.when.length();
      const Duration overhead = overhead_with(i);
      if (whole <= overhead) continue;
      const Duration wanted = left + overhead;
      pieces_[i].used = std::min(whole, wanted);
      left = left - (pieces_[i].used - overhead);
    }
    if (left > Duration()) return std::nullopt;
    give_back_excess();
    return result();
  }

  [[nodiscard]] bool full(size_t i) const { return pieces_[i].used == pieces_[i].window.when.length(); }
  /// Does the run in window `i` go on in the next one?
  [[nodiscard]] bool goes_on(size_t i) const {
    return full(i) && i + 1 < pieces_.size() && pieces_[i + 1].used > Duration() &&
           pieces_[i].window.when.end == pieces_[i + 1].window.when.begin;
  }

  /// Windows that were filled apart may have grown together: what their resumptions took is too much now, and is taken off
  /// the dearest ends.
  void give_back_excess() {
    while (true) {
      Duration excess = Duration() - request_.length;
      std::optional<size_t> dearest;
      for (size_t i = 0; i < pieces_.size(); ++i) {
        if (pieces_[i].used <= Duration()) continue;
        const bool starts = i == 0 || !goes_on(i - 1);
        excess = excess + pieces_[i].used - (starts ? resume_ : Duration());
        if (!goes_on(i) && (!dearest || pieces_[*dearest].window.rate <= pieces_[i].window.rate)) dearest = i;
      }
      if (excess <= Duration() || !dearest) return;
      Piece& cut = pieces_[*dearest];
      cut.used = cut.used - std::min(cut.used, excess);
      const bool alone = *dearest == 0 || !goes_on(*dearest - 1);
      if (alone && cut.used <= resume_) cut.used = Duration();  // nothing but a resumption would be left
    }
  }

  /// What using window `i` wholly or from its start adds in resumptions.
  [[nodiscard]] Duration overhead_with(size_t i) const {
    const auto touches = [&](size_t a, size_t b) { return pieces_[a].window.when.end == pieces_[b].window.when.begin; };
    const bool continues = i > 0 && touches(i - 1, i) && full(i - 1);
    return continues ? Duration() : resume_;
  }

  [[nodiscard]] Pieces result() const {
    Pieces out;
    bool first = true;
    for (const Piece& p : pieces_) {
      if (p.used <= Duration()) continue;
      const Interval when = {p.window.when.begin, p.window.when.begin + p.used};
      const Money cost = p.window.rate.over(p.used);
      out.cost = first ? cost : out.cost + cost;
      first = false;
      if (!out.when.empty() && out.when.back().end == when.begin) {
        out.when.back().end = when.end;
      } else {
        out.when.push_back(when);
        out.overhead += resume_;
      }
    }
    return out;
  }

  SlotRequest request_;
  Duration resume_;
  std::vector<Piece> pieces_;
};

}  // namespace

std::optional<Slot> cheapest_slot(std::span<const PriceWindows> markets, const SlotRequest& request) {
  CHECK(request.length > Duration(), "a run of no length");
  std::optional<Slot> best;
  for (size_t m = 0; m < markets.size(); ++m) {
    Sweep sweep(markets[m], {request.not_before, request.deadline});
    for (const Instant start : sweep.starts(request.length)) {
      const std::optional<Money> cost = sweep.cost_of({start, start + request.length});
      if (!cost) continue;
      const bool better = !best || *cost < best->cost || (*cost == best->cost && start < best->start);
      if (better) best = Slot{.market = m, .start = start, .cost = *cost};
    }
  }
  return best;
}

std::optional<Pieces> cheapest_pieces(PriceWindows market, const SlotRequest& request, Duration resume) {
  CHECK(request.length > Duration() && resume >= Duration(), "a run of no length, or a negative resumption");
  std::optional<Pieces> pieces = Planner(market, request, resume).plan();
  const std::array<PriceWindows, 1> only = {market};
  SlotRequest whole = request;
  whole.length = request.length + resume;
  const std::optional<Slot> slot = cheapest_slot(only, whole);
  if (slot && (!pieces || slot->cost < pieces->cost))
    pieces = Pieces{.when = {{slot->start, slot->start + whole.length}}, .cost = slot->cost, .overhead = resume};
  return pieces;
}

std::vector<PriceWindow> off_peak_windows(const WeekHours& busy, Interval span, Rate rate) {
  std::vector<PriceWindow> windows;
  for (Instant hour = span.begin.hour_start(); hour < span.end; hour = hour + kHour) {
    const auto hour_of_week = static_cast<size_t>(weekday(hour) * 24 + to_civil(hour).hour);
    if (busy[hour_of_week]) continue;
    const Interval part = intersect({hour, hour + kHour}, span);
    if (!windows.empty() && windows.back().when.end == part.begin)
      windows.back().when.end = part.end;
    else
      windows.push_back({part, rate});
  }
  return windows;
}

}  // namespace stint::sched
