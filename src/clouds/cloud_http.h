// Requests to a cloud: signed anew for each try, repeated where that helps, failures told by what to do about them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "clouds/cloud_failure.h"
#include "host/http_client.h"

namespace stint {

/// Variables of the environment by name; "" = not set.
using Environment = std::function<std::string(const std::string&)>;
/// This process's.
Environment process_environment();

/// An answer that is no success.
struct CloudFault {
  CloudFailure failure = CloudFailure::kServer;
  std::string code, message;  ///< the provider's
};

struct CloudAttempt {
  Instant now;         ///< by the service's clock, as far as it is known
  bool renew = false;  ///< the credentials were refused: get new ones
};

struct CloudRequest {
  std::string what;  ///< for messages: `s3://bucket/key`
  std::function<Result<HttpCall>(const CloudAttempt&)> prepare;
  /// none = success.
  std::function<std::optional<CloudFault>(const HttpResponse&)> judge;
  /// What a person can do about it. May be empty.
  std::function<std::string(CloudFailure)> remedy;
  /// After kPlace: is there another place to ask now? May be empty.
  std::function<bool(const HttpResponse&)> move;
};

struct CloudHttpOptions {
  HttpOptions http;
  int tries = 8;                        ///< of one request; with the pauses between them about 25 s on the mean
  std::function<void(Duration)> sleep;  ///< empty = this thread's
  std::function<Instant()> clock;       ///< empty = the wall clock
  std::function<double()> draw;         ///< in [0, 1); empty = random
};

/// Any number of threads may send at the same time; each has a connection.
class CloudHttp {
 public:
  explicit CloudHttp(CloudHttpOptions options);
  ~CloudHttp();

  /// @return an answer that `judge` accepts; else an error that names `what`, the class of failure, the provider's words and the remedy:
  ///   kNotFound, kConflict, kInvalidInput (refused) or kUnavailable.
  Result<HttpResponse> send(const CloudRequest& request);
  [[nodiscard]] Instant now() const;

 private:
  Result<HttpResponse> send_once(const HttpCall& call);
  /// Takes over the service's time. @return whether that changes anything.
  bool correct_clock(const HttpResponse& response);

  CloudHttpOptions options_;
  std::atomic<int64_t> clock_offset_ns_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<HttpClient>> idle_;
};

/// For addresses of this machine's hypervisor or host: no proxy, quick to give up.
HttpOptions metadata_http_options();
/// For object stores: bytes as they are, no limit for the whole transfer while it moves.
HttpOptions storage_http_options();

/// `Tue, 27 Oct 2026 08:22:00 GMT`
std::optional<Instant> parse_http_date(std::string_view text);
std::string format_http_date(Instant at);

}  // namespace stint
