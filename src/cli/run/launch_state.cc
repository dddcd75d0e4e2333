#include "cli/run/launch_state.h"

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "backends/launch/launch_controller.h"
#include "cli/json_text.h"
#include "cli/output.h"
#include "cli/run/launch_view.h"
#include "daemon/power/cloud_config.h"
#include "host/clock.h"
#include "report/table.h"

namespace stint {
namespace {

std::string launch_state_of(const LaunchState& launch) {
  if (!launch.book.machines().empty()) return std::string(name_of(launch.book.machines().begin()->second.state));
  return launch.record.end()       ? fmt::format("ended with {}", launch.record.end()->code)
         : launch.record.stopped() ? "stopped"
                                   : "none now";
}

}  // namespace

std::string launch_state_folder(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* set = std::getenv("STINT_LAUNCHES"); set != nullptr && *set != '\0') return set;
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "." : home) + "/.local/state/stint/launches";
}

Status list_launches(const std::string& state_folder, bool as_json) {
  const Instant at = now();
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  Table table({{"launch"},
               {"machine"},
               {"state"},
               {"pool", Align::kLeft, 0, 1},
               {"id", Align::kLeft, 0, 3},
               {"begun", Align::kLeft, 0, 2},
               {"cost so far", Align::kRight}});
  for (const std::string& name : launches_in(state_folder)) {
    TRY_ASSIGN(const LaunchState launch, read_launch(state_folder + "/" + name, at));
    all.push_back(launch_json(launch.plan, launch.record, at));
    const auto& machines = launch.book.machines();
    const bool has_one = !machines.empty();
    table.add_row({name, has_one ? machines.begin()->first : "", launch_state_of(launch),
                   has_one ? machines.begin()->second.pool : "", has_one ? machines.begin()->second.id : "",
                   format_utc(launch.plan.begun), launch.record.cost(at).to_text(2)});
  }
  if (as_json) return write_output("", indented(nlohmann::ordered_json{{"launches", std::move(all)}}) + "\n");
  if (table.empty()) {
    say("No launch in {}.\n", state_folder);
    return {};
  }
  return write_output("", table.render(screen_of_stdout()));
}

Status sweep_launches(const std::string& state_folder, bool as_json) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  std::optional<Error> failed;
  for (const std::string& name : launches_in(state_folder)) {
    const LaunchTalk talk{.say = [&](const std::string& sentence) { tell("{}: {}\n", name, sentence); },
                          .output = [](std::string_view) {},
                          .pause =
                              [](Duration time) {
                                std::this_thread::sleep_for(std::chrono::nanoseconds(time.count_ns()));
                                return false;
                              }};
    auto controller = LaunchController::open(state_folder + "/" + name, talk, parse_clouds);
    if (!controller.ok() && controller.error().code == ErrorCode::kConflict) {
      tell("{}: its controller runs, and sweeps by itself\n", name);
      continue;
    }
    const Result<int64_t> ended = controller.ok() ? (*controller)->sweep() : Result<int64_t>(controller.error());
    if (!ended.ok()) {
      tell("{}: {}\n", name, ended.error().message);
      failed = ended.error();
      continue;
    }
    all.push_back({{"launch", name}, {"ended", *ended}});
    if (!as_json) say("{}: {} known, {} ended\n", name, (*controller)->machines(), *ended);
  }
  if (as_json) TRY(write_output("", indented(nlohmann::ordered_json{{"launches", std::move(all)}}) + "\n"));
  if (failed) return *failed;
  return {};
}

}  // namespace stint
