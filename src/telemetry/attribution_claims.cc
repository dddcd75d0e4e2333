#include "telemetry/attribution_claims.h"

#include <algorithm>
#include <cmath>

namespace stint {
namespace {

__extension__ typedef __int128 Int128;

/// Utilisations closer than this are the same number that took two ways.
constexpr double kSamePercent = 0.01;

/// True when each claim has its own utilisation: all known, and not all the same.
bool told_apart(const std::vector<Claim>& claims) {
  const auto known = [](const Claim& c) { return c.activity_known; };
  if (!std::all_of(claims.begin(), claims.end(), known)) return false;
  return std::any_of(claims.begin(), claims.end(),
                     [&](const Claim& c) { return std::abs(c.mean_pct - claims.front().mean_pct) > kSamePercent; });
}

/// Weight of a claim: parts held, or parts held × utilisation in hundredths of a percent.
std::vector<Int128> weights_of(const std::vector<Claim>& claims) {
  const bool by_activity = told_apart(claims);
  std::vector<Int128> weights;
  weights.reserve(claims.size());
  for (const Claim& c : claims)
    weights.push_back(by_activity ? Int128{c.held} * std::llround(std::max(c.mean_pct, 0.0) * 100) : Int128{c.held});
  return weights;
}

}  // namespace

DeviceParts Claim::active() const { return activity_known ? held - held * idle_permille / 1000 : 0; }

void share_out(std::vector<Claim>& claims, DeviceParts capacity) {
  Int128 claimed = 0;
  for (const Claim& c : claims)
    claimed += c.held;
  if (claimed <= capacity) return;

  std::vector<Int128> weights = weights_of(claims);
  std::vector<DeviceParts> given(claims.size());
  std::vector<bool> full(claims.size());
  DeviceParts left = std::max<DeviceParts>(capacity, 0);
  // Each round fills the claims that would get more than they ask for; what they leave goes to the others.
  for (bool again = true; again && left > 0;) {
    again = false;
    Int128 total = 0;
    for (size_t i = 0; i < claims.size(); ++i)
      total += full[i] ? Int128{0} : weights[i];
    if (total == 0) {  // only idle claims are left, and the busy ones have all they ask for: by time
      for (size_t i = 0; i < claims.size(); ++i)
        if (!full[i]) total += weights[i] = claims[i].held;
      if (total == 0) break;
    }
    for (size_t i = 0; i < claims.size() && !again; ++i) {
      if (full[i] || Int128{left} * weights[i] / total < claims[i].held) continue;
      given[i] = claims[i].held;
      left -= claims[i].held;
      full[i] = again = true;
    }
    if (again) continue;
    DeviceParts handed = 0;
    for (size_t i = 0; i < claims.size(); ++i)
      if (!full[i]) handed += given[i] = static_cast<DeviceParts>(Int128{left} * weights[i] / total);
    left -= handed;
  }
  // What rounding left over, a part or two.
  for (size_t i = 0; i < claims.size() && left > 0; ++i) {
    const DeviceParts more = std::min(left, claims[i].held - given[i]);
    given[i] += more;
    left -= more;
  }
  for (size_t i = 0; i < claims.size(); ++i)
    claims[i].held = given[i];
}

void append_tenures(const std::vector<Claim>& claims, std::vector<Tenure>& tenures) {
  const size_t first = tenures.size();
  for (const Claim& c : claims) {
    if (c.held <= 0) continue;
    const auto same = [&](const Tenure& t) {
      return t.tenant == c.tenant && t.kind == c.kind && t.activity_known == c.activity_known;
    };
    const auto it = std::find_if(tenures.begin() + static_cast<std::ptrdiff_t>(first), tenures.end(), same);
    if (it != tenures.end()) {
      it->held += c.held;
      it->active += c.active();
    } else {
      tenures.push_back({c.tenant, c.kind, c.held, c.active(), c.activity_known});
    }
  }
}

}  // namespace stint
