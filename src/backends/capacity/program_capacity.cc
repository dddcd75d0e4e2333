#include "backends/capacity/program_capacity.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "host/process.h"

namespace stint {
namespace {

constexpr size_t kMostProgramOutput = 1 << 20;

/// @return what it printed. @return error naming what was asked of it and how it ended.
Result<std::string> run_capacity_program(const std::vector<std::string>& command, const CapacityProgram& program,
                                         const std::atomic<bool>& stopping) {
  const auto asked = [&] {
    return fmt::format("{} {}", command.front(), fmt::join(command.begin() + std::ssize(program.command), command.end(), " "));
  };
  Result<CommandOutput> done = program.in_background ? run_in_background(command, program.patience, kMostProgramOutput, stopping)
                                                     : run_command(command, program.patience, kMostProgramOutput);
  if (!done.ok()) return Error{done.error().code, fmt::format("{}: {}", excerpt(asked(), 200), done.error().message)};
  if (done->status.shell_code() == 0) return std::move(done->standard_output);
  const auto lines = split(trim(done->standard_error), '\n');
  return make_error(ErrorCode::kUnavailable, "{}: it ended with {}: {}", excerpt(asked(), 200), done->status.shell_code(),
                    lines.empty() ? "" : excerpt(lines.back(), 200));
}

/// @param well  for those that the program has no word about. @param refused  for the others.
CapacityHeard answers_of(int64_t call, const std::vector<std::string>& names, CapacityOutcome well, CapacityOutcome refused,
                         const Result<std::string>& said) {
  CapacityHeard heard;
  for (const std::string& name : names)
    heard.answers.push_back({.call = call,
                             .name = name,
                             .outcome = said.ok() ? well : CapacityOutcome::kUnknown,
                             .detail = said.ok() ? "" : said.error().message});
  if (!said.ok()) return heard;
  for (auto& [name, why] : read_refusals(*said, names)) {
    const auto answer = std::ranges::find(heard.answers, name, &CapacityAnswer::name);
    answer->outcome = refused;
    answer->detail = std::move(why);
  }
  return heard;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_refusals(std::string_view output, const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> refused;
  for (const std::string_view line : split(output, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = trim(line.substr(0, colon));
    if (std::ranges::find(names, name) == names.end()) continue;
    refused.emplace_back(name, excerpt(trim(line.substr(colon + 1)), 200));
  }
  return refused;
}

Result<std::vector<ListedMachine>> read_program_list(std::string_view output, std::string_view owner) {
  std::vector<ListedMachine> machines;
  int64_t number = 0;
  for (const std::string_view raw : split(output, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty()) continue;
    const size_t blank = line.find_first_of(" \t");
    const std::string_view state = blank == std::string_view::npos ? "" : trim(line.substr(blank));
    ListedMachine machine{.id = {}, .name = std::string(line.substr(0, blank)), .owner = std::string(owner)};
    if (state == "ready")
      machine.state = ListedState::kReady;
    else if (state == "going")
      machine.state = ListedState::kGoing;
    else if (state != "coming")
      return invalid("line {} of its list: '{}': expected a name and coming, ready or going", number, excerpt(line));
    machines.push_back(std::move(machine));
  }
  return machines;
}

ProgramCapacity::ProgramCapacity(CapacityProgram program, std::string owner, std::function<void()> heard)
    : program_(std::move(program)), owner_(std::move(owner)), heard_(std::move(heard)) {}

ProgramCapacity::~ProgramCapacity() {
  stopping_ = true;
  for (Run& run : runs_)
    run.thread.join();
}

void ProgramCapacity::begin(std::vector<std::string> arguments, std::function<CapacityHeard(const Result<std::string>&)> read) {
  std::vector<std::string> command = program_.command;
  std::ranges::move(arguments, std::back_inserter(command));
  Run& run = runs_.emplace_back();
  run.thread = std::thread([this, &run, command = std::move(command), read = std::move(read)] {
    CapacityHeard heard = read(run_capacity_program(command, program_, stopping_));
    {
      const std::lock_guard guard(lock_);
      std::ranges::move(heard.answers, std::back_inserter(answers_.answers));
      std::ranges::move(heard.lists, std::back_inserter(answers_.lists));
      run.has_ended = true;
    }
    news_.notify_all();
    if (heard_) heard_();
  });
}

void ProgramCapacity::create(const CreateOrder& order, Instant) {
  const auto start = [&](std::vector<std::string> names) {
    std::vector<std::string> arguments = {program_.start};
    arguments.insert(arguments.end(), names.begin(), names.end());
    const CapacityOutcome well = program_.lists ? CapacityOutcome::kMade : CapacityOutcome::kReady;
    begin(std::move(arguments), [call = order.call, well, names = std::move(names)](const Result<std::string>& said) {
      return answers_of(call, names, well, CapacityOutcome::kStockout, said);
    });
  };
  if (!program_.one_by_one) return start(order.names);
  for (const std::string& name : order.names)
    start({name});
}

void ProgramCapacity::destroy(const DestroyOrder& order, Instant) {
  const auto stop = [&](std::vector<std::string> names) {
    std::vector<std::string> arguments = {program_.stop};
    arguments.insert(arguments.end(), names.begin(), names.end());
    begin(std::move(arguments), [call = order.call, names = std::move(names)](const Result<std::string>& said) {
      return answers_of(call, names, CapacityOutcome::kGone, CapacityOutcome::kUnknown, said);
    });
  };
  std::vector<std::string> names;
  for (const DestroyOrder::Target& target : order.targets)
    if (program_.one_by_one)
      stop({target.name});
    else
      names.push_back(target.name);
  if (!names.empty()) stop(std::move(names));
}

void ProgramCapacity::list(int64_t call, Instant) {
  begin({"list"}, [call, owner = owner_](const Result<std::string>& said) {
    CapacityHeard heard;
    CapacityList list{.call = call, .unread = {}, .machines = {}};
    auto machines = said.ok() ? read_program_list(*said, owner) : Result<std::vector<ListedMachine>>(said.error());
    if (machines.ok())
      list.machines = std::move(*machines);
    else
      list.unread.push_back({.provider = {}, .name = "program", .why = machines.error().message});
    heard.lists.push_back(std::move(list));
    return heard;
  });
}

CapacityHeard ProgramCapacity::hear(Instant) {
  CapacityHeard heard;
  std::list<Run> over;
  {
    const std::lock_guard guard(lock_);
    heard = std::exchange(answers_, {});
    for (auto run = runs_.begin(); run != runs_.end();) {
      const auto next = std::next(run);
      if (run->has_ended) over.splice(over.end(), runs_, run);
      run = next;
    }
  }
  for (Run& run : over)
    run.thread.join();
  return heard;
}

void ProgramCapacity::wait() {
  std::unique_lock lock(lock_);
  news_.wait(lock, [&] { return runs_.empty() || std::ranges::any_of(runs_, &Run::has_ended); });
}

}  // namespace stint
