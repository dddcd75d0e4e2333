// stint pick: which instance to rent for a piece of work, why, and what else was looked at.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "catalog/selection.h"
#include "cli/cli.h"
#include "cli/decide/catalog_source.h"
#include "cli/decide/pick_own.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "host/clock.h"
#include "report/short_text.h"
#include "report/table.h"

namespace stint {
namespace {

using SortedJson = nlohmann::json;  // keys in their order

struct PickArguments {
  std::array<std::string, 6> models;  // by position in kKinds
  std::string precision = "bf16", deadline, p99, region, provider, budget, market = "on-demand", arch = "x86_64", history,
              measured;
  std::vector<std::string> gpus;
  double tokens = 0, items = 0, qps = 0, headroom = 20;
  OwnArguments own;
  bool lora = false;
  bool json = false;
};

struct Kind {
  const char* flag;
  WorkloadKind kind;
  const char* what;
};
constexpr std::array<Kind, 6> kKinds = {{
    {"--train", WorkloadKind::kTraining, "train from scratch"},
    {"--fine-tune", WorkloadKind::kFineTuning, "fine-tune"},
    {"--serve", WorkloadKind::kRealtimeInference, "answer requests within a latency"},
    {"--batch", WorkloadKind::kBatchInference, "run over a batch of items"},
    {"--eval", WorkloadKind::kEvaluation, "evaluate"},
    {"--notebook", WorkloadKind::kNotebook, "one GPU to try things on"},
}};
constexpr size_t kShownChoices = 6;
constexpr size_t kShownDropped = 12;

/// A known model's name, or a number of parameters such as 7e9 or 7b.
Result<ModelFacts> parse_model(std::string_view text) {
  if (const ModelFacts* m = find_model(text)) return *m;
  std::string number = to_lower(trim(text));
  double unit = 1;
  if (!number.empty() && (number.back() == 'b' || number.back() == 'm')) {
    unit = number.back() == 'b' ? 1e9 : 1e6;
    number.pop_back();
  }
  const auto parameters = parse_number(number);
  if (parameters && *parameters * unit >= 1e6 && *parameters * unit <= 1e13) return decoder_of_size(*parameters * unit);
  std::vector<std::string> names;
  for (const ModelFacts& m : known_models())
    names.push_back(m.name);
  return invalid("'{}' is no known model: give its parameters (7e9, 1.3b) or one of {}", excerpt(text), fmt::join(names, ", "));
}

Result<Work> work_of(const PickArguments& a) {
  const size_t chosen = static_cast<size_t>(
      std::find_if(a.models.begin(), a.models.end(), [](const std::string& m) { return !m.empty(); }) - a.models.begin());
  TRY_ASSIGN(const ModelFacts model, parse_model(a.models[chosen]));
  Work w = default_work(kKinds[chosen].kind, model);
  TRY_ASSIGN(w.precision, parse_precision(a.precision));
  w.tuning = a.lora ? Tuning::kLora : Tuning::kFull;
  if (a.items > 0) w.items = a.items;
  if (a.tokens > 0) {
    if (model.sequence == 0) return invalid("--tokens does not go with {}, which reads images: use --items", model.name);
    w.items = a.tokens / model.sequence;
  }
  if (a.qps > 0) w.qps = a.qps;
  if (!a.deadline.empty()) {
    TRY_ASSIGN(const Duration deadline, parse_duration(a.deadline));
    w.deadline = deadline;
  }
  if (!a.p99.empty()) {
    // parse_duration knows no milliseconds: latencies are written in them.
    const std::string text = to_lower(trim(a.p99));
    const auto ms = text.ends_with("ms") ? parse_number(text.substr(0, text.size() - 2)) : std::nullopt;
    if (!ms || *ms <= 0 || *ms > 1e6) return invalid("--p99 '{}': write milliseconds, such as 50ms", excerpt(a.p99));
    w.latency_p99 = Duration::from_seconds(*ms / 1e3);
  }
  return w;
}

Result<Limits> limits_of(const PickArguments& a, const Catalog& catalog) {
  Limits l;
  l.region = a.region;
  l.provider = to_lower(a.provider);
  l.arch = a.arch;
  l.headroom = a.headroom / 100;
  TRY_ASSIGN(l.market, parse_market(a.market));
  if (l.market != Market::kOnDemand && l.market != Market::kSpot)
    return invalid("--market {}: pick compares on-demand or spot", a.market);
  for (const std::string& name : a.gpus) {
    const GpuFacts* gpu = catalog.find_gpu(name);
    if (gpu == nullptr) return invalid("--gpu '{}' is not in the catalogue; see stint catalog gpus", excerpt(name));
    l.gpu_models.push_back(gpu->model);
  }
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
  const auto work = work_of(a);
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
  for (size_t i = 0; i < kKinds.size(); ++i)
    kind->add_option(kKinds[i].flag, a->models[i], kKinds[i].what)->type_name("MODEL");
  kind->add_option("--own", a->own.price, "own or rent: a machine of this price, USD, with the GPUs of --gpu")
      ->type_name("PRICE");
  kind->require_option(1);
  command->add_option("--precision", a->precision, "fp32, bf16, fp16, fp8 or int8")->capture_default_str();
  command->add_option("--deadline", a->deadline, "jobs: done within, such as 24h");
  command->add_option("--tokens", a->tokens, "jobs: tokens to go through (training: 20 per parameter)")->check(positive_number());
  command->add_option("--items", a->items, "jobs: sequences or images to go through, epochs included")
      ->check(positive_number())
      ->excludes("--tokens");
  command->add_flag("--lora", a->lora, "fine-tune adapters only");
  command->add_option("--qps", a->qps, "serving: requests per second")->check(positive_number());
  command->add_option("--p99", a->p99, "serving: latency promised, such as 50ms; of one token for text generation");
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
