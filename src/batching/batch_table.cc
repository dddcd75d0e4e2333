#include "batching/batch_table.h"

#include <algorithm>
#include <cmath>

namespace stint::batching {
namespace {

constexpr int kPoints = 19;             // of kMostShare
constexpr double kFinest = 1.0 / 4096;  // part of the requests between two values that are kept

/// Between two points of a line. @param x  within them.
double on_line(double x, double x0, double y0, double x1, double y1) {
  return x1 <= x0 ? y1 : y0 + (x - x0) / (x1 - x0) * (y1 - y0);
}

}  // namespace

BatchTable::BatchTable(BatchingReplica replica) {
  if (replica.batch_ms.size() > kLargest) replica.batch_ms.resize(kLargest);
  const double alone = replica.batch_ms.front();
  points_.push_back({.share = 0, .busy = 0, .tail = {}});
  for (int i = 1; i <= kPoints; ++i) {
    Point point{.share = kMostShare * i / kPoints, .busy = 0, .tail = {}};
    const BatchTimes found = batch_times(replica, point.share * most_per_second(replica));
    point.busy = std::max(points_.back().busy, found.busy);
    double longer = 0, kept = -1;
    for (const auto& [ms, part] : found.times) {
      if (longer - kept >= kFinest) {
        point.tail.push_back({ms / alone, longer});
        kept = longer;
      }
      longer += part;
    }
    std::ranges::reverse(point.tail);
    points_.push_back(std::move(point));
  }
}

double BatchTable::share_at(double busy) const {
  const auto above = std::ranges::find_if(points_, [&](const Point& p) { return p.busy >= busy; });
  if (above == points_.begin()) return 0;
  if (above == points_.end()) return std::min(1.0, on_line(std::min(busy, 1.0), points_.back().busy, points_.back().share, 1, 1));
  const Point& below = *std::prev(above);
  return on_line(busy, below.busy, below.share, above->busy, above->share);
}

double BatchTable::busy_at(double share) const {
  const auto above = std::ranges::find_if(points_, [&](const Point& p) { return p.share >= share; });
  if (above == points_.begin()) return 0;
  if (above == points_.end()) return on_line(std::min(share, 1.0), points_.back().share, points_.back().busy, 1, 1);
  const Point& below = *std::prev(above);
  return on_line(share, below.share, below.busy, above->share, above->busy);
}

double BatchTable::beyond(const Point& point, double times) {
  // Those that take longer than the largest value that is not above `times`.
  const auto after = std::ranges::upper_bound(point.tail, times, {}, &Tail::times);
  if (after == point.tail.begin()) return times >= 1 ? (point.tail.empty() ? 0 : point.tail.front().beyond) : 1;
  return std::prev(after)->beyond;
}

double BatchTable::chance_beyond(double share, double times) const {
  const auto above = std::ranges::find_if(points_, [&](const Point& p) { return p.share >= share; });
  if (above == points_.begin()) return beyond(points_.front(), times);
  if (above == points_.end()) return 1;
  const Point& below = *std::prev(above);
  return on_line(share, below.share, beyond(below, times), above->share, beyond(*above, times));
}

}  // namespace stint::batching
