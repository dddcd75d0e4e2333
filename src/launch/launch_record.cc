#include "launch/launch_record.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

constexpr Duration kLeastPaid = Duration::minutes(1);
// What no machine is, so that sums have room.
constexpr Duration kLongest = kHour * 24 * 366;
constexpr Money kDearest = Money::units(10'000);
constexpr size_t kMachineRowFields = 11;

std::string row_field(std::string_view text) {
  std::string plain(text.substr(0, 500));
  for (char& c : plain)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return plain;
}

std::string row_of(const LaunchedMachine& m) {
  std::string flags;
  if (m.made) flags += 'm';
  if (m.spoke) flags += 's';
  if (m.interrupted) flags += 'i';
  return fmt::format("machine\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", row_field(m.name), row_field(m.pool),
                     m.rate.per_hour().count_nanos(), m.rate.per_hour().currency().code(), m.begun.ns(),
                     m.ended ? fmt::format("{}", m.ended->ns()) : "-", flags, m.saved.whole_seconds(), m.printed,
                     row_field(m.why));
}

Result<int64_t> whole_number(std::string_view text) {
  const auto number = parse_int(text);
  if (!number || *number < 0) return invalid("'{}' is no number of 0 or more", excerpt(text));
  return *number;
}

Result<LaunchedMachine> parse_launched(const std::vector<std::string_view>& f) {
  LaunchedMachine m{.name = std::string(f[1]), .pool = std::string(f[2])};
  TRY_ASSIGN(const int64_t nanos, whole_number(f[3]));
  TRY_ASSIGN(const Currency currency, Currency::parse(f[4]));
  m.rate = Rate::per_hour(Money::nanos(nanos, currency));
  TRY_ASSIGN(const int64_t begun, whole_number(f[5]));
  m.begun = Instant::from_ns(begun);
  if (f[6] != "-") {
    TRY_ASSIGN(const int64_t ended, whole_number(f[6]));
    m.ended = Instant::from_ns(ended);
  }
  m.made = f[7].find('m') != std::string_view::npos;
  m.spoke = f[7].find('s') != std::string_view::npos;
  m.interrupted = f[7].find('i') != std::string_view::npos;
  TRY_ASSIGN(const int64_t saved, whole_number(f[8]));
  if (saved > kLongest.whole_seconds() || (m.ended && *m.ended - m.begun > kLongest))
    return invalid("machine '{}' of more than a year", excerpt(f[1]));
  if (nanos > kDearest.count_nanos()) return invalid("machine '{}' at {} an hour", excerpt(f[1]), kDearest.to_text());
  m.saved = Duration::seconds(saved);
  TRY_ASSIGN(m.printed, whole_number(f[9]));
  m.why = f[10];
  return m;
}

bool is_there(const MadeMachine& made) {
  return made.was_ready || !made.id.empty() || made.state == MadeState::kComing || made.state == MadeState::kReady ||
         made.state == MadeState::kLeaving;
}

}  // namespace

Duration LaunchedMachine::paid(Instant now) const {
  return made ? std::max(kLeastPaid, ended.value_or(std::max(now, begun)) - begun) : Duration();
}

Duration LaunchRecord::saved() const {
  Duration all;
  for (const LaunchedMachine& each : machines_)
    all += each.saved;
  return all;
}

Money LaunchRecord::cost(Instant now) const {
  Money all;
  for (const LaunchedMachine& each : machines_)
    all += each.cost(now);
  return all;
}

void LaunchRecord::stop(Instant now) {
  if (stopped_) return;
  stopped_ = now;
  new_stop_ = true;
}

void LaunchRecord::finish(LaunchEnd end) {
  if (end_) return;
  end_ = std::move(end);
  new_end_ = true;
}

LaunchedMachine& LaunchRecord::machine(const std::string& name) {
  const auto found = std::ranges::find(machines_, name, &LaunchedMachine::name);
  if (found != machines_.end()) return *found;
  machines_.push_back({.name = name});
  return machines_.back();
}

void LaunchRecord::update(Instant now, const CapacityBook& book, const std::vector<CapacityNews>& news,
                          const std::map<std::string, HeardReport>& reports) {
  for (const auto& [name, made] : book.machines()) {
    LaunchedMachine& m = machine(name);
    m.pool = made.pool;
    m.rate = made.rate;
    m.begun = made.begun;
    m.made |= is_there(made);
    if (made.state == MadeState::kEnding && m.why.empty()) m.why = made.detail;
  }
  // One whose lifetime is over ended by our own word: its pool is as good as before.
  const std::optional<Duration>& lifetime = book.rules().lifetime;
  const auto is_its_time_over = [&](const LaunchedMachine& m) {
    return lifetime && m.ended.value_or(now) - m.begun >= *lifetime;
  };
  for (const CapacityNews& each : news) {
    const auto m = std::ranges::find(machines_, each.machine, &LaunchedMachine::name);
    if (m == machines_.end()) continue;
    const bool is_taken = each.event == CapacityEvent::kLost || (each.event == CapacityEvent::kDraining && each.until);
    m->interrupted |= is_taken && !is_its_time_over(*m);
    if (!each.detail.empty() && m->why.empty()) m->why = each.detail;
  }
  for (const auto& [name, heard] : reports) {
    const auto m = std::ranges::find(machines_, name, &LaunchedMachine::name);
    if (m == machines_.end()) continue;
    m->made = m->spoke = true;
    m->saved = std::max(m->saved, heard.report.saved);
    // One that has done its part is gone without a word from the cloud, too.
    if (heard.report.state == ReportedState::kEnded) m->interrupted = heard.report.interrupted && !is_its_time_over(*m);
    if (heard.report.state == ReportedState::kUnfit) m->spoke = false;
    if (!heard.report.detail.empty()) m->why = heard.report.detail;
  }
  for (LaunchedMachine& m : machines_)
    if (!m.ended && !book.machines().contains(m.name)) m.ended = now;
}

std::vector<std::string> LaunchRecord::take_rows() {
  std::vector<std::string> rows;
  for (size_t i = 0; i < machines_.size(); ++i)
    if (i >= written_.size() || machines_[i] != written_[i]) rows.push_back(row_of(machines_[i]));
  written_ = machines_;
  if (std::exchange(new_stop_, false)) rows.push_back(fmt::format("stop\t{}", stopped_->ns()));
  if (std::exchange(new_end_, false))
    rows.push_back(fmt::format("end\t{}\t{}\t{}", end_->code, end_->at.ns(), row_field(end_->why)));
  return rows;
}

Status LaunchRecord::read_row(std::string_view row) {
  const std::vector<std::string_view> f = split(row, '\t');
  if (f[0] == "machine" && f.size() == kMachineRowFields) {
    TRY_ASSIGN(LaunchedMachine parsed, parse_launched(f));
    machine(parsed.name) = std::move(parsed);
    written_ = machines_;
  } else if (f[0] == "stop" && f.size() == 2) {
    TRY_ASSIGN(const int64_t at, whole_number(f[1]));
    stopped_ = Instant::from_ns(at);
  } else if (f[0] == "end" && f.size() == 4) {
    TRY_ASSIGN(const int64_t code, whole_number(f[1]));
    TRY_ASSIGN(const int64_t at, whole_number(f[2]));
    end_ = {.code = static_cast<int32_t>(std::min<int64_t>(code, 255)), .at = Instant::from_ns(at), .why = std::string(f[3])};
  } else {
    return invalid("'{}' is no row of a launch", excerpt(row));
  }
  return {};
}

}  // namespace stint
