#include "report/cluster_view.h"

#include <algorithm>

#include "report/figures.h"
#include "report/json_list.h"
#include "report/utf8.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;
using Row = std::vector<std::string>;

constexpr size_t kMostClusterRows = 15;

/// One list, ready for paper or screen.
struct ListView {
  std::string title, lead;
  std::vector<Column> columns;
  std::vector<Row> rows;  ///< the first of them
  size_t all = 0;
};

std::string shown_time(Duration d) {
  const int64_t s = d.whole_seconds();
  if (s >= 48 * 3600) return fmt::format("{}d {}h", s / 86400, s / 3600 % 24);
  if (s >= 3600) return fmt::format("{}h {:02}m", s / 3600, s / 60 % 60);
  if (s >= 60) return fmt::format("{}m {:02}s", s / 60, s % 60);
  return fmt::format("{}s", s);
}

std::string hours_text(double hours) { return hours < 100 ? fmt::format("{:.2f}", hours) : grouped(hours); }
std::string who(const std::string& account, const std::string& user) { return user.empty() ? account : account + " / " + user; }

template <typename T, typename F>
void fill(ListView& view, const std::vector<T>& items, F row_of) {
  view.all = items.size();
  for (size_t i = 0; i < std::min(items.size(), kMostClusterRows); ++i)
    view.rows.push_back(row_of(items[i]));
}

class Views {
 public:
  Views(const ClusterAudit& cluster, const AuditReport& report)
      : cluster_(cluster), amount_(report), currency_(report.totals.bill_per_month.currency().code()) {}

  [[nodiscard]] std::vector<ListView> all() const {
    std::vector<ListView> out;
    for (ListView& view : std::vector<ListView>{use("Requested against used, by account", "account", cluster_.accounts),
                                                use("Requested against used, by user", "account / user", cluster_.users), waits(),
                                                idle(), limits(), small(), misplaced()})
      if (view.all > 0) out.push_back(std::move(view));
    // One user each: then the users' table says all that the accounts' does.
    if (!out.empty() && !cluster_.accounts.empty() && cluster_.accounts.size() == cluster_.users.size()) out.erase(out.begin());
    return out;
  }

 private:
  [[nodiscard]] std::string money(const std::optional<Money>& m) const { return m ? amount_(*m) : "–"; }

  [[nodiscard]] ListView use(std::string title, std::string name, const std::vector<ClusterUse>& rows) const {
    ListView view{
        .title = std::move(title),
        .lead = "Used: of the hours with telemetry, × utilisation. Cost: its part of the machines' price in the period.",
        .columns = {{std::move(name), Align::kLeft, 30},
                    {"runs", Align::kRight, 0, 1},
                    {"GPU-hours", Align::kRight},
                    {"watched", Align::kRight, 0, 4},
                    {"used", Align::kRight, 0, 2},
                    {"idle", Align::kRight},
                    {"mean wait", Align::kRight, 0, 3},
                    {fmt::format("cost, {}", currency_), Align::kRight}},
        .rows = {}};
    fill(view, rows, [&](const ClusterUse& u) -> Row {
      const auto part = [&](double hours) {
        return u.watched_gpu_hours > 0 ? shown_percent(100 * hours / u.watched_gpu_hours) : "–";
      };
      return {who(u.account, u.user),  fmt::to_string(u.runs),
              hours_text(u.gpu_hours), u.gpu_hours > 0 ? shown_percent(100 * u.watched_gpu_hours / u.gpu_hours) : "–",
              part(u.used_gpu_hours),  part(u.idle_gpu_hours),
              shown_time(u.mean_wait), money(u.cost)};
    });
    return view;
  }

  [[nodiscard]] ListView waits() const {
    ListView view{.title = "Why jobs waited",
                  .lead = "By Slurm's own word where it has one, else by what was free in the partition meanwhile.",
                  .columns = {{"cause", Align::kLeft, 60},
                              {"runs", Align::kRight},
                              {"waited", Align::kRight},
                              {"longest", Align::kRight},
                              {"GPU-hours", Align::kRight}},
                  .rows = {}};
    fill(view, cluster_.waits, [](const WaitCause& w) -> Row {
      return {cause(w), fmt::to_string(w.runs), shown_time(w.waited), shown_time(w.longest), hours_text(w.gpu_hours_waited)};
    });
    return view;
  }

  static std::string cause(const WaitCause& w) {
    switch (w.kind) {
      case WaitKind::kNotEligible:
        return w.reason.empty() ? "was not to start yet" : fmt::format("was not to start yet ({})", w.reason);
      case WaitKind::kLimit: return fmt::format("a limit of Slurm ({})", w.reason);
      case WaitKind::kNoGpus: return "too few GPUs were free in the partition";
      case WaitKind::kFragmented: return "enough were free, but not together";
      case WaitKind::kRank: return "there was room: others ranked first, or Slurm had not looked";
    }
    return "";
  }

  [[nodiscard]] ListView idle() const {
    ListView view{.title = "Held and idle",
                  .lead = "Jobs that let a GPU stand, or all of them half of the time.",
                  .columns = {{"job"},
                              {"account / user", Align::kLeft, 30},
                              {"GPUs", Align::kRight, 0, 1},
                              {"never used", Align::kRight, 0, 2},
                              {"GPU-hours", Align::kRight},
                              {"idle", Align::kRight},
                              {fmt::format("idle, {}", currency_), Align::kRight}},
                  .rows = {}};
    fill(view, cluster_.idle, [&](const IdleHold& h) -> Row {
      return {h.run,
              who(h.account, h.user),
              fmt::to_string(h.gpus),
              fmt::to_string(h.gpus_idle),
              hours_text(h.gpu_hours),
              hours_text(h.idle_gpu_hours),
              money(h.idle_cost)};
    });
    return view;
  }

  [[nodiscard]] ListView limits() const {
    ListView view{.title = "Limits far above the need",
                  .lead = "Slurm plans with limits: it keeps room for what will never come, and backfills less.",
                  .columns = {{"account / user", Align::kLeft, 30},
                              {"job name", Align::kLeft, 24},
                              {"runs", Align::kRight, 0, 2},
                              {"limit", Align::kRight},
                              {"longest", Align::kRight, 0, 1},
                              {"enough"},
                              {"GPU-hours not needed", Align::kRight}},
                  .rows = {}};
    fill(view, cluster_.limits, [](const LongLimit& l) -> Row {
      const int64_t minutes = l.enough.whole_seconds() / 60;
      return {who(l.account, l.user),          l.name,
              fmt::to_string(l.runs),          shown_time(l.limit),
              shown_time(l.longest),           fmt::format("--time={}:{:02}:00", minutes / 60, minutes % 60),
              hours_text(l.gpu_hours_unneeded)};
    });
    return view;
  }

  [[nodiscard]] ListView small() const {
    ListView view{.title = "Work that fits a part of its GPU",
                  .lead = "Jobs of one whole GPU; with a margin of 10 % of memory and 20 % of compute.",
                  .columns = {{"account / user", Align::kLeft, 30},
                              {"job name", Align::kLeft, 24},
                              {"GPU", Align::kLeft, 0, 1},
                              {"runs", Align::kRight},
                              {"GPU-hours", Align::kRight},
                              {"memory, GB", Align::kRight, 0, 3},
                              {"busiest hour", Align::kRight, 0, 2},
                              {"fits"}},
                  .rows = {}};
    fill(view, cluster_.small, [](const SmallWork& w) -> Row {
      return {who(w.account, w.user),
              w.name,
              w.gpu_model,
              fmt::to_string(w.runs),
              hours_text(w.gpu_hours),
              gigabytes(w.memory_peak),
              shown_percent(w.busiest_pct),
              w.fits};
    });
    return view;
  }

  [[nodiscard]] ListView misplaced() const {
    ListView view{.title = "In the wrong partition",
                  .lead = "What a partition allows (users, limits) is not known here.",
                  .columns = {{"account / user", Align::kLeft, 30},
                              {"partition"},
                              {"better"},
                              {"why", Align::kLeft, 44},
                              {"runs", Align::kRight},
                              {"GPU-hours", Align::kRight}},
                  .rows = {}};
    fill(view, cluster_.misplaced, [&](const Misplaced& m) -> Row {
      return {who(m.account, m.user), m.partition, m.better, why(m), fmt::to_string(m.runs), hours_text(m.gpu_hours)};
    });
    return view;
  }

  [[nodiscard]] std::string why(const Misplaced& m) const {
    switch (m.why) {
      case Misplaced::Why::kNoGpuAsked: return "asks for no GPU on machines with GPUs";
      case Misplaced::Why::kCheaperGpu: return fmt::format("fits the cheaper GPUs there: {} {} less", money(m.saving), currency_);
      case Misplaced::Why::kRoomAtOnce: return fmt::format("waited {}; the same GPUs were free there", shown_time(m.waited));
    }
    return "";
  }

  const ClusterAudit& cluster_;
  const AmountText amount_;
  const std::string currency_;
};

std::string more(const ListView& view) {
  return view.all <= view.rows.size() ? "" : fmt::format("… and {} more: --json has them", view.all - view.rows.size());
}

Json use_json(const ClusterUse& u) {
  return {{"account", printable(u.account)},
          {"user", printable(u.user)},
          {"runs", u.runs},
          {"gpu_hours", u.gpu_hours},
          {"watched_gpu_hours", u.watched_gpu_hours},
          {"used_gpu_hours", u.used_gpu_hours},
          {"idle_gpu_hours", u.idle_gpu_hours},
          {"mean_wait_s", u.mean_wait.to_seconds()},
          {"cost", amount_json(u.cost)}};
}

Json idle_json(const IdleHold& h) {
  return {{"run", printable(h.run)},
          {"account", printable(h.account)},
          {"user", printable(h.user)},
          {"gpus", h.gpus},
          {"gpus_idle", h.gpus_idle},
          {"gpu_hours", h.gpu_hours},
          {"idle_gpu_hours", h.idle_gpu_hours},
          {"idle_cost", amount_json(h.idle_cost)}};
}

Json limit_json(const LongLimit& l) {
  return {{"account", printable(l.account)},   {"user", printable(l.user)},
          {"name", printable(l.name)},         {"runs", l.runs},
          {"limit_s", l.limit.to_seconds()},   {"longest_s", l.longest.to_seconds()},
          {"enough_s", l.enough.to_seconds()}, {"gpu_hours_unneeded", l.gpu_hours_unneeded}};
}

Json small_json(const SmallWork& w) {
  return {{"account", printable(w.account)},
          {"user", printable(w.user)},
          {"name", printable(w.name)},
          {"gpu_model", printable(w.gpu_model)},
          {"runs", w.runs},
          {"gpu_hours", w.gpu_hours},
          {"memory_peak_gb", static_cast<double>(w.memory_peak.count()) / 1e9},
          {"busiest_pct", w.busiest_pct},
          {"fits", w.fits}};
}

Json misplaced_json(const Misplaced& m) {
  return {{"account", printable(m.account)},
          {"user", printable(m.user)},
          {"partition", printable(m.partition)},
          {"better", printable(m.better)},
          {"why", name_of(m.why)},
          {"runs", m.runs},
          {"gpu_hours", m.gpu_hours},
          {"waited_s", m.waited.to_seconds()},
          {"saving", amount_json(m.saving)}};
}

Json wait_json(const WaitCause& w) {
  return {{"kind", name_of(w.kind)},           {"reason", printable(w.reason)},       {"runs", w.runs},
          {"waited_s", w.waited.to_seconds()}, {"longest_s", w.longest.to_seconds()}, {"gpu_hours_waited", w.gpu_hours_waited}};
}

}  // namespace

std::string cluster_text(const ClusterAudit& cluster, const AuditReport& report, Screen screen) {
  std::string out;
  for (const ListView& view : Views(cluster, report).all()) {
    Table table(view.columns);
    for (const Row& row : view.rows)
      table.add_row(row);
    out += fmt::format("\n{}\n{}", toned(view.title, Tone::kStrong, screen), table.render(screen, 2));
    if (const std::string rest = more(view); !rest.empty()) out += fmt::format("  {}\n", rest);
  }
  return fitted(out, screen);
}

Html cluster_section(const ClusterAudit& cluster, const AuditReport& report) {
  Html body;
  for (const ListView& view : Views(cluster, report).all()) {
    HtmlTable table(view.columns);
    for (const Row& row : view.rows)
      table.add_text_row(row);
    body += element("h3", view.title) + element("p", view.lead) + table.render(view.title);
    if (const std::string rest = more(view); !rest.empty()) body += element("p", rest);
  }
  return body.empty() ? Html() : section("cluster", "The queue", "What the batch system's own records show.", body);
}

Json cluster_json(const ClusterAudit& cluster) {
  return {{"accounts", array_of(cluster.accounts, use_json)}, {"users", array_of(cluster.users, use_json)},
          {"idle", array_of(cluster.idle, idle_json)},        {"limits", array_of(cluster.limits, limit_json)},
          {"small", array_of(cluster.small, small_json)},     {"misplaced", array_of(cluster.misplaced, misplaced_json)},
          {"waits", array_of(cluster.waits, wait_json)}};
}

}  // namespace stint
