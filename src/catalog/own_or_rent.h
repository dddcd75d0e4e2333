// Own or rent: what a machine of one's own costs over its years, for each hour it is used, against the same GPUs from a cloud.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"

namespace stint {

/// All of it in one currency, that of `price`.
struct OwnedMachine {
  Money price;      ///< of the whole machine
  Money resale;     ///< what it sells for at the end
  Money per_month;  ///< space, people, maintenance, finance
  Money per_kwh;    ///< of electricity
  int64_t gpus = 8;
  double years = 4;    ///< 1 … 10
  double kw = 0;       ///< at the plug when busy
  double idle_kw = 0;  ///< when not
  double pue = 1;      ///< power of the building over power of the machine
};

/// What it costs whether it is used or not, and what an hour of use adds. All per hour of the whole machine.
struct OwnedHour {
  Money fixed;  ///< price less resale, monthly costs, idle power, over all hours of its years
  Money used;   ///< power of a busy hour beyond that of an idle one
  /// One GPU-hour of use. @param use  share of all hours that the machine is used, above 0.
  [[nodiscard]] Money per_used_gpu_hour(double use, int64_t gpus) const;
};

/// @return error naming what is out of range, or currencies that differ.
Result<OwnedHour> hour_of(const OwnedMachine& machine);

/// One way to rent the same GPUs.
struct RentOffer {
  const InstanceType* type = nullptr;  ///< points into the catalogue
  PriceRow price;                      ///< of one instance
  Money per_gpu_hour;
  /// Share of all hours above which owning is cheaper than renting for the hours of use alone; none = never, not at 100 %.
  std::optional<double> break_even;
  /// Months of that use until the price is paid back; none = not within its years.
  std::optional<double> payback_months;
};

struct OwnOrRent {
  OwnedHour owned;
  Money own_per_gpu_hour;  ///< at `use`
  double use = 1;
  std::vector<RentOffer> offers;  ///< the cheapest of each provider and market, ascending by price of a GPU-hour
};

/// @param gpu_model  canonical. @param region  as in region_in(). Reserved offers are paid for every hour, used or not, and break
/// even where a used hour of both costs the same. @return error when no such GPU has a price there in that currency.
Result<OwnOrRent> own_or_rent(const Catalog& catalog, const OwnedMachine& machine, const std::string& gpu_model,
                              const std::string& region, double use);

}  // namespace stint
