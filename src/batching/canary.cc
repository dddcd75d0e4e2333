#include "batching/canary.h"

#include <fmt/format.h>

#include <utility>

namespace stint::batching {
namespace {

/// Fewer may be chance.
constexpr int64_t kLeastFailures = 3;
/// Part of its requests that may fail beyond what fails of the others.
constexpr double kMoreFailures = 0.01;
/// Without a promise: times as long as the others take at p99.
constexpr double kMuchSlower = 1.5;

double failing(int64_t answered, int64_t failed) {
  return answered + failed == 0 ? 0 : static_cast<double>(failed) / static_cast<double>(answered + failed);
}

}  // namespace

Canary::Canary(CanaryRules rules, Instant now, const CanarySide& canary, const CanarySide& others)
    : rules_(std::move(rules)), since_{now, canary, others} {}

std::optional<std::string> Canary::fault(const CanarySide& canary, const CanarySide& others) const {
  const int64_t failed = canary.failed - since_.canary.failed, answered = canary.answered - since_.canary.answered;
  const double own = failing(answered, failed);
  const double theirs = failing(others.answered - since_.others.answered, others.failed - since_.others.failed);
  if (failed >= kLeastFailures && own > theirs + kMoreFailures)
    return fmt::format("{:.1f} % of its requests failed, {:.1f} % of the others'", 100 * own, 100 * theirs);
  if (answered < rules_.least_requests || !canary.p99) return std::nullopt;
  if (rules_.promise && *canary.p99 > *rules_.promise)
    return fmt::format("its p99 is {:.3g} ms, {:.3g} ms are promised", canary.p99->to_seconds() * 1e3,
                       rules_.promise->to_seconds() * 1e3);
  if (!rules_.promise && others.p99 && canary.p99->to_seconds() > kMuchSlower * others.p99->to_seconds())
    return fmt::format("its p99 is {:.3g} ms, that of the others {:.3g} ms", canary.p99->to_seconds() * 1e3,
                       others.p99->to_seconds() * 1e3);
  return std::nullopt;
}

std::optional<std::string> Canary::look(Instant now, const CanarySide& canary, const CanarySide& others) {
  if (taken_back_) return std::nullopt;
  if (const auto wrong = fault(canary, others)) {
    taken_back_ = true;
    return fmt::format("gets no more requests: {}", *wrong);
  }
  const int64_t had = canary.answered + canary.failed - since_.canary.answered - since_.canary.failed;
  if (step_ + 1 == rules_.percent.size() || now - since_.at < rules_.step || had < rules_.least_requests) return std::nullopt;
  const int64_t next = rules_.percent[step_ + 1];
  const double expected = canary.per_second * static_cast<double>(next) / static_cast<double>(percent());
  if (canary.most_per_second > 0 && expected > canary.most_per_second) {
    if (std::exchange(held_, true)) return std::nullopt;
    return fmt::format("stays at {} % of the requests: {} % would be {:.3g} a second, its promise holds up to {:.3g}", percent(),
                       next, expected, canary.most_per_second);
  }
  ++step_;
  held_ = false;
  since_ = {now, canary, others};
  return fmt::format("gets {} % of the requests", next);
}

}  // namespace stint::batching
