// stint catalog refresh: providers' price files into a History, whose prices lie over the built-in ones, and what that changed.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/counted.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/decide/catalog_source.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "cli/understand/import_outcome.h"
#include "host/clock.h"
#include "host/file.h"
#include "report/short_text.h"
#include "report/table.h"

namespace stint {
namespace {

constexpr size_t kMostShownPriceChanges = 40;

/// How a file of a format begins: any of these words tells it.
struct PriceFormat {
  const char* name;
  std::array<std::string_view, 2> words;
};
constexpr std::array<PriceFormat, 7> kPriceFormats = {{{"aws-spot-prices", {"\"SpotPriceHistory\"", "\"SpotPriceHistory\""}},
                                                       {"aws-prices", {"\"PriceList\"", "\"offerCode\""}},
                                                       {"aws-prices", {"\"OfferCode\"", "OfferCode,"}},
                                                       {"google-skus", {"\"skuId\"", "\"serviceRegions\""}},
                                                       {"azure-prices", {"\"retailPrice\"", "\"BillingCurrency\""}},
                                                       {"skypilot", {"InstanceType,", ",SpotPrice,"}},
                                                       {"prices", {"per_hour,", ",per_hour"}}}};

struct RefreshOptions {
  std::vector<std::string> files;
  std::string history, format, at;
  bool json = false;
};

/// What the lookup of one key answered before and after.
struct PriceChange {
  const PriceRow* before = nullptr;  ///< null = no price was known
  const PriceRow* after = nullptr;
  [[nodiscard]] std::optional<double> percent() const {
    if (before == nullptr || before->rate.per_hour().currency() != after->rate.per_hour().currency()) return std::nullopt;
    return 100 * (after->rate.per_hour().to_double() / before->rate.per_hour().to_double() - 1);
  }
  /// It holds as of an earlier day than the built-in price it replaced; in a History the later day counts.
  [[nodiscard]] bool older() const { return before != nullptr && after->as_of < before->as_of; }
};

struct RefreshResult {
  std::vector<ImportOutcome> imports;
  std::vector<PriceChange> changes;  ///< new prices, and those that differ; the largest first
  size_t confirmed = 0;              ///< the same price, of another day or source
};

Result<const ImportFormat*> format_of(const std::string& path) {
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  TRY_ASSIGN(const std::string_view piece, file.read());
  const std::string_view head = piece.substr(0, 64 << 10);
  for (const PriceFormat& format : kPriceFormats)
    if (std::ranges::any_of(format.words, [&](std::string_view word) { return head.find(word) != std::string_view::npos; }))
      return find_import_format(format.name);
  return invalid("{}: not told by how it begins: name its kind with --format", path);
}

/// When the file was written: what says no date holds as of then.
Result<Instant> written_at(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) return invalid("{}: no such file", path);
  return Instant::from_seconds(status.st_mtim.tv_sec);
}

auto price_key(const PriceRow& p) { return std::tie(p.provider, p.instance_type, p.region, p.market, p.term, p.payment); }

void compare(const Catalog& before, const Catalog& after, RefreshResult& out) {
  auto old = before.prices().begin();
  for (const PriceRow& row : after.prices()) {
    while (old != before.prices().end() && price_key(*old) < price_key(row))
      ++old;
    const bool known = old != before.prices().end() && price_key(*old) == price_key(row);
    if (!known || old->rate != row.rate || old->rate.per_hour().currency() != row.rate.per_hour().currency())
      out.changes.push_back({known ? &*old : nullptr, &row});
    else if (old->as_of != row.as_of || old->source != row.source)
      ++out.confirmed;
  }
  std::ranges::stable_sort(out.changes, std::ranges::greater(),
                           [](const PriceChange& c) { return std::abs(c.percent().value_or(0)); });
}

std::string changes_table(const RefreshResult& result) {
  Table table({{"provider"},
               {"region"},
               {"instance type"},
               {"market", Align::kLeft, 0, 1},
               {"term", Align::kLeft, 0, 2},
               {"before", Align::kRight},
               {"now", Align::kRight},
               {"change", Align::kRight},
               {"as of", Align::kLeft, 0, 3},
               {"source", Align::kLeft, 0, 4}});
  for (size_t i = 0; i < std::min(result.changes.size(), kMostShownPriceChanges); ++i) {
    const PriceChange& c = result.changes[i];
    const PriceRow& p = *c.after;
    const auto percent = c.percent();
    table.add_row(
        {p.provider, p.region, p.instance_type, std::string(name_of(p.market)), std::string(name_of(p.term)),
         c.before == nullptr ? "–" : short_amount(c.before->rate.per_hour()), short_amount(p.rate.per_hour()),
         percent ? fmt::format("{:+.1f} %", *percent) : "new", format_date(p.as_of) + (c.older() ? " (older)" : ""), p.source},
        c.older() ? Tone::kWarn : Tone::kPlain);
  }
  std::string out = table.empty() ? "" : table.render(screen_of_stdout());
  if (result.changes.size() > kMostShownPriceChanges)
    out += fmt::format("{} more are in --json.\n", result.changes.size() - kMostShownPriceChanges);
  return out + fmt::format("{}, {} confirmed.\n", counted(result.changes.size(), "price changed or new", "prices changed or new"),
                           result.confirmed);
}

nlohmann::json result_json(const RefreshResult& result) {
  auto imports = nlohmann::json::array();
  for (const ImportOutcome& outcome : result.imports)
    imports.push_back(outcome_json(outcome));
  auto changes = nlohmann::json::array();
  for (const PriceChange& c : result.changes) {
    const PriceRow& p = *c.after;
    const auto percent = c.percent();
    const auto decimal = [](const PriceRow* row) {
      return row == nullptr ? nlohmann::json() : nlohmann::json(row->rate.per_hour().to_decimal());
    };
    changes.push_back({{"provider", p.provider},
                       {"region", p.region},
                       {"instance_type", p.instance_type},
                       {"market", name_of(p.market)},
                       {"term", name_of(p.term)},
                       {"payment", name_of(p.payment)},
                       {"before", decimal(c.before)},
                       {"after", decimal(c.after)},
                       {"currency", p.rate.per_hour().currency().code()},
                       {"change_pct", percent ? nlohmann::json(*percent) : nlohmann::json()},
                       {"as_of_before", c.before == nullptr ? nlohmann::json() : nlohmann::json(format_date(c.before->as_of))},
                       {"as_of", format_date(p.as_of)},
                       {"older", c.older()},
                       {"source", p.source}});
  }
  return {{"imports", std::move(imports)}, {"changes", std::move(changes)}, {"confirmed", result.confirmed}};
}

Result<std::vector<ImportOutcome>> import_price_files(const RefreshOptions& o) {
  std::vector<ImportOutcome> outcomes;
  // All are told apart before the first is imported.
  std::vector<FileImport> wanted;
  for (const std::string& path : o.files) {
    FileImport one{.path = path};
    TRY_ASSIGN(one.format, o.format.empty() ? format_of(path) : Result<const ImportFormat*>(find_import_format(o.format)));
    TRY_ASSIGN(one.options.at, o.at.empty() ? written_at(path) : parse_instant(o.at));
    wanted.push_back(std::move(one));
  }
  TRY_ASSIGN(HistoryFile history, HistoryFile::open(o.history, OpenMode::kCreate));
  for (const FileImport& one : wanted) {
    ProgressLine progress(one.path);
    TRY_ASSIGN(ImportOutcome outcome, import_file(history, one, now(), progress.callback()));
    progress.clear();
    if (!o.json) print_outcome(outcome);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

Result<ExitCode> run_refresh(const RefreshOptions& o) {
  const bool there = is_regular_file(o.history);
  TRY_ASSIGN(const Catalog before, open_catalog(there ? o.history : ""));
  RefreshResult result;
  TRY_ASSIGN(result.imports, import_price_files(o));
  TRY_ASSIGN(const Catalog after, open_catalog(o.history));
  compare(before, after, result);
  fmt::print("{}", o.json ? indented(result_json(result)) + "\n" : changes_table(result));
  const bool all =
      std::ranges::all_of(result.imports, [](const ImportOutcome& i) { return i.already_there || i.record.rejected == 0; });
  return all ? ExitCode::kOk : ExitCode::kPartly;
}

}  // namespace

void add_catalog_refresh_command(Command& catalog, Action& action) {
  auto o = std::make_shared<RefreshOptions>();
  Command* command = catalog.add_subcommand("refresh", "Takes providers' price files, and shows what they changed");
  command->footer(
      "Files of any size, told by how they begin: aws pricing get-products and offer files (JSON, CSV), aws ec2 "
      "describe-spot-price-history, Azure Retail Prices, the SKUs of Google's Cloud Billing Catalog (JSON, all pages in one "
      "file), "
      "SkyPilot's vms.csv, and Stint's price list. Exit code 3: rows were rejected, with their "
      "reason.\n"
      "Example: stint catalog refresh spot.json --history fleet.db");
  command->add_option("files", o->files, "price files, plain, .gz or .zip")->required();
  command->add_option("--history", o->history, "History whose prices lie over the built-in ones; made when it is not there")
      ->required();
  command->add_option("--format", o->format, "of all the files, where they are not told by how they begin")
      ->check(one_of({"prices", "skypilot", "aws-prices", "aws-spot-prices", "azure-prices", "google-skus"}));
  command->add_option("--at", o->at, "day of prices that carry none; without it, when the file was written");
  command->add_flag("--json", o->json, "print JSON");
  command->callback([o, &action] {
    action = [o] {
      const Result<ExitCode> done = run_refresh(*o);
      return done.ok() ? *done : fail(done.error().message);
    };
  });
}

}  // namespace stint
