// How fast does a daemon accept jobs through its API, and how long does each wait for its answer? An open loop: requests are due
// at instants fixed beforehand, and an answer's time counts from then, whether or not a connection was free to send it.
// Source of the method: Tene 2013, "How NOT to measure latency" (coordinated omission).
//   build/release/bench/api_load --port 8470 --token-file state/admin.token --queue research --rate 500 --seconds 10
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <deque>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/text.h"

namespace stint {
namespace {

using Clock = std::chrono::steady_clock;

struct Load {
  int port = 8470;
  std::string token_file;
  std::string queue = "research";
  double rate = 500;    ///< submissions a second
  double seconds = 10;  ///< of them
  int connections = 64;
  int streams = 0;  ///< listeners of events beside them
};

int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0, "no server listens on port {}", port);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return fd;
}

struct Connection {
  int fd = -1;
  bool busy = false;
  Clock::time_point due;  ///< of the request it is on
  std::string got;
};

class Client {
 public:
  Client(const Load& load, std::string token) : load_(load), token_(std::move(token)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (int s = 0; s < load_.streams; ++s)
      add(streams_,
          "GET /v1/events HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer " + token_ + "\r\nAccept: text/event-stream\r\n\r\n");
    for (int c = 0; c < load_.connections; ++c)
      add(connections_, "");
  }

  void run() {
    const auto count = static_cast<int64_t>(load_.rate * load_.seconds);
    const auto begin = Clock::now() + std::chrono::milliseconds(200);
    const auto due_at = [&](int64_t n) {
      return begin + std::chrono::nanoseconds(static_cast<int64_t>(1e9 * static_cast<double>(n) / load_.rate));
    };
    int64_t next = 0;
    const auto give_up = due_at(count) + std::chrono::seconds(30);
    while (static_cast<int64_t>(latencies_ms_.size()) + failed_ < count && Clock::now() < give_up) {
      for (; next < count && due_at(next) <= Clock::now(); ++next)
        due_.push_back(due_at(next));
      send_due();
      wait(next < count ? due_at(next) : Clock::now() + std::chrono::milliseconds(100));
    }
    seconds_taken_ = std::chrono::duration<double>(last_ - begin).count();
    for (int i = 0; i < 20 && load_.streams > 0; ++i)
      wait(Clock::now() + std::chrono::milliseconds(50));
  }

  void print() {
    std::ranges::sort(latencies_ms_);
    const auto at = [&](double part) {
      return latencies_ms_.empty() ? 0.0
                                   : latencies_ms_[static_cast<size_t>(part * static_cast<double>(latencies_ms_.size() - 1))];
    };
    fmt::print("{} accepted, {} refused; {:.0f} a second asked, {:.0f} a second accepted\n", latencies_ms_.size(), failed_,
               load_.rate, static_cast<double>(latencies_ms_.size()) / seconds_taken_);
    fmt::print("from due to answered: median {:.1f} ms, p99 {:.1f} ms, longest {:.1f} ms\n", at(0.5), at(0.99), at(1));
    if (streams_.empty()) return;
    const auto [least, most] = std::ranges::minmax(streams_, {}, [](const Connection& s) { return s.got.size(); });
    fmt::print("{} streams: {} to {} bytes of events each\n", streams_.size(), least.got.size(), most.got.size());
  }

 private:
  void add(std::vector<Connection>& to, const std::string& request) {
    Connection& made = to.emplace_back();
    made.fd = connect_to(load_.port);
    const bool is_stream = &to == &streams_;
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = (is_stream ? kStream : 0) + to.size() - 1;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, made.fd, &event);
    if (!request.empty()) CHECK(write(made.fd, request.data(), request.size()) == std::ssize(request), "a request is cut");
  }

  void send_due() {
    for (Connection& c : connections_) {
      if (due_.empty()) return;
      if (c.busy) continue;
      const std::string body = fmt::format(
          R"({{"queue":"{}","name":"load-{}","command":["./train"],"gpus":1,"simulated_duration":1}})", load_.queue, ++sent_);
      const std::string request = fmt::format(
          "POST /v1/jobs HTTP/1.1\r\nHost: load\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n"
          "Idempotency-Key: {}-{}\r\nContent-Length: {}\r\n\r\n{}",
          token_, getpid(), sent_, body.size(), body);
      CHECK(write(c.fd, request.data(), request.size()) == std::ssize(request), "a request is cut");
      c.busy = true;
      c.due = due_.front();
      due_.pop_front();
    }
  }

  void wait(Clock::time_point until) {
    std::array<epoll_event, 256> events = {};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    const int ready =
        epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), static_cast<int>(std::clamp<int64_t>(left, 0, 100)));
    for (int i = 0; i < ready; ++i) {
      const uint64_t which = events[static_cast<size_t>(i)].data.u64;
      Connection& c = which >= kStream ? streams_[which - kStream] : connections_[which];
      std::array<char, 65'536> buffer;
      const ssize_t got = read(c.fd, buffer.data(), buffer.size());
      if (got <= 0) {
        CHECK(got < 0 && errno == EAGAIN, "the daemon closed a connection");
        continue;
      }
      c.got.append(buffer.data(), static_cast<size_t>(got));
      if (which < kStream) answered(c);
    }
  }

  void answered(Connection& c) {
    const size_t end = c.got.find("\r\n\r\n");
    if (end == std::string::npos) return;
    std::string head = c.got.substr(0, end);
    std::ranges::transform(head, head.begin(), [](unsigned char x) { return static_cast<char>(std::tolower(x)); });
    const size_t at = head.find("content-length: ");
    CHECK(at != std::string::npos, "an answer without a length");
    if (c.got.size() < end + 4 + std::stoul(head.substr(at + 16))) return;
    last_ = Clock::now();
    if (head.find(" 201 ") != std::string::npos)
      latencies_ms_.push_back(std::chrono::duration<double, std::milli>(last_ - c.due).count());
    else if (failed_++ == 0)
      fmt::print(stderr, "{}\n", c.got);
    c.got.clear();
    c.busy = false;
  }

  static constexpr uint64_t kStream = 1 << 20;
  Load load_;
  std::string token_;
  int epoll_;
  std::vector<Connection> connections_, streams_;
  std::deque<Clock::time_point> due_;  ///< not sent: no connection was free
  int64_t sent_ = 0, failed_ = 0;
  Clock::time_point last_;
  double seconds_taken_ = 1;
  std::vector<double> latencies_ms_;
};

}  // namespace
}  // namespace stint

int main(int argc, char** argv) {
  stint::Load load;
  CLI::App app("Submits jobs to a daemon at a steady rate and says how long each waited");
  app.add_option("--port", load.port, "of the daemon, on this machine")->required();
  app.add_option("--token-file", load.token_file)->required();
  app.add_option("--queue", load.queue);
  app.add_option("--rate", load.rate, "submissions a second");
  app.add_option("--seconds", load.seconds)->check(CLI::Range(0.1, 3600.0));
  app.add_option("--connections", load.connections)->check(CLI::Range(1, 10'000));
  app.add_option("--streams", load.streams, "listeners of events beside them")->check(CLI::Range(0, 10'000));
  CLI11_PARSE(app, argc, argv);
  std::string token;
  std::getline(std::ifstream(load.token_file) >> std::ws, token);
  stint::Client client(load, token);
  client.run();
  client.print();
  return 0;
}
