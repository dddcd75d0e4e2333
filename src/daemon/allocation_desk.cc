#include "daemon/allocation_desk.h"

#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "codec/bills/opencost_writer.h"
#include "host/beside.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr size_t kMostAllocationsWaiting = 16;
constexpr Duration kLongestAllocation = Duration::minutes(10);
constexpr size_t kMostAllocationBytes = size_t{64} << 20;

std::vector<std::string> allocation_command(const std::string& program, const std::string& history, const AllocationQuestion& q) {
  std::vector<std::string> command = {program,
                                      "bill",
                                      "--history=" + history,
                                      "--format",
                                      "opencost",
                                      "--by=" + q.aggregate,
                                      "--idle",
                                      q.idle,
                                      "--since=" + format_utc(q.window.begin),
                                      "--until=" + format_utc(q.window.end)};
  if (q.step) command.push_back(fmt::format("--step={}s", q.step->whole_seconds()));
  for (const std::string& client : q.clients.value_or(std::vector<std::string>()))
    command.push_back("--client=" + client);
  return command;
}

Result<std::string> answer_of_nothing(const AllocationQuestion& question) {
  TRY_ASSIGN(const std::vector<Interval> steps, allocation_steps(question.window, question.step));
  std::vector<Allocation> empty;
  for (const Interval step : steps)
    empty.push_back({.window = step, .rows = {}});
  return opencost_answer(empty, "");
}

}  // namespace

AllocationDesk::AllocationDesk(std::string program, std::string history)
    : program_(std::move(program)), history_(std::move(history)), thread_([this] { run(); }) {}

AllocationDesk::~AllocationDesk() {
  stopping_ = true;
  {
    const std::lock_guard guard(lock_);  // so that the thread is not between looking and waiting
  }
  wake_.notify_all();
  thread_.join();
}

void AllocationDesk::ask(AllocationQuestion question, Answer answer) {
  {
    const std::lock_guard guard(lock_);
    if (waiting_.size() < kMostAllocationsWaiting) {
      waiting_.push_back({std::move(question), std::move(answer)});
      answer = nullptr;
    }
  }
  if (answer) return answer(make_error(ErrorCode::kUnavailable, "many ask for allocations just now: try again in a minute"));
  wake_.notify_all();
}

void AllocationDesk::run() {
  std::unique_lock lock(lock_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    next.answer(stopping_ ? Result<std::string>(make_error(ErrorCode::kUnavailable, "the daemon stops"))
                          : answer_to(next.question));
    lock.lock();
  }
}

Result<std::string> AllocationDesk::answer_to(const AllocationQuestion& question) const {
  if (!is_regular_file(history_)) return answer_of_nothing(question);
  TRY_ASSIGN(CommandOutput done,
             run_beside(allocation_command(program_, history_, question), kLongestAllocation, kMostAllocationBytes, stopping_));
  if (done.status.shell_code() == 0) return std::move(done.standard_output);
  const std::string_view said = trim(done.standard_error);
  return make_error(ErrorCode::kUnavailable, "the allocation ended with {}: {}", done.status.shell_code(),
                    excerpt(said.substr(said.rfind('\n') + 1), 400));
}

}  // namespace stint
