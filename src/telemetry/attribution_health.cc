#include "telemetry/attribution_health.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stint {

bool is_critical_xid(int code) {
  constexpr std::array kCritical = {48, 63, 64, 74, 79, 94, 95, 119, 120};
  return std::find(kCritical.begin(), kCritical.end(), code) != kCritical.end();
}

HealthTracker::HealthTracker(const DeviceUsage& usage)
    : xid_(usage.find(Metric::kXid)), ecc_(usage.find(Metric::kEccDoubleBit)) {}

bool HealthTracker::unhealthy(size_t hour, bool active) {
  const auto sampled = [&](const HourlySeries* s) {
    return s != nullptr && hour < s->hours.size() && s->hours[hour].covered_s > 0 ? &s->hours[hour] : nullptr;
  };
  if (const auto* h = sampled(xid_)) {
    const int code = static_cast<int>(std::lround(h->max));
    if (code != last_xid_)
      broken_ = is_critical_xid(code);
    else if (active)
      broken_ = false;  // it works again, the code is history
    last_xid_ = code;
  }
  bool ecc_grew = false;
  if (const auto* h = sampled(ecc_)) {
    ecc_grew = ecc_seen_ >= 0 && h->max > ecc_seen_;
    ecc_seen_ = std::max(ecc_seen_, double{h->max});
  }
  return broken_ || ecc_grew;
}

}  // namespace stint
