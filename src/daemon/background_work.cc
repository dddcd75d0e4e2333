#include "daemon/background_work.h"

#include <chrono>

#include "base/text.h"
#include "host/process.h"

namespace stint {
namespace {

constexpr Duration kLongest = Duration::hours(6);
constexpr size_t kMostBytes = size_t{64} << 20;

/// What it said last, without the program's name.
std::string last_line(std::string_view text) {
  const auto lines = split(trim(text), '\n');
  std::string_view line = lines.empty() ? std::string_view() : trim(lines.back());
  if (line.starts_with("stint: ")) line.remove_prefix(7);
  return std::string(line);
}

}  // namespace

BackgroundWork::BackgroundWork(Options options) : options_(std::move(options)) {
  state_.begun = state_.ended = options_.last;
  state_.next = options_.due(state_);
  thread_ = std::thread([this] { run(); });
}

BackgroundWork::~BackgroundWork() {
  {
    const std::lock_guard guard(lock_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

Status BackgroundWork::begin(std::string by, std::string wish) {
  {
    const std::lock_guard guard(lock_);
    if (wish_ || state_.running_since)
      return make_error(ErrorCode::kConflict, "{} runs since {}: try again when it has ended", options_.name,
                        format_utc(state_.running_since.value_or(options_.clock())));
    wish_ = std::move(wish);
    state_.by = std::move(by);
    state_.running_since = options_.clock();
  }
  wake_.notify_all();
  return {};
}

void BackgroundWork::look_again() {
  {
    const std::lock_guard guard(lock_);
    state_.next = options_.due(state_);
  }
  wake_.notify_all();
}

BackgroundWork::State BackgroundWork::state() const {
  const std::lock_guard guard(lock_);
  return state_;
}

void BackgroundWork::run() {
  std::unique_lock lock(lock_);
  for (;;) {
    const auto is_time = [this] {
      if (wish_) return true;
      state_.next = options_.due(state_);
      return state_.next && *state_.next <= options_.clock();
    };
    while (!stopping_ && !is_time())
      wake_.wait_for(lock, std::chrono::minutes(1));
    if (stopping_) return;
    if (!wish_) state_.by = "daemon";
    const std::string wish = wish_.value_or("");
    wish_.reset();
    state_.begun = state_.running_since = options_.clock();
    state_.next = options_.due(state_);
    lock.unlock();
    const Status done = options_.work(wish, stopping_);
    lock.lock();
    state_.running_since.reset();
    state_.ended = options_.clock();
    state_.error = done.ok() ? "" : done.error().message;
    state_.next = options_.due(state_);
  }
}

Result<std::string> output_in_background(const std::vector<std::string>& command, const std::string& name,
                                         const std::atomic<bool>& stopping) {
  TRY_ASSIGN(CommandOutput done, run_in_background(command, kLongest, kMostBytes, stopping));
  if (done.status.shell_code() != 0)
    return make_error(ErrorCode::kUnavailable, "{} ended with {}: {}", name, done.status.shell_code(),
                      excerpt(last_line(done.standard_error), 400));
  return std::move(done.standard_output);
}

}  // namespace stint
