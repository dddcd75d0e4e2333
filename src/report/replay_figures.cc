#include "report/replay_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/counted.h"
#include "report/figures.h"

namespace stint {
namespace {

using sim::JobEnding;
using sim::ReplayResult;

enum class Better { kLess, kMore, kNeither };

int64_t ended(const ReplayResult& r, JobEnding e) { return r.endings[static_cast<size_t>(e)]; }

class Figures {
 public:
  explicit Figures(const ReplayView& view) : view_(view), first_(view.runs.size()) {
    for (const ReplayGroup& group : groups_of(view))
      for (const size_t run : group.runs)
        first_[run] = group.runs.front();
  }

  void group(std::string name) { group_ = std::move(name); }

  template <typename Value, typename Show>
  void add(std::string label, Better better, Value value, Show show) {
    ReplayFigure figure{.label = std::move(label), .group = group_, .values = {}, .tones = {}};
    for (size_t r = 0; r < view_.runs.size(); ++r) {
      const ReplayRun& run = view_.runs[r];
      if (!was_replayed(view_, run)) {
        figure.values.emplace_back("–");
        figure.tones.push_back(Tone::kMuted);
        continue;
      }
      const double first = value(view_.runs[first_[r]].result);
      const double mine = value(run.result);
      figure.values.push_back(show(mine));
      // Less work done is not better, and two per cent are within what another order of equals would change.
      const double gain = better == Better::kMore ? mine - first : first - mine;
      const bool fewer = ended(run.result, JobEnding::kSucceeded) < ended(view_.runs[first_[r]].result, JobEnding::kSucceeded);
      const bool same = fewer || better == Better::kNeither || std::abs(gain) <= 0.02 * std::abs(first);
      figure.tones.push_back(same ? Tone::kPlain : gain > 0 ? Tone::kGood : Tone::kBad);
    }
    out_.push_back(std::move(figure));
  }

  void add_text(std::string label, const std::function<std::string(const ReplayRun&)>& text) {
    ReplayFigure figure{.label = std::move(label), .group = group_, .values = {}, .tones = {}};
    for (const ReplayRun& run : view_.runs) {
      figure.values.push_back(was_replayed(view_, run) ? text(run) : "–");
      figure.tones.push_back(Tone::kPlain);
    }
    out_.push_back(std::move(figure));
  }

  std::vector<ReplayFigure> take() { return std::move(out_); }

 private:
  const ReplayView& view_;
  std::vector<size_t> first_;  // by run: what it is compared with
  std::string group_;
  std::vector<ReplayFigure> out_;
};

std::string percent(double v) { return shown_percent(v, 1); }
std::string hours(double v) { return fmt::format("{:.1f}", v); }

void add_spread(Figures& figures, std::string_view what, sim::Spread ReplayResult::* spread) {
  figures.group(std::string(what));
  const auto add = [&](const char* label, double sim::Spread::* member) {
    figures.add(label, Better::kLess, [=](const ReplayResult& r) { return r.*spread.*member; }, shown_seconds);
  };
  add("mean", &sim::Spread::mean_s);
  add("median", &sim::Spread::p50_s);
  add("95th percentile", &sim::Spread::p95_s);
  add("99th percentile", &sim::Spread::p99_s);
}

void add_sizes(Figures& figures, const ReplayView& view) {
  figures.group("mean completion by GPUs");
  for (size_t c = 0; c < sim::kSizeClasses; ++c) {
    const int64_t count = view.runs.front().result.completion_by_size[c].count;
    if (count == 0) continue;
    figures.add(
        fmt::format("{} ({})", sim::name_of(static_cast<sim::SizeClass>(c)), counted(count, "job")), Better::kLess,
        [c](const ReplayResult& r) { return r.completion_by_size[c].mean_s; }, shown_seconds);
  }
}

/// Starts after the first of each job.
int64_t restarts(const ReplayResult& r) {
  return r.starts - std::ranges::count_if(r.jobs, [](const sim::JobOutcome& job) { return job.starts > 0; });
}

void add_work(Figures& figures, const ReplayView& view) {
  const bool has_pools = std::ranges::any_of(view.runs, [](const ReplayRun& r) { return r.result.nodes_started > 0; });
  figures.group("GPUs");
  figures.add("allocated, % of available", Better::kMore, [](const ReplayResult& r) { return r.allocation_pct; }, percent);
  figures.add("useful, % of available", Better::kMore, [](const ReplayResult& r) { return r.utilization_pct; }, percent);
  figures.add("fragmented, % of free", Better::kLess, [](const ReplayResult& r) { return r.fragmentation_pct; }, percent);
  figures.add("work lost, GPU-hours", Better::kLess, [](const ReplayResult& r) { return r.gpu_hours.lost; }, hours);
  figures.add("overhead, GPU-hours", Better::kLess, [](const ReplayResult& r) { return r.gpu_hours.overhead; }, hours);
  const auto count = [&](const char* label, Better better, auto value) {
    figures.add(label, better, [=](const ReplayResult& r) { return static_cast<double>(value(r)); }, grouped);
  };
  count("preemptions", Better::kNeither, [](const ReplayResult& r) { return r.evictions; });
  count("nodes lost", Better::kNeither, [](const ReplayResult& r) { return r.node_losses; });
  count("restarts", Better::kNeither, restarts);
  if (!has_pools) return;
  count("nodes started by demand", Better::kNeither, [](const ReplayResult& r) { return r.nodes_started; });
  count("nodes stopped by demand", Better::kNeither, [](const ReplayResult& r) { return r.nodes_stopped; });
}

void add_endings(Figures& figures, const ReplayView& view) {
  figures.group("jobs");
  for (size_t e = 0; e < sim::kJobEndings; ++e) {
    const auto ending = static_cast<JobEnding>(e);
    bool any = ending == JobEnding::kSucceeded;
    for (const ReplayRun& run : view.runs)
      any = any || ended(run.result, ending) > 0;
    if (any)
      figures.add(
          std::string(sim::name_of(ending)), Better::kNeither,
          [ending](const ReplayResult& r) { return static_cast<double>(ended(r, ending)); }, grouped);
  }
  bool deadlines = false;
  for (const ReplayRun& run : view.runs)
    deadlines = deadlines || run.result.deadlines > 0;
  if (deadlines)
    figures.add(
        "deadlines missed", Better::kLess, [](const ReplayResult& r) { return static_cast<double>(r.deadlines_missed); },
        grouped);
}

bool is_paid(const ReplayView& view) {
  return std::ranges::any_of(view.runs, [](const ReplayRun& run) { return !run.result.money.total.is_zero(); });
}

void add_money(Figures& figures, const ReplayView& view) {
  if (!is_paid(view)) return;
  const std::string currency(view.runs.front().result.money.total.currency().code());
  figures.group("money");
  figures.add("nodes, " + currency, Better::kLess, [](const ReplayResult& r) { return r.money.total.to_double(); }, grouped);
  figures.add("of it idle, " + currency, Better::kLess, [](const ReplayResult& r) { return r.money.idle.to_double(); }, grouped);
}

}  // namespace

std::string shown_seconds(double seconds) {
  if (seconds < 99.5) return fmt::format("{:.0f} s", seconds);
  if (seconds < 99.5 * 60) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 99.5 * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} d", seconds / 86400);
}

std::vector<ReplayGroup> groups_of(const ReplayView& view) {
  std::vector<ReplayGroup> groups;
  if (view.changes.size() == 1) {
    groups.emplace_back();
    for (size_t r = 0; r < view.runs.size(); ++r)
      groups[0].runs.push_back(r);
    return groups;
  }
  for (size_t r = 0; r < view.runs.size(); ++r) {
    if (view.runs[r].change == 0) groups.push_back({view.runs[r].policy, {}});
    groups.back().runs.push_back(r);
  }
  return groups;
}

std::vector<size_t> replayed_of(const ReplayView& view, const ReplayGroup& group) {
  std::vector<size_t> runs = group.runs;
  std::erase_if(runs, [&](size_t r) { return !was_replayed(view, view.runs[r]); });
  return runs;
}

std::string short_name(const ReplayView& view, const ReplayRun& run) {
  if (view.changes.size() == 1) return run.policy;
  return run.change == 0 ? view.changes[0].name : fmt::format("change {}", run.change);
}

std::string full_name(const ReplayRun& run) {
  return run.change == 0 ? run.policy : fmt::format("{}, change {}", run.policy, run.change);
}

std::vector<std::vector<std::string>> replay_summary(const ReplayView& view) {
  const bool paid = is_paid(view);
  std::vector<std::vector<std::string>> rows = {
      {"policy", "change", "mean wait", "mean completion", "99th percentile", "succeeded", "lost, GPU-hours"}};
  if (paid) {
    const std::string currency(view.runs.front().result.money.total.currency().code());
    rows[0].push_back("nodes, " + currency);
    rows[0].emplace_back("against as it is");
  }
  for (const ReplayGroup& group : groups_of(view))
    for (const size_t r : group.runs) {
      const ReplayRun& run = view.runs[r];
      std::vector<std::string>& row = rows.emplace_back();
      row = {run.policy, short_name(view, run)};
      row.resize(rows[0].size(), "–");
      if (!was_replayed(view, run)) {
        row[2] = "refused";
        continue;
      }
      const ReplayResult& result = run.result;
      row[2] = shown_seconds(result.waiting.mean_s);
      row[3] = shown_seconds(result.completion.mean_s);
      row[4] = shown_seconds(result.completion.p99_s);
      row[5] = grouped(static_cast<double>(ended(result, JobEnding::kSucceeded)));
      row[6] = hours(result.gpu_hours.lost);
      if (!paid) continue;
      const double cost = result.money.total.to_double();
      const double before = view.runs[group.runs.front()].result.money.total.to_double();
      row[7] = grouped(cost);
      const int64_t missing =
          ended(view.runs[group.runs.front()].result, JobEnding::kSucceeded) - ended(result, JobEnding::kSucceeded);
      if (missing > 0)
        row[8] = counted(missing, "job") + " fewer";
      else if (r != group.runs.front() && before > 0)
        row[8] = fmt::format("{:+.1f} %", 100 * (cost / before - 1));
    }
  return rows;
}

std::vector<ReplayFigure> replay_figures(const ReplayView& view) {
  Figures figures(view);
  add_spread(figures, "waiting", &ReplayResult::waiting);
  add_spread(figures, "completion", &ReplayResult::completion);
  add_sizes(figures, view);
  add_work(figures, view);
  add_money(figures, view);
  add_endings(figures, view);
  figures.group("replay");
  figures.add("steps", Better::kNeither, [](const ReplayResult& r) { return static_cast<double>(r.steps); }, grouped);
  figures.add_text("fingerprint", [](const ReplayRun& run) { return fmt::format("{:016x}", run.result.fingerprint); });
  return figures.take();
}

}  // namespace stint
