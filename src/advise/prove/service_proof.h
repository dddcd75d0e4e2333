// A change that touches services, proven: money from the books, requests from the replay of their hours (service_replay.h).
#pragma once

#include <span>

#include "advise/books.h"
#include "advise/prove/proof.h"
#include "catalog/catalog.h"

namespace stint {

/// @param books  as the changes kept so far left them. @param marks  blocks of the period (proof_weeks.h).
/// @return rejected where even at best requests take longer than `options` allow, or too many are late; arithmetic, with the reason, where what
/// is not known decides it.
Proof prove_by_requests(const Change& change, const Books& books, const Catalog& catalog, std::span<const Instant> marks,
                        const ProofOptions& options);

}  // namespace stint
