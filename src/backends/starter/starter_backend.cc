#include "backends/starter/starter_backend.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

namespace stint {
namespace {

/// Both may have been started at a time.
constexpr int kTriesAtStart = 100;
constexpr std::chrono::milliseconds kBetweenTriesAtStart(100);
/// A start has a script and an environment; the rest is small.
constexpr size_t kOrdersAtOnce = 16;

class TasksByStarter final : public MachineTasks {
 public:
  explicit TasksByStarter(const std::string& socket) : client_(socket, StarterRole::kQuestions) {}

  std::vector<KeptLog> kept_logs() override {
    const auto answer = client_.ask(StarterKeptLogs{});
    auto logs = answer.ok() ? read_starter_kept(answer->text) : Result<std::vector<KeptLog>>(answer.error());
    return logs.ok() ? std::move(*logs) : std::vector<KeptLog>();
  }
  Status cut_log(const LaunchKey& key) override { return done(StarterCutLog{key}); }
  Status shorten_log(const LaunchKey& key, Bytes most) override { return done(StarterShortenLog{key, most}); }
  ProcessOwner owner_of(int64_t pid) override {
    const auto answer = client_.ask(StarterOwner{pid});
    auto owner = answer.ok() ? read_starter_owner(answer->text) : Result<ProcessOwner>(answer.error());
    return owner.ok() ? *owner : ProcessOwner();
  }

 private:
  Status done(const StarterRequest& request) {
    TRY_ASSIGN(const StarterMessage answer, client_.ask(request));
    return read_starter_done(answer.text);
  }
  StarterClient client_;
};

}  // namespace

Status StarterClient::connect() {
  if (socket_.valid()) return {};
  TRY_ASSIGN(socket_, connect_to_socket(path_));
  auto greeting = exchange(StarterHello{role_});
  if (!greeting.ok()) return greeting.error();
  greeting_ = std::move(greeting->text);
  const auto notes = role_ == StarterRole::kOrders ? read_starter_notes(greeting_)
                                                   : Result<std::vector<std::string>>(std::vector<std::string>());
  const Status may = notes.ok() ? role_ == StarterRole::kOrders ? Status() : read_starter_done(greeting_) : Status(notes.error());
  if (!may.ok()) socket_ = Descriptor();
  return may;
}

void StarterClient::disconnect() {
  const std::lock_guard lock(mutex_);
  socket_ = Descriptor();
}

Result<StarterMessage> StarterClient::exchange(const StarterRequest& request) {
  const std::string text = to_json(request);
  if (text.size() > kMostStarterMessage)
    return invalid("what would be asked of the starter has {} bytes: at most {} are taken", text.size(), kMostStarterMessage);
  Status sent = send_message(socket_, text);
  auto answer = sent.ok() ? receive_message(socket_, kMostStarterMessage, static_cast<size_t>(kMostStarterLog))
                          : Result<StarterMessage>(sent.error());
  if (answer.ok()) return answer;
  socket_ = Descriptor();
  return make_error(ErrorCode::kUnavailable, "{}: the starter does not answer: {}", path_, answer.error().message);
}

Result<StarterMessage> StarterClient::ask(const StarterRequest& request) {
  const std::lock_guard lock(mutex_);
  const bool was_connected = socket_.valid();
  TRY(connect());
  auto answer = exchange(request);
  // It may have been started anew since the last question: all but orders may be asked again.
  if (answer.ok() || !was_connected || role_ == StarterRole::kOrders || socket_.valid()) return answer;
  TRY(connect());
  return exchange(request);
}

StarterBackend::StarterBackend(Options options)
    : options_(std::move(options)),
      orders_client_(options_.socket, StarterRole::kOrders),
      questions_(std::make_unique<StarterClient>(options_.socket, StarterRole::kQuestions)),
      orders_at_once_(kOrdersAtOnce) {}

Result<std::unique_ptr<StarterBackend>> StarterBackend::connect(Options options) {
  auto backend = std::unique_ptr<StarterBackend>(new StarterBackend(std::move(options)));
  Status connected = backend->orders_client_.connect();
  for (int i = 0; !connected.ok() && i < kTriesAtStart; ++i) {
    std::this_thread::sleep_for(kBetweenTriesAtStart);
    connected = backend->orders_client_.connect();
  }
  if (!connected.ok())
    return make_error(ErrorCode::kUnavailable,
                      "{}: is the starter running (systemctl status stint-starter), and may this user ask it?",
                      connected.error().message);
  TRY_ASSIGN(backend->notes_, read_starter_notes(backend->orders_client_.greeting()));
  return backend;
}

std::unique_ptr<MachineTasks> StarterBackend::tasks_of(const std::string& socket) {
  return std::make_unique<TasksByStarter>(socket);
}

void StarterBackend::submit(std::vector<Order> orders) {
  std::ranges::move(orders, std::back_inserter(left_));
  (void)give_orders();
}

/// Again after a connection was lost in the middle: each is carried out once (backend.h).
Status StarterBackend::give_orders() {
  while (!left_.empty()) {
    const auto end = left_.begin() + static_cast<std::ptrdiff_t>(std::min(left_.size(), orders_at_once_));
    const auto answer = orders_client_.ask(StarterOrders{std::vector<Order>(left_.begin(), end)});
    const Status given = answer.ok() ? read_starter_done(answer->text) : Status(answer.error());
    if (given.ok()) {
      left_.erase(left_.begin(), end);
      orders_at_once_ = kOrdersAtOnce;
      continue;
    }
    if (given.error().code != ErrorCode::kInvalidInput) return given;
    // One of them may not be asked for, and must not keep the others.
    orders_client_.disconnect();
    if (std::exchange(orders_at_once_, size_t{1}) > 1) continue;
    const Order& order = left_.front();
    refusals_.push_back({.order = order.kind,
                         .kind = order.kind == OrderKind::kStart ? RefusalKind::kNotSo : RefusalKind::kNotKnown,
                         .key = order.key,
                         .at = order.at,
                         .detail = "the starter refuses: " + given.error().message});
    left_.erase(left_.begin());
  }
  return {};
}

std::vector<BackendEvent> StarterBackend::drain(Instant now) {
  const auto look = [&]() -> Result<StarterEvents> {
    TRY(give_orders());
    TRY_ASSIGN(const StarterMessage answer, orders_client_.ask(StarterDrain{now}));
    return read_starter_events(answer.text);
  };
  auto seen = look();
  std::vector<BackendEvent> events;
  for (Refusal& refusal : std::exchange(refusals_, {}))
    events.emplace_back(std::move(refusal));
  if (!seen.ok()) {
    // What runs goes on, and is told of once the starter is there again.
    if (!std::exchange(away_, true)) events.emplace_back(BackendNote{seen.error().message});
    return events;
  }
  away_ = false;
  ready_ = true;
  running_ = std::move(seen->running);
  for (const HeldGpu& gpu : seen->held)
    if (options_.tell_held) options_.tell_held(gpu.gpu, gpu.why);
  std::ranges::move(seen->events, std::back_inserter(events));
  return events;
}

Result<LogPiece> StarterBackend::read_log(const LogQuery& query) const {
  LogQuery bounded = query;
  bounded.limit = std::min(query.limit, kMostStarterLog);
  TRY_ASSIGN(StarterMessage answer, questions_->ask(StarterReadLog{bounded}));
  return read_starter_log(answer.text, std::move(answer.bytes));
}

}  // namespace stint
