// stint top: GPUs, jobs and money per hour on the whole screen.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "cli/run/top.h"
#include "cli/run/top_view.h"
#include "cli/terminal.h"
#include "host/clock.h"

namespace stint {
namespace {

/// Jobs and machines are asked for anew when something has happened, and now and then, for what they cost goes up by itself.
constexpr Duration kAskAllEvery = Duration::seconds(15);

struct TopOptions {
  ClientOptions daemon;
  bool once = false;
  double every_s = 2;
  std::string filter;
};

class TopReader {
 public:
  explicit TopReader(DaemonClient client) : client_(std::move(client)) {}

  Status read(Instant at) {
    TRY_ASSIGN(answers_.gpus, client_.get("/v1/gpus"));
    // Who sees some clients alone is not told when something happens to others.
    const nlohmann::ordered_json event = answers_.gpus.value("last_event", nlohmann::ordered_json());
    if (asked_ && !event.is_null() && event == event_ && at - *asked_ < kAskAllEvery) return {};
    TRY_ASSIGN(answers_.overview, client_.get("/v1"));
    TRY_ASSIGN(answers_.nodes, client_.get("/v1/nodes"));
    TRY_ASSIGN(answers_.jobs, client_.get("/v1/jobs?state=active&arrays=as-one&limit=1000"));
    event_ = event;
    asked_ = at;
    return {};
  }
  [[nodiscard]] const TopAnswers& answers() const { return answers_; }

 private:
  DaemonClient client_;
  TopAnswers answers_;
  nlohmann::ordered_json event_;
  std::optional<Instant> asked_;
};

Status show_once(const TopOptions& options, TopReader& reader) {
  TRY(reader.read(now()));
  const TopAnswers& a = reader.answers();
  if (options.daemon.json)
    return print_json({{"overview", a.overview}, {"nodes", a.nodes["nodes"]}, {"gpus", a.gpus}, {"jobs", a.jobs["jobs"]}});
  const Screen screen = screen_of_stdout();
  const auto lines =
      draw_top(a, {.filter = options.filter}, {.columns = screen.width == 0 ? 80 : screen.width, .rows = 0}, "", screen.colour);
  return write_output("", fmt::format("{}\n", fmt::join(lines, "\n")));
}

Status follow(const TopOptions& options, TopReader& reader) {
  TRY(reader.read(now()));  // who may not, is told before the screen is taken
  TRY_ASSIGN(Terminal terminal, Terminal::take());
  TopControls controls;
  controls.filter = options.filter;
  std::string trouble;
  const Duration every = Duration::from_seconds(std::clamp(options.every_s, 0.2, 60.0));
  Instant next = now() + every;
  while (!terminal.asked_to_leave()) {
    terminal.show(draw_top(reader.answers(), controls, terminal.size(), trouble, screen_of_stdout().colour));
    if (const auto key = terminal.key(std::max(Duration(), next - now())))
      if (!press(controls, key->key, key->text, terminal.size().rows / 2)) break;
    if (now() < next) continue;
    const Status read = reader.read(now());
    trouble = read.ok() ? "" : read.error().message;
    next = now() + every;
  }
  return {};
}

}  // namespace

void add_top_command(Command& app, Action& action) {
  auto options = std::make_shared<TopOptions>();
  Command* command = app.add_subcommand("top", "GPUs, jobs and money per hour, on the whole screen");
  add_client_action(*command, action, options->daemon, [options](DaemonClient& client) {
    TopReader reader(std::move(client));
    return options->once || options->daemon.json ? show_once(*options, reader) : follow(*options, reader);
  });
  command->add_flag("--once", options->once, "print it a single time; so does --json");
  command->add_option("--every", options->every_s, "seconds between looks (2)");
  command->add_option("--filter", options->filter, "only what has this text in its name, queue, user or machine");
  command->footer("Keys: q quit, s sort, / filter, g GPUs only, j jobs only, b both, arrows scroll.\nExample: stint top --once");
}

}  // namespace stint
