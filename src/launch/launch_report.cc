#include "launch/launch_report.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/json_fields.h"

namespace stint {
namespace {

constexpr std::array kReportedStates = {ReportedState::kStarted, ReportedState::kRunning, ReportedState::kEnded,
                                        ReportedState::kUnfit};
constexpr int64_t kMostSaved = 366 * 86'400;

}  // namespace

std::string_view name_of(ReportedState state) {
  switch (state) {
    case ReportedState::kStarted: return "started";
    case ReportedState::kRunning: return "running";
    case ReportedState::kEnded: return "ended";
    case ReportedState::kUnfit: return "unfit";
  }
  return "started";
}

std::string to_json(const LaunchReport& report) {
  const json_fields::Json json = {{"state", name_of(report.state)},
                                  {"gpus", report.gpus},
                                  {"interrupted", report.interrupted},
                                  {"exit_code", report.exit_code},
                                  {"saved_s", report.saved.whole_seconds()},
                                  {"pieces", report.pieces},
                                  {"beat", report.beat},
                                  {"detail", report.detail}};
  return json.dump(-1, ' ', false, json_fields::Json::error_handler_t::replace) + "\n";
}

Result<LaunchReport> parse_launch_report(std::string_view json, const std::string& source) {
  return json_fields::read_document<LaunchReport>(json, source, [](const json_fields::Json& document) {
    const std::string word = json_fields::text_of(document, "state");
    const auto* const state = std::ranges::find(kReportedStates, word, [](ReportedState s) { return name_of(s); });
    if (state == kReportedStates.end())
      throw json_fields::Malformed(document, fmt::format("'state' is '{}', which is none", excerpt(word)));
    const json_fields::Json& interrupted = json_fields::member(document, "interrupted");
    if (!interrupted.is_boolean()) throw json_fields::Malformed(document, "'interrupted' is neither true nor false");
    return LaunchReport{
        .state = *state,
        .gpus = static_cast<int32_t>(json_fields::integer_of(document, "gpus", 0, 10'000)),
        .interrupted = interrupted.get<bool>(),
        .exit_code = static_cast<int32_t>(json_fields::integer_of(document, "exit_code", 0, 255)),
        .saved = Duration::seconds(json_fields::integer_of(document, "saved_s", 0, kMostSaved)),
        .pieces = json_fields::integer_of(document, "pieces", 0, 1'000'000'000),
        .beat = json_fields::integer_of(document, "beat", 0, int64_t{1} << 60),
        .detail = json_fields::text_of(document, "detail"),
    };
  });
}

}  // namespace stint
