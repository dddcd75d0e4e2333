#include "cli/decide/commit_options.h"

#include "base/text.h"
#include "cli/parser.h"

namespace stint {
namespace {

Result<OwnedInstances> parse_owned(std::string_view text) {
  const auto wrong = [&] {
    return invalid("--owned '{}': write COUNTxTYPE[@REGION]=DATE, such as 20xp3.2xlarge@us-east-1=2027-03-01", excerpt(text));
  };
  const size_t x = text.find('x');
  const size_t equals = text.rfind('=');
  if (x == std::string_view::npos || equals == std::string_view::npos || equals < x) return wrong();
  const auto count = parse_int(trim(text.substr(0, x)));
  const std::string_view type = trim(text.substr(x + 1, equals - x - 1));
  const size_t at = type.find('@');
  const auto until = parse_instant(trim(text.substr(equals + 1)));
  if (!count || *count < 1 || *count > 1'000'000 || type.substr(0, at).empty() || !until.ok()) return wrong();
  return OwnedInstances{.instance_type = std::string(type.substr(0, at)),
                        .region = at == std::string_view::npos ? "" : std::string(type.substr(at + 1)),
                        .count = *count,
                        .until = *until};
}

Result<SavingsPlanOffer> parse_savings_plan(std::string_view text) {
  const auto wrong = [&] {
    return invalid(
        "--savings-plan '{}': write PROVIDER=TERM[,PAYMENT],DISCOUNT% or PROVIDER=TERM[,PAYMENT],TYPE[@REGION]:RATE[,…], such "
        "as aws=1y,27%",
        excerpt(text));
  };
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return wrong();
  SavingsPlanOffer offer;
  offer.provider = trim(text.substr(0, equals));
  const std::vector<std::string_view> parts = split(text.substr(equals + 1), ',');
  TRY_ASSIGN(offer.term, parse_commitment_term(trim(parts.front())));
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string_view part = trim(parts[i]);
    const size_t colon = part.rfind(':');
    if (part.ends_with('%')) {
      const auto pct = parse_int(part.substr(0, part.size() - 1));
      if (!pct || *pct < 1 || *pct > 99 || offer.discount_pct) return wrong();
      offer.discount_pct = *pct;
    } else if (colon != std::string_view::npos) {
      const std::string_view type = part.substr(0, colon);
      const size_t at = type.find('@');
      TRY_ASSIGN(const Rate rate, parse_price_per_hour(part.substr(colon + 1)));
      if (type.substr(0, at).empty()) return wrong();
      offer.rates.push_back({at == std::string_view::npos ? "" : std::string(type.substr(at + 1)),
                             std::string(type.substr(0, at)), rate.per_hour()});
    } else {
      TRY_ASSIGN(offer.payment, parse_payment_option(part));
    }
  }
  if (offer.provider.empty() || offer.term == CommitmentTerm::kNone || (!offer.discount_pct && offer.rates.empty()))
    return wrong();
  return offer;
}

}  // namespace

void add_commit_options(Command& command, CommitOptions& options) {
  command.add_option("--longest-term", options.longest_term, "commitments up to this term: 1y or 3y (default: 1y)")
      ->check(one_of({"1y", "3y"}));
  command
      .add_option("--commit-on-days", options.on_days,
                  "days of use from which on commitments count in the plan (default: 90); below 90 their risk is high")
      ->check(in_range(kFewestDaysToCommit, 3660.0));
  command.add_option(
      "--savings-plan", options.savings_plans,
      "PROVIDER=TERM[,PAYMENT],DISCOUNT% or …,TYPE[@REGION]:RATE[,…], repeated: savings plans that may be bought, such as "
      "aws=1y,27%; no provider's are in the catalogue");
  command.add_option("--owned", options.owned,
                     "COUNTxTYPE[@REGION]=DATE, repeated: commitments bought before and when they end; says how many to renew");
}

Status use_commit_options(const CommitOptions& options, AuditInput& input) {
  input.commit_on_days = options.on_days;
  TRY_ASSIGN(input.longest_term, parse_commitment_term(options.longest_term));
  for (const std::string& text : options.savings_plans) {
    TRY_ASSIGN(SavingsPlanOffer offer, parse_savings_plan(text));
    input.savings_plans.push_back(std::move(offer));
  }
  for (const std::string& text : options.owned) {
    TRY_ASSIGN(OwnedInstances owned, parse_owned(text));
    input.owned.push_back(std::move(owned));
  }
  return {};
}

}  // namespace stint
