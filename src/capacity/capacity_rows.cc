// The book as rows of a log: fields apart by tabs, the last row of a machine or a pool counts.
//
//   machine NAME POOL WISH CLIENT STATE ASKED BEGUN UNTIL NANOS CURRENCY ID GANG TRIES FLAGS DETAIL     (instants in ns; UNTIL may be -)
//   gone NAME
//   shut POOL UNTIL TIMES WHY      open POOL
//   number N                       the last that a name was made of
#include <algorithm>
#include <array>

#include "base/text.h"
#include "capacity/capacity_book.h"

namespace stint {
namespace {

constexpr size_t kMachineFields = 16;
constexpr std::array kStates = {MadeState::kAsked,   MadeState::kUnsure, MadeState::kComing, MadeState::kReady,
                                MadeState::kLeaving, MadeState::kEnding, MadeState::kOff};

std::string field(std::string_view text) {
  std::string plain(text.substr(0, 500));
  for (char& c : plain)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return plain;
}

std::string machine_row(const std::string& name, const MadeMachine& m) {
  std::string flags;
  if (m.answered) flags += 'a';
  if (m.at_risk) flags += 'k';
  if (m.was_ready) flags += 'r';
  if (m.unsure) flags += 'u';
  return fmt::format("machine\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", field(name), field(m.pool),
                     field(m.wish), field(m.client), name_of(m.state), m.asked.ns(), m.begun.ns(),
                     m.until ? fmt::format("{}", m.until->ns()) : "-", m.rate.per_hour().count_nanos(),
                     m.rate.per_hour().currency().code(), field(m.id), m.gang, m.tries, flags, field(m.detail));
}

std::string shut_row(const std::string& key, const CapacityBook::Shut& shut) {
  return fmt::format("shut\t{}\t{}\t{}\t{}", field(key), shut.until.ns(), shut.times, field(shut.why));
}

Result<int64_t> number_of(std::string_view text) {
  const auto number = parse_int(text);
  if (!number || *number < 0) return invalid("'{}' is no number of 0 or more", excerpt(text));
  return *number;
}

Result<MadeMachine> parse_made(const std::vector<std::string_view>& f) {
  if (f.size() != kMachineFields) return invalid("{} fields in place of {}", f.size(), kMachineFields);
  MadeMachine m{.pool = std::string(f[2]), .wish = std::string(f[3]), .client = std::string(f[4])};
  const auto state = std::ranges::find(kStates, f[5], [](MadeState s) { return name_of(s); });
  if (state == kStates.end()) return invalid("'{}' is no state of a machine", excerpt(f[5]));
  m.state = *state;
  TRY_ASSIGN(const int64_t asked, number_of(f[6]));
  TRY_ASSIGN(const int64_t begun, number_of(f[7]));
  m.asked = Instant::from_ns(asked);
  m.begun = Instant::from_ns(begun);
  if (f[8] != "-") {
    TRY_ASSIGN(const int64_t until, number_of(f[8]));
    m.until = Instant::from_ns(until);
  }
  TRY_ASSIGN(const int64_t nanos, number_of(f[9]));
  TRY_ASSIGN(const Currency currency, Currency::parse(f[10]));
  m.rate = Rate::per_hour(Money::nanos(nanos, currency));
  m.id = f[11];
  TRY_ASSIGN(m.gang, number_of(f[12]));
  TRY_ASSIGN(const int64_t tries, number_of(f[13]));
  m.tries = static_cast<int32_t>(std::min<int64_t>(tries, 1'000));
  m.answered = f[14].find('a') != std::string_view::npos;
  m.at_risk = f[14].find('k') != std::string_view::npos;
  m.was_ready = f[14].find('r') != std::string_view::npos;
  m.unsure = f[14].find('u') != std::string_view::npos;
  m.detail = f[15];
  return m;
}

}  // namespace

Status CapacityBook::read_row(std::string_view row) {
  const std::vector<std::string_view> f = split(row, '\t');
  if (f[0] == "machine") {
    TRY_ASSIGN(MadeMachine machine, parse_made(f));
    machines_.insert_or_assign(std::string(f[1]), std::move(machine));
  } else if (f[0] == "gone" && f.size() == 2) {
    machines_.erase(std::string(f[1]));
  } else if (f[0] == "shut" && f.size() == 5) {
    TRY_ASSIGN(const int64_t until, number_of(f[2]));
    TRY_ASSIGN(const int64_t times, number_of(f[3]));
    shut_[std::string(f[1])] = {.until = Instant::from_ns(until),
                                .times = static_cast<int32_t>(std::min<int64_t>(times, 1'000)),
                                .why = std::string(f[4])};
  } else if (f[0] == "open" && f.size() == 2) {
    shut_.erase(std::string(f[1]));
  } else if (f[0] == "number" && f.size() == 2) {
    TRY_ASSIGN(number_, number_of(f[1]));
  } else {
    return invalid("'{}' is no row of machines", excerpt(row));
  }
  return {};
}

Result<CapacityBook> CapacityBook::recover(CapacityRules rules, std::span<const std::string> rows, Instant now) {
  CapacityBook book(std::move(rules));
  book.now_ = now;
  for (size_t i = 0; i < rows.size(); ++i)
    if (const Status read = book.read_row(rows[i]); !read.ok())
      return invalid("machines of the log, row {}: {}", i + 1, read.error().message);
  // Whoever gave the order is gone, and with it the answer.
  for (auto& [name, machine] : book.machines_)
    if (machine.state == MadeState::kAsked) machine.state = MadeState::kUnsure;
  return book;
}

std::vector<std::string> CapacityBook::compacted() const {
  std::vector<std::string> rows = {fmt::format("number\t{}", number_)};
  for (const auto& [name, machine] : machines_)
    rows.push_back(machine_row(name, machine));
  for (const auto& [key, shut] : shut_)
    if (shut.until + rules_.stockout_most > now_) rows.push_back(shut_row(key, shut));
  return rows;
}

void CapacityBook::write_rows(CapacityStep& out) {
  if (changed_.number) out.rows.push_back(fmt::format("number\t{}", number_));
  for (const std::string& name : changed_.machines) {
    const auto machine = machines_.find(name);
    out.rows.push_back(machine == machines_.end() ? fmt::format("gone\t{}", field(name)) : machine_row(name, machine->second));
  }
  for (const std::string& key : changed_.shut) {
    const auto shut = shut_.find(key);
    out.rows.push_back(shut == shut_.end() ? fmt::format("open\t{}", field(key)) : shut_row(key, shut->second));
  }
  written_ = std::exchange(changed_, {});
}

}  // namespace stint
