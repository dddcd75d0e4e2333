#include "daemon/log_reader.h"

namespace stint {
namespace {

constexpr size_t kMostReadsWaiting = 1000;

}  // namespace

LogReader::LogReader(const Backend* backend) : backend_(backend), thread_([this] { run(); }) {}

LogReader::~LogReader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void LogReader::read(const LogQuery& query, Answer answer) {
  {
    const std::lock_guard lock(mutex_);
    if (asked_.size() < kMostReadsWaiting && !stopping_) {
      asked_.emplace_back(query, std::move(answer));
      wake_.notify_all();
      return;
    }
  }
  answer(make_error(ErrorCode::kUnavailable, "too many logs are being read: try again"));
}

void LogReader::run() {
  for (;;) {
    std::pair<LogQuery, Answer> next;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !asked_.empty(); });
      if (asked_.empty()) return;
      next = std::move(asked_.front());
      asked_.pop_front();
    }
    next.second(backend_ == nullptr ? Result<LogPiece>(LogPiece()) : backend_->read_log(next.first));
  }
}

}  // namespace stint
