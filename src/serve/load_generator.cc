#include "serve/load_generator.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>

#include "base/prng.h"
#include "base/text.h"
#include "host/descriptor.h"
#include "host/http_client.h"
#include "serve/steady.h"

namespace stint::serve {
namespace {

constexpr Duration kLongestAnswer = Duration::seconds(60);

Result<Descriptor> connect_to(const LoadTarget& target) {
  sockaddr_storage storage = {};
  socklen_t length = 0;
  if (auto* four = reinterpret_cast<sockaddr_in*>(&storage); inet_pton(AF_INET, target.address.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(target.port);
    length = sizeof *four;
  } else {
    auto* six = reinterpret_cast<sockaddr_in6*>(&storage);
    if (inet_pton(AF_INET6, target.address.c_str(), &six->sin6_addr) != 1) return invalid("{}: no IP address", target.address);
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(target.port);
    length = sizeof *six;
  }
  Descriptor made(socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (made.get() < 0 || connect(made.get(), reinterpret_cast<sockaddr*>(&storage), length) != 0)
    return make_error(ErrorCode::kUnavailable, "{} port {}: {}: is a server running there?", target.address, target.port,
                      std::strerror(errno));
  const int on = 1;
  setsockopt(made.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(made.get(), F_SETFL, O_NONBLOCK);
  return made;
}

/// The status of the whole answer at the front of `got`, and its length; none: more is to come. Length 0: it is no HTTP.
struct Answer {
  int status = 0;
  size_t bytes = 0;
};
std::optional<Answer> whole_answer(std::string_view got) {
  const size_t end = got.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  if (!got.starts_with("HTTP/1.") || end < 12) return Answer{};
  Answer answer;
  std::from_chars(got.data() + 9, got.data() + 12, answer.status);
  size_t body = 0;
  for (size_t at = got.find("\r\n"); at < end; at = got.find("\r\n", at + 2)) {
    constexpr std::string_view kLength = "content-length:";
    const std::string_view line = got.substr(at + 2, kLength.size());
    if (!equals_ignoring_case(line, kLength)) continue;
    const std::string_view value = trim(got.substr(at + 2 + kLength.size(), got.find("\r\n", at + 2) - at - 2 - kLength.size()));
    std::from_chars(value.data(), value.data() + value.size(), body);
  }
  answer.bytes = end + 4 + body;
  if (got.size() < answer.bytes) return std::nullopt;
  return answer;
}

class Generator {
 public:
  static Result<Generator> create(const LoadTarget& target) {
    Generator made(target);
    if (made.epoll_.get() < 0) return make_error(ErrorCode::kInternal, "epoll: {}", std::strerror(errno));
    for (int i = 0; i < target.connections; ++i)
      TRY(made.open(made.connections_.emplace_back()));
    for (size_t i = 0; i < made.connections_.size(); ++i)
      made.free_.push_back(i);
    return made;
  }

  LoadOutcome run_open(const std::vector<Duration>& due, Duration patience) {
    const Instant begin = steady_now() + Duration::milliseconds(50);
    const Instant give_up = begin + (due.empty() ? Duration() : due.back()) + patience;
    size_t next = 0;
    for (Instant now = steady_now(); ended_ < due.size() && now < give_up; now = steady_now()) {
      for (; next < due.size() && begin + due[next] <= now; ++next)
        due_.push_back(begin + due[next]);
      while (!due_.empty() && !free_.empty()) {
        send(due_.front());
        due_.pop_front();
      }
      wait(next < due.size() ? begin + due[next] - now : give_up - now);
    }
    outcome_.refused[0] += static_cast<int64_t>(due.size() - ended_);
    return finish(begin);
  }

  /// Status of the answer to the first request; 0: there was none.
  int ask() {
    if (free_.empty()) return 0;  // an earlier one was never answered
    last_status_ = 0;
    send(steady_now());
    const Instant give_up = steady_now() + kLongestAnswer;
    for (Instant now = steady_now(); free_.empty() && now < give_up; now = steady_now())
      wait(give_up - now);
    return last_status_;
  }

  LoadOutcome run_closed(Duration length) {
    const Instant begin = steady_now();
    const Instant end = begin + length;
    for (Instant now = begin; now < end; now = steady_now()) {
      while (!free_.empty())
        send(steady_now());
      wait(end - now);
    }
    return finish(begin);
  }

 private:
  struct Connection {
    Descriptor socket{-1};
    bool busy = false;
    Instant due, sent;
    std::string got;
    std::string_view unsent;
  };

  explicit Generator(const LoadTarget& target) : target_(target), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

  Status open(Connection& connection) {
    TRY_ASSIGN(connection.socket, connect_to(target_));
    epoll_event event = {};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.u64 = static_cast<uint64_t>(&connection - connections_.data());
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, connection.socket.get(), &event);
    return {};
  }

  LoadOutcome finish(Instant begin) {
    if (outcome_.refused[0] == 0) outcome_.refused.erase(0);
    outcome_.took = last_ - begin;
    return std::move(outcome_);
  }

  void send(Instant due) {
    const size_t which = free_.back();
    free_.pop_back();
    Connection& connection = connections_[which];
    connection.busy = true;
    connection.due = due;
    connection.unsent = target_.requests[static_cast<size_t>(outcome_.sent++) % target_.requests.size()];
    connection.sent = steady_now();
    outcome_.lag.add(connection.sent - due);
    write_on(connection);
  }

  void write_on(Connection& connection) {
    while (!connection.unsent.empty()) {
      const ssize_t n = ::send(connection.socket.get(), connection.unsent.data(), connection.unsent.size(), MSG_NOSIGNAL);
      if (n < 0) {
        if (errno != EAGAIN) broken(connection);
        return;
      }
      connection.unsent.remove_prefix(static_cast<size_t>(n));
    }
  }

  void wait(Duration longest) {
    const int64_t ns = std::clamp<int64_t>(longest.count_ns(), 0, 100'000'000);
    const timespec time = {ns / 1'000'000'000, ns % 1'000'000'000};
    std::array<epoll_event, 256> events = {};
    const int ready = epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()), &time, nullptr);
    for (int i = 0; i < ready; ++i) {
      Connection& connection = connections_[events[static_cast<size_t>(i)].data.u64];
      if (connection.busy) write_on(connection);
      read_on(connection);
    }
  }

  void read_on(Connection& connection) {
    std::array<char, 65'536> buffer;
    for (;;) {
      const ssize_t n = recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
      if (n < 0 && errno == EAGAIN) break;
      if (n <= 0) return broken(connection);
      connection.got.append(buffer.data(), static_cast<size_t>(n));
      if (n < std::ssize(buffer)) break;
    }
    const std::optional<Answer> answer = connection.busy ? whole_answer(connection.got) : std::nullopt;
    if (!answer) return;
    if (answer->bytes == 0) return broken(connection);
    connection.got.erase(0, answer->bytes);
    last_ = steady_now();
    last_status_ = answer->status;
    if (answer->status == 200) {
      ++outcome_.answered;
      outcome_.latency.add(last_ - connection.due);
      outcome_.at_server.add(last_ - connection.sent);
    } else {
      ++outcome_.refused[answer->status];
    }
    end(connection);
  }

  /// The request on it, if any, is lost; the next one gets a new connection.
  void broken(Connection& connection) {
    if (connection.busy) {
      ++outcome_.refused[0];
      last_ = steady_now();
    }
    const bool was_busy = connection.busy;
    connection.got.clear();
    connection.unsent = {};
    if (!open(connection).ok()) {
      if (was_busy) ++ended_;  // no server there: this connection is out of use
      connection.busy = false;
      return;
    }
    if (was_busy) end(connection);
  }

  void end(Connection& connection) {
    ++ended_;
    connection.busy = false;
    free_.push_back(static_cast<size_t>(&connection - connections_.data()));
  }

  const LoadTarget& target_;
  Descriptor epoll_;
  std::vector<Connection> connections_;
  std::vector<size_t> free_;
  std::deque<Instant> due_;  // not sent: no connection was free
  size_t ended_ = 0;
  Instant last_;
  int last_status_ = 0;
  LoadOutcome outcome_;
};

}  // namespace

std::vector<Duration> due_times(const LoadShape& shape) {
  std::vector<Duration> due;
  if (shape.per_second_at_end <= 0) {
    batching::ArrivalStream stream(shape.arrivals, shape.per_second, 1, shape.seed);
    for (Instant next = stream.next(); next < Instant() + shape.length; next = stream.next())
      due.push_back(next - Instant());
    return due;
  }
  // A Poisson process whose rate goes from a to b: unit-rate arrivals u where ∫ rate = u, a·t + (b − a)·t² ÷ 2T = u.
  Prng prng(shape.seed);
  const double a = shape.per_second, b = shape.per_second_at_end, length = shape.length.to_seconds();
  double u = 0;
  for (;;) {
    u -= std::log1p(-prng.uniform());
    const double c = (b - a) / (2 * length);
    const double root = a * a + 4 * c * u;
    const double t = std::abs(c) < 1e-12 ? u / a : root < 0 ? length : (std::sqrt(root) - a) / (2 * c);
    if (t >= length) return due;
    due.push_back(Duration::from_seconds(t));
  }
}

std::string infer_post(std::string_view model, std::string_view host, const InferMessage& message) {
  std::string head = fmt::format("POST /v2/models/{}/infer HTTP/1.1\r\nHost: {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n",
                                 escape_url(model), host, message.head_bytes ? "application/octet-stream" : "application/json",
                                 message.body.size());
  if (message.head_bytes) head += fmt::format("Inference-Header-Content-Length: {}\r\n", *message.head_bytes);
  return head + "\r\n" + message.body;
}

Result<LoadOutcome> run_open_load(const LoadTarget& target, const std::vector<Duration>& due, Duration patience) {
  TRY_ASSIGN(Generator generator, Generator::create(target));
  return generator.run_open(due, patience);
}

Result<std::function<Status()>> one_by_one(LoadTarget target) {
  struct Asker {
    LoadTarget target;
    std::optional<Generator> generator;
  };
  auto asker = std::make_shared<Asker>();
  asker->target = std::move(target);
  asker->target.connections = 1;
  TRY_ASSIGN(Generator generator, Generator::create(asker->target));
  asker->generator.emplace(std::move(generator));
  return std::function<Status()>([asker]() -> Status {
    const int status = asker->generator->ask();
    if (status == 200) return {};
    return make_error(ErrorCode::kUnavailable, "{}: {}", asker->target.address,
                      status == 0 ? "the server did not answer" : fmt::format("the server answers with status {}", status));
  });
}

Result<LoadOutcome> run_closed_load(const LoadTarget& target, Duration length) {
  TRY_ASSIGN(Generator generator, Generator::create(target));
  return generator.run_closed(length);
}

}  // namespace stint::serve
