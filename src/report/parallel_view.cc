#include "report/parallel_view.h"
#include "base/counted.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGibi = 1 << 30;

std::string shape_text(const ParallelShape& s) { return fmt::format("{} × {} × {}", s.data, s.tensor, s.pipeline); }

std::string share_text(double part, double whole) { return fmt::format("{:.0f} %", 100 * part / whole); }

std::string sharding_text(int stage) {
  return stage == 0 ? "none" : fmt::format("ZeRO-{}{}", stage, stage == 3 ? " (FSDP)" : "");
}

Json shape_json(const ParallelShape& s) { return {{"data", s.data}, {"tensor", s.tensor}, {"pipeline", s.pipeline}}; }

std::string item_of(const ModelFacts& m) { return m.family == ModelFamily::kVision ? "images" : "sequences"; }

std::string advice(const ParallelView& view) {
  const ParallelOption& o = view.plan.options.front();
  const ParallelSetting& s = o.setting;
  std::string text = fmt::format(
      "Best: {} data × {} tensor × {} pipeline parallel, states sharded: {}, recompute: {}, micro-batch {}, {}, {}: "
      "{:.3f} s a step, {:.1f} {}/s",
      s.shape.data, s.shape.tensor, s.shape.pipeline, sharding_text(s.sharding), name_of(s.recompute), s.micro_batch,
      s.micro_batches == 1 ? "no accumulation" : fmt::format("accumulation over {} steps", s.micro_batches),
      name_of(view.job.precision), o.time.total(), o.items_per_s, item_of(view.job.model));
  if (view.job.model.sequence > 0) text += fmt::format(" ({:.0f} tokens/s)", o.items_per_s * view.job.model.sequence);
  return text + fmt::format(", {:.0f} % of the GPUs' peak.", o.flops_used_pct);
}

std::string notes(const ParallelView& view) {
  return fmt::format(
      "{} of {} looked at, {} tried. Rates are {}; links {:.0f} GB/s within a machine of "
      "{} "
      "GPUs, {:.1f} GB/s a GPU between machines, 80 % of either reached. Not in the figures: kernels that slow down as tensor "
      "parallelism "
      "makes them thin, embeddings that make the first and last stage larger, stragglers. Measure the first two before a long "
      "run.",
      counted(view.plan.options.size() + view.plan.refusals.size(), "factorisation"), counted(view.cluster.gpus, "GPU"),
      counted(view.plan.settings_tried, "setting"), basis_of(view.cluster.gpu, view.job.precision), view.cluster.link_gb_s,
      view.cluster.gpus_per_node, view.cluster.network_gb_s);
}

}  // namespace

std::string parallel_text(const ParallelView& view, Screen screen) {
  const ParallelPlan& plan = view.plan;
  std::string out = fmt::format("{}, batch {}, on {} × {} ({:.1f} GiB usable of each)\n\n", view.job.model.name, view.job.batch,
                                view.cluster.gpus, view.cluster.gpu.model, plan.usable_bytes / kGibi);
  if (!plan.options.empty()) {
    out += wrapped(advice(view), screen) + "\n";
    Table table({{"data × tensor × pipeline"},
                 {"sharded", Align::kLeft, 0, 1},
                 {"recompute", Align::kLeft, 0, 2},
                 {"micro-batch", Align::kRight, 0, 2},
                 {"accumulate", Align::kRight, 0, 3},
                 {"GiB per GPU", Align::kRight, 0, 0},
                 {"step (s)", Align::kRight},
                 {"arithmetic", Align::kRight, 0, 4},
                 {"tensor", Align::kRight, 0, 5},
                 {"pipeline", Align::kRight, 0, 5},
                 {"data", Align::kRight, 0, 5},
                 {"of peak", Align::kRight, 0, 1}});
    for (size_t i = 0; i < std::min(view.shown, plan.options.size()); ++i) {
      const ParallelOption& o = plan.options[i];
      const double all = o.time.total();
      table.add_row({shape_text(o.setting.shape), sharding_text(o.setting.sharding), std::string(name_of(o.setting.recompute)),
                     fmt::format("{}", o.setting.micro_batch), fmt::format("{}", o.setting.micro_batches),
                     fmt::format("{:.1f}", o.memory.total() / kGibi), fmt::format("{:.3f}", all), share_text(o.time.compute, all),
                     share_text(o.time.tensor, all), share_text(o.time.pipeline + o.time.bubble, all),
                     share_text(o.time.data, all), fmt::format("{:.0f} %", o.flops_used_pct)},
                    i == 0 ? Tone::kGood : Tone::kPlain);
    }
    out += table.render(screen) + "\n";
    if (plan.options.size() > view.shown)
      out += fmt::format("{} more fit (--top shows them).\n\n", plan.options.size() - view.shown);
  } else {
    out += "Nothing fits: more GPUs, or GPUs with more memory.\n\n";
  }
  if (!plan.refusals.empty()) {
    Table table({{"not possible"}, {"because"}});
    for (const ParallelRefusal& r : plan.refusals)
      table.add_row({shape_text(r.shape), r.reason}, Tone::kMuted);
    out += table.render(screen) + "\n";
  }
  return fitted(out + wrapped(notes(view), screen), screen);
}

std::string parallel_json(const ParallelView& view) {
  Json options = Json::array();
  for (const ParallelOption& o : view.plan.options)
    options.push_back({{"shape", shape_json(o.setting.shape)},
                       {"sharding_stage", o.setting.sharding},
                       {"recompute", name_of(o.setting.recompute)},
                       {"micro_batch", o.setting.micro_batch},
                       {"accumulation_steps", o.setting.micro_batches},
                       {"bytes_per_gpu",
                        {{"total", o.memory.total()},
                         {"weights", o.memory.weights},
                         {"gradients", o.memory.gradients},
                         {"optimizer", o.memory.optimizer},
                         {"activations", o.memory.activations}}},
                       {"step_seconds",
                        {{"total", o.time.total()},
                         {"compute", o.time.compute},
                         {"tensor", o.time.tensor},
                         {"pipeline", o.time.pipeline},
                         {"bubble", o.time.bubble},
                         {"data", o.time.data}}},
                       {"items_per_second", o.items_per_s},
                       {"peak_used_pct", o.flops_used_pct}});
  Json refusals = Json::array();
  for (const ParallelRefusal& r : view.plan.refusals)
    refusals.push_back({{"shape", shape_json(r.shape)}, {"reason", r.reason}});
  return Json{{"model", view.job.model.name},
              {"parameters", view.job.model.parameters},
              {"precision", name_of(view.job.precision)},
              {"batch", view.job.batch},
              {"gpu", view.cluster.gpu.model},
              {"gpus", view.cluster.gpus},
              {"gpus_per_node", view.cluster.gpus_per_node},
              {"link_gb_s", view.cluster.link_gb_s},
              {"network_gb_s_per_gpu", view.cluster.network_gb_s},
              {"usable_bytes_per_gpu", view.plan.usable_bytes},
              {"basis", basis_of(view.cluster.gpu, view.job.precision)},
              {"settings_tried", view.plan.settings_tried},
              {"options", options},
              {"refused", refusals}}
             .dump(2) +
         "\n";
}

}  // namespace stint
