#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "base/utf8.h"
#include "model/change_text.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 10> kKinds = {
    "stop",   "schedule-off",      "resize",       "share",       "switch-market",
    "commit", "limit-reservation", "move-off-gpu", "move-region", "savings-plan"};

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

Result<Commit> parse_commit(std::string_view subject, std::string_view value) {
  const size_t x = subject.find('x');
  const auto count = x == std::string_view::npos ? std::nullopt : parse_int(trim(subject.substr(0, x)));
  if (!count || *count < 1 || *count > 1'000'000)
    return invalid("commit to '{}': write COUNTxTYPE[@REGION]=1y", excerpt(subject));
  const std::string_view type = trim(subject.substr(x + 1));
  const size_t at = type.find('@');
  Commit commit;
  commit.count = *count;
  commit.instance_type = type.substr(0, at);
  if (at != std::string_view::npos) commit.region = type.substr(at + 1);
  const size_t comma = value.find(',');
  TRY_ASSIGN(commit.term, parse_commitment_term(value.substr(0, comma)));
  if (commit.term == CommitmentTerm::kNone) return invalid("commit: the term is missing: write 1y or 3y");
  commit.payment = PaymentOption::kNone;
  if (comma != std::string_view::npos) {
    TRY_ASSIGN(commit.payment, parse_payment_option(value.substr(comma + 1)));
  }
  return commit;
}

/// "12.5,1y,no-upfront,p4d.24xlarge@us-east-1:22.1,g5.xlarge:0.7"; the payment may be left out.
Result<SavingsPlan> parse_savings_plan(std::string_view provider, std::string_view value) {
  const auto wrong = [&] {
    return invalid("savings plan '{}': write PROVIDER=COMMITTED,1y[,PAYMENT],TYPE[@REGION]:RATE, amounts per hour",
                   excerpt(value));
  };
  const std::vector<std::string_view> parts = split(value, ',');
  if (parts.size() < 3) return wrong();
  SavingsPlan plan;
  plan.provider = trim(provider);
  TRY_ASSIGN(plan.per_hour, Money::parse(trim(parts[0])));
  TRY_ASSIGN(plan.term, parse_commitment_term(trim(parts[1])));
  size_t next = 2;
  if (parts[next].find(':') == std::string_view::npos) {
    TRY_ASSIGN(plan.payment, parse_payment_option(trim(parts[next++])));
  }
  const auto sound = [](Money amount) { return amount.count_nanos() > 0 && amount <= Money::units(kMaxUnitsPerHour); };
  for (; next < parts.size(); ++next) {
    const size_t colon = parts[next].rfind(':');
    if (colon == std::string_view::npos) return wrong();
    const std::string_view type = trim(parts[next].substr(0, colon));
    const size_t at = type.find('@');
    TRY_ASSIGN(const Money rate, Money::parse(trim(parts[next].substr(colon + 1))));
    if (type.substr(0, at).empty() || !sound(rate)) return wrong();
    plan.rates.push_back(
        {at == std::string_view::npos ? "" : std::string(type.substr(at + 1)), std::string(type.substr(0, at)), rate});
  }
  if (plan.provider.empty() || !sound(plan.per_hour) || plan.term == CommitmentTerm::kNone || plan.rates.empty()) return wrong();
  return plan;
}

Result<ShareGpus> parse_share(std::vector<std::string> nodes, std::string_view value) {
  const auto wrong = [&] {
    return invalid("share '{}': write mig:PROFILE, mps:PART or time-slice:PART, PART between 0 and 1, and @NODES to keep",
                   excerpt(value));
  };
  const size_t at = value.find('@');
  const std::string_view how = value.substr(0, at);
  const size_t colon = how.find(':');
  if (colon == std::string_view::npos) return wrong();
  const std::string_view part = trim(how.substr(colon + 1));
  ShareGpus share;
  ShareGpus::Placement placement;
  const std::string_view mode = trim(how.substr(0, colon));
  if (mode == name_of(SharingMode::kMig)) {
    share.mode = SharingMode::kMig;
    placement.mig_profile = part;
    if (part.empty()) return wrong();
  } else {
    if (mode != name_of(SharingMode::kMps) && mode != name_of(SharingMode::kTimeSlice)) return wrong();
    share.mode = mode == name_of(SharingMode::kMps) ? SharingMode::kMps : SharingMode::kTimeSlice;
    const auto number = parse_number(part);
    if (!number || *number < 0.001 || *number >= 1) return wrong();
    placement.parts = std::llround(*number * static_cast<double>(kWholeDevice));
  }
  share.keep = nodes;
  if (at != std::string_view::npos) {
    share.keep.clear();
    for (const std::string_view name : split(value.substr(at + 1), ','))
      share.keep.emplace_back(trim(name));
  }
  for (const std::string& node : nodes) {
    placement.from_node = node;
    placement.to_node = share.keep.front();
    share.placements.push_back(placement);
  }
  share.nodes = std::move(nodes);
  return share;
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
  if (kind == "move-off-gpu") return Change(MoveOffGpu{.nodes = std::move(nodes), .to_instance_type = std::string(value)});
  if (kind == "commit") {
    TRY_ASSIGN(Commit commit, parse_commit(subject, value));
    return Change(std::move(commit));
  }
  if (kind == "savings-plan") {
    TRY_ASSIGN(SavingsPlan plan, parse_savings_plan(subject, value));
    return Change(std::move(plan));
  }
  if (kind == "share") {
    TRY_ASSIGN(ShareGpus share, parse_share(std::move(nodes), value));
    return Change(std::move(share));
  }
  return invalid("no kind of change is called '{}': {}", excerpt(kind), fmt::join(kKinds, ", "));
}

bool looks_like_change(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view kind = trim(text.substr(0, colon));
  return std::ranges::find(kKinds, kind) != kKinds.end();
}

Result<ChangeList> parse_changes(std::string_view text) {
  if (!is_utf8(text)) return invalid("change '{}': not UTF-8: names are text", excerpt(text));
  ChangeList list;
  list.name = trim(text);
  for (const std::string_view part : split(text, ';')) {
    TRY_ASSIGN(Change change, parse_change(trim(part)));
    list.changes.push_back(std::move(change));
  }
  return list;
}

}  // namespace stint
