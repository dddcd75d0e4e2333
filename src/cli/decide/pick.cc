// stint pick: which instance to rent for a piece of work, why, and what else was looked at.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "catalog/selection.h"
#include "cli/cli.h"
#include "cli/decide/catalog_source.h"
#include "cli/decide/pick_own.h"
#include "cli/decide/work_options.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "host/clock.h"
#include "report/short_text.h"
#include "report/table.h"

namespace stint {
namespace {

using SortedJson = nlohmann::json;  // keys in their order

struct PickArguments {
  WorkArguments work;
  std::string region, provider, budget, market = "on-demand", arch = "x86_64", history, measured;
  std::vector<std::string> gpus;
  double headroom = 20;
  OwnArguments own;
  bool json = false;
};

constexpr size_t kShownChoices = 6;
constexpr size_t kShownDropped = 12;

Result<Limits> limits_of(const PickArguments& a, const Catalog& catalog) {
  Limits l;
  l.region = a.region;
  l.provider = to_lower(a.provider);
  l.arch = a.arch;
  l.headroom = a.headroom / 100;
  TRY_ASSIGN(l.market, parse_market(a.market));
  if (l.market != Market::kOnDemand && l.market != Market::kSpot)
    return invalid("--market {}: pick compares on-demand or spot", a.market);
  TRY_ASSIGN(l.gpu_models, gpu_models_of(a.gpus, catalog));
  if (!a.budget.empty()) {
    std::string text = to_lower(trim(a.budget));
    for (const std::string_view suffix : {"/hour", "/h"})
      if (text.ends_with(suffix)) text.erase(text.size() - suffix.size());
    TRY_ASSIGN(const Money budget, Money::parse(text));
    if (budget.count_nanos() <= 0) return invalid("--budget '{}': write an amount per hour, such as 3/h", excerpt(a.budget));
    l.budget_per_hour = budget;
  }
  return l;
}

std::string hours(Duration d) {
  return d.to_hours() < 1 ? fmt::format("{:.0f} min", d.to_seconds() / 60) : fmt::format("{:.1f} h", d.to_hours());
}

SortedJson choice_json(const Choice& c) {
  return {{"provider", c.type->provider},
          {"instance_type", c.type->name},
          {"gpu_model", c.type->gpu_model},
          {"instances", c.instances},
          {"gpus", c.gpus_held()},
          {"region", c.price.region},
          {"market", name_of(c.price.market)},
          {"currency", c.per_hour.currency().code()},
          {"per_hour", c.per_hour.to_decimal()},
          {"total", c.total ? SortedJson(c.total->to_decimal()) : SortedJson(nullptr)},
          {"duration_s", c.duration ? SortedJson(c.duration->to_seconds()) : SortedJson(nullptr)},
          {"latency_ms", c.latency_ms ? SortedJson(*c.latency_ms) : SortedJson(nullptr)},
          {"rate_per_s", c.rate},
          {"rate_basis", c.basis},
          {"memory_gib_needed", c.memory_gib_needed},
          {"memory_gib_usable", c.memory_gib_usable},
          {"estimated", c.price.estimated},
          {"source", c.price.source},
          {"as_of", format_date(c.price.as_of)}};
}

void print_selection_json(const Selection& s) {
  SortedJson out = {{"choices", SortedJson::array()}, {"dropped", SortedJson::array()}, {"notes", s.notes}};
  for (const Choice& c : s.choices)
    out["choices"].push_back(choice_json(c));
  for (const Dropped& d : s.dropped)
    out["dropped"].push_back({{"provider", d.type->provider},
                              {"instance_type", d.type->name},
                              {"gpu_model", d.type->gpu_model},
                              {"per_hour", d.per_hour.to_decimal()},
                              {"reason", d.reason}});
  fmt::print("{}\n", out.dump(2, ' ', false, SortedJson::error_handler_t::replace));
}

/// "2 × g6.xlarge (aws us-east-1, 2 × L4)".
std::string name_choice(const Choice& c) {
  return fmt::format("{} × {} ({} {}, {:g} × {})", c.instances, c.type->name, c.type->provider, c.price.region, c.gpus_held(),
                     c.type->gpu_model);
}

void print_selection(const Work& work, const Selection& s) {
  const Screen screen = screen_of_stdout();
  const Choice& best = s.choices.front();
  say("{} of {} in {}: {}\n", name_of(work.kind), work.model.name, name_of(work.precision),
      toned(name_choice(best), Tone::kStrong, screen));
  if (s.choices.size() > 1) say("Runner-up: {}\n", name_choice(s.choices[1]));
  say("\n");
  Table table({{""},
               {"provider", Align::kLeft, 0, 3},
               {"region", Align::kLeft, 0, 4},
               {"instances"},
               {"GPUs", Align::kLeft, 0, 1},
               {"USD per hour", Align::kRight},
               {"time", Align::kLeft, 0, 2},
               {"USD in all", Align::kRight},
               {"per second", Align::kRight, 0, 5},
               {"rate", Align::kLeft, 0, 6},
               {"latency ms", Align::kRight, 0, 2},
               {"GiB needed/usable", Align::kRight, 0, 7},
               {"price as of", Align::kLeft, 0, 8},
               {"source", Align::kLeft, 0, 9}});
  for (size_t i = 0; i < std::min(kShownChoices, s.choices.size()); ++i) {
    const Choice& c = s.choices[i];
    table.add_row(
        {std::to_string(i + 1), c.type->provider, c.price.region, fmt::format("{} × {}", c.instances, c.type->name),
         fmt::format("{:g} × {}", c.gpus_held(), c.type->gpu_model), (c.price.estimated ? "~" : "") + short_amount(c.per_hour),
         c.duration ? hours(*c.duration) : "–", c.total ? short_amount(*c.total) : "–", fmt::format("{:.4g}", c.rate),
         std::string(c.basis), c.latency_ms ? fmt::format("{:.1f}", *c.latency_ms) : "–",
         fmt::format("{:.1f}/{:.1f}", c.memory_gib_needed, c.memory_gib_usable), format_date(c.price.as_of), c.price.source},
        i == 0 ? Tone::kStrong : Tone::kPlain);
  }
  fmt::print("{}", table.render(screen));
  if (!s.dropped.empty()) {
    say("\nCheaper per hour, and why not:\n");
    Table dropped({{"instance type"}, {"GPU"}, {"USD per hour", Align::kRight}, {"reason"}});
    for (size_t i = 0; i < std::min(kShownDropped, s.dropped.size()); ++i)
      dropped.add_row(
          {s.dropped[i].type->name, s.dropped[i].type->gpu_model, short_amount(s.dropped[i].per_hour), s.dropped[i].reason});
    fmt::print("{}", dropped.render(screen));
    if (s.dropped.size() > kShownDropped) say("and {} more; --json has all\n", s.dropped.size() - kShownDropped);
  }
  say("\n");
  for (const std::string& note : s.notes)
    say("{}", wrapped("Note: " + note + ".", screen));
}

ExitCode run_pick(const PickArguments& a) {
  if (!a.own.price.empty()) return run_pick_own(a.own, a.gpus, a.region, a.history, a.json);
  const auto catalog = open_catalog(a.history, a.measured);
  if (!catalog.ok()) return fail(catalog.error().message);
  const auto work = work_of(a.work);
  if (!work.ok()) return fail(work.error().message);
  const auto limits = limits_of(a, *catalog);
  if (!limits.ok()) return fail(limits.error().message);
  const auto selection = select_instances(*catalog, *work, *limits);
  if (!selection.ok()) return fail(selection.error().message);
  if (a.json)
    print_selection_json(*selection);
  else
    print_selection(*work, *selection);
  const size_t shown = a.json ? selection->choices.size() : std::min(kShownChoices, selection->choices.size());
  const Instant today = now();
  const auto stale = std::count_if(selection->choices.begin(), selection->choices.begin() + static_cast<std::ptrdiff_t>(shown),
                                   [&](const Choice& c) { return is_stale(c.price, today); });
  warn_of_stale_prices(static_cast<size_t>(stale), shown);
  return ExitCode::kOk;
}

}  // namespace

void add_pick_command(Command& app, Action& action) {
  auto a = std::make_shared<PickArguments>();
  Command* command =
      app.add_subcommand("pick", "Picks the cheapest instances that do the work, with the runner-up and why cheaper ones do not");
  command->footer(
      "Example: stint pick --serve bert-base --qps 500 --p99 50ms --region eu\n"
      "         stint pick --own 280000 --gpu H100-80GB --power-price 0.13 --own-monthly 2500 --use 60");
  Command* kind = command->add_option_group("work", "What is to be done; MODEL is a known name (bert-base) or parameters (7e9)");
  add_work_kinds(*kind, a->work, WorkKinds::kAll);
  kind->add_option("--own", a->own.price, "own or rent: a machine of this price, USD, with the GPUs of --gpu")
      ->type_name("PRICE");
  kind->require_option(1);
  add_work_options(*command, a->work, WorkKinds::kAll);
  command->add_option("--headroom", a->headroom, "serving: spare capacity, %")->capture_default_str()->check(in_range(0, 1000));
  command->add_option("--region", a->region, "a region, the beginning of its name, or eu for the European Union");
  command->add_option("--provider", a->provider, "only this provider");
  command->add_option("--gpu", a->gpus, "only these GPU models")->delimiter(',');
  command->add_option("--budget", a->budget, "at most, USD per hour for all instances, such as 3/h");
  command->add_option("--market", a->market, "on-demand or spot")->capture_default_str();
  command->add_option("--arch", a->arch, "of the host: x86_64, arm64 or any")->capture_default_str();
  command->add_option("--history", a->history, "lay this History's imported prices over the built-in ones");
  command->add_option("--measured", a->measured, "rates measured by stint bench, in place of data-sheet estimates");
  add_own_options(*command, a->own);
  command->add_flag("--json", a->json, "print JSON");
  command->callback([a, &action] { action = [a] { return run_pick(*a); }; });
}

}  // namespace stint
