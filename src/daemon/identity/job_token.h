// A token that a task finds in its environment, for what only its job can tell: that it has saved its work, and how good a trial is.
//
// It names the launch and is proven by a key of the daemon's, so nothing is kept of it: a restart of the daemon leaves it good, and it is
// worth nothing once that launch is over. A job that is stolen from, or prints its environment, gives away no more than that.
#pragma once

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <optional>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "host/secret.h"

namespace stint {

inline constexpr std::string_view kJobTokenStart = "stint-job_";
/// Under this name in the environment of a task.
inline constexpr std::string_view kJobToken = "STINT_JOB_TOKEN";

/// "stint-job_17.0.3_" and 64 hexadecimal digits. @param key  the daemon's, not empty
inline std::string job_token(std::string_view key, const LaunchKey& launch) {
  const std::string name = format_key(launch);
  return fmt::format("{}{}_{}", kJobTokenStart, name, hmac_sha256_hex(key, "job " + name));
}

/// The launch whose token it is; none: it is no such token, or was not made with this key.
inline std::optional<LaunchKey> launch_of_token(std::string_view key, std::string_view token) {
  if (key.empty() || !token.starts_with(kJobTokenStart)) return std::nullopt;
  const std::string_view rest = token.substr(kJobTokenStart.size());
  const std::optional<LaunchKey> launch = parse_key(rest.substr(0, rest.find('_')));
  if (!launch) return std::nullopt;
  const std::string good = job_token(key, *launch);
  const bool same = good.size() == token.size() && CRYPTO_memcmp(good.data(), token.data(), good.size()) == 0;
  return same ? launch : std::nullopt;
}

}  // namespace stint
