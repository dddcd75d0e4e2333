#include "advise/prove/spot_hazard.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace stint {
namespace {

bool positive(double x) { return x > 0 && x < 1e9; }

/// Regularised lower incomplete gamma function P(a, x), by its series. Source: DLMF 8.11.4.
double gamma_below(double a, double x) {
  if (x <= 0) return 0;
  double term = 1 / a;
  double sum = term;
  for (int n = 1; n < 100'000 && term > sum * 1e-15; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return std::min(1.0, sum * std::exp(a * std::log(x) - x - std::lgamma(a)));
}

/// Where a falling (or rising) condition turns: the middle of [low, high] after halving.
template <typename Beyond>
double bisect(double low, double high, Beyond&& beyond) {
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (beyond(middle) ? high : low) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

Result<SpotHazard> SpotHazard::exponential(double mean_h) {
  if (!positive(mean_h)) return invalid("a mean life of {} h: expected more than 0", mean_h);
  return SpotHazard(Kind::kExponential, mean_h, 1);
}

Result<SpotHazard> SpotHazard::weibull(double scale_h, double shape) {
  if (!positive(scale_h) || shape < 0.2 || shape > 10)
    return invalid("Weibull with scale {} h and shape {}: expected a scale above 0 and a shape from 0.2 to 10", scale_h, shape);
  return SpotHazard(Kind::kWeibull, scale_h, shape);
}

Result<SpotHazard> SpotHazard::bathtub(double early, double early_h, double late_h, double limit_h) {
  if (!(early > 0 && early <= 1) || !positive(early_h) || !positive(late_h) || !positive(limit_h))
    return invalid("bathtub with early share {}, {} h, {} h and limit {} h: expected a share in (0, 1] and hours above 0", early,
                   early_h, late_h, limit_h);
  SpotHazard made(Kind::kBathtub, early_h, early);
  made.late_h_ = late_h;
  made.limit_h_ = limit_h;
  return made;
}

SpotHazard SpotHazard::first_of(int64_t members) const {
  CHECK(members >= 1, "the first of {}", members);
  const auto n = static_cast<double>(members);
  SpotHazard first = *this;
  switch (kind_) {
    case Kind::kExponential: first.scale_h_ /= n; return first;
    case Kind::kWeibull: first.scale_h_ *= std::pow(n, -1 / shape_); return first;
    case Kind::kBathtub: first.members_ *= n; return first;
  }
  CHECK(false, "a hazard of no kind");
}

double SpotHazard::survival(double hours) const {
  const double one = survival_of_one(hours);
  return members_ == 1 ? one : std::pow(one, members_);
}

double SpotHazard::survival_of_one(double hours) const {
  if (hours <= 0) return 1;
  switch (kind_) {
    case Kind::kExponential: return std::exp(-hours / scale_h_);
    case Kind::kWeibull: return std::exp(-std::pow(hours / scale_h_, shape_));
    case Kind::kBathtub:
      // None is gone at age 0: the late term is taken from there.
      return std::clamp(
          1 - shape_ * (1 - std::exp(-hours / scale_h_) + std::exp((hours - limit_h_) / late_h_) - std::exp(-limit_h_ / late_h_)),
          0.0, 1.0);
  }
  CHECK(false, "a hazard of no kind");
}

/// An age that less than one in 10^15 exceed.
double SpotHazard::longest_h() const {
  double hours = scale_h_ + limit_h_;
  while (survival(hours) > 1e-15)
    hours *= 2;
  return hours;
}

double SpotHazard::hours_within(double from_h, double until_h) const {
  if (until_h <= from_h) return 0;
  if (kind_ == Kind::kExponential) return scale_h_ * (survival(from_h) - survival(until_h));
  // Simpson's rule on √t, which makes a Weibull's steep beginning smooth.
  constexpr int kPanels = 400;
  const double a = std::sqrt(from_h);
  const double step = (std::sqrt(until_h) - a) / kPanels;
  double sum = 0;
  for (int i = 0; i <= kPanels; ++i) {
    const double root = a + step * i;
    const double weight = i == 0 || i == kPanels ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * survival(root * root) * 2 * root;
  }
  return sum * step / 3;
}

double SpotHazard::mean_h() const {
  switch (kind_) {
    case Kind::kExponential: return scale_h_;
    case Kind::kWeibull: return scale_h_ * std::tgamma(1 + 1 / shape_);
    case Kind::kBathtub: return hours_within(0, bisect(0, longest_h(), [&](double t) { return survival(t) <= 1e-15; }));
  }
  CHECK(false, "a hazard of no kind");
}

double SpotHazard::draw_h(Prng& prng) const {
  const double left = 1 - prng.uniform();  // in (0, 1]
  switch (kind_) {
    case Kind::kExponential: return -scale_h_ * std::log(left);
    case Kind::kWeibull: return scale_h_ * std::pow(-std::log(left), 1 / shape_);
    case Kind::kBathtub: return bisect(0, longest_h(), [&](double t) { return survival(t) < left; });
  }
  CHECK(false, "a hazard of no kind");
}

double InterruptionRate::quantile(double probability) const {
  CHECK(count > 0 && hours > 0 && probability > 0 && probability < 1, "quantile {} of Gamma({}, {})", probability, count, hours);
  double high = (count + 1) * 2;
  while (gamma_below(count, high) < probability)
    high *= 2;
  return bisect(0, high, [&](double x) { return gamma_below(count, x) >= probability; }) / hours;
}

/// Marsaglia and Tsang 2000, "A simple method for generating gamma variables".
double InterruptionRate::draw(Prng& prng) const {
  const double shape = count < 1 ? count + 1 : count;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = prng.normal();
    const double v = std::pow(1 + c * x, 3);
    const double u = 1 - prng.uniform();
    if (v <= 0 || std::log(u) >= x * x / 2 + d - d * v + d * std::log(v)) continue;
    const double boost = count < 1 ? std::pow(1 - prng.uniform(), 1 / count) : 1;
    return d * v * boost / hours;
  }
}

}  // namespace stint
