// With libcurl as the well-behaved client and raw sockets as the others.
#include "host/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "host/http_client.h"
#include "host/scratch_dir.h"
#include "host/testing_certificates.h"

namespace stint {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::StartsWith;

/// Says back what it was sent.
void echo(const HttpRequest& request, const Responder& responder) {
  responder.reply({.status = 200,
                   .content_type = "text/plain",
                   .headers = {{"Echo", "yes"}},
                   .body = fmt::format("{} {} [{}] {}", request.method, request.target, request.body, request.tls_client)});
}

HttpServer start(HttpHandler handler = echo, HttpServerOptions options = {}) {
  auto server = HttpServer::start(std::move(options), std::move(handler));
  CHECK(server.ok(), "{}", server.error().message);
  return std::move(*server);
}

/// A connection that sends what it is told, byte for byte.
class RawClient {
 public:
  explicit RawClient(const HttpServer& server, int receive_buffer = 0) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience = {.tv_sec = 5, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (receive_buffer > 0) setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    CHECK(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "cannot connect");
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { close(socket_); }
  bool send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  void end_sending() const { shutdown(socket_, SHUT_WR); }
  /// Until `count` bytes came or the server closed; five seconds of silence end it, too.
  [[nodiscard]] std::string receive(size_t count = SIZE_MAX) const {
    std::string got;
    for (char piece[4096]; got.size() < count;) {
      const ssize_t n = recv(socket_, piece, sizeof piece, 0);
      if (n <= 0) break;
      got.append(piece, static_cast<size_t>(n));
    }
    return got;
  }
  /// Everything up to and with `end`.
  [[nodiscard]] std::string receive_until(std::string_view end) const {
    std::string got;
    for (char c = 0; !got.ends_with(end) && recv(socket_, &c, 1, 0) == 1;)
      got += c;
    return got;
  }

 private:
  int socket_;
};

std::string answer_to(const HttpServer& server, std::string_view bytes) {
  const RawClient client(server);
  client.send(bytes);
  client.end_sending();
  return client.receive();
}

TEST(HttpServer, AnswersAndKeepsTheConnection) {
  std::atomic<int> requests = 0;
  std::mutex lock;
  std::set<std::string> peers;
  const HttpServer server = start([&](const HttpRequest& request, const Responder& responder) {
    ++requests;
    const std::lock_guard guard(lock);
    peers.insert(request.peer);
    echo(request, responder);
  });
  HttpClient client;
  for (int i = 0; i < 3; ++i) {
    const auto response =
        client.send({.method = "POST", .url = server.url() + "/v1/jobs?a=b", .headers = {{"X-A", "1"}}, .body = "{}"});
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "POST /v1/jobs?a=b [{}] ");
    EXPECT_EQ(*response->header("echo"), "yes");
  }
  EXPECT_EQ(requests, 3);
  EXPECT_EQ(peers.size(), 1U);
}

TEST(HttpServer, HandsOverHeadersInLowerCase) {
  std::vector<std::pair<std::string, std::string>> headers;
  const HttpServer server = start([&](const HttpRequest& request, const Responder& responder) {
    headers = request.headers;
    EXPECT_EQ(*request.header("x-key"), "v");
    responder.reply({.status = 204});
  });
  EXPECT_THAT(answer_to(server, "GET / HTTP/1.1\r\nHost: a\r\nX-KEY: v\r\n\r\n"), StartsWith("HTTP/1.1 204"));
  EXPECT_THAT(headers, Contains(Pair("host", "a")));
}

TEST(HttpServer, PipelinedRequestsAreAnsweredInOrder) {
  const HttpServer server = start();
  const std::string got = answer_to(server,
                                    "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
                                    "POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
                                    "HEAD /3 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const size_t first = got.find("GET /1 []");
  const size_t second = got.find("POST /2 [abc]");
  ASSERT_NE(first, std::string::npos) << got;
  ASSERT_NE(second, std::string::npos) << got;
  EXPECT_LT(first, second);
  EXPECT_THAT(got.substr(second), HasSubstr("Content-Length: 10\r\n"));  // "GET /3 [] ", of which HEAD sees the length
  EXPECT_THAT(got, Not(HasSubstr("GET /3")));
}

TEST(HttpServer, AnswersFromAnotherThread) {
  std::thread worker;
  {
    const HttpServer server = start([&](HttpRequest request, Responder responder) {
      worker = std::thread([request = std::move(request), responder = std::move(responder)] { echo(request, responder); });
    });
    EXPECT_THAT(HttpClient().get(server.url() + "/x")->body, StartsWith("GET /x"));
  }
  worker.join();
}

TEST(HttpServer, AnAnswerAfterItsEndDoesNoHarm) {
  std::optional<Responder> kept;
  std::optional<EventStream> stream;
  std::atomic<int> seen = 0;
  {
    const HttpServer server = start([&](const HttpRequest& request, const Responder& responder) {
      if (request.target == "/stream")
        stream = responder.stream();
      else
        kept = responder;
      ++seen;
    });
    const RawClient one(server);
    one.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const RawClient two(server);
    two.send("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n");
    while (seen < 2)
      std::this_thread::yield();
  }
  kept->reply({});
  EXPECT_FALSE(stream->send("a", "1", "late"));
}

TEST(HttpServer, AForgottenRequestIsAnInternalError) {
  const HttpServer server = start([](const HttpRequest&, const Responder&) {});
  const auto response = HttpClient().get(server.url() + "/");
  EXPECT_EQ(response->status, 500);
  EXPECT_THAT(response->body, HasSubstr("about:blank"));
}

TEST(HttpServer, WhatIsNoHttpIsRefused) {
  const HttpServer server = start();
  EXPECT_THAT(answer_to(server, "hello\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer_to(server, "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer_to(server, "GET / HTTP/9.9\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer_to(server, "GET / HTTP/1.1\r\nNo colon here\r\n\r\n"), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer_to(server, std::string("GET / HTTP/1.1\r\nA: \0\r\n\r\n", 25)), StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(answer_to(server, "\x16\x03\x01\x02\x00\x01\x00\x01"), StartsWith("HTTP/1.1 400"));  // TLS to a plain port
  EXPECT_EQ(HttpClient().get(server.url() + "/still")->status, 200);
}

TEST(HttpServer, ABodyHasOneLength) {  // two lengths are how requests are smuggled past a proxy
  std::atomic<int> handled = 0;
  const HttpServer server = start([&](const HttpRequest& request, const Responder& responder) {
    ++handled;
    echo(request, responder);
  });
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\n";
  for (const char* lengths : {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 3\r\nContent-Length: 4\r\n",
                              "Content-Length: -1\r\n", "Content-Length: 99999999999999999999\r\n", "Content-Length: 3x\r\n"})
    EXPECT_THAT(answer_to(server, head + lengths + "\r\n3\r\nabc\r\n0\r\n\r\n"), StartsWith("HTTP/1.1 4")) << lengths;
  EXPECT_EQ(handled, 0);
  EXPECT_THAT(answer_to(server, head + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
              HasSubstr("[abcde]"));
}

TEST(HttpServer, HeadAndBodyAreBounded) {
  HttpServerOptions options;
  options.max_head_bytes = 4096;
  options.max_body_bytes = 1000;
  std::atomic<int> handled = 0;
  const HttpServer server = start(
      [&](const HttpRequest& request, const Responder& responder) {
        ++handled;
        echo(request, responder);
      },
      options);
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_THAT(answer_to(server, head + "A: " + std::string(5000, 'x') + "\r\n\r\n"), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(answer_to(server, "GET /" + std::string(5000, 'x')), StartsWith("HTTP/1.1 431"));
  EXPECT_THAT(answer_to(server, head + "Content-Length: 1001\r\n\r\n" + std::string(1001, 'x')), StartsWith("HTTP/1.1 413"));
  EXPECT_THAT(answer_to(server, head + "Transfer-Encoding: chunked\r\n\r\n7D0\r\n" + std::string(2000, 'x') + "\r\n0\r\n\r\n"),
              StartsWith("HTTP/1.1 413"));
  EXPECT_EQ(handled, 0);
  EXPECT_THAT(answer_to(server, head + "Content-Length: 1000\r\n\r\n" + std::string(1000, 'x')), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, ACutOffRequestIsNotHandled) {
  std::atomic<int> handled = 0;
  const HttpServer server = start([&](const HttpRequest& request, const Responder& responder) {
    ++handled;
    echo(request, responder);
  });
  EXPECT_EQ(answer_to(server, ""), "");
  EXPECT_THAT(answer_to(server, "POST / HTTP/1.1\r\nHo"), Not(StartsWith("HTTP/1.1 2")));
  EXPECT_THAT(answer_to(server, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc"), Not(StartsWith("HTTP/1.1 2")));
  EXPECT_EQ(handled, 0);
}

TEST(HttpServer, ABodyThatWaitsForLeaveGetsIt) {
  const HttpServer server = start();
  const RawClient client(server);
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(client.receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("abc");
  EXPECT_THAT(client.receive(), HasSubstr("[abc]"));
}

TEST(HttpServer, SlowClientsAreCutOff) {
  HttpServerOptions options;
  options.head_timeout = Duration::milliseconds(150);
  options.body_timeout = Duration::milliseconds(150);
  const HttpServer server = start(echo, options);
  const RawClient silent(server);
  const RawClient in_head(server);
  const RawClient in_body(server);
  in_body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n");
  bool cut_off = false;
  for (int i = 0; i < 300 && !cut_off; ++i) {  // a byte now and then does not win more time
    in_body.send("x");
    cut_off = !in_head.send(i == 0 ? "GET / HTTP/1.1\r\n" : "A: b\r\n");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(cut_off);
  EXPECT_EQ(silent.receive(), "");
  EXPECT_THAT(in_body.receive(), Not(StartsWith("HTTP/1.1 2")));
  EXPECT_EQ(HttpClient().get(server.url() + "/")->status, 200);
}

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// Keeps those who ask for /wait waiting.
class Waiting {
 public:
  HttpHandler handler() {
    return [this](const HttpRequest& request, const Responder& responder) {
      if (request.target != "/wait") return echo(request, responder);
      const std::lock_guard guard(lock_);
      waiting_.push_back(responder);
    };
  }
  void until(size_t count) {
    for (int i = 0; i < 5000 && waiting() < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(waiting(), count);
  }

 private:
  size_t waiting() {
    const std::lock_guard guard(lock_);
    return waiting_.size();
  }
  std::mutex lock_;
  std::vector<Responder> waiting_;
};
constexpr std::string_view kWait = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";

TEST(HttpServer, ConnectionsAreBounded) {
  Waiting waiting;
  HttpServerOptions options;
  options.max_connections = 2;
  const HttpServer server = start(waiting.handler(), options);
  const RawClient one(server);
  const RawClient two(server);
  one.send(kWait);
  two.send(kWait);
  waiting.until(2);
  EXPECT_THAT(RawClient(server).receive(), StartsWith("HTTP/1.1 503"));
}

/// Idle sockets shut no newcomer out.
TEST(HttpServer, WhoDoesNotAskGivesWay) {
  Waiting waiting;
  HttpServerOptions options;
  options.max_connections = 3;
  const HttpServer server = start(waiting.handler(), options);
  const RawClient asks(server);
  asks.send(kWait);
  waiting.until(1);
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 20; ++i) {
    idle.push_back(std::make_unique<RawClient>(server));
    const RawClient newcomer(server);
    newcomer.send(kGet);
    EXPECT_THAT(newcomer.receive_until("\r\n\r\n"), StartsWith("HTTP/1.1 200")) << i;
  }
  EXPECT_EQ(idle.front()->receive(), "");  // closed, not silent
}

HttpAdmission by_name(const HttpRequest& head) {
  const std::string* name = head.header("name");
  if (name == nullptr) return {.refusal = HttpReply{401, "text/plain", {}, "who are you?"}, .user = ""};
  return {.refusal = std::nullopt, .user = *name};
}

TEST(HttpServer, StrangersGiveWayBeforeUsers) {
  HttpServerOptions options;
  options.max_connections = 2;
  options.gate = by_name;
  const HttpServer server = start(echo, options);
  constexpr std::string_view kKnown = "GET / HTTP/1.1\r\nHost: a\r\nName: ann\r\n\r\n";
  const RawClient known(server);
  known.send(kKnown);
  EXPECT_THAT(known.receive_until("] "), StartsWith("HTTP/1.1 200"));
  std::vector<std::unique_ptr<RawClient>> strangers;
  for (int i = 0; i < 20; ++i) {
    strangers.push_back(std::make_unique<RawClient>(server));
    strangers.back()->send(kGet);
    EXPECT_THAT(strangers.back()->receive_until("\r\n\r\n"), StartsWith("HTTP/1.1 401"));
  }
  known.send(kKnown);
  EXPECT_THAT(known.receive_until("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
}

TEST(HttpServer, OneAddressHasItsPart) {
  HttpServerOptions options;
  options.max_peer_connections = 2;
  const HttpServer server = start(echo, options);
  const RawClient first(server);
  const RawClient second(server);
  const RawClient third(server);
  third.send(kGet);
  EXPECT_THAT(third.receive_until("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(first.receive(), "");
}

/// The answer is there although not one byte of the body was sent.
TEST(HttpServer, StrangersAreTurnedAwayBeforeTheirBodyIsRead) {
  std::atomic<int> handled = 0;
  HttpServerOptions options;
  options.gate = by_name;
  const HttpServer server = start(
      [&](const HttpRequest& request, const Responder& responder) {
        ++handled;
        echo(request, responder);
      },
      options);
  const RawClient stranger(server);
  stranger.send("POST /jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n");
  const std::string answer = stranger.receive_until("you?");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 401"));
  EXPECT_THAT(answer, HasSubstr("Connection: close"));
  const RawClient expects(server);
  expects.send("POST /jobs HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(expects.receive_until("\r\n"), StartsWith("HTTP/1.1 401"));
  EXPECT_EQ(handled, 0);
  EXPECT_THAT(answer_to(server, "POST /jobs HTTP/1.1\r\nHost: a\r\nName: ann\r\nContent-Length: 2\r\n\r\nhi"), HasSubstr("[hi]"));
}

TEST(HttpServer, OneUserHasItsPartOfRequests) {
  Waiting waiting;
  HttpServerOptions options;
  options.gate = by_name;
  options.max_user_requests = 2;
  const HttpServer server = start(waiting.handler(), options);
  const auto ask = [](const RawClient& client, std::string_view name) {
    client.send(fmt::format("GET /wait HTTP/1.1\r\nHost: a\r\nName: {}\r\n\r\n", name));
  };
  {
    const RawClient one(server), two(server), three(server), other(server);
    ask(one, "ann");
    ask(two, "ann");
    waiting.until(2);
    ask(three, "ann");
    EXPECT_THAT(three.receive_until("\r\n\r\n"), StartsWith("HTTP/1.1 429"));
    ask(other, "bob");
    waiting.until(3);
  }
}

TEST(HttpServer, OneUserHasItsPartOfBodies) {
  HttpServerOptions options;
  options.gate = by_name;
  options.max_user_body_bytes = 1000;
  const HttpServer server = start(echo, options);
  const auto begin = [](const RawClient& client, std::string_view name) {
    client.send(
        fmt::format("POST / HTTP/1.1\r\nHost: a\r\nName: {}\r\nContent-Length: 600\r\nExpect: 100-continue\r\n\r\n", name));
    return client.receive_until("\r\n");
  };
  const RawClient one(server), two(server), other(server), later(server);
  EXPECT_THAT(begin(one, "ann"), HasSubstr(" 100 "));
  EXPECT_THAT(begin(two, "ann"), HasSubstr(" 429 "));
  EXPECT_THAT(begin(other, "bob"), HasSubstr(" 100 "));
  one.send(std::string(600, 'x'));
  EXPECT_THAT(one.receive_until("x] "), HasSubstr(" 200 "));
  EXPECT_THAT(begin(later, "ann"), HasSubstr(" 100 "));
}

TEST(HttpServer, OneUserHasItsPartOfStreams) {
  std::mutex lock;
  std::vector<EventStream> streams;
  HttpServerOptions options;
  options.gate = by_name;
  options.max_user_streams = 1;
  options.max_user_requests = 1;  // a stream is none
  const HttpServer server = start(
      [&](const HttpRequest&, const Responder& responder) {
        const std::lock_guard guard(lock);
        streams.push_back(responder.stream());
        streams.back().send("hello", "", "there");
      },
      options);
  const auto ask = [](const RawClient& client, std::string_view name) {
    client.send(fmt::format("GET / HTTP/1.1\r\nHost: a\r\nName: {}\r\n\r\n", name));
    return client.receive_until("\r\n");
  };
  const RawClient one(server), two(server), other(server);
  EXPECT_THAT(ask(one, "ann"), HasSubstr(" 200 "));
  EXPECT_THAT(one.receive_until("data: there"), HasSubstr("hello"));
  EXPECT_THAT(ask(two, "ann"), HasSubstr(" 429 "));
  EXPECT_THAT(ask(other, "bob"), HasSubstr(" 200 "));
}

TEST(HttpServer, StreamsEvents) {
  std::mutex lock;
  std::vector<EventStream> streams;
  const HttpServer server = start([&](const HttpRequest&, const Responder& responder) {
    EventStream stream = responder.stream();
    stream.send("job", "7", "{\"id\":1}");
    stream.send("", "bad\nid", "two\r\nlines");
    const std::lock_guard guard(lock);
    streams.push_back(std::move(stream));
  });
  std::string got;
  const std::string expected = "id: 7\nevent: job\ndata: {\"id\":1}\n\ndata: two\ndata: lines\n\n";
  const auto response = HttpClient().follow({.url = server.url() + "/v1/events"}, [&](std::string_view piece) {
    got += piece;
    return got.size() < expected.size();
  });
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(got, expected);
  for (bool open = true; open; std::this_thread::yield()) {  // the client's going is noticed without sending anything
    const std::lock_guard guard(lock);
    open = streams[0].open();
  }
}

TEST(HttpServer, AStreamEndsWithItsLastHolder) {
  const HttpServer server = start([](const HttpRequest&, const Responder& responder) { responder.stream().send("a", "", "b"); });
  EXPECT_THAT(answer_to(server, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"), testing::EndsWith("event: a\ndata: b\n\n"));
}

TEST(HttpServer, ASlowReaderIsDroppedAndTheOthersAreNot) {
  HttpServerOptions options;
  options.max_unread_event_bytes = 64 << 10;
  std::mutex lock;
  std::vector<EventStream> streams;
  const HttpServer server = start(
      [&](const HttpRequest&, const Responder& responder) {
        const std::lock_guard guard(lock);
        streams.push_back(responder.stream());
      },
      options);
  const auto open_stream = [&](const RawClient& client) {
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_THAT(client.receive_until("\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  };
  const RawClient slow(server, 4096);
  open_stream(slow);
  const RawClient quick(server);
  open_stream(quick);
  const std::string data(1000, 'x');
  int sent = 0;
  while (streams[0].send("", "", data)) {  // the system's buffers take some megabytes at most
    ASSERT_TRUE(streams[1].send("", "", data));
    ASSERT_LT(++sent, 100'000);
    EXPECT_EQ(quick.receive(data.size() + 8).size(), data.size() + 8);
  }
  EXPECT_FALSE(streams[0].open());
  EXPECT_TRUE(streams[1].open());
}

TEST(HttpServer, IdleStreamsGetHeartbeats) {
  HttpServerOptions options;
  options.heartbeat = Duration::milliseconds(20);
  std::optional<EventStream> stream;
  const HttpServer server = start([&](const HttpRequest&, const Responder& responder) { stream = responder.stream(); }, options);
  const RawClient client(server);
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.receive_until("\n\n"), HasSubstr(": still here"));
}

TEST(HttpServer, ServesTlsAndKnowsWhoShowsACertificate) {
  const ScratchDir dir;
  const TestingCertificates files = write_certificates(dir);
  HttpServerOptions options;
  options.tls = {files.server_certificate, files.server_key, files.authority, ""};
  const HttpServer server = start(echo, options);
  EXPECT_THAT(server.url(), StartsWith("https://"));
  HttpOptions known;
  known.ca_file = files.authority;
  EXPECT_FALSE(HttpClient(known).get(server.url() + "/").ok());  // no certificate known
  known.certificate_file = files.client_certificate;
  known.key_file = files.client_key;
  HttpClient client(known);
  for (int i = 0; i < 2; ++i) {
    const auto response = client.get(server.url() + "/");
    ASSERT_TRUE(response.ok()) << response.error().message;
    EXPECT_EQ(response->body, "GET / [] ann");
  }
  known.ca_file = "";
  EXPECT_THAT(HttpClient(known).get(server.url() + "/").error().message, HasSubstr("certificate"));
  EXPECT_EQ(answer_to(server, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").find("HTTP/1.1 2"), std::string::npos);
}

/// Bytes that differ at every place a piece may be lost or doubled.
std::string long_body(size_t bytes) {
  std::string body;
  body.reserve(bytes + 8);
  for (size_t i = 0; body.size() < bytes; ++i)
    body += fmt::format("{:07x} ", i);
  body.resize(bytes);
  return body;
}

/// Bodies around the size of a TLS record (16 KiB), of what is written at a time, and of MiBs go up and come back whole, one after the
/// other over one connection.
void expect_long_bodies_both_ways(const HttpServer& server, const HttpOptions& options, const std::set<std::string>& peers) {
  HttpClient client(options);
  for (const size_t bytes :
       std::initializer_list<size_t>{1, 16'000, 16'384, 16'385, 40'000, 65'536, 1'048'577, 8'388'611, 3, 200'000}) {
    SCOPED_TRACE(bytes);
    const std::string body = long_body(bytes);
    const auto echoed = client.send({.method = "POST", .url = server.url() + "/echo", .body = body});
    ASSERT_TRUE(echoed.ok()) << echoed.error().message;
    EXPECT_EQ(echoed->status, 200);
    EXPECT_EQ(*echoed->header("content-length"), std::to_string(bytes));
    EXPECT_TRUE(echoed->body == body) << echoed->body.size() << " bytes came back";
    const auto got = client.get(fmt::format("{}/make?{}", server.url(), bytes));
    ASSERT_TRUE(got.ok()) << got.error().message;
    EXPECT_TRUE(got->body == body) << got->body.size() << " bytes came";
  }
  EXPECT_EQ(peers.size(), 1u) << "one connection carries all";
}

TEST(HttpServer, LongBodiesGoBothWays) {
  const ScratchDir dir;
  const TestingCertificates files = write_certificates(dir);
  HttpOptions known;
  known.ca_file = files.authority;
  for (const bool tls : {false, true}) {
    SCOPED_TRACE(tls ? "https" : "http");
    std::set<std::string> peers;  // of the server's thread; read once the last answer is here
    HttpServerOptions options;
    options.max_body_bytes = 16 << 20;
    if (tls) options.tls = {files.server_certificate, files.server_key, "", ""};
    const HttpServer server = start(
        [&peers](const HttpRequest& request, const Responder& responder) {
          peers.insert(request.peer);
          const bool echoes = request.method == "POST";
          responder.reply(
              {.body = echoes ? request.body : long_body(std::stoul(request.target.substr(request.target.find('?') + 1)))});
        },
        options);
    expect_long_bodies_both_ways(server, known, peers);
  }
}

TEST(HttpServer, ARenewedCertificateHoldsForNewConnections) {
  const ScratchDir dir, renewed_dir;
  const TestingCertificates files = write_certificates(dir), renewed = write_certificates(renewed_dir);
  HttpServerOptions options;
  options.tls = {files.server_certificate, files.server_key, "", ""};
  HttpServer server = start(echo, options);
  HttpOptions old_authority, new_authority;
  old_authority.ca_file = files.authority;
  new_authority.ca_file = renewed.authority;
  HttpClient stays(old_authority);
  const auto first = stays.get(server.url() + "/");
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_NE(first->header("strict-transport-security"), nullptr);
  std::ofstream(files.server_key) << "no key";
  const Status half = server.reload_certificates();
  ASSERT_FALSE(half.ok());
  EXPECT_THAT(half.error().message, HasSubstr(files.server_key));
  EXPECT_TRUE(HttpClient(old_authority).get(server.url() + "/").ok()) << "what was read before stays";
  std::filesystem::copy_file(renewed.server_certificate, files.server_certificate,
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(renewed.server_key, files.server_key, std::filesystem::copy_options::overwrite_existing);
  ASSERT_TRUE(server.reload_certificates().ok());
  EXPECT_TRUE(stays.get(server.url() + "/").ok()) << "a connection goes on";
  EXPECT_TRUE(HttpClient(new_authority).get(server.url() + "/").ok());
  EXPECT_FALSE(HttpClient(old_authority).get(server.url() + "/").ok());
}

TEST(HttpServer, ARevokedCertificateOpensNothing) {
  const ScratchDir dir;
  const TestingCertificates files = write_certificates(dir);
  const std::string list = dir / "revoked.pem";
  HttpServerOptions options;
  options.tls = {files.server_certificate, files.server_key, files.authority, list};
  const auto nothing = HttpServer::start(options, echo);
  ASSERT_FALSE(nothing.ok());
  EXPECT_THAT(nothing.error().message, HasSubstr(list));
  write_revoked(list, files, Revoked::kNone);
  HttpServer server = start(echo, options);
  HttpOptions known;
  known.ca_file = files.authority;
  known.certificate_file = files.client_certificate;
  known.key_file = files.client_key;
  HttpClient stays(known);
  const auto first = stays.get(server.url() + "/");
  ASSERT_TRUE(first.ok()) << first.error().message;
  write_revoked(list, files, Revoked::kNone);
  ASSERT_TRUE(server.reload_certificates().ok());
  EXPECT_TRUE(stays.get(server.url() + "/").ok());
  write_revoked(list, files, Revoked::kClient);
  ASSERT_TRUE(server.reload_certificates().ok());
  EXPECT_FALSE(stays.get(server.url() + "/").ok()) << "by the connection that was open";
  EXPECT_FALSE(HttpClient(known).get(server.url() + "/").ok());
  // A list that should have been replaced says nothing of what was revoked since.
  write_revoked(list, files, Revoked::kNone, -60);
  ASSERT_TRUE(server.reload_certificates().ok());
  EXPECT_FALSE(HttpClient(known).get(server.url() + "/").ok());
  write_revoked(list, files, Revoked::kNone);
  ASSERT_TRUE(server.reload_certificates().ok());
  EXPECT_TRUE(HttpClient(known).get(server.url() + "/").ok());
}

TEST(HttpServer, TlsBelow12IsRefused) {
  const ScratchDir dir;
  const TestingCertificates files = write_certificates(dir);
  HttpServerOptions options;
  options.tls = {files.server_certificate, files.server_key, "", ""};
  const HttpServer server = start(echo, options);
  HttpOptions known;
  known.ca_file = files.authority;
  EXPECT_EQ(HttpClient(known).get(server.url() + "/")->body, "GET / [] ");
  EXPECT_FALSE(tls_handshake_succeeds(server.port(), TlsVersion::k11));
  EXPECT_TRUE(tls_handshake_succeeds(server.port(), TlsVersion::k12));
}

TEST(HttpServer, WhatCannotBeIsSaidAtTheStart) {
  const auto error = [](HttpServerOptions options) { return HttpServer::start(std::move(options), echo).error().message; };
  EXPECT_THAT(error({.address = "localhost"}), HasSubstr("IP address"));
  EXPECT_THAT(error({.address = "0.0.0.0"}), HasSubstr("without TLS"));
  EXPECT_THAT(error({.address = "::"}), HasSubstr("without TLS"));
  EXPECT_THAT(error({.tls = {"/nowhere.pem", "/nowhere.key", "", ""}}), HasSubstr("/nowhere.pem"));
  EXPECT_TRUE(HttpServer::start({.address = "0.0.0.0", .plain_beyond_loopback = true}, echo).ok());
  const HttpServer first = start();
  EXPECT_THAT(error({.port = first.port()}), HasSubstr("another daemon"));
}

TEST(HttpServer, TellsWhenAClientGoesBeforeItsAnswer) {
  std::mutex mutex;
  std::vector<Responder> waiting;
  std::atomic<int> gone = 0;
  const HttpServer server = start([&](const HttpRequest& request, const Responder& responder) {
    if (request.target == "/now") return responder.reply({});
    responder.on_gone([&gone] { ++gone; });
    const std::lock_guard lock(mutex);
    waiting.push_back(responder);
  });
  const auto wait_for = [](const auto& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
  };
  const auto has_asked = [&](size_t clients) {
    return [&, clients] {
      const std::lock_guard lock(mutex);
      return waiting.size() == clients;
    };
  };
  const RawClient stays(server);
  EXPECT_TRUE(stays.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n"));
  {
    const RawClient leaves(server);
    EXPECT_TRUE(leaves.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n"));
    EXPECT_TRUE(wait_for(has_asked(2)));
  }
  EXPECT_TRUE(wait_for([&] { return gone == 1; }));
  waiting.clear();  // unanswered: the one that stays is told so, the other is not there to be told
  EXPECT_THAT(stays.receive(12), StartsWith("HTTP/1.1 500"));
  EXPECT_EQ(gone, 1);
}

TEST(HttpServer, BodiesOfAllRequestsTogetherAreBounded) {
  HttpServerOptions options;
  options.bodies = ByteBudget::of(1 << 20);
  const HttpServer server = start(echo, options);
  const RawClient large(server);
  EXPECT_TRUE(large.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_THAT(large.receive_until("\r\n\r\n"), HasSubstr("100 Continue"));
  const RawClient next(server);
  EXPECT_TRUE(next.send("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"));
  EXPECT_THAT(next.receive(12), StartsWith("HTTP/1.1 503"));
}

}  // namespace
}  // namespace stint
