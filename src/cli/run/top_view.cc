#include "cli/run/top_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"
#include "base/text.h"
#include "report/utf8.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLeastTopColumns = 40;
constexpr size_t kBarWidth = 10;

struct Cell {
  std::string text;
  size_t width = 0;
  Align align = Align::kLeft;
  Tone tone = Tone::kPlain;
};

/// Cells side by side, each as wide as it says and no wider than what is left of the line.
std::string row_of(const std::vector<Cell>& cells, size_t columns, Colour colour) {
  std::string line;
  size_t used = 0;
  for (const Cell& cell : cells) {
    if (used > 0 && used + 1 < columns) {
      line += ' ';
      ++used;
    }
    const size_t width = std::min(cell.width, columns - used);
    if (width == 0) break;
    const std::string text = cut_to_width(printable(cell.text), width);
    const std::string pad(width - display_width(text), ' ');
    line += (cell.align == Align::kRight ? pad : "") + toned(text, cell.tone, colour) + (cell.align == Align::kLeft ? pad : "");
    used += width;
  }
  return line;
}

std::string whole_line(const std::string& text, size_t columns, Tone tone, Colour colour) {
  return toned(cut_to_width(printable(text), columns), tone, colour);
}

std::string text_at(const Json& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || it->is_null()) return "";
  return it->is_string() ? it->get<std::string>() : it->dump();
}

std::optional<double> number_at(const Json& json, const char* name) {
  const auto it = json.find(name);
  return it != json.end() && it->is_number() ? std::optional(it->get<double>()) : std::nullopt;
}

const Json& list_at(const Json& json, const char* name) {
  static const Json kNone = Json::array();
  const auto it = json.find(name);
  return it != json.end() && it->is_array() ? *it : kNone;
}

std::optional<Instant> time_at(const Json& json, const char* name) {
  const auto parsed = parse_instant(text_at(json, name));
  return parsed.ok() ? std::optional(*parsed) : std::nullopt;
}

/// Of a text amount such as "16.200000000": for sums that are shown with cents.
double amount_of(const Json& money) { return parse_number(text_at(money, "amount")).value_or(0); }

std::string gpus_text(double milli) {
  const double gpus = milli / 1000;
  return gpus == static_cast<double>(static_cast<int64_t>(gpus)) ? fmt::format("{:.0f}", gpus) : fmt::format("{:.2f}", gpus);
}

/// "4d 3h", "2h 10m", "7m", "12s".
std::string span_text(Duration d) {
  const int64_t s = std::max<int64_t>(d.whole_seconds(), 0);
  if (s < 60) return fmt::format("{}s", s);
  if (s < 3600) return fmt::format("{}m", s / 60);
  if (s < 86400) return fmt::format("{}h {}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d {}h", s / 86400, s / 3600 % 24);
}

std::string bar(double pct) {
  const auto full = static_cast<size_t>(std::clamp(pct, 0.0, 100.0) / 100 * kBarWidth + 0.5);
  std::string text;
  for (size_t i = 0; i < kBarWidth; ++i)
    text += i < full ? "█" : "░";
  return text;
}

bool contains_any(std::string_view filter, std::initializer_list<std::string> texts) {
  return filter.empty() || std::ranges::any_of(texts, [&](const std::string& t) { return contains_ignoring_case(t, filter); });
}

struct GpuLine {
  std::string id, model, holders;
  std::optional<double> busy, used_gib, size_gib, celsius, watts;
  bool held = false, foreign = false, simulated = false;
};

GpuLine gpu_line(const Json& gpu) {
  GpuLine line;
  line.id = text_at(gpu, "id");
  line.model = text_at(gpu, "model");
  line.simulated = gpu.value("simulated", false);
  const Json values = gpu.value("values", Json::object());
  const auto gib = [](std::optional<double> bytes) { return bytes ? std::optional(*bytes / 1073741824.0) : std::nullopt; };
  line.busy = number_at(values, "utilization");
  if (!line.busy) line.busy = number_at(values, "engine_active");
  line.used_gib = gib(number_at(values, "memory_used"));
  line.size_gib = gib(number_at(values, "memory_total"));
  line.celsius = number_at(values, "temperature");
  line.watts = number_at(values, "power");
  // Before the jobs: it is what somebody has to do something about.
  int64_t strangers = 0;
  for (const Json& process : list_at(gpu, "processes"))
    if (process.contains("job") && process["job"].is_null()) ++strangers;
  line.foreign = strangers > 0;
  if (line.foreign) line.holders = fmt::format("{} foreign", strangers);
  for (const Json& holder : list_at(gpu, "holders")) {
    line.held = true;
    const double milli = holder.value("gpu_milli", 1000.0);
    line.holders += fmt::format("{}{} {}{}", line.holders.empty() ? "" : ", ", text_at(holder, "job"), text_at(holder, "name"),
                                milli < 1000 ? fmt::format(" {:.0f} %", milli / 10) : "");
  }
  return line;
}

Tone tone_of(const GpuLine& gpu) {
  if (!gpu.busy) return Tone::kMuted;
  if (*gpu.busy >= 60) return Tone::kGood;
  return gpu.held ? (*gpu.busy < 20 ? Tone::kBad : Tone::kWarn) : Tone::kMuted;
}

struct Layout {
  size_t columns;
  Colour colour;
};

/// What grows with the line: names. The rest has its width.
size_t spare(const Layout& layout) { return layout.columns > 80 ? layout.columns - 80 : 0; }

std::string gpu_heading(const Layout& l) {
  const size_t more = std::min<size_t>(spare(l) / 4, 16);
  return row_of({{"GPU", 12 + more, Align::kLeft, Tone::kStrong},
                 {"model", 12 + more, Align::kLeft, Tone::kStrong},
                 {"busy", 16, Align::kLeft, Tone::kStrong},
                 {"memory", 10, Align::kRight, Tone::kStrong},
                 {"°C", 3, Align::kRight, Tone::kStrong},
                 {"W", 4, Align::kRight, Tone::kStrong},
                 {"held by", l.columns, Align::kLeft, Tone::kStrong}},
                l.columns, l.colour);
}

std::string gpu_row(const GpuLine& gpu, const Layout& l) {
  const size_t more = std::min<size_t>(spare(l) / 4, 16);
  const auto whole = [](const std::optional<double>& v) { return v ? fmt::format("{:.0f}", *v) : std::string("–"); };
  const std::string memory = gpu.used_gib ? fmt::format("{:.0f}/{} GiB", *gpu.used_gib, whole(gpu.size_gib)) : "–";
  return row_of(
      {{gpu.id, 12 + more},
       {gpu.model, 12 + more},
       {gpu.busy ? fmt::format("{} {:>3.0f} %", bar(*gpu.busy), *gpu.busy) : "not measured", 16, Align::kLeft, tone_of(gpu)},
       {memory, 10, Align::kRight},
       {whole(gpu.celsius), 3, Align::kRight, gpu.celsius && *gpu.celsius > 83 ? Tone::kBad : Tone::kPlain},
       {whole(gpu.watts), 4, Align::kRight},
       {gpu.held || gpu.foreign ? gpu.holders : "free", l.columns, Align::kLeft,
        gpu.foreign ? Tone::kBad
        : gpu.held  ? Tone::kPlain
                    : Tone::kMuted}},
      l.columns, l.colour);
}

std::vector<std::string> gpu_rows(const TopAnswers& answers, const TopControls& controls, const Layout& l) {
  std::vector<GpuLine> gpus;
  for (const Json& gpu : list_at(answers.gpus, "gpus")) {
    GpuLine line = gpu_line(gpu);
    if (contains_any(controls.filter, {line.id, line.model, line.holders})) gpus.push_back(std::move(line));
  }
  const auto busy = [](const GpuLine& gpu) { return gpu.busy.value_or(-1); };
  if (controls.order == TopOrder::kBusiest) std::ranges::stable_sort(gpus, std::greater<>(), busy);
  if (controls.order == TopOrder::kIdlest) std::ranges::stable_sort(gpus, std::less<>(), busy);
  std::vector<std::string> rows;
  for (const GpuLine& gpu : gpus)
    rows.push_back(gpu_row(gpu, l));
  return rows;
}

struct JobLine {
  std::string id;
  std::string state, standing, name, queue, user, currency;
  double milli = 0, per_hour = 0, cost = 0;
  Duration lasts;
};

JobLine job_line(const Json& job, Instant now) {
  JobLine line;
  line.id = text_at(job, "id");
  line.state = line.standing = text_at(job, "state");
  // An array as a whole: how many of it run.
  if (const Json array = job.value("array", Json::object()); line.state == "running" && array.contains("jobs"))
    line.standing = fmt::format("{}/{} run", array["jobs"].value("running", 0), array.value("size", 0));
  line.name = text_at(job, "name");
  line.queue = text_at(job, "queue");
  line.user = text_at(job, "user");
  line.milli = job.value("gpu_milli", 0.0);
  line.per_hour = amount_of(job.value("per_hour", Json::object()));
  line.cost = amount_of(job.value("cost", Json::object()));
  const auto since = line.state == "running" || line.state == "leaving" ? time_at(job, "started") : time_at(job, "submitted");
  if (since) line.lasts = now - *since;
  return line;
}

std::string job_heading(const Layout& l) {
  const size_t more = std::min<size_t>(spare(l) / 3, 20);
  return row_of({{"job", 11, Align::kLeft, Tone::kStrong},
                 {"state", 8, Align::kLeft, Tone::kStrong},
                 {"name", 14 + more, Align::kLeft, Tone::kStrong},
                 {"queue", 11 + more, Align::kLeft, Tone::kStrong},
                 {"GPUs", 5, Align::kRight, Tone::kStrong},
                 {"for", 8, Align::kRight, Tone::kStrong},
                 {"per hour", 8, Align::kRight, Tone::kStrong},
                 {"so far", 8, Align::kRight, Tone::kStrong}},
                l.columns, l.colour);
}

std::string job_row(const JobLine& job, const Layout& l) {
  const size_t more = std::min<size_t>(spare(l) / 3, 20);
  const bool runs = job.state == "running";
  return row_of({{job.id, 11},
                 {job.standing, 8, Align::kLeft, runs ? Tone::kGood : Tone::kPlain},
                 {job.name, 14 + more},
                 {job.queue, 11 + more},
                 {gpus_text(job.milli), 5, Align::kRight},
                 {span_text(job.lasts), 8, Align::kRight, !runs && job.lasts > kHour ? Tone::kWarn : Tone::kPlain},
                 {job.per_hour > 0 ? fmt::format("{:.2f}", job.per_hour) : "–", 8, Align::kRight},
                 {fmt::format("{:.2f}", job.cost), 8, Align::kRight}},
                l.columns, l.colour);
}

std::vector<std::string> job_rows(const TopAnswers& answers, const TopControls& controls, const Layout& l, Instant now) {
  std::vector<JobLine> jobs;
  for (const Json& job : list_at(answers.jobs, "jobs")) {
    JobLine line = job_line(job, now);
    if (contains_any(controls.filter, {line.name, line.queue, line.user, line.state, line.id})) jobs.push_back(std::move(line));
  }
  const auto rank = [](const JobLine& job) { return job.state == "running" ? 0 : job.state == "leaving" ? 1 : 2; };
  std::ranges::reverse(jobs);  // they come with the newest first
  std::ranges::stable_sort(jobs, {}, rank);
  if (controls.order == TopOrder::kBusiest) std::ranges::stable_sort(jobs, std::greater<>(), &JobLine::per_hour);
  if (controls.order == TopOrder::kIdlest) std::ranges::stable_sort(jobs, std::greater<>(), &JobLine::lasts);
  std::vector<std::string> rows;
  for (const JobLine& job : jobs)
    rows.push_back(job_row(job, l));
  return rows;
}

/// GPUs, jobs and money in a line each.
std::vector<std::string> summary(const TopAnswers& answers, const std::string& trouble, const Layout& l) {
  size_t gpus = 0, held = 0, measured = 0, simulated = 0;
  double busy = 0;
  for (const Json& gpu : list_at(answers.gpus, "gpus")) {
    const GpuLine line = gpu_line(gpu);
    ++gpus;
    held += line.held ? 1 : 0;
    simulated += line.simulated ? 1 : 0;
    if (line.busy) {
      busy += *line.busy;
      ++measured;
    }
  }
  double rate = 0;
  std::string currency;
  for (const Json& node : list_at(answers.nodes, "nodes"))
    if (node.contains("per_hour")) {
      rate += amount_of(node["per_hour"]);
      currency = text_at(node["per_hour"], "currency");
    }
  std::string line = fmt::format("{}, {} held, {} busy", counted(gpus, "GPU"), held,
                                 measured == 0 ? "–" : fmt::format("{:.0f} %", busy / static_cast<double>(measured)));
  if (answers.overview.contains("running"))
    line += fmt::format(" │ {} running, {} waiting", text_at(answers.overview, "running"), text_at(answers.overview, "waiting"));
  if (answers.overview.contains("burn_per_hour"))
    line += fmt::format(" │ {:.2f} of {:.2f} {}/h runs", amount_of(answers.overview["burn_per_hour"]), rate, currency);
  else
    line += fmt::format(" │ {:.2f} {}/h", rate, currency);
  const auto at = time_at(answers.gpus, "now");
  const std::string clock = at ? format_utc(Instant::from_seconds(at->seconds())) : "";
  std::vector<std::string> lines = {
      row_of({{"stint top", 10, Align::kLeft, Tone::kStrong}, {clock, l.columns - 11, Align::kRight, Tone::kMuted}}, l.columns,
             l.colour),
      whole_line(line, l.columns, Tone::kPlain, l.colour)};
  if (!trouble.empty()) lines.push_back(whole_line(trouble, l.columns, Tone::kBad, l.colour));
  if (simulated > 0)
    lines.push_back(
        whole_line(fmt::format("{} of the GPUs are simulated: nothing runs there, their figures are made up", simulated),
                   l.columns, Tone::kWarn, l.colour));
  for (const Json& source : list_at(answers.gpus, "sources"))
    if (!source.value("ok", true))
      lines.push_back(
          whole_line(fmt::format("{}: {}", text_at(source, "name"), text_at(source, "error")), l.columns, Tone::kWarn, l.colour));
  return lines;
}

std::string_view name_of(TopOrder order) {
  switch (order) {
    case TopOrder::kPlace: return "place";
    case TopOrder::kBusiest: return "busiest, dearest";
    case TopOrder::kIdlest: return "idlest, longest";
  }
  return "";
}

std::string foot(const TopControls& controls, const Layout& l) {
  if (controls.typing) return whole_line("filter: " + controls.filter + "▏", l.columns, Tone::kStrong, l.colour);
  std::string text = fmt::format("q quit  s sort: {}  / filter{}  g GPUs  j jobs  b both  ↑↓ scroll", name_of(controls.order),
                                 controls.filter.empty() ? "" : fmt::format(": {} (Esc clears)", controls.filter));
  return whole_line(text, l.columns, Tone::kMuted, l.colour);
}

/// So many of the rows as there is room for, from `first` on; the last line says what is left out.
void put_rows(std::vector<std::string>& lines, const std::vector<std::string>& rows, size_t first, size_t room, const Layout& l) {
  if (rows.size() <= room) first = 0;
  first = std::min(first, rows.size() - std::min<size_t>(rows.size(), 1));
  const bool all = rows.size() - first <= room;
  const size_t shown = all ? rows.size() - first : room - std::min<size_t>(room, 1);
  lines.insert(lines.end(), rows.begin() + static_cast<std::ptrdiff_t>(first),
               rows.begin() + static_cast<std::ptrdiff_t>(first + shown));
  if (!all && room > 0)
    lines.push_back(whole_line(fmt::format("… {} more", rows.size() - first - shown), l.columns, Tone::kMuted, l.colour));
}

}  // namespace

bool press(TopControls& controls, TopKey key, char text, size_t page) {
  if (controls.typing) {
    if (key == TopKey::kEnter) controls.typing = false;
    if (key == TopKey::kEscape) controls = {.order = controls.order, .show = controls.show};
    if (key == TopKey::kBackspace && !controls.filter.empty()) controls.filter.pop_back();
    if (key == TopKey::kText && controls.filter.size() < 40) controls.filter += text;
    controls.first = 0;
    return true;
  }
  switch (key) {
    case TopKey::kEscape: controls.filter.clear(); break;
    case TopKey::kUp: controls.first -= std::min<size_t>(controls.first, 1); break;
    case TopKey::kDown: ++controls.first; break;
    case TopKey::kPageUp: controls.first -= std::min(controls.first, page); break;
    case TopKey::kPageDown: controls.first += page; break;
    case TopKey::kEnter:
    case TopKey::kBackspace: break;
    case TopKey::kText:
      if (text == 'q' || text == 'Q') return false;
      if (text == 's') controls.order = static_cast<TopOrder>((static_cast<int>(controls.order) + 1) % 3);
      if (text == '/') controls.typing = true;
      if (text == 'g') controls.show = TopShow::kGpus;
      if (text == 'j') controls.show = TopShow::kJobs;
      if (text == 'b') controls.show = TopShow::kBoth;
      if (text != '/') controls.first = 0;
  }
  return true;
}

std::vector<std::string> draw_top(const TopAnswers& answers, const TopControls& controls, TopSize size,
                                  const std::string& trouble, Colour colour) {
  const Layout l{std::max(size.columns, kLeastTopColumns), colour};
  const Instant now = time_at(answers.gpus, "now").value_or(Instant());
  const bool whole = size.rows == 0;  // a single frame, as long as it is
  std::vector<std::string> lines = summary(answers, trouble, l);
  const std::vector<std::string> gpus =
      controls.show == TopShow::kJobs ? std::vector<std::string>() : gpu_rows(answers, controls, l);
  const std::vector<std::string> jobs =
      controls.show == TopShow::kGpus ? std::vector<std::string>() : job_rows(answers, controls, l, now);
  const bool both = controls.show == TopShow::kBoth;
  // A blank line and a heading before each list, the keys at the end.
  const size_t fixed = lines.size() + (both ? 4 : 2) + (whole ? 0 : 1);
  const size_t room = whole ? gpus.size() + jobs.size() : size.rows - std::min(size.rows, fixed);
  const size_t for_jobs = both ? std::min(jobs.size(), std::max(room / 2, room - std::min(room, gpus.size()))) : room;
  if (controls.show != TopShow::kJobs) {
    lines.emplace_back();
    lines.push_back(gpu_heading(l));
    put_rows(lines, gpus, controls.first, both ? room - for_jobs : room, l);
  }
  if (controls.show != TopShow::kGpus) {
    lines.emplace_back();
    lines.push_back(job_heading(l));
    put_rows(lines, jobs, both ? 0 : controls.first, for_jobs, l);
  }
  if (whole) return lines;
  lines.resize(std::min(lines.size(), size.rows - std::min<size_t>(size.rows, 1)));
  while (lines.size() + 1 < size.rows)
    lines.emplace_back();
  lines.push_back(foot(controls, l));
  return lines;
}

}  // namespace stint
