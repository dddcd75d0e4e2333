// The demand of a History for commitments: instances on demand by provider, region and type, hour by hour, with what commitments cost
// there. Machines that are reserved, spot or owned already are no demand for another commitment.
#pragma once

#include <string>
#include <vector>

#include "advise/commit/commit_portfolio.h"
#include "advise/commit/commit_risk.h"
#include "advise/node_facts.h"
#include "catalog/catalog.h"

namespace stint {

struct CommitPool {
  std::string provider;
  std::string region;
  PortfolioType type;  ///< name: the instance type; offers: the catalogue's, upfront payments spread over the term
  Money paid;          ///< for these instances in the period
  int64_t nodes = 0;   ///< different machines seen
};

/// A commitment as the catalogue prices it.
struct CommitWay {
  CommitmentTerm term = CommitmentTerm::kOneYear;
  PaymentOption payment = PaymentOption::kNoUpfront;
  CommitOffer offer;  ///< upfront payments spread over the term
};
/// One per term and payment, the price of that very region, in `currency`.
std::vector<CommitWay> ways_to_commit(const Catalog& catalog, const std::string& provider, const std::string& region,
                                      const std::string& instance_type, Currency currency, CommitmentTerm longest);

struct CommitPools {
  std::vector<CommitPool> pools;   ///< ascending by provider, region, type
  std::vector<std::string> notes;  ///< what was left out, and why
};

/// @param longest  terms that may be bought: kOneYear, or kThreeYears for both.
/// @param facts  with at least one hour. An hour's demand is the time all of a pool's machines were there, in whole instance-hours.
CommitPools commit_pools(const FleetFacts& facts, const Catalog& catalog, CommitmentTerm longest);

/// Discount of a savings plan on every type, percent. @return the pools' types as a portfolio takes them.
std::vector<PortfolioType> portfolio_types(const CommitPools& pools, std::optional<int64_t> plan_discount_pct);

}  // namespace stint
