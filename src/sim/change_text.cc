#include <algorithm>
#include <array>

#include "base/text.h"
#include "sim/apply_change.h"

namespace stint::sim {
namespace {

constexpr std::array<std::string_view, 9> kKinds = {"stop",   "schedule-off",      "resize",       "share",      "switch-market",
                                                    "commit", "limit-reservation", "move-off-gpu", "move-region"};

Result<WeekHours> parse_hours(std::string_view text) {
  const auto wrong = [&] { return invalid("hours '{}': write FROM-TO in UTC, as in 20-7 or 20-7+weekends", excerpt(text)); };
  std::string_view daily = text;
  const bool weekends = daily.ends_with("+weekends");
  if (weekends) daily.remove_suffix(std::string_view("+weekends").size());
  const size_t dash = daily.find('-');
  if (dash == std::string_view::npos) return wrong();
  const auto from = parse_int(daily.substr(0, dash));
  const auto to = parse_int(daily.substr(dash + 1));
  if (!from || !to || *from < 0 || *from > 23 || *to < 0 || *to > 24 || *from == *to) return wrong();
  WeekHours off;
  for (size_t hour = 0; hour < off.size(); ++hour) {
    const auto of_day = static_cast<int64_t>(hour % 24);
    const bool inside = *from < *to ? of_day >= *from && of_day < *to : of_day >= *from || of_day < *to;
    off[hour] = inside || (weekends && hour >= 120);
  }
  return off;
}

Result<ResizeNodes> parse_resize(std::vector<std::string> nodes, std::string_view to) {
  const size_t x = to.find('x');
  const auto count = x == std::string_view::npos ? std::nullopt : parse_int(to.substr(0, x));
  if (!count || *count < 1) return invalid("resize to '{}': write COUNTxTYPE[@REGION]", excerpt(to));
  const std::string_view type = to.substr(x + 1);
  const size_t at = type.find('@');
  return ResizeNodes{.nodes = std::move(nodes),
                     .to_instance_type = std::string(type.substr(0, at)),
                     .to_region = at == std::string_view::npos ? "" : std::string(type.substr(at + 1)),
                     .to_count = *count};
}

}  // namespace

Result<Change> parse_change(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  const size_t equals = kind == "stop" ? std::string_view::npos : rest.rfind('=');
  const std::string_view subject = rest.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? std::string_view() : rest.substr(equals + 1);
  std::vector<std::string> nodes;
  for (const std::string_view name : split(subject, ','))
    nodes.emplace_back(trim(name));
  if (subject.empty() || (kind != "stop" && value.empty()))
    return invalid("change '{}': write stop:NODES or KIND:NODES=VALUE", excerpt(text));
  if (kind == "stop") return Change(StopNodes{.nodes = std::move(nodes)});
  if (kind == "schedule-off") {
    TRY_ASSIGN(const WeekHours off, parse_hours(value));
    return Change(ScheduleOff{.nodes = std::move(nodes), .off = off});
  }
  if (kind == "resize") {
    TRY_ASSIGN(ResizeNodes resize, parse_resize(std::move(nodes), value));
    return Change(std::move(resize));
  }
  if (kind == "switch-market") {
    TRY_ASSIGN(const Market market, parse_market(value));
    return Change(SwitchMarket{.nodes = std::move(nodes), .to = market});
  }
  if (kind == "move-region") return Change(MoveRegion{.nodes = std::move(nodes), .to_region = std::string(value)});
  if (kind == "limit-reservation") {
    TRY_ASSIGN(const Duration to, parse_duration(value));
    return Change(LimitReservation{.workload = std::string(subject), .nodes = {}, .from = {}, .to = to});
  }
  return invalid(
      "change '{}' cannot be replayed: use stop, schedule-off, resize, switch-market, move-region or limit-reservation",
      excerpt(kind));
}

bool looks_like_change(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view kind = trim(text.substr(0, colon));
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

Result<ChangeList> parse_changes(std::string_view text) {
  ChangeList list{.name = std::string(trim(text)), .changes = {}};
  for (const std::string_view part : split(text, ';')) {
    TRY_ASSIGN(Change change, parse_change(trim(part)));
    list.changes.push_back(std::move(change));
  }
  return list;
}

}  // namespace stint::sim
