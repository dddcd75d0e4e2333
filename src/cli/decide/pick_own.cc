#include "cli/decide/pick_own.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "catalog/own_or_rent.h"
#include "cli/decide/catalog_source.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "host/clock.h"
#include "report/figures.h"
#include "report/short_text.h"
#include "report/table.h"

namespace stint {
namespace {

Result<OwnedMachine> machine_of(const OwnArguments& a, const GpuFacts& gpu) {
  OwnedMachine m;
  for (const auto& [name, text, to] : {std::tuple("--own", &a.price, &m.price),
                                       {"--resale", &a.resale, &m.resale},
                                       {"--own-monthly", &a.per_month, &m.per_month},
                                       {"--power-price", &a.per_kwh, &m.per_kwh}}) {
    const auto amount = Money::parse(*text);
    if (!amount.ok()) return invalid("{} '{}' is no amount in USD", name, excerpt(*text));
    *to = *amount;
  }
  m.gpus = a.gpus;
  m.years = a.years;
  m.kw = a.kw > 0 ? a.kw : gpu.tdp_w * static_cast<double>(a.gpus) / 1000;
  m.idle_kw = a.idle_kw > 0 ? a.idle_kw : m.kw;
  m.pue = a.pue;
  return m;
}

/// What was assumed, and what is not counted because it was not given.
std::vector<std::string> assumptions(const OwnArguments& a, const OwnedMachine& m) {
  std::vector<std::string> notes;
  notes.push_back(fmt::format("{} for {} GPUs over {:g} years, {} at the end", m.price.to_text(), m.gpus, m.years,
                              m.resale.is_zero() ? "worth nothing" : "sold for " + m.resale.to_text()));
  if (m.per_kwh.is_zero())
    notes.emplace_back("electricity is not counted: --power-price PER_KWH");
  else
    notes.push_back(fmt::format("{:g} kW busy, {:g} kW idle{}, a PUE of {:g}{}, {} a kWh", m.kw, m.idle_kw,
                                a.idle_kw > 0 ? "" : " (as busy: --own-idle-kw)", m.pue, a.pue > 1 ? "" : " (--pue)",
                                exact_money(m.per_kwh)));
  if (a.kw <= 0 && !m.per_kwh.is_zero()) notes.emplace_back("the GPUs' data-sheet power alone, without the host: --own-kw");
  if (m.per_month.is_zero()) notes.emplace_back("space, people, maintenance and finance are not counted: --own-monthly");
  return notes;
}

std::string bought(const PriceRow& price) {
  return price.term == CommitmentTerm::kNone ? std::string(name_of(price.market))
                                             : fmt::format("{} {}", name_of(price.market), name_of(price.term));
}

void print_own(const OwnArguments& a, const OwnedMachine& m, const std::string& model, const OwnOrRent& found) {
  const Screen screen = screen_of_stdout();
  say("{}", wrapped(fmt::format("Owning: {} for a used GPU-hour of {} at {:g} % use. Cheapest to rent: {}, {} ({} {}).",
                                short_money(found.own_per_gpu_hour), model, found.use * 100,
                                short_money(found.offers.front().per_gpu_hour), found.offers.front().type->name,
                                found.offers.front().price.provider, bought(found.offers.front().price)),
                    screen));
  say("\n");
  Table table({{"rented from", Align::kLeft},
               {"instance", Align::kLeft, 0, 2},
               {"region", Align::kLeft, 0, 3},
               {"bought", Align::kLeft},
               {"per GPU-hour", Align::kRight},
               {"owning is cheaper", Align::kLeft},
               {"pays back", Align::kLeft},
               {"price as of", Align::kLeft, 0, 4}});
  for (const RentOffer& offer : found.offers) {
    const bool reserved = offer.price.market == Market::kReserved;
    const std::string when = !offer.break_even            ? "never"
                             : reserved                   ? "always"
                             : *offer.break_even <= 0.005 ? "always"
                                                          : fmt::format("above {:.0f} % use", *offer.break_even * 100);
    table.add_row({offer.price.provider, offer.type->name, offer.price.region, bought(offer.price),
                   (offer.price.estimated ? "~" : "") + short_amount(offer.per_gpu_hour), when,
                   offer.payback_months ? fmt::format("in {:.1f} months", *offer.payback_months)
                                        : fmt::format("not in {:g} years", m.years),
                   format_date(offer.price.as_of)});
  }
  fmt::print("{}\n", table.render(screen));
  fmt::print("{}", bullets(assumptions(a, m), screen));
}

nlohmann::ordered_json own_json(const OwnArguments& a, const OwnedMachine& m, const std::string& model, const OwnOrRent& found) {
  nlohmann::ordered_json out = {{"gpu_model", model},
                                {"gpus", m.gpus},
                                {"currency", m.price.currency().code()},
                                {"use_pct", found.use * 100},
                                {"fixed_per_hour", found.owned.fixed.to_decimal()},
                                {"used_per_hour", found.owned.used.to_decimal()},
                                {"own_per_gpu_hour", found.own_per_gpu_hour.to_decimal()},
                                {"notes", assumptions(a, m)},
                                {"offers", nlohmann::ordered_json::array()}};
  const auto number = [](const std::optional<double>& value, double times) {
    return value ? nlohmann::ordered_json(*value * times) : nlohmann::ordered_json(nullptr);
  };
  for (const RentOffer& offer : found.offers)
    out["offers"].push_back({{"provider", offer.price.provider},
                             {"instance_type", offer.type->name},
                             {"region", offer.price.region},
                             {"market", name_of(offer.price.market)},
                             {"term", name_of(offer.price.term)},
                             {"per_gpu_hour", offer.per_gpu_hour.to_decimal()},
                             {"break_even_use_pct", number(offer.break_even, 100)},
                             {"payback_months", number(offer.payback_months, 1)},
                             {"estimated", offer.price.estimated},
                             {"source", offer.price.source},
                             {"as_of", format_date(offer.price.as_of)}});
  return out;
}

}  // namespace

void add_own_options(Command& command, OwnArguments& own) {
  command.add_option("--own-gpus", own.gpus, "GPUs of the machine")->capture_default_str()->check(in_range(1, 1000));
  command.add_option("--years", own.years, "for which it is used (1 to 10)")->capture_default_str();
  command.add_option("--resale", own.resale, "what it sells for then, USD")->capture_default_str();
  command.add_option("--own-monthly", own.per_month, "space, people, maintenance, finance: USD a month for the machine")
      ->capture_default_str();
  command.add_option("--power-price", own.per_kwh, "USD per kWh")->capture_default_str();
  command.add_option("--own-kw", own.kw, "power of the machine when busy, kW (default: its GPUs' data sheet)")
      ->check(positive_number());
  command.add_option("--own-idle-kw", own.idle_kw, "when idle (default: as when busy)")->check(positive_number());
  command.add_option("--pue", own.pue, "power of the building over power of the machine")->capture_default_str();
  command.add_option("--use", own.use_pct, "hours used, % of all hours")->capture_default_str()->check(in_range(0, 100));
}

ExitCode run_pick_own(const OwnArguments& own, const std::vector<std::string>& gpus, const std::string& region,
                      const std::string& history, bool json) {
  const auto catalog = open_catalog(history);
  if (!catalog.ok()) return fail(catalog.error().message);
  if (gpus.size() != 1) return fail("--own needs one --gpu MODEL: which GPUs the machine has");
  const GpuFacts* const gpu = catalog->find_gpu(gpus.front());
  if (gpu == nullptr)
    return fail(fmt::format("--gpu '{}' is not in the catalogue; see stint catalog gpus", excerpt(gpus.front())));
  const auto machine = machine_of(own, *gpu);
  if (!machine.ok()) return fail(machine.error().message);
  const auto found = own_or_rent(*catalog, *machine, gpu->model, region, own.use_pct / 100);
  if (!found.ok()) return fail(found.error().message);
  if (json)
    fmt::print("{}\n", own_json(own, *machine, gpu->model, *found).dump(2));
  else
    print_own(own, *machine, gpu->model, *found);
  const Instant today = now();
  warn_of_stale_prices(
      static_cast<size_t>(std::ranges::count_if(found->offers, [&](const RentOffer& o) { return is_stale(o.price, today); })),
      found->offers.size());
  return ExitCode::kOk;
}

}  // namespace stint
