// stint plan share: which MIG instances to cut from which GPU, and what has to move for it; or who shares which GPU of a fleet.
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "advise/share/mig_plan.h"
#include "base/counted.h"
#include "base/text.h"
#include "cli/decide/plan.h"
#include "cli/decide/plan_share_fleet.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "report/table.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

struct ShareOptions {
  std::string gpu;
  size_t gpus = 1;
  std::vector<std::string> want;
  std::vector<std::string> running;
  PlanFleetOptions fleet;
  bool json = false;
  std::string output;
};

constexpr int64_t kMostInstances = 100'000;

Result<int> profile_of(const MigGeometry& geometry, std::string_view name) {
  if (const MigProfile* profile = geometry.find_profile(name)) return geometry.index_of(*profile);
  std::vector<std::string> names;
  for (const MigProfile& profile : geometry.profiles)
    names.push_back(profile.name);
  return invalid("{} has no MIG profile '{}'; it has {}", geometry.gpu_model, excerpt(name), fmt::join(names, ", "));
}

/// "3x1g.10gb", or "1g.10gb" for one.
Status add_wanted(const MigGeometry& geometry, std::string_view text, std::vector<int>& wanted) {
  int64_t count = 1;
  std::string_view name = text;
  if (const size_t x = text.find('x'); x != std::string_view::npos) {
    const auto number = parse_int(text.substr(0, x));
    if (!number || *number < 1 || *number > kMostInstances)
      return invalid("--want {}: expected COUNTxPROFILE with a count from 1 to {}", excerpt(text), kMostInstances);
    count = *number;
    name = text.substr(x + 1);
  }
  TRY_ASSIGN(const int profile, profile_of(geometry, name));
  int& sum = wanted[static_cast<size_t>(profile)];
  sum = static_cast<int>(std::min<int64_t>(sum + count, kMostInstances));
  return {};
}

/// "0=2g.20gb@0,1g.10gb@4": GPU 0 runs these, each from its memory slice.
Status add_running(const MigGeometry& geometry, std::string_view text, std::vector<MigLayout>& running) {
  const size_t equals = text.find('=');
  const auto gpu = parse_int(text.substr(0, equals));
  if (equals == std::string_view::npos || !gpu || *gpu < 0 || static_cast<size_t>(*gpu) >= running.size())
    return invalid("--running {}: expected GPU=PROFILE@START,… with a GPU from 0 to {}", excerpt(text),
                   static_cast<int64_t>(running.size()) - 1);
  MigLayout& layout = running[static_cast<size_t>(*gpu)];
  for (const std::string_view item : split(text.substr(equals + 1), ',')) {
    const size_t at = item.find('@');
    const auto start = at == std::string_view::npos ? std::nullopt : parse_int(item.substr(at + 1));
    if (!start || *start < 0 || *start >= geometry.memory_slices)
      return invalid("--running {}: '{}' is no PROFILE@START with a memory slice from 0 to {}", excerpt(text), excerpt(item),
                     geometry.memory_slices - 1);
    TRY_ASSIGN(const int profile, profile_of(geometry, item.substr(0, at)));
    layout.push_back({static_cast<int>(*start), profile});
  }
  std::sort(layout.begin(), layout.end());
  const Status legal = check_layout(geometry, layout);
  return legal.ok() ? Status() : invalid("--running {}: {}", excerpt(text), legal.error().message);
}

struct SharePlan {
  const MigGeometry* geometry = nullptr;
  std::vector<MigLayout> running;
  std::vector<int> wanted;
  MigPlan plan;
};

Result<SharePlan> make_plan(const ShareOptions& options) {
  SharePlan out;
  out.geometry = find_mig_geometry(options.gpu);
  if (out.geometry == nullptr) {
    std::vector<std::string> names;
    for (const MigGeometry& geometry : mig_geometries())
      names.push_back(geometry.gpu_model);
    return invalid("'{}' is no GPU with a known MIG geometry; known are {}", options.gpu, fmt::join(names, ", "));
  }
  out.running.resize(options.gpus);
  for (const std::string& text : options.running)
    TRY(add_running(*out.geometry, text, out.running));
  out.wanted.resize(out.geometry->profiles.size());
  for (const std::string& text : options.want)
    TRY(add_wanted(*out.geometry, text, out.wanted));
  out.plan = plan_mig(*out.geometry, out.running, out.wanted);
  return out;
}

const std::string& name_of(const SharePlan& p, const MigPlacement& placement) {
  return p.geometry->profiles[static_cast<size_t>(placement.profile)].name;
}

std::string as_json(const SharePlan& p) {
  const auto placement = [&](const MigPlacement& at) { return Json{{"profile", name_of(p, at)}, {"start", at.start}}; };
  Json gpus = Json::array();
  for (size_t g = 0; g < p.plan.layouts.size(); ++g) {
    Json layout = Json::array();
    for (const MigPlacement& at : p.plan.layouts[g])
      layout.push_back(placement(at));
    gpus.push_back({{"gpu", g}, {"layout", layout}});
  }
  Json profiles = Json::array();
  for (size_t i = 0; i < p.wanted.size(); ++i)
    if (p.wanted[i] > 0)
      profiles.push_back({{"profile", p.geometry->profiles[i].name}, {"wanted", p.wanted[i]}, {"placed", p.plan.placed[i]}});
  Json moves = Json::array();
  for (const MigMove& move : p.plan.moves)
    moves.push_back(
        {{"from_gpu", move.from_gpu}, {"from", placement(move.from)}, {"to_gpu", move.to_gpu}, {"to", placement(move.to)}});
  const Json out = {{"gpu", p.geometry->gpu_model},
                    {"gpus", gpus},
                    {"profiles", profiles},
                    {"moves", moves},
                    {"slices", p.plan.slices},
                    {"slices_bound", p.plan.bound},
                    {"optimal", p.plan.optimal()},
                    {"moved_slices", p.plan.moved_slices},
                    {"least_moves_proven", p.plan.least_moves}};
  return out.dump(2) + "\n";
}

std::string as_text(const SharePlan& p, Screen screen) {
  Table gpus({{"GPU", Align::kRight}, {"instances, as profile@first memory slice"}});
  for (size_t g = 0; g < p.plan.layouts.size(); ++g) {
    std::vector<std::string> words;
    for (const MigPlacement& at : p.plan.layouts[g])
      words.push_back(fmt::format("{}@{}", name_of(p, at), at.start));
    gpus.add_row({fmt::format("{}", g), words.empty() ? "not cut" : fmt::format("{}", fmt::join(words, " "))});
  }
  Table profiles({{"profile"}, {"wanted", Align::kRight}, {"placed", Align::kRight}});
  for (size_t i = 0; i < p.wanted.size(); ++i)
    if (p.wanted[i] > 0)
      profiles.add_row({p.geometry->profiles[i].name, fmt::format("{}", p.wanted[i]), fmt::format("{}", p.plan.placed[i])},
                       p.plan.placed[i] < p.wanted[i] ? Tone::kWarn : Tone::kPlain);
  std::string out = fmt::format("MIG plan for {} × {}\n\n{}\n{}\n", p.running.size(), p.geometry->gpu_model,
                                gpus.render(screen, 2), profiles.render(screen, 2));
  out += fmt::format("  {} compute slices placed; {}.\n", p.plan.slices,
                     p.plan.optimal() ? "no plan places more" : fmt::format("no plan places more than {}", p.plan.bound));
  for (const MigMove& move : p.plan.moves)
    out += fmt::format("  {} moves from GPU {} slice {} to GPU {} slice {}\n", name_of(p, move.from), move.from_gpu,
                       move.from.start, move.to_gpu, move.to.start);
  if (!p.plan.moves.empty())
    out += fmt::format("  {} of what runs must stop and start again{}.\n", counted(p.plan.moved_slices, "slice"),
                       p.plan.least_moves ? "; no plan that places as much moves less" : "");
  return fitted(out, screen);
}

}  // namespace

void add_plan_share_command(Command& plan, Action& action) {
  auto options = std::make_shared<ShareOptions>();
  Command* command = plan.add_subcommand(
      "share", "Which MIG instances to cut from which GPU, what has to move for it; who shares GPUs of a fleet");
  Option* history = command->add_option("--history", options->fleet.history, "a History instead: what runs in its fleet");
  add_period_options(*command, options->fleet.period);
  Option* gpu = command->add_option("--gpu", options->gpu, "GPU model: A100-80GB, H100-80GB, A30, …")->excludes(history);
  command->add_option("--gpus", options->gpus, "how many")->check(in_range(size_t{1}, size_t{10'000}))->capture_default_str();
  command->add_option("--want", options->want, "instances to place: 3x1g.10gb; repeatable")->needs(gpu);
  command->add_option("--running", options->running, "what runs on a GPU: 0=2g.20gb@0,1g.10gb@4; repeatable")->needs(gpu);
  command->add_flag("--json", options->json, "print JSON");
  command->add_option("-o,--output", options->output, "write to this file");
  command->footer(
      "Example: stint plan share --gpu A100-80GB --gpus 2 --running 0=1g.10gb@0,2g.20gb@4 --want 3x3g.40gb\n"
      "         stint plan share --history fleet.db");
  command->callback([options, &action] {
    if (options->fleet.history.empty() && (options->gpu.empty() || options->want.empty()))
      missing_argument("--history, or --gpu and --want");
    action = [options] {
      if (!options->fleet.history.empty()) {
        const Status done =
            print_fleet_sharing(options->fleet, options->json ? ShareFormat::kJson : ShareFormat::kText, options->output);
        return done.ok() ? ExitCode::kOk : fail(done.error().message);
      }
      const auto made = make_plan(*options);
      if (!made.ok()) return fail(made.error().message);
      const Screen screen = options->output.empty() ? screen_of_stdout() : Screen();
      const Status done = write_output(options->output, options->json ? as_json(*made) : as_text(*made, screen));
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
