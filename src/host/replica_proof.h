// How a server shows that it is the one that was started at an address, and not whoever was faster to listen there: it was given a secret
// at its start, and answers a question that is new each time with what only that secret makes of it.
#pragma once

#include <string>
#include <string_view>

#include "host/secret.h"

namespace stint {

/// Variable of the environment with the secret.
inline constexpr const char* kReplicaSecret = "STINT_REPLICA_SECRET";
inline constexpr const char* kChallengeHeader = "stint-challenge";
inline constexpr const char* kProofHeader = "stint-proof";
inline constexpr size_t kLongestChallenge = 128;

/// @param place  ADDRESS:PORT as the server was told: what it says holds there alone.
inline std::string replica_proof(std::string_view secret, std::string_view place, std::string_view challenge) {
  return hmac_sha256_hex(secret, "stint replica\n" + std::string(place) + "\n" + std::string(challenge));
}

}  // namespace stint
