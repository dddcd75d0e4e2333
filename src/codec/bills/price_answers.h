// What readers of providers' price answers share.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "codec/importer.h"
#include "codec/sink.h"

namespace stint {

inline constexpr int64_t kHoursOfYear = 8'760;

/// Prices by what they are for; of several for one thing the cheapest counts.
class CheapestPrices {
 public:
  void keep(PriceRow row);
  void give(Sink& sink) const;

 private:
  using Key = std::tuple<std::string, std::string, Market, CommitmentTerm, PaymentOption, Currency>;
  std::map<Key, PriceRow> rows_;
};

/// A reservation of AWS by its words: `1yr`, `standard`, `Partial Upfront`.
/// @return whether it is one that can be bought as a plan has it: standard, one or three years. Then `row` says which.
bool set_aws_commitment(std::string_view length, std::string_view offering_class, std::string_view purchase_option,
                        PriceRow& row);

/// What one dimension of an AWS price adds to an hour: a fee at the beginning is spread over the term.
/// @param unit  `Hrs` or `Quantity`.
Result<Money> aws_hourly_part(std::string_view unit, std::string_view decimal, std::string_view currency, CommitmentTerm term);

/// Is what AWS prices a machine as it is rented here: with GPUs, Linux without other software, on shared hosts?
struct AwsMachine {
  std::string_view gpus, operating_system, tenancy, software, capacity;
  [[nodiscard]] bool is_priced() const {
    return !gpus.empty() && operating_system == "Linux" && tenancy == "Shared" && software == "NA" &&
           (capacity == "Used" || capacity.empty());
  }
};

/// An offer file of AmazonEC2 in CSV.
std::unique_ptr<Importer> make_aws_price_csv_importer(const ImportOptions& options, Sink& sink);

}  // namespace stint
