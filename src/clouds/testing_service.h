// A server of the test's own that answers by rules and remembers what it was asked.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/check.h"
#include "host/http_server.h"

namespace stint {

class TestingService {
 public:
  using Answer = std::function<HttpReply(const HttpRequest&)>;
  explicit TestingService(Answer answer)
      : answer_(std::move(answer)),
        server_(HttpServer::start({.max_body_bytes = uint64_t{64} << 20}, [this](HttpRequest request, Responder responder) {
                  const std::scoped_lock lock(mutex_);
                  requests_.push_back(request);
                  responder.reply(answer_(request));
                }).value()) {}
  [[nodiscard]] std::string url() const { return server_.url(); }
  [[nodiscard]] std::vector<HttpRequest> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

 private:
  Answer answer_;
  mutable std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  HttpServer server_;
};

}  // namespace stint
