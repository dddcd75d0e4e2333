// stint catalog: GPU facts, instance types, prices and MIG profiles, as tables or JSON.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/nearest.h"
#include "base/text.h"
#include "catalog/timed_offers.h"
#include "cli/cli.h"
#include "cli/decide/catalog_source.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "host/clock.h"
#include "model/mig.h"
#include "report/short_text.h"
#include "report/table.h"

namespace stint {
namespace {

using SortedJson = nlohmann::json;  // keys in their order

struct CatalogArguments {
  std::string gpu, provider, region, type, market, history, measured;
  bool layouts = false;
  bool json = false;
};

SortedJson or_null(const std::optional<double>& value) { return value ? SortedJson(*value) : SortedJson(nullptr); }
std::string or_dash(const std::optional<double>& value) { return value ? fmt::format("{:.4g}", *value) : "–"; }

/// An empty filter lets everything through.
bool passes(std::string_view filter, std::string_view text) { return filter.empty() || contains_ignoring_case(text, filter); }

bool is_gpu(const Catalog& catalog, std::string_view filter, std::string_view model) {
  if (filter.empty()) return true;
  const GpuFacts* asked = catalog.find_gpu(filter);
  return asked != nullptr ? asked->model == model : contains_ignoring_case(model, filter);
}

/// @param models  of what is shown: --gpu must name at least one of them.
Status check_gpu(const Catalog& catalog, const std::string& gpu, const std::vector<std::string>& models, std::string_view what) {
  if (std::ranges::any_of(models, [&](const std::string& model) { return is_gpu(catalog, gpu, model); })) return {};
  return invalid("--gpu {}: no {}{}", excerpt(gpu), what, what_exists(gpu, models));
}

/// @param names  what the option filters, each once: it must let at least one of them through.
Status check_filter(std::string_view option, const std::string& filter, const std::set<std::string>& names,
                    std::string_view what) {
  if (std::ranges::any_of(names, [&](const std::string& name) { return passes(filter, name); })) return {};
  const std::vector<std::string> all(names.begin(), names.end());
  return invalid("{} {}: no such {}{}", option, excerpt(filter), what, what_exists(filter, all));
}

/// Of rows with a provider and an instance type.
Status check_types(const auto& rows, const CatalogArguments& a, const auto& type_of) {
  std::set<std::string> providers, types;
  for (const auto& row : rows) {
    providers.insert(row.provider);
    if (passes(a.provider, row.provider)) types.insert(type_of(row));
  }
  TRY(check_filter("--provider", a.provider, providers, "provider"));
  return check_filter("--type", a.type, types, "instance type");
}

std::vector<std::string> gpu_models(const Catalog& catalog) {
  std::vector<std::string> models;
  for (const GpuFacts& g : catalog.gpus())
    models.push_back(g.model);
  return models;
}

/// Rows that pass each filter by itself may not pass all of them.
ExitCode print_rows(const Table& table, const SortedJson& rows, bool json, const std::string& what) {
  if (json ? rows.empty() : table.empty())
    return fail(fmt::format("no {} in the catalogue passes all the filters together: leave one out", what));
  fmt::print("{}", json ? indented(rows) + "\n" : table.render(screen_of_stdout()));
  return ExitCode::kOk;
}

SortedJson measured_json(const MeasuredRates& m) {
  if (m.source.empty()) return nullptr;
  return {{"fp32_tflops", or_null(m.fp32_tflops)},
          {"tf32_tflops", or_null(m.tf32_tflops)},
          {"16bit_tflops", or_null(m.half_tflops)},
          {"memory_gb_s", or_null(m.memory_gb_s)},
          {"source", m.source},
          {"as_of", format_utc(m.as_of)}};
}

/// The data sheet's figures and, below them, what was measured.
void add_measured_row(Table& table, const GpuFacts& g) {
  const MeasuredRates& m = g.measured;
  if (m.source.empty()) return;
  table.add_row({"  measured", "", or_dash(m.memory_gb_s), or_dash(m.fp32_tflops), or_dash(m.tf32_tflops), or_dash(m.half_tflops),
                 "", "", "", "", "", m.source, format_date(m.as_of)},
                Tone::kGood);
}

SortedJson gpu_json(const GpuFacts& g) {
  return {{"model", g.model},
          {"aliases", g.aliases},
          {"vendor", g.vendor},
          {"architecture", g.architecture},
          {"memory_bytes", g.memory.count()},
          {"memory_bandwidth_gb_s", g.memory_bandwidth_gb_s},
          {"fp32_tflops", or_null(g.fp32_tflops)},
          {"tf32_tflops", or_null(g.tf32_tflops)},
          {"fp16_tflops", or_null(g.fp16_tflops)},
          {"bf16_tflops", or_null(g.bf16_tflops)},
          {"fp8_tflops", or_null(g.fp8_tflops)},
          {"int8_tops", or_null(g.int8_tops)},
          {"tdp_w", g.tdp_w},
          {"link_gb_s", or_null(g.link_gb_s)},
          {"mig", g.mig},
          {"measured", measured_json(g.measured)},
          {"source", g.source},
          {"as_of", format_date(g.as_of)}};
}

ExitCode run_gpus(const CatalogArguments& a) {
  const auto opened = open_catalog({}, a.measured);
  if (!opened.ok()) return fail(opened.error().message);
  const Catalog& catalog = *opened;
  if (const Status known = check_gpu(catalog, a.gpu, gpu_models(catalog), "such GPU"); !known.ok())
    return fail(known.error().message);
  SortedJson rows = SortedJson::array();
  Table table({{"model"},
               {"memory GiB", Align::kRight},
               {"GB/s", Align::kRight, 0, 1},
               {"FP32 TFLOPS", Align::kRight, 0, 5},
               {"TF32 TFLOPS", Align::kRight, 0, 5},
               {"FP16/BF16 TFLOPS", Align::kRight},
               {"FP8 TFLOPS", Align::kRight, 0, 4},
               {"INT8 TOPS", Align::kRight, 0, 4},
               {"TDP W", Align::kRight, 0, 2},
               {"link GB/s", Align::kRight, 0, 3},
               {"MIG", Align::kLeft, 0, 1},
               {"source", Align::kLeft, 0, 7},
               {"as of", Align::kLeft, 0, 6}});
  for (const GpuFacts& g : catalog.gpus()) {
    if (!is_gpu(catalog, a.gpu, g.model)) continue;
    if (a.json) rows.push_back(gpu_json(g));
    table.add_row({g.model, fmt::format("{:.4g}", g.memory.to_gibi()), fmt::format("{:.0f}", g.memory_bandwidth_gb_s),
                   or_dash(g.fp32_tflops), or_dash(g.tf32_tflops), or_dash(g.bf16_tflops ? g.bf16_tflops : g.fp16_tflops),
                   or_dash(g.fp8_tflops), or_dash(g.int8_tops), fmt::format("{:.0f}", g.tdp_w), or_dash(g.link_gb_s),
                   g.mig ? "yes" : "no", g.source, format_date(g.as_of)});
    add_measured_row(table, g);
  }
  return print_rows(table, rows, a.json, "GPU");
}

ExitCode run_instances(const CatalogArguments& a) {
  const Catalog& catalog = Catalog::built_in();
  if (const Status known = check_gpu(catalog, a.gpu, gpu_models(catalog), "such GPU"); !known.ok())
    return fail(known.error().message);
  if (const Status known = check_types(catalog.instances(), a, [](const InstanceType& t) { return t.name; }); !known.ok())
    return fail(known.error().message);
  SortedJson rows = SortedJson::array();
  Table table({{"provider"},
               {"instance type"},
               {"GPU"},
               {"GPUs", Align::kRight},
               {"GiB per GPU", Align::kRight, 0, 2},
               {"vCPUs", Align::kRight, 0, 1},
               {"RAM GiB", Align::kRight, 0, 2},
               {"host", Align::kLeft, 0, 4},
               {"best for", Align::kLeft, 0, 3},
               {"as of", Align::kLeft, 0, 5}});
  for (const InstanceType& t : catalog.instances()) {
    if (!passes(a.provider, t.provider) || !passes(a.type, t.name) || !is_gpu(catalog, a.gpu, t.gpu_model)) continue;
    if (a.json)
      rows.push_back({{"provider", t.provider},
                      {"instance_type", t.name},
                      {"gpu_model", t.gpu_model},
                      {"gpu_milli", t.gpu_milli},
                      {"gpu_memory_bytes", t.gpu_memory.count()},
                      {"vcpus", t.vcpus},
                      {"memory_bytes", t.memory.count()},
                      {"arch", t.arch},
                      {"best_for", t.best_for},
                      {"source", t.source},
                      {"as_of", format_date(t.as_of)}});
    table.add_row({t.provider, t.name, t.gpu_model.empty() ? "–" : t.gpu_model,
                   fmt::format("{:.3g}", static_cast<double>(t.gpu_milli) / 1000),
                   t.gpu_milli == 0 ? "–" : fmt::format("{:.4g}", t.gpu_memory.to_gibi()), std::to_string(t.vcpus),
                   fmt::format("{:.5g}", t.memory.to_gibi()), t.arch, t.best_for, format_date(t.as_of)});
  }
  return print_rows(table, rows, a.json, "instance type");
}

ExitCode run_prices(const CatalogArguments& a) {
  std::optional<Market> market;
  if (!a.market.empty()) {
    const auto parsed = parse_market(a.market);
    if (!parsed.ok()) return fail(parsed.error().message);
    market = *parsed;
  }
  const auto catalog = open_catalog(a.history);
  if (!catalog.ok()) return fail(catalog.error().message);
  if (const Status known = check_gpu(*catalog, a.gpu, gpu_models(*catalog), "such GPU"); !known.ok())
    return fail(known.error().message);
  if (const Status known = check_types(catalog->prices(), a, [](const PriceRow& p) { return p.instance_type; }); !known.ok())
    return fail(known.error().message);
  std::set<std::string> regions;
  for (const PriceRow& p : catalog->prices())
    if (passes(a.provider, p.provider)) regions.insert(p.region);
  if (const Status known = check_filter("--region", a.region, regions, "region"); !known.ok()) return fail(known.error().message);
  const Instant today = now();
  SortedJson rows = SortedJson::array();
  size_t stale = 0, shown = 0;
  Table table({{"provider"},
               {"region"},
               {"instance type"},
               {"market", Align::kLeft, 0, 1},
               {"term", Align::kLeft, 0, 2},
               {"per hour", Align::kRight},
               {"currency"},
               {"as of", Align::kLeft, 0, 3},
               {"source", Align::kLeft, 0, 4}});
  for (const PriceRow& p : catalog->prices()) {
    if (!passes(a.provider, p.provider) || !passes(a.region, p.region) || !passes(a.type, p.instance_type) ||
        (market && p.market != *market))
      continue;
    if (!a.gpu.empty()) {
      const InstanceType* type = catalog->find_instance(p.provider, p.instance_type);
      if (type == nullptr || !is_gpu(*catalog, a.gpu, type->gpu_model)) continue;
    }
    ++shown;
    if (is_stale(p, today)) ++stale;
    const Money rate = p.rate.per_hour();
    if (a.json)
      rows.push_back({{"provider", p.provider},
                      {"region", p.region},
                      {"instance_type", p.instance_type},
                      {"market", name_of(p.market)},
                      {"term", name_of(p.term)},
                      {"payment", name_of(p.payment)},
                      {"per_hour", rate.to_decimal()},
                      {"currency", rate.currency().code()},
                      {"estimated", p.estimated},
                      {"stale", is_stale(p, today)},
                      {"source", p.source},
                      {"as_of", format_date(p.as_of)}});
    table.add_row({p.provider, p.region, p.instance_type, std::string(name_of(p.market)),
                   fmt::format("{}{}{}", name_of(p.term), p.payment == PaymentOption::kNone ? "" : " ", name_of(p.payment)),
                   fmt::format("{}{}", p.estimated ? "~" : "", short_amount(rate)), std::string(rate.currency().code()),
                   format_date(p.as_of), p.source},
                  is_stale(p, today) ? Tone::kMuted : Tone::kPlain);
  }
  const ExitCode code = print_rows(table, rows, a.json, "price");
  warn_of_stale_prices(stale, shown);
  return code;
}

ExitCode run_timed(const CatalogArguments& a) {
  SortedJson rows = SortedJson::array();
  Table table({{"provider"},
               {"region"},
               {"instance type"},
               {"market"},
               {"per hour", Align::kRight},
               {"hours", Align::kRight, 0, 1},
               {"in steps of", Align::kRight, 0, 2},
               {"begins within", Align::kRight, 0, 3},
               {"paid", Align::kLeft, 0, 4},
               {"as of", Align::kLeft, 0, 5},
               {"source", Align::kLeft, 0, 6}});
  for (const TimedOffer& o : timed_offers()) {
    const InstanceType* type = Catalog::built_in().find_instance(o.provider, o.instance_type);
    if (!a.gpu.empty() && (type == nullptr || !is_gpu(Catalog::built_in(), a.gpu, type->gpu_model))) continue;
    if (!passes(a.provider, o.provider) || !passes(a.region, o.region) || !passes(a.type, o.instance_type)) continue;
    const std::string rate = o.rate ? o.rate->per_hour().to_decimal() : "";
    if (a.json)
      rows.push_back({{"provider", o.provider},
                      {"region", o.region},
                      {"instance_type", o.instance_type},
                      {"market", name_of(o.market)},
                      {"per_hour", o.rate ? SortedJson(rate) : SortedJson(nullptr)},
                      {"currency", o.rate ? SortedJson(o.rate->per_hour().currency().code()) : SortedJson(nullptr)},
                      {"fewest_hours", o.fewest_hours},
                      {"most_hours", o.most_hours},
                      {"whole_hours", o.whole_hours},
                      {"wait_hours", o.wait_hours},
                      {"upfront", o.upfront},
                      {"source", o.source},
                      {"as_of", format_date(o.as_of)}});
    table.add_row({o.provider, o.region.empty() ? "all" : o.region, o.instance_type, std::string(name_of(o.market)),
                   o.rate ? short_amount(o.rate->per_hour()) : "not known", fmt::format("{}–{}", o.fewest_hours, o.most_hours),
                   fmt::format("{} h", o.whole_hours), fmt::format("{} h", o.wait_hours), o.upfront ? "at once" : "as used",
                   format_date(o.as_of), o.source});
  }
  return print_rows(table, rows, a.json, "offer");
}

SortedJson profile_json(const MigGeometry& g, const MigProfile& p) {
  return {{"gpu_model", g.gpu_model},
          {"profile", p.name},
          {"compute_slices", p.compute_slices},
          {"memory_slices", p.memory_slices},
          {"memory_bytes", p.memory.count()},
          {"max_count", p.max_count},
          {"starts", p.starts},
          {"parts", g.parts_of(p)},
          {"total_parts", g.total_parts()}};
}

/// Maximal layouts without the +me twins, which hold what the plain profiles hold.
void show_layouts(const MigGeometry& g, const CatalogArguments& a, SortedJson& rows, Table& table) {
  for (const MigLayout& layout : maximal_layouts(g, MediaProfiles::kExclude)) {
    const MigParts parts = parts_in(g, layout);
    std::vector<std::string> places;
    for (const MigPlacement& p : layout)
      places.push_back(fmt::format("{}@{}", g.profiles[static_cast<size_t>(p.profile)].name, p.start));
    if (a.json)
      rows.push_back({{"gpu_model", g.gpu_model},
                      {"layout", describe(g, layout)},
                      {"placements", places},
                      {"stranded_parts", parts.stranded},
                      {"total_parts", g.total_parts()}});
    table.add_row({g.gpu_model, describe(g, layout), fmt::format("{}", fmt::join(places, " ")),
                   fmt::format("{}/{}", parts.stranded, g.total_parts())});
  }
}

ExitCode run_mig(const CatalogArguments& a) {
  const Catalog& catalog = Catalog::built_in();
  std::vector<std::string> divisible;
  for (const MigGeometry& g : mig_geometries())
    divisible.push_back(g.gpu_model);
  if (const Status known = check_gpu(catalog, a.gpu, divisible, "GPU with MIG of that name"); !known.ok())
    return fail(known.error().message);
  SortedJson rows = SortedJson::array();
  Table profiles({{"GPU"},
                  {"profile"},
                  {"compute slices", Align::kRight},
                  {"memory slices", Align::kRight},
                  {"memory GiB", Align::kRight},
                  {"most", Align::kRight},
                  {"starts at memory slice"},
                  {"share", Align::kRight}});
  Table layouts({{"GPU"}, {"layout"}, {"profile@memory slice"}, {"stranded", Align::kRight}});
  for (const MigGeometry& g : mig_geometries()) {
    if (!is_gpu(catalog, a.gpu, g.gpu_model)) continue;
    if (a.layouts) {
      show_layouts(g, a, rows, layouts);
      continue;
    }
    for (const MigProfile& p : g.profiles) {
      if (a.json) rows.push_back(profile_json(g, p));
      profiles.add_row({g.gpu_model, p.name, std::to_string(p.compute_slices), std::to_string(p.memory_slices),
                        fmt::format("{:.2f}", p.memory.to_gibi()), std::to_string(p.max_count),
                        fmt::format("{}", fmt::join(p.starts, " ")), fmt::format("{}/{}", g.parts_of(p), g.total_parts())});
    }
  }
  return print_rows(a.layouts ? layouts : profiles, rows, a.json, "MIG geometry");
}

}  // namespace

void add_catalog_command(Command& app, Action& action) {
  auto a = std::make_shared<CatalogArguments>();
  Command* command =
      app.add_subcommand("catalog", "Shows GPU facts, instance types, prices and MIG profiles, each with its source and date");
  command->require_subcommand(1);
  command->footer("Example: stint catalog prices --gpu A100-80GB --region eu --market spot");
  const auto add = [&](const char* name, const char* what, const char* example, ExitCode (*run)(const CatalogArguments&)) {
    Command* sub = command->add_subcommand(name, what);
    sub->footer(std::string("Example: stint catalog ") + name + " " + example);  // else the parent's is shown
    sub->add_option("--gpu", a->gpu, "only this GPU model");
    sub->add_flag("--json", a->json, "print JSON");
    sub->callback([a, run, &action] { action = [a, run] { return run(*a); }; });
    return sub;
  };
  add("gpus", "Data-sheet facts, and what was measured; rates are dense", "--gpu H100-80GB --measured rates.csv", run_gpus)
      ->add_option("--measured", a->measured, "rates measured by stint bench, shown below the data sheet's");
  Command* instances = add("instances", "Instance types", "--provider aws --gpu L4", run_instances);
  Command* prices = add("prices", "Prices per hour of a whole instance; ~ marks an estimate",
                        "--gpu A100-80GB --region eu --market spot", run_prices);
  Command* timed =
      add("timed", "Machines for a time that is said ahead: capacity blocks, flex-start", "--provider aws", run_timed);
  Command* mig = add("mig", "MIG profiles, or the layouts that fill a GPU", "--gpu A100-80GB --layouts", run_mig);
  mig->add_flag("--layouts", a->layouts, "every layout nothing can be added to, and what it strands");
  for (Command* sub : {instances, prices, timed}) {
    sub->add_option("--provider", a->provider, "only this provider");
    sub->add_option("--type", a->type, "only types whose name contains this");
  }
  for (Command* sub : {prices, timed})
    sub->add_option("--region", a->region, "only regions whose name contains this");
  prices->add_option("--market", a->market, "on-demand, spot or reserved");
  add_catalog_refresh_command(*command, action);
  prices->add_option("--history", a->history, "lay this History's imported prices over the built-in ones");
}

}  // namespace stint
